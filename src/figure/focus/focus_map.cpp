// SPDX-License-Identifier: GPL-3.0-or-later
// Figure 1 of the Attention Focus Plots: the scores of a head as a map, with the largest of each row marked.
#include "figure/focus/focus_plots.h"
#include "figure/pattern/matrix/matrix_view.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

/// Where the colours end: all but the outermost half percent of the differences from the row's middle lie inside.
float color_limit(const analyze::Matrix& map, const Eigen::VectorXf& middle) {
    std::vector<float> distances;
    const Eigen::Index stride = std::max<Eigen::Index>(1, map.size() / 400'000);
    for (Eigen::Index at = 0; at < map.size(); at += stride) {
        const Eigen::Index i = at / map.cols(), j = at % map.cols();
        if (const float d = std::abs(map(i, j) - middle[i]); std::isfinite(d)) distances.push_back(d);
    }
    if (distances.empty()) return 1;
    const auto end = distances.begin() + static_cast<std::ptrdiff_t>((distances.size() - 1) * 995 / 1000);
    std::nth_element(distances.begin(), end, distances.end());
    const float limit = *std::max_element(distances.begin(), end + 1);
    return limit > 0 ? limit : 1;
}

MatrixViewData::Marks marks_of(const analyze::FocusMaxima& maxima) {
    using Maximum = analyze::Maximum;
    const Theme &light = Theme::light(), &dark = Theme::dark_theme();
    const auto other = maxima.counted - maxima.on_self - maxima.on_first;
    const auto named = [](const char* what, std::int64_t rows) {
        return QStringLiteral("%1: %2").arg(QString::fromUtf8(what), draw::count_text(rows));
    };
    MatrixViewData::Marks marks;
    marks.kinds = {{named("itself", maxima.on_self), light.heads[2], dark.heads[2]},
                   {named("first token", maxima.on_first), light.heads[4], dark.heads[4]},
                   {named(maxima.facts.causal ? "earlier" : "other", other), light.muted, dark.muted}};
    for (const analyze::RowMaximum& row : maxima.rows) {
        marks.columns.push_back(row.key);
        marks.kind_of.push_back(row.kind == Maximum::self ? 0 : row.kind == Maximum::first ? 1 : 2);
    }
    return marks;
}

}  // namespace

std::unique_ptr<Figure> focus_map_figure(TracePtr trace, const FocusFigureOptions& options, const CancelToken& cancel) {
    analyze::FocusMap map = analyze::focus_map(*trace, options.head, cancel);
    MatrixViewData data;
    data.heads = {options.head};
    data.axes = analyze::pattern_axes(*trace, {});
    data.causal = map.maxima.facts.causal;
    data.windows = {model::window_of(trace->config(), options.head.layer.value)};
    data.marks = marks_of(map.maxima);
    data.view = "focus-1";
    const QString head = head_name(options.head);
    if (options.probability) {
        data.weights.push_back(analyze::pattern(*trace, options.head, {}, cancel));
        data.title = QStringLiteral("Weights of %1").arg(head);
    } else {
        MatrixViewData::Diverging diverging;
        diverging.middle = map.maxima.row_mean.cast<float>();
        diverging.limit = color_limit(map.score, diverging.middle);
        data.weights.push_back(std::move(map.score));
        data.diverging = std::move(diverging);
        data.weight_name = QStringLiteral("score − row's mean");
        data.value_word = QStringLiteral("score");
        data.column = "score";
        data.title = QStringLiteral("Scores of %1").arg(head);
    }
    if (data.causal) data.notes.push_back("row 0 not counted");
    data.description = QStringLiteral(
        "Each row is a query token, each column a key token it may attend to; the colour is the score before the softmax minus "
        "the row's mean, because a constant along a row changes no weight. The largest of each row is marked: green for the "
        "token itself, purple for the first token. Rene Claus, “Attention Focus Plots”, 2023.");
    return matrix_figure(std::move(data));
}

}  // namespace headlight::figure
