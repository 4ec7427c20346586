// SPDX-License-Identifier: GPL-3.0-or-later
// The strongest memories of an MLP at a token, what they promote, and one neuron along the text.
#pragma once

#include "figure/core/token_flow.h"
#include "figure/prediction/prediction_views.h"
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/figure/core/figure.h"

namespace headlight::figure {

struct MlpViewData {
    Layer layer;
    Position position;
    std::vector<analyze::Memory> memories;              ///< strongest first
    std::vector<analyze::Promoted> promoted;            ///< of each; empty without unembedding
    std::vector<std::vector<QString>> raised, lowered;  ///< labels, by what the memory does here (its sign turned in)
    std::int64_t neurons = 0, active = 0;               ///< of the layer, and with m > 0 at the token
    Neuron followed;                                    ///< along the text
    analyze::Vector activations;                        ///< [token]
    std::vector<analyze::AxisItem> labels;
    bool gated = false, gain = false;
    bool experts = false;  ///< the layer has them: a memory belongs to one
    std::string model;
};

struct MlpLayout {
    double width = 0, height = 0;
    double neuron_x = 0, coefficient_x = 0, coefficient_width = 0, norm_right = 0, share_x = 0, share_width = 0, raised_x = 0,
           raised_width = 0, lowered_x = 0, lowered_width = 0;
    double flow_top = 0;
    std::int64_t rows = 0;

    static constexpr double margin = 24, heading_baseline = 74, rows_top = 88, row_height = 26;
    QRectF row(std::int64_t) const;
};
MlpLayout mlp_layout(std::int64_t rows, double available_width);

class MlpFigure final : public Figure {
public:
    explicit MlpFigure(MlpViewData);

    std::string view() const override { return "mlp"; }
    QSizeF layout(QSizeF available, const Style&, const Selection&) override;
    void paint(QPainter&, const QRectF& exposed, const Style&, const Selection&) const override;
    Hit hit_test(QPointF, const Style&, const Selection&) const override;
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    QString title() const override;
    QString description() const override;

    const MlpLayout& places() const { return at_; }

private:
    void paint_row(QPainter&, std::size_t row, const Style&) const;
    void paint_flow(QPainter&, const QRectF& exposed, const Style&, const Selection&) const;
    QString named(std::int64_t position) const;

    MlpViewData data_;
    double coefficient_limit_ = 1, share_limit_ = 1, activation_limit_ = 1;
    MlpLayout at_;
    TokenFlow flow_;
};

}  // namespace headlight::figure
