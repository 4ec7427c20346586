// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/figure.h"

#include <string>

namespace headlight::figure {

/// Header line and one line a row; text in quotes, a gap (no value, NaN) as an empty field, numbers in the shortest form
/// that reads back the same.
std::string csv_text(const Table&);
/// "columns": […], "rows": [[…], …] (two members, without braces): one row a line, gaps as null.
std::string json_members(const Table&);

}  // namespace headlight::figure
