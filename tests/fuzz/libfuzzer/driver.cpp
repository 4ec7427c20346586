// SPDX-License-Identifier: GPL-3.0-or-later
// One program for each target; HEADLIGHT_FUZZ_TARGET is its function.
#include "tests/fuzz/targets.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    headlight::test::HEADLIGHT_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
    return 0;
}
