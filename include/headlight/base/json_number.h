// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

namespace headlight {

/// The shortest text that reads back as the same float32 where the value is one (as doubles they would show noise), else as the
/// same float64; "null" for NaN and infinity, which JSON does not have.
std::string json_number(double);

}  // namespace headlight
