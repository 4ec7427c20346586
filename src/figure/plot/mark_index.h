// SPDX-License-Identifier: GPL-3.0-or-later
// Finds the mark under the pointer among a hundred thousand, and the marks of a head.
#pragma once

#include "figure/plot/frame.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace headlight::figure::plot {

/// One mark of a plot: panel, series, index in it.
struct MarkId {
    std::int32_t panel = 0, series = 0, mark = 0;
    bool operator==(const MarkId&) const = default;
};
inline const Series& series_of(const PlotData& data, MarkId id) {
    return data.panels[static_cast<std::size_t>(id.panel)].series[static_cast<std::size_t>(id.series)];
}

/// Places of the marks of a laid out plot, except those without one (NaN, off a log axis).
class MarkIndex {
public:
    MarkIndex() = default;
    MarkIndex(const PlotData&, const Frame&);

    /// The nearest mark within `reach` of a point, the topmost of equals; bars and bins where the point is on them.
    std::optional<MarkId> at(const PlotData&, const Frame&, QPointF, double reach = 7) const;
    const std::vector<MarkId>& of_head(HeadId) const;

private:
    static constexpr double cell = 8;
    struct Grid {
        QRectF area;
        std::int64_t columns = 0, rows = 0;
        std::vector<std::uint32_t> begin;  ///< [columns * rows + 1]
        std::vector<MarkId> marks;         ///< by cell, in the order of painting
        std::vector<QPointF> places;       ///< of them
    };
    std::vector<Grid> grids_;  ///< one a panel
    std::map<HeadId, std::vector<MarkId>> heads_;
};

/// Place of a mark: its point, or the middle of the end of its bar or bin.
QPointF place_of(const PanelFrame&, const Series&, std::size_t mark);
/// The bar or bin of a mark, in figure units; `base` is where it begins (stacked bars).
QRectF bar_of(const PanelFrame&, const Series&, std::size_t mark, double base = 0);
/// Where each bar of a stacked series begins.
double stack_base(const Panel&, std::size_t series, std::size_t mark);

}  // namespace headlight::figure::plot
