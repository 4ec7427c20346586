// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "text/pattern/pattern.h"

#include <string>

namespace headlight::text {

/// A regular expression in Oniguruma's syntax, run by ICU. Error when ICU cannot compile it.
PatternPtr make_regex(const Field& regex);

/// The same expression in ICU's syntax: \s, \w and \h mean other sets there.
std::string to_icu_syntax(std::string_view oniguruma);

}  // namespace headlight::text
