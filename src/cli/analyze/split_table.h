// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/prediction/attribution.h"
#include "headlight/figure/export/table.h"

namespace headlight::cli {

/// component, layer, index, contribution; last row `total`.
inline figure::Table split_table(const analyze::Split& split) {
    figure::Table table;
    table.columns = {"component", "layer", "index", "contribution"};
    const auto index = [](std::int64_t i) { return i < 0 ? figure::Table::Cell() : figure::Table::Cell(i); };
    for (const analyze::Contribution& part : split.parts)
        table.rows.push_back({std::string(analyze::name_of(part.component)), index(part.layer), index(part.index), part.value});
    table.rows.push_back({std::string("total"), index(-1), index(-1), split.total});
    return table;
}

}  // namespace headlight::cli
