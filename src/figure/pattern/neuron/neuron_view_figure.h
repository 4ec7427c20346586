// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "figure/core/draw.h"
#include "figure/pattern/neuron/neuron_view_layout.h"
#include "headlight/figure/core/figure.h"
#include "headlight/figure/pattern/pattern_views.h"

namespace headlight::figure {

/// One query against every key it may look at, number by number. The band with the query and the headings stay in sight
/// while the keys scroll; so does the legend.
class NeuronFigure final : public Figure {
public:
    NeuronFigure(NeuronViewData, NeuronViewOptions);

    std::string view() const override { return "neuron"; }
    QSizeF layout(QSizeF available, const Style&, const Selection&) override;
    void paint(QPainter&, const QRectF& exposed, const Style&, const Selection&) const override;
    Hit hit_test(QPointF, const Style&, const Selection&) const override;
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    QString title() const override;
    QString description() const override;
    std::optional<QRectF> row_of_key(Position) const override;

    const NeuronLayout& places() const { return at_; }

private:
    void paint_row(QPainter&, std::int64_t key, const Style&, const Selection&) const;
    void paint_numbers(QPainter&, std::int64_t key, double baseline, bool strong, const Style&) const;
    void paint_top(QPainter&, double shift, const Style&, const Selection&) const;
    void lay_out_footer(double room);
    void paint_footer(QPainter&, double top, const Style&) const;
    void paint_strip(QPainter&, double x, double top, double height, const float* values, double divisor, const Style&) const;
    draw::Label label_of(std::int64_t position) const;
    QString token(std::int64_t position) const;  ///< of a key
    QString query_token() const;
    QString query_named() const;
    QString named(std::int64_t position) const;  ///< "·doctor (13)"
    QString product_heading() const;
    QString group_note() const;
    QString position_note() const;
    QString row_tip(std::int64_t key) const;
    QString dimension_tip(std::int64_t key, std::int64_t dimension) const;

    NeuronViewData data_;
    NeuronViewOptions options_;
    std::vector<std::int64_t> order_;
    std::int64_t strongest_ = 0;
    double vector_divisor_ = 4, product_divisor_ = 4;
    int digits_ = 2;
    NeuronLayout at_;
    struct Footer {
        double bar_x = 0, bar_width = 0, text_x = 0;
        QStringList left, right;  ///< lines at text_x, and up to the right edge
        bool stays = false;       ///< in sight where the figure is wider than the canvas
    } footer_;
    /// Edges of what was last painted: where the parts that stay in sight lie for a hit.
    mutable double seen_left_ = 0, seen_top_ = 0, seen_bottom_ = 0;
};

QString neuron_description(bool expanded);

}  // namespace headlight::figure
