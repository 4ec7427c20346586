// SPDX-License-Identifier: GPL-3.0-or-later
// The upper part of the view: a map of cells tinted by what reads them, and the mass kept of each row.
#pragma once

#include "figure/core/scene.h"
#include "headlight/analyze/sparsity/sparsity.h"

#include <QImage>
#include <QStringList>

#include <vector>

namespace headlight::figure {

/// "3.2 %", "45 %"; "–" for NaN, as of a text of one token.
QString percent_text(double share);

struct SparsityMapData {
    analyze::SparseMap map;
    analyze::SparsityOptions options;
    std::vector<analyze::AxisItem> tokens;
    QString cost;  ///< "pairs 3 % of the dense head's …"
    QString attention;
};

struct SparsityMapLayout {
    static constexpr double header = 74, strip_gap = 14, strip_width = 96, below = 66;
    QRectF map, strip;
    double label_extent = 0, width = 0, height = 0;
    QStringList cost;           ///< the lines above the map
    bool tokens_named = false;  ///< labels are tokens; else positions
};

class SparsityMapFigure final : public SceneFigure {
public:
    explicit SparsityMapFigure(SparsityMapData);

    std::string view() const override { return "sparsity"; }
    Table table() const override { return {}; }
    std::vector<NamedArray> arrays() const override { return {}; }
    QString title() const override;
    QString description() const override;
    std::optional<QRectF> row_of_query(Position) const override;

    const SparsityMapLayout& places() const { return at_; }

protected:
    QSizeF place(QSizeF available, const Style&, const Selection&) override;
    void draw_on(Scene&, const QRectF& seen, const Style&, const Selection&) const override;

private:
    QColor cell_color(std::int64_t row, std::int64_t col, const Style&) const;
    void paint_cells(QPainter&, const Style&) const;
    Hit cell_hit(std::int64_t row, std::int64_t col) const;
    Hit strip_hit(std::int64_t query) const;
    void draw_strip(Scene&, const Style&) const;
    void draw_axes(Scene&, const Style&, const Selection&) const;
    void draw_legend(Scene&, const Style&) const;
    QString named(std::int64_t position) const;
    QRectF row_rect(std::int64_t query) const;

    SparsityMapData data_;
    std::vector<double> label_widths_;
    SparsityMapLayout at_;
    mutable QImage image_;
    mutable const Theme* image_theme_ = nullptr;
    mutable Ramp image_ramp_{};
    mutable Transfer image_transfer_;
};

}  // namespace headlight::figure
