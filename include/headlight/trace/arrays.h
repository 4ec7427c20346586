// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"
#include "headlight/io/safetensors.h"
#include "headlight/trace/trace.h"

#include <memory>
#include <vector>

namespace headlight::trace {

/// Tensors of a trace for io::write_safetensors() and io::write_npz().
struct HookArrays {
    std::vector<io::ArrayRef> arrays;                ///< by the names of their hooks
    std::vector<std::shared_ptr<const void>> bytes;  ///< what the arrays refer to
};

/// Adds tensor() of each hook, in the type that it has. Errors: as tensor(). Cancelled between two.
void add_arrays(HookArrays&, const Trace&, const std::vector<model::HookPoint>&, const CancelToken& = {});

}  // namespace headlight::trace
