// SPDX-License-Identifier: GPL-3.0-or-later
// tensor() a piece at a time: what is computed on demand, patterns above all, need not be in memory whole.
#pragma once

#include "headlight/trace/trace.h"

#include <ATen/ATen.h>

#include <functional>

namespace headlight::trace {

/// Of a piece of what is computed for it. The same whatever the memory: products of other rows may differ in their last bits.
constexpr std::int64_t kPieceBytes = std::int64_t{64} << 20;

/// Bytes of the largest piece of a tensor of this shape that the trace does not store. What is no pattern, head result, logit or
/// hidden layer comes whole.
double piece_bytes(model::Hook, const std::vector<std::int64_t>& shape, std::int64_t element_bytes);
/// The bytes of tensor(), row-major, in pieces one after another, each contiguous and of one head's rows or of rows.
/// Errors: as tensor(). Cancelled by WorkingFor's token.
void for_pieces(const Trace&, model::HookPoint, const std::function<void(const at::Tensor&)>& read);
/// The element type of tensor(), from one row of it.
at::ScalarType type_of(const Trace&, model::HookPoint);
/// The stored tensor; nullptr where there is none.
const at::Tensor* find_stored(const Trace&, model::HookPoint);

}  // namespace headlight::trace
