// SPDX-License-Identifier: GPL-3.0-or-later
// Direct logit attribution: a layer x head map, bars of the largest parts, and the sources of one head.
#pragma once

#include "figure/core/own_scale.h"
#include "figure/core/wrapped.h"
#include "figure/prediction/prediction_views.h"
#include "figure/prediction/token_lines.h"
#include "headlight/analyze/contribution/drivers.h"
#include "headlight/analyze/prediction/attribution.h"
#include "headlight/figure/core/figure.h"
#include "headlight/figure/core/fixed_text.h"
#include "headlight/figure/core/part_name.h"

namespace headlight::figure {

struct AttributionViewData {
    analyze::Decomposition split;           ///< with whole MLPs
    Eigen::MatrixXd heads;                  ///< [layer, head]
    Eigen::MatrixXd cross;                  ///< the same of the attention to a source; empty: the model has none
    bool of_cross = false;                  ///< `head` is one of these, and what it reads is the source
    Eigen::VectorXd mlps, attn_biases;      ///< [layer]
    HeadId head;                            ///< whose sources are shown
    std::optional<Layer> mlp{};             ///< whose neurons are listed
    Eigen::VectorXd sources;                ///< [token]; sums to the head's part
    QString target;                         ///< "·nurse", "·nurse − ·doctor"
    bool difference = false;                ///< of two logits
    std::vector<analyze::AxisItem> labels;  ///< of what the head reads
    QString at;                             ///< the token at the position, where that is in another text
    /// A number other than a logit: its name, and the neuron it belongs to.
    struct Other {
        std::string view;
        QString title, description, behind;  ///< behind the title
        QString what;                        ///< "the pre-activation of L3 neuron 512"
        QString sum;                         ///< "sum = pre-activation"
        analyze::NeuronId neuron;
    };
    std::optional<Other> other{};
};

/// A part under its name, for the bars.
struct NamedPart {
    QString name;
    double value = 0;
    std::optional<HeadId> head;
    bool cross = false;     ///< a head that reads a source
    std::int64_t mlp = -1;  ///< the layer of a whole MLP
};
/// The `count` largest parts by amount, then the rest as one ("37 others"); together they sum to the whole.
std::vector<NamedPart> largest_parts(const analyze::Decomposition&, std::size_t count);

struct AttributionLayout {
    double width = 0, height = 0;
    double map_x = 0, cross_x = 0, map_top = 0, cell = 0, row = 0, mlp_x = 0, map_bottom = 0;
    double bars_x = 0, bars_top = 0, bar_x = 0, bar_width = 0;
    double sources_top = 0;
    std::int64_t layers = 0, heads = 0, bars = 0;

    static constexpr double margin = page_margin, bar_height = 22, gap = 36, said_line = 15, name_width = 118, number_width = 64;
    QRectF head_cell(std::int64_t layer, std::int64_t head) const {
        return {map_x + static_cast<double>(head) * cell, map_top + static_cast<double>(layer) * row, cell, row};
    }
    QRectF cross_cell(std::int64_t layer, std::int64_t head) const {
        return head_cell(layer, head).translated(cross_x - map_x, 0);
    }
    QRectF mlp_cell(std::int64_t layer) const { return {mlp_x, map_top + static_cast<double>(layer) * row, cell * 1.6, row}; }
    QRectF bar_row(std::int64_t bar) const {
        return {bars_x, bars_top + static_cast<double>(bar) * bar_height, width - bars_x - margin, bar_height};
    }
};
/// Narrower than this the bars stand below the map, so that a column of a journal has readable type.
inline constexpr double least_beside = 480;
/// `cross`: with a second map of heads. `map_height`: what the map may take, so that the tokens below stay in sight; 0: cells
/// are square. `above`: what the lines of the heading take beyond one.
AttributionLayout attribution_layout(std::int64_t layers, std::int64_t heads, std::int64_t bars, double available_width,
                                     bool cross = false, double map_height = 0, double above = 0);

class AttributionFigure final : public SceneFigure, public OwnScale {
public:
    explicit AttributionFigure(AttributionViewData);

    std::string view() const override { return data_.other ? data_.other->view : "attribution"; }
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    QString title() const override;
    QString description() const override;

    /// Of the parts' colours, the tokens' and the bars.
    std::vector<ScaleEnds> scale_ends() const override { return {{-limit_, limit_}, {-source_limit_, source_limit_}, bar_ends_}; }
    void widen(const std::vector<ScaleEnds>&) override;

    const AttributionLayout& places() const { return at_; }
    const std::vector<NamedPart>& bars() const { return bars_; }

protected:
    QSizeF place(QSizeF available, const Style&, const Selection&) override;
    void draw_on(Scene&, const QRectF& seen, const Style&, const Selection&) const override;

private:
    void draw_map(Scene&, const Style&, const Selection&) const;
    void draw_bars(Scene&, const Style&) const;
    /// Tokens through which the shown head gives most, with their parts.
    QStringList strongest_sources() const;
    QString sources_text() const;
    /// From the head's name to the tokens.
    double said_height() const { return 12 + AttributionLayout::said_line * double(std::max<qsizetype>(0, said_.size() - 1)); }
    void draw_sources(Scene&, const QRectF& seen, const Style&, const Selection&) const;
    /// Parts of one number: as many decimals everywhere on the figure.
    QString part_text(double part) const { return draw::fixed_text(part, decimals_); }
    static QString tip_number(double part) { return draw::number_text(part, 3); }
    Hit head_hit(HeadId, bool cross, double value) const;
    Hit mlp_hit(std::int64_t layer, double value) const;  ///< layer -1: of no MLP
    QString other_attention(bool cross) const;            ///< why a click on a head of it shows nothing
    QString behind_title() const;                         ///< "after ·nurse, split over its writers"
    QString what() const;                                 ///< "the logit of ·nurse"

    AttributionViewData data_;
    std::vector<NamedPart> bars_;
    double limit_ = 1, source_limit_ = 1;  ///< ends of the signed colours
    ScaleEnds bar_ends_;
    int decimals_ = 3;  ///< of the parts
    AttributionLayout at_;
    QStringList heading_, behind_;  ///< lines of the title and of what stands behind it, where they are below each other
    QStringList said_;              ///< of the head whose sources are shown
    TokenLines flow_;
};

/// The figure of attribution_view() without its list of neurons.
std::unique_ptr<AttributionFigure> attribution_figure(TracePtr, HeadId, Position, const AttributionViewOptions&);

}  // namespace headlight::figure
