// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace headlight::model {

/// An uninitialised tensor on the CPU for weights that are being converted. While a MapLargeTensors lives, the memory of a large
/// one that is gone serves the next one of its size: a page fresh from the system costs more than the numbers that are written
/// into it. Thread-safe.
at::Tensor matrix_memory(at::IntArrayRef shape, at::ScalarType);

/// What waits for the next matrix goes back to the system.
void release_matrix_memory();
std::int64_t matrix_memory_waiting();  ///< bytes

}  // namespace headlight::model
