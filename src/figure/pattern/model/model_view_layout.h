// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/ids.h"

#include <QPointF>
#include <QRectF>
#include <QSizeF>

#include <cstdint>
#include <optional>

namespace headlight::figure {

/// What the grid of the model view has to hold.
struct ModelShape {
    std::int64_t layers = 1, heads = 1, kv_heads = 1;
    std::int64_t rows = 1, columns = 1;  ///< queries and keys of one map
    bool lines = true;
    bool together = false;  ///< one column more with each layer's heads as one, one row more with the layers as one
    std::int64_t grid_layers() const { return layers + (together ? 1 : 0); }
    std::int64_t grid_heads() const { return heads + (together ? 1 : 0); }
    bool is_together(HeadId cell) const { return cell.layer.value >= layers || cell.head.value >= heads; }
    std::int64_t group_size() const { return kv_heads > 0 ? heads / kv_heads : 1; }
};

/// Where the cells of the grid stand, in figure units.
struct ModelLayout {
    std::int64_t layers = 1, heads = 1;
    bool across = false;  ///< layers run across and heads down: deep models with few heads in a wide canvas
    double left = 0, top = 0;
    QSizeF pitch, cell;  ///< pitch is cell and gap
    double width = 0, height = 0;

    static constexpr double margin = 16, title_baseline = 34;
    double legend_height = 40;

    std::int64_t columns() const { return across ? layers : heads; }
    std::int64_t rows() const { return across ? heads : layers; }
    /// The cell of a column and a row.
    HeadId at(std::int64_t column, std::int64_t row) const {
        return across ? HeadId{Layer{column}, Head{row}} : HeadId{Layer{row}, Head{column}};
    }
    QRectF cell_rect(HeadId) const;
    QRectF grid() const;
    /// The head whose cell holds a point; the gaps belong to nobody.
    std::optional<HeadId> head_at(QPointF) const;
    /// Heads whose cells touch a rectangle: first and last layer, first and last head; nothing when none does.
    struct Range {
        std::int64_t first_layer = 0, last_layer = -1, first_head = 0, last_head = -1;
    };
    Range touching(const QRectF&) const;
};
/// Fits the whole grid into the available size as far as cells stay readable (14 px; of 24 layers or more down to 4 px, so that
/// all heads are in sight), with layers down or across, whichever makes larger cells; a height of 0 means as tall as needed.
ModelLayout model_layout(const ModelShape&, QSizeF available);

/// Ten layers beside or below each other: the bands in which many layers are counted. Empty from the last band on.
inline constexpr std::int64_t layers_of_band = 10;
QRectF layer_band(const ModelLayout&, std::int64_t band);

/// The place of the detail pane: right of its cell, or left of it near the right edge, and always inside the canvas.
QRectF detail_rect(const QRectF& cell, QSizeF pane, const QRectF& canvas, double gap);
/// Size of the pane in px: token columns with lines, or a map for long texts.
QSizeF detail_size(const ModelShape&, double canvas_height);
/// Within a pane of this size, in px from its corner: the map, or the lines between the token columns.
QRectF detail_area(const ModelShape&, QSizeF pane);
struct DetailSizes {
    static constexpr double heading = 40, below_lines = 14, below_map = 30, column = 104, margin = 12;
};

/// The parts of a cell at a zoom: thumbnails fill it; from about 260 px on, labels take a part of it.
struct CellParts {
    bool labelled = false;
    QRectF area;        ///< the map, or the lines between the token columns; figure units
    double row_px = 0;  ///< height of one query on screen
};
CellParts cell_parts(const ModelShape&, const QRectF& cell, double zoom);

/// Middle of row i of n in an area.
inline double row_middle(const QRectF& area, std::int64_t i, std::int64_t n) {
    return area.top() + (double(i) + 0.5) * area.height() / double(n);
}

}  // namespace headlight::figure
