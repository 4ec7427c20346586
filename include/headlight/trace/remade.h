// SPDX-License-Identifier: GPL-3.0-or-later
// A run that asks for no hooks by name, or for all, keeps every layer's tensors where all of them take at most a gigabyte and
// half of memory_budget(), and memory_left(). Else it keeps the stream that enters each layer; a layer's tensors are made again
// from it when something reads them, bit for bit as they were, which takes as long as the layer took in the run and can be
// cancelled by WorkingFor's token. The latest ones are kept in a quarter of the budget: read layer after layer. Layers with
// interventions are always kept.
#pragma once

#include "headlight/trace/capture.h"

#include <cstdint>

namespace headlight::trace {

class Trace;

constexpr std::int64_t kMostKept = std::int64_t{1} << 30;

/// Rows of logits that were not kept are computed this many at a time, from a multiple of it on: read them in such blocks.
constexpr std::int64_t kLogitRows = 128;

/// Bytes of the tensors that a run would not keep but make again; 0: it keeps all. Arguments as forecast() takes them.
std::int64_t remade_bytes(const model::ModelConfig&, std::int64_t tokens, const CapturePlan&, std::int64_t element_bytes = 4,
                          std::int64_t source = 0);
/// Whether this trace makes layers again, and the bytes of those that it has made and keeps for now.
struct RemadeNow {
    bool any = false;
    std::int64_t bytes = 0;
};
RemadeNow remade_now(const Trace&) noexcept;
/// Makes a layer that is likely to be read next and keeps it, behind all who read one and where that takes nobody's room. Under
/// a WorkingFor, whose token cancels it and is cancelled by whoever reads another layer meanwhile.
void make_ahead(const Trace&, Layer);

}  // namespace headlight::trace
