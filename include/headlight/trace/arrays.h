// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"
#include "headlight/io/array_stream.h"
#include "headlight/trace/trace.h"

#include <memory>
#include <vector>

namespace headlight::trace {

/// Tensors of a trace for io::stream_safetensors() and io::stream_npz(), by the names of their hooks and in the type that each
/// has. Patterns and all else that is computed on demand is computed in pieces while it is written. Their order by name goes
/// through a trace layer by layer, so that layers which are recomputed are so once. Errors, here and while they are fed: as
/// tensor(). Cancelled by WorkingFor's token.
std::vector<io::ArrayStream> array_streams(const std::shared_ptr<const Trace>&, const std::vector<model::HookPoint>&);
/// Bytes that feeding them takes beside the trace, at most.
std::int64_t bytes_to_feed(const model::ModelConfig&, const std::vector<model::HookPoint>&, std::int64_t tokens,
                           std::int64_t element_bytes = 4, std::int64_t source = 0);

}  // namespace headlight::trace
