// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/model.h"

#include <cstdint>

namespace headlight::model {

/// Weights in another type than the model computes in are converted once, when the model is opened, if they then take at most
/// three quarters of memory_budget(). Else their matrices stay in the files as they lie there, and a layer's are converted when
/// something uses them, and some of them kept: these are their bytes in the files, 0 in the first case.
std::int64_t bytes_as_used(const Model&) noexcept;

}  // namespace headlight::model
