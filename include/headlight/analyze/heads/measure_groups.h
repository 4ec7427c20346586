// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

namespace headlight::analyze {

/// Measures that answer one kind of question, for menus.
struct MeasureGroup {
    std::string title;             ///< "Where it looks"
    std::vector<std::string> ids;  ///< of head_measures()
};

/// Every measure is in one group, in the order they are shown.
const std::vector<MeasureGroup>& measure_groups();

}  // namespace headlight::analyze
