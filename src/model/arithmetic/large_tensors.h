// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of large tensors on the CPU, apart from the heap. There a small block that is kept takes room from the large one that
// was there before, so that the next layer's finds none and a pass would grow from layer to layer; and what is freed stays.
#pragma once

#include <cstdint>

namespace headlight::model {

/// From now on LibTorch's tensors of 8 MiB or more are mapped one by one, those of its own functions too. The memory of one that
/// is gone waits for the next of about its size, since pages fresh from the system cost as much as the arithmetic; what waits is
/// at most an eighth of the memory budget (or 256 MiB, where that is more; and 1 GiB), and goes back when the budget needs it.
/// Not in programs with a sanitizer, which would not see the ends of such tensors.
void map_large_tensors();

/// What waits for the next tensor goes back to the system.
void release_large_tensors();
std::int64_t large_tensors_waiting();  ///< bytes

}  // namespace headlight::model
