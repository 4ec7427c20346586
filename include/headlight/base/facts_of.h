// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/error.h"

#include <exception>

namespace headlight {

/// What to say of any exception: an Error's own facts; of a lack of memory, which LibTorch reports in its own words, how much was
/// asked for and what to do; of others the first line of what() (LibTorch's go on with a stack trace).
ErrorFacts facts_of(const std::exception&);

}  // namespace headlight
