// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "figure/core/own_scale.h"
#include "figure/core/scene.h"
#include "headlight/figure/pattern/pattern_views.h"

#include <algorithm>
#include <optional>

namespace headlight::figure {

/// Where the cells of a layers x heads mosaic stand.
struct MosaicLayout {
    std::int64_t layers = 0, heads = 0;
    double left = 0, top = 0, gap = 0;
    QSizeF pitch;  ///< of a cell and the gap after it
    double width = 0, height = 0;
    QRectF legend;

    static constexpr std::int64_t many_layers = 24;
    /// Smaller cells scroll; those of many layers are smaller, so that all of them are in sight.
    static constexpr double least_of(std::int64_t layers) { return layers >= many_layers ? 3 : 6; }

    QRectF cell(HeadId) const;
    QRectF grid() const;
};
/// Fills the room with cells of whole pixels; a height of 0: as tall as square cells are. A mosaic that stands alone has a title
/// and larger cells.
MosaicLayout mosaic_layout(std::int64_t layers, std::int64_t heads, QSizeF available, bool alone = false);

/// Values of a measure and how they become tints 0..1.
struct MosaicScale {
    double low = 0, high = 1;
    bool is_signed = false;  ///< from -high to high in the colours of the signed scale
    double strength(double value) const;
    QColor color(Ramp, const Theme&, double strength) const;
};
/// The measure's natural range; an open end (NaN) is the data's.
MosaicScale mosaic_scale(const analyze::MeasureInfo&, const Eigen::MatrixXd& values, bool to_data = false);

/// `subtitle`: of a mosaic that stands alone, which has a title and numbers in the cells that have room.
class HeadsMosaic final : public SceneFigure, public OwnScale {
public:
    HeadsMosaic(std::shared_ptr<const analyze::HeadTable>, std::string measure, std::vector<HeadId> dimmed, bool to_data = false,
                std::optional<QString> subtitle = {});

    std::string view() const override { return "heads"; }
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    QString title() const override;
    QString description() const override;
    std::optional<QRectF> place_of_head(HeadId id) const override { return at_.cell(id); }
    /// The one in a panel scrolls where it is dragged.
    std::optional<QRectF> brush_area(QPointF) const override { return subtitle_ ? std::optional(at_.grid()) : std::nullopt; }
    std::vector<ScaleEnds> scale_ends() const override { return {{scale_.low, scale_.high}}; }
    void widen(const std::vector<ScaleEnds>& ends) override { scale_.low = ends.front().low, scale_.high = ends.front().high; }

protected:
    QSizeF place(QSizeF available, const Style&, const Selection&) override;
    void draw_on(Scene&, const QRectF& seen, const Style&, const Selection&) const override;

private:
    QString texts() const;  ///< "this text"
    QString tip_of(HeadId) const;
    void draw_heading(Scene&, const QRectF& seen, const Theme&) const;
    void draw_cell(Scene&, HeadId, const Style&) const;
    void draw_axes(Scene&, const QRectF& seen, const Theme&, std::optional<HeadId> focus) const;
    void draw_legend(Scene&, const QRectF& seen, const Style&) const;
    /// What scrolls: numbers and legend stay around it.
    QRectF cells_in(const QRectF& seen) const;
    QRectF legend_in(const QRectF& seen) const;
    double short_side() const { return std::min(at_.pitch.width(), at_.pitch.height()); }
    double value(HeadId) const;
    bool dimmed(HeadId) const;

    std::shared_ptr<const analyze::HeadTable> table_;
    std::size_t measure_ = 0;
    std::vector<HeadId> dimmed_;  ///< sorted
    std::optional<QString> subtitle_;
    MosaicScale scale_;
    MosaicLayout at_;
};

}  // namespace headlight::figure
