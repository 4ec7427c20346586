// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "figure/core/draw.h"
#include "figure/pattern/model/model_view_store.h"
#include "headlight/figure/pattern/pattern_views.h"

namespace headlight::figure {

/// Layers x heads. Zooming in, a cell grows from a thumbnail to a map with token labels and on to cells with numbers.
class ModelFigure final : public Figure {
public:
    ModelFigure(std::shared_ptr<ModelViewStore>, const ModelViewOptions&);

    std::string view() const override { return "model"; }
    QSizeF layout(QSizeF available, const Style&, const Selection&) override;
    void paint(QPainter&, const QRectF& exposed, const Style&, const Selection&) const override;
    Hit hit_test(QPointF, const Style&, const Selection&) const override;
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    QString title() const override { return with_attention(QStringLiteral("All heads"), store_->data().attention); }
    QString description() const override;
    bool zoomable() const override { return true; }
    double max_zoom() const override;
    bool refining() const override { return store_->refining(); }
    Sharpening sharpening() override { return store_->sharpening(); }

    const ModelLayout& places() const { return at_; }
    /// The open detail pane in figure units; empty when none is open.
    QRectF pane(double zoom) const;

private:
    struct Frame;  ///< what one paint needs everywhere
    const ModelShape& shape() const { return store_->data().shape; }
    const analyze::PatternAxes& axes() const { return store_->data().axes; }
    const AxisWords& words() const { return store_->data().words; }
    /// The head that is marked: on screen the focused one, in a file the one whose pane is open.
    std::optional<HeadId> marked(const Frame&) const;
    analyze::Matrix drawn_map(HeadId) const;  ///< of a cell, at the size of its lines or pooled

    void paint_cell(Frame&, HeadId) const;
    void paint_lines(Frame&, HeadId, const QRectF& area, double line_px) const;
    bool is_hovered(const Selection&, std::int64_t row, std::int64_t column) const;
    void paint_map(Frame&, HeadId, const QRectF& area) const;
    void paint_image(Frame&, const QRectF& area, const QImage&) const;
    void paint_line_labels(Frame&, const QRectF& cell, const CellParts&) const;
    void paint_map_labels(Frame&, const QRectF& cell, const CellParts&) const;
    void paint_numbers(Frame&, HeadId, const QRectF& area) const;
    void paint_rings(Frame&) const;
    void paint_bands(Frame&) const;
    void paint_miniature(Frame&) const;
    void paint_title(Frame&) const;
    void paint_axes(Frame&) const;
    void paint_groups(Frame&) const;
    void paint_legend(Frame&) const;

    // model_view_detail.cpp; coordinates of the pane are px from its corner
    void paint_detail(Frame&) const;
    void paint_detail_lines(Frame&, HeadId, const QRectF& area) const;
    void paint_detail_column(Frame&, HeadId, const QRectF& area, bool keys) const;
    void paint_detail_map(Frame&, HeadId, const QRectF& area) const;
    void detail_hit(Hit&, QPointF px, QSizeF pane) const;

    void cell_hit(Hit&, QPointF, HeadId, const CellParts&) const;
    void pair_hit(Hit&, HeadId, std::int64_t row, std::int64_t column) const;

    std::shared_ptr<ModelViewStore> store_;
    bool own_store_ = false;  ///< else shared with the figures on screen
    ModelViewOptions options_;
    ModelLayout at_;
    mutable QRectF seen_;  ///< part of the figure that was last painted: where the pane and the legend lie for a hit
};

}  // namespace headlight::figure
