// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/error.h"

#include <exception>
#include <string>

namespace headlight {

/// What to say of any exception, the only place that turns those of other origin into ours: an Error's own facts; of a lack of
/// memory, which LibTorch reports in its own words, how much was asked for and what to do; of the standard library, whose
/// messages are no help to users, what kind of value was met and the file at hand; of the system its reason and path; of others
/// the first line of what() (LibTorch's go on with a stack trace). Called on the thread that threw.
ErrorFacts facts_of(const std::exception&);
/// The same of the exception that is being handled, whatever its type: for the last net, catch (...).
ErrorFacts facts_of_current_exception();

/// Called by what opens files: the latest of this thread is the one at hand.
void set_file_at_hand(const std::string& file);

}  // namespace headlight
