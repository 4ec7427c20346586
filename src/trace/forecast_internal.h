// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/trace/capture.h"

#include <set>

namespace headlight::trace {

/// forecast() for a set of stored hooks; whole_patterns: an intervention asks for [head, query, key] tensors.
Forecast forecast(const model::ModelConfig&, std::int64_t tokens, const std::set<model::HookPoint>& stored, const HeadOverview&,
                  bool whole_patterns, std::int64_t element_bytes, std::int64_t source = 0);

/// How the tensors of `stored` come to be read: what the run keeps of them, and what all of them would take.
struct Keeping {
    std::set<model::HookPoint> kept;  ///< all of `stored`, or checkpoints_for() it
    bool remade = false;
};
/// See headlight/trace/remade.h.
Keeping keeping_of(const model::ModelConfig&, std::int64_t tokens, const CapturePlan&, std::set<model::HookPoint> stored,
                   const std::set<model::HookPoint>& hooked, std::int64_t element_bytes, std::int64_t source);

}  // namespace headlight::trace
