// SPDX-License-Identifier: GPL-3.0-or-later
// The matrix view's maps of what scores are the sum of.
#include "figure/pattern/matrix/matrix_view.h"
#include "figure/pattern/neuron/neuron_view_layout.h"
#include "headlight/analyze/pattern/score_parts.h"
#include "headlight/figure/pattern/pattern_views.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

/// Where the colours of all maps end: all but the outermost half percent of the numbers lie inside.
float limit_of(const std::vector<analyze::Matrix>& maps) {
    std::vector<float> sizes;
    for (const analyze::Matrix& map : maps) {
        const Eigen::Index stride = std::max<Eigen::Index>(1, map.size() / 200'000);
        for (Eigen::Index at = 0; at < map.size(); at += stride)
            if (const float size = std::abs(map.data()[at]); std::isfinite(size)) sizes.push_back(size);
    }
    if (sizes.empty()) return 1;
    const auto end = sizes.begin() + static_cast<std::ptrdiff_t>((sizes.size() - 1) * 995 / 1000);
    std::nth_element(sizes.begin(), end, sizes.end());
    return *end > 0 ? *end : 1;
}

}  // namespace

std::unique_ptr<Figure> score_parts_view(TracePtr trace, std::vector<HeadId> heads, const CancelToken& cancel) {
    MatrixViewData data;
    data.axes = analyze::pattern_axes(*trace, {});
    data.causal = trace->config().causal;
    for (const HeadId head : heads)
        for (analyze::ScorePart& part : analyze::score_parts(*trace, head, cancel)) {
            const QString what = part.name == "score" ? QStringLiteral("score, their sum") : term_heading(part.name);
            data.names.push_back(head_name(head) + u' ' + what);
            data.weights.push_back(std::move(part.values));
            data.windows.push_back(model::window_of(trace->config(), head.layer.value));
        }
    if (data.weights.size() == heads.size())  // nothing but the scores
        for (std::size_t h = 0; h < heads.size(); ++h) data.names[h] = head_name(heads[h]) + QStringLiteral(" score");
    data.diverging = MatrixViewData::Diverging{Eigen::VectorXf::Zero(static_cast<Eigen::Index>(data.axes.queries.size())),
                                               limit_of(data.weights)};
    data.weight_name = QStringLiteral("part of the score");
    data.value_word = QStringLiteral("part");
    data.column = "part";
    data.title = heads.size() == 1 ? QStringLiteral("Parts of the scores of %1").arg(head_name(heads.front()))
                                   : QStringLiteral("Parts of the scores of %1 heads").arg(heads.size());
    if (trace->config().score_softcap > 0) data.notes.push_back("before the scores are capped");
    if (trace->config().latent.any())
        data.description = QStringLiteral(
            "The scores of a head before the softmax, and the two parts that they are the sum of: what the content of query and "
            "key adds, and what the numbers that rotate with the position add (DeepSeek-V2, 2024, section 2.1). Each row is a "
            "query, each column a key. All maps have one scale: blue raises the score, "
            "orange lowers it.");
    else
        data.description = QStringLiteral(
            "The scores of a head before the softmax, and the parts that they are the sum of: what query and key add as they "
            "are, and what their positions add. Each row is a query, each column a key. "
            "All maps have one scale: blue raises the score, orange lowers it.");
    return matrix_figure(std::move(data));
}

}  // namespace headlight::figure
