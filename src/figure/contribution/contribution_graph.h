// SPDX-License-Identifier: GPL-3.0-or-later
// Layers as rows, tokens as columns, and a line for each part of a state that is above the threshold.
#pragma once

#include "figure/core/scene.h"
#include "figure/core/wrapped.h"
#include "headlight/analyze/contribution/contributions.h"

#include <compare>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headlight::figure {

/// "4.2 %", with two decimals below 10 %.
inline QString share_text(double share) { return draw::number_text(100 * share, share < 0.1 ? 2 : 1) + QStringLiteral(" %"); }
inline constexpr double label_size = 12;  ///< px of the tokens under the graph

/// Layer, source and target of an attention edge; as an option of the view: "3:4:13". Behind an encoder that is the decoder's own
/// attention; "cross:3:4:13" is the attention to the source, "encoder:3:4:13" the encoder's.
struct EdgeName {
    enum class Attention { own, cross, encoder } attention = Attention::own;
    std::int64_t layer = 0, from = 0, to = 0;
    bool operator==(const EdgeName&) const = default;
};
/// Empty text: none. Error: not three numbers.
std::optional<EdgeName> edge_name(const std::string&);
std::string text_of(const EdgeName&);
/// Of an edge through heads; others have no name.
std::optional<EdgeName> name_of_edge(const analyze::ContributionEdge&);

struct ContributionGraphData {
    std::shared_ptr<const analyze::ContributionGraph> graph;
    std::shared_ptr<const trace::Trace> trace;  ///< that of the graph, for the names in its table
    std::vector<analyze::AxisItem> tokens;      ///< of the text; behind an encoder, of the target
    std::vector<analyze::AxisItem> source;      ///< of what the decoder reads; empty: one text
    bool across = false;                        ///< keys of the selection are the source's tokens
    std::optional<EdgeName> chosen;
    bool keep_sizes = false;
};

/// A token of the graph, of the source or of the own text.
struct ContributionToken {
    bool of_source = false;
    std::int64_t position = 0;
    auto operator<=>(const ContributionToken&) const = default;
};
ContributionToken from_token(const analyze::ContributionEdge&);
ContributionToken to_token(const analyze::ContributionEdge&);
/// The target and the tokens at the ends of edges, sorted.
std::vector<ContributionToken> touched_tokens(const analyze::ContributionGraph&);

/// Columns are the tokens that an edge touches, or all when there is room; layers go up. Behind an encoder the source's columns
/// stand on the left with the encoder's layers, the target's on the right and above them with the decoder's.
struct ContributionLayout {
    std::vector<std::int64_t> columns, source_columns;  ///< positions
    std::int64_t layers = 0, source_layers = 0;
    double left = 0, source_left = 0, top = 0, bottom = 0, source_bottom = 0, pitch_x = 0, pitch_y = 0, source_pitch_y = 0,
           width = 0, height = 0, label_extent = 0,
           widest = 9;  ///< of a line that is all of its state
    draw::AxisFit fit;

    static constexpr double header = 84, margin = page_margin, layer_room = 64, legend = 76;
    double x(ContributionToken) const;  ///< of a token that has a column
    /// Of a state before a layer, behind its attention, behind its attention to the source.
    double y_before(std::int64_t layer, bool in_encoder = false) const;
    double y_behind_attention(std::int64_t layer, bool in_encoder = false) const;
    double y_behind_cross(std::int64_t layer) const { return bottom - pitch_y * (double(layer) + 0.72); }
    bool two() const { return source_layers > 0; }
    bool has(ContributionToken) const;
};
/// Behind the layer's attentions: what its MLP adds to.
double y_before_mlp(const ContributionLayout&, std::int64_t layer, bool in_encoder);
ContributionLayout contribution_layout(const ContributionGraphData&, QSizeF available);

class ContributionFigure final : public SceneFigure {
public:
    explicit ContributionFigure(ContributionGraphData);

    std::string view() const override { return "contribution-graph"; }
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    QString title() const override;
    QString description() const override;

    const ContributionLayout& places() const { return at_; }
    /// The line of an edge as it is painted.
    QPainterPath path(const analyze::ContributionEdge&) const;
    static constexpr std::int64_t most_lines = 3000;  ///< the strongest are drawn, the legend says so

protected:
    QSizeF place(QSizeF available, const Style&, const Selection&) override;
    void draw_on(Scene&, const QRectF& seen, const Style&, const Selection&) const override;

private:
    const analyze::AxisItem& item(ContributionToken) const;
    QString named(ContributionToken) const;
    QString layer_name(std::int64_t layer, bool in_encoder) const;
    /// What the pointer or another view points at is one of these.
    bool pointed(ContributionToken, const Style&, const Selection&) const;
    void draw_edges(Scene&, const Style&, const Selection&) const;
    void draw_stems(Scene&, const Style&) const;
    void draw_nodes(Scene&, const Style&, const Selection&) const;
    void draw_layers(Scene&, const Style&, bool in_encoder) const;
    void draw_labels(Scene&, const Style&, const Selection&, bool of_source) const;
    void draw_legend(Scene&, const Style&) const;
    Hit hit_of(const analyze::ContributionEdge&) const;
    Hit hit_of(ContributionToken) const;
    QString tip_of(const analyze::ContributionEdge&) const;

    ContributionGraphData data_;
    std::vector<std::size_t> drawn_;  ///< edges, strongest first
    std::vector<ContributionToken> reached_;
    ContributionLayout at_;
};

/// Pen width of an edge.
double contribution_width(double weight, const ContributionLayout&);

}  // namespace headlight::figure
