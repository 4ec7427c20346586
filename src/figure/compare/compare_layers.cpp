// SPDX-License-Identifier: GPL-3.0-or-later
// Residual streams of two runs compared layer by layer.
#include "figure/compare/compare_views.h"
#include "figure/pattern/matrix/matrix_view.h"
#include "figure/pattern/model/signed_maps.h"

#include <algorithm>

namespace headlight::figure {
namespace {

namespace iv = headlight::intervention;

std::vector<analyze::AxisItem> state_axis(Eigen::Index states) {
    std::vector<analyze::AxisItem> axis;
    for (std::int64_t i = 0; i < states; ++i)
        axis.push_back({.label = iv::state_name(i), .continuation = {}, .first = Position(-1 - i)});  // no token
    return axis;
}

/// ", of 9 and 8", where one has others.
std::string shared_of(const iv::RunPair& pair) {
    const auto a = std::ssize(pair.queries.a), b = std::ssize(pair.queries.b);
    return pair.queries.aligned() == std::max(a, b) ? "" : ", of " + std::to_string(a) + " and " + std::to_string(b);
}

}  // namespace

std::unique_ptr<Figure> compare_layers_view(const Beside& beside, const iv::LayerOptions& options, const CancelToken& cancel,
                                            const Progress& progress) {
    iv::LayerOptions within = options;
    within.within_first = true;
    const iv::LayerSimilarity across = iv::layer_similarity(*beside.pair, options, cancel, progress),
                              own = iv::layer_similarity(*beside.pair, within, cancel, progress);
    MatrixViewData data;
    data.view = "compare-layers";
    data.axes = {state_axis(across.values.rows()), state_axis(across.values.cols())};
    data.words.rows = QStringLiteral("stream of A after layer");
    data.words.across_top = QStringLiteral("of B after layer");
    data.causal = false;
    data.names = {QStringLiteral("A with B")};
    data.weights = {across.values.cast<float>()};
    if (own.values.cols() == across.values.cols()) {
        data.names.push_back(QStringLiteral("A with A"));
        data.weights.push_back(own.values.cast<float>());
    }
    const QString kind = QString::fromUtf8(enum_row(options.kind).title);
    data.weight_name = kind;
    data.value_word = kind;
    data.column = std::string(enum_word(options.kind));
    data.title = kind + QStringLiteral(" of layers");
    data.absent.assign(data.weights.size(),
                       {std::vector<bool>(data.axes.queries.size()), std::vector<bool>(data.axes.keys.size())});
    if (std::ranges::any_of(data.weights, [](const analyze::Matrix& map) { return (map.array() < 0).any(); }))
        data.diverging = MatrixViewData::Diverging{Eigen::VectorXf::Zero(across.values.rows()), symmetric_limit(data.weights)};
    data.notes = {"over " + std::to_string(across.rows) + " tokens that both texts have" + shared_of(*beside.pair) +
                      (options.with_first ? ", position 0 with them" : ", without position 0"),
                  "B: " + beside.words};
    data.table = [exported = iv::table_of(across)](const std::vector<analyze::Matrix>&) { return exported; };
    data.description = QStringLiteral(
        "How alike the residual streams of two runs are: each row is a state of A, each column a state of B, before the first layer "
        "(embed) and after each layer; on the right A with itself. CKA compares the similarities between tokens in one state with "
        "those in the other, whatever rotates or scales the streams (Kornblith et al., “Similarity of Neural Network "
        "Representations Revisited”, 2019); with fewer tokens than dimensions it tends to 1, and the unbiased estimate does not. "
        "RSA is Spearman's correlation of the tokens' dissimilarities (Kriegeskorte et al., 2008). Position 0 is left out unless "
        "asked for: its norm is often many times that of the others and would dominate the result.");
    return matrix_figure(std::move(data));
}

}  // namespace headlight::figure
