// SPDX-License-Identifier: GPL-3.0-or-later
// Layers as rows, tokens as columns, and a line for each part of a state that is above the threshold.
#pragma once

#include "figure/draw.h"
#include "headlight/analyze/contributions.h"
#include "headlight/figure/figure.h"

#include <QPainterPath>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headlight::figure {

/// Layer, source and target of an attention edge; as an option of the view: "3:4:13".
struct EdgeName {
    std::int64_t layer = 0, from = 0, to = 0;
    bool operator==(const EdgeName&) const = default;
};
/// Empty text: none. Error: not three numbers.
std::optional<EdgeName> edge_name(const std::string&);
std::string text_of(const EdgeName&);

struct ContributionGraphData {
    std::shared_ptr<const analyze::ContributionGraph> graph;
    std::vector<analyze::AxisItem> tokens;  ///< of the text
    std::optional<EdgeName> chosen;
    bool keep_sizes = false;
};

/// Columns are the tokens that an edge touches, or all when there is room; layers go up.
struct ContributionLayout {
    std::vector<std::int64_t> columns;  ///< positions
    std::int64_t layers = 0;
    double left = 0, top = 0, bottom = 0, pitch_x = 0, pitch_y = 0, width = 0, height = 0, label_extent = 0,
           widest = 9;  ///< of a line that is all of its state
    draw::AxisFit fit;

    static constexpr double header = 84, margin = 24, layer_room = 64, legend = 76;
    double x(std::int64_t position) const;  ///< of a token that has a column
    double y_before(std::int64_t layer) const { return bottom - pitch_y * double(layer); }
    double y_behind_attention(std::int64_t layer) const { return bottom - pitch_y * (double(layer) + 0.58); }
    bool has(std::int64_t position) const;
};
ContributionLayout contribution_layout(const ContributionGraphData&, QSizeF available);

class ContributionFigure final : public Figure {
public:
    explicit ContributionFigure(ContributionGraphData);

    std::string view() const override { return "contribution-graph"; }
    QSizeF layout(QSizeF available, const Style&, const Selection&) override;
    void paint(QPainter&, const QRectF& exposed, const Style&, const Selection&) const override;
    Hit hit_test(QPointF, const Style&, const Selection&) const override;
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    QString title() const override;
    QString description() const override;

    const ContributionLayout& places() const { return at_; }
    /// The line of an edge as it is painted.
    QPainterPath path(const analyze::ContributionEdge&) const;
    static constexpr std::int64_t most_lines = 3000;  ///< the strongest are drawn, the legend says so

private:
    QString named(std::int64_t position) const;
    void paint_edges(QPainter&, const Style&, const Selection&) const;
    void paint_nodes(QPainter&, const Style&, const Selection&) const;
    void paint_labels(QPainter&, const Style&, const Selection&) const;
    void paint_legend(QPainter&, const Style&) const;
    Hit edge_hit(const analyze::ContributionEdge&) const;

    ContributionGraphData data_;
    std::vector<std::size_t> drawn_;  ///< edges, strongest first
    std::vector<std::int64_t> reached_;
    ContributionLayout at_;
};

}  // namespace headlight::figure
