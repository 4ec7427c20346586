// SPDX-License-Identifier: GPL-3.0-or-later
// Ribbons through the layers from one token: data, layout and figure.
#pragma once

#include "figure/core/scene.h"
#include "headlight/analyze/rollout/rollout.h"

#include <memory>
#include <vector>

namespace headlight::figure {

struct PathsData {
    analyze::TokenPaths paths;
    std::vector<analyze::AxisItem> tokens;  ///< [token]; behind an encoder those of the source first
    bool flow = false;
    bool across = false;  ///< keys of the selection are the source's tokens
};

/// One token before the first layer (column 0) or after layer `column` - 1.
struct PathNode {
    std::int64_t column = 0;
    std::int64_t token = -1;  ///< -1: all the tokens of the column that are too thin for a node of their own
    std::int64_t count = 1;   ///< tokens it stands for
    double mass = 0;
    QRectF area;
};
struct PathBand {
    std::size_t ribbon = 0;  ///< index into paths.ribbons
    QRectF left, right;      ///< its two ends, without width: x, y, 0, thickness
    QPainterPath shape() const;
};
struct PathsLayout {
    static constexpr double header = 64, column_caption = 22, legend = 52, node_width = 10, margin = 16;
    std::vector<std::vector<PathNode>> columns;
    std::vector<PathBand> bands;
    double unit = 1;                ///< px of the whole
    double legend_height = legend;  ///< higher where its notes take more lines
    double label_room = 0;          ///< beside the first and the last column
    QSizeF size;
    double folded_width = 2;   ///< of the nodes of folded columns
    std::vector<bool> folded;  ///< [column] of a deep model: too narrow for labels, since little moves beside it
    double step_after(std::int64_t column) const;  ///< px from a column's nodes to those of the next
    const PathNode* node(std::int64_t column, std::int64_t token) const;
};
PathsLayout paths_layout(const PathsData&, double label_room, QSizeF available, double legend_height = PathsLayout::legend);

std::unique_ptr<Figure> paths_figure(PathsData);

}  // namespace headlight::figure
