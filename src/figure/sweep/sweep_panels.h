// SPDX-License-Identifier: GPL-3.0-or-later
// What stands where in the figure of a sweep.
#pragma once

#include "figure/core/draw.h"
#include "headlight/figure/sweep/sweep_figure.h"

#include <cstdint>
#include <vector>

namespace headlight::figure {

struct SweepPanel {
    QString title;
    QString rows_name, columns_name;  ///< "layer", "head"; empty: the labels are tokens
    std::vector<draw::Label> rows, columns;
    bool of_error = false;            ///< shows how far the estimates are from the effects
    std::vector<std::int64_t> cells;  ///< [row, column] the sweep's cell; -1: there is none
    std::int64_t cell(std::size_t row, std::size_t column) const { return cells[row * columns.size() + column]; }
};
std::vector<SweepPanel> sweep_panels(const intervention::SweepResult&);

/// "effect on the logit difference 3.15, normalised 0.737": both scales by name.
QString sweep_effect_words(const intervention::SweepResult&, const intervention::SweepCellResult&);
/// "Outputs of heads, patched"
QString sweep_title(const intervention::SweepResult&);
/// "denoising · logit difference “·Mary” − “·John”: corrupt −1.03, clean 2.81 · 32 pairs"
QString sweep_words(const intervention::SweepResult&);

}  // namespace headlight::figure
