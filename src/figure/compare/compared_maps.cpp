// SPDX-License-Identifier: GPL-3.0-or-later
// Maps of two runs on the axes of both texts, and the views of patterns made of them.
#include "figure/compare/compare_views.h"
#include "figure/pattern/head/head_view.h"
#include "figure/pattern/matrix/matrix_view.h"
#include "figure/pattern/model/signed_maps.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

namespace iv = headlight::intervention;

const QString kWithoutFirst = QStringLiteral("without the first key, renormalised");

analyze::AxisItem item_of(const iv::MergedUnit& unit, const iv::Alignment& alignment, const std::vector<text::TokenLabel>& a,
                          const std::vector<text::TokenLabel>& b) {
    const bool in_a = unit.a >= 0;
    const auto& labels = in_a ? a : b;
    const iv::TextUnit at = in_a ? alignment.a[static_cast<std::size_t>(unit.a)] : alignment.b[static_cast<std::size_t>(unit.b)];
    const text::TokenLabel& first = labels[static_cast<std::size_t>(at.first)];
    std::string name = iv::unit_label(labels, at);
    if (unit.both())  // one token in place of another
        if (const std::string other = iv::unit_label(b, alignment.b[static_cast<std::size_t>(unit.b)]);
            other != name && !alignment.pooled)
            name += "/" + other;
    return {.label = name,
            .continuation = first.continuation,
            .special = first.special,
            .first = Position(in_a ? at.first : -1 - at.first),
            .count = in_a ? at.count : 1};
}

/// A pair of units that no text which has both of them allows.
bool is_masked(const iv::RunPair& pair, const iv::MergedUnit& query, const iv::MergedUnit& key, std::int64_t layer) {
    const auto allowed = [&](const trace::Trace& trace, const std::vector<iv::TextUnit>& rows,
                             const std::vector<iv::TextUnit>& columns, std::int64_t row, std::int64_t column) {
        if (row < 0 || column < 0) return false;
        const auto& config = trace.config();
        if (trace.across_texts()) return true;
        const iv::TextUnit q = rows[static_cast<std::size_t>(row)], k = columns[static_cast<std::size_t>(column)];
        const auto legal = model::legal_keys(q.first + q.count - 1, trace.keys(), config.causal, model::window_of(config, layer));
        return k.first < legal.last && k.first + k.count > legal.first;
    };
    return !allowed(*pair.a, pair.queries.a, pair.keys.a, query.a, key.a) &&
           !allowed(*pair.b, pair.queries.b, pair.keys.b, query.b, key.b);
}

std::vector<bool> lacking(const std::vector<iv::MergedUnit>& axis, bool of_a, bool of_b) {
    std::vector<bool> out;
    for (const iv::MergedUnit& unit : axis) out.push_back((of_a && unit.a < 0) || (of_b && unit.b < 0));
    return out;
}

/// What every map of two runs has in common.
MatrixViewData maps_data(const Beside& beside, const ComparedMaps& maps) {
    MatrixViewData data;
    data.axes = maps.axes;
    data.words = axis_words(*beside.pair->a);
    data.attention = attention_name(beside.pair->a->config());
    data.causal = beside.pair->a->config().causal;
    data.notes.push_back("B: " + beside.words);
    return data;
}

MatrixViewData::Diverging around_zero(const ComparedMaps& maps, float limit) {
    return {Eigen::VectorXf::Zero(std::ssize(maps.queries)), limit};
}

QString difference_title(const QString& what) { return what + QStringLiteral(", B − A"); }

/// The heads of the state, and what they are called.
std::vector<HeadId> heads_shown(const ViewState& state) {
    std::vector<HeadId> ids;
    for (const Head head : state.heads) ids.push_back({state.layer, head});
    return ids;
}

}  // namespace

ComparedMaps compared_maps(const iv::RunPair& pair, HeadId head, HeadId partner, const iv::CompareOptions& options) {
    iv::DifferenceMap map = iv::difference_map(pair, head, partner, options);
    ComparedMaps out;
    for (const iv::MergedUnit& unit : map.queries)
        out.axes.queries.push_back(item_of(unit, pair.queries, pair.a->labels(), pair.b->labels()));
    for (const iv::MergedUnit& unit : map.keys)
        out.axes.keys.push_back(item_of(unit, pair.keys, pair.a->key_labels(), pair.b->key_labels()));
    for (Eigen::Index q = 0; q < map.difference.rows(); ++q)
        for (Eigen::Index k = 0; k < map.difference.cols(); ++k) {
            const iv::MergedUnit row = map.queries[static_cast<std::size_t>(q)], column = map.keys[static_cast<std::size_t>(k)];
            const bool masked = is_masked(pair, row, column, head.layer.value);
            if (masked || row.a < 0 || column.a < 0) map.a(q, k) = NAN;
            if (masked || row.b < 0 || column.b < 0) map.b(q, k) = NAN;
            if (masked) map.difference(q, k) = NAN;
        }
    out.a = std::move(map.a);
    out.b = std::move(map.b);
    out.difference = std::move(map.difference);
    out.queries = std::move(map.queries);
    out.keys = std::move(map.keys);
    return out;
}

std::unique_ptr<Figure> compare_head_view(const Beside& beside, HeadId head, const iv::CompareOptions& options) {
    const ComparedMaps maps = compared_maps(*beside.pair, head, head, options);
    MatrixViewData data = maps_data(beside, maps);
    data.view = "compare-head";
    data.names = {QStringLiteral("A"), QStringLiteral("B"), QStringLiteral("B − A")};
    data.weights = {maps.a, maps.b, maps.difference};
    data.absent = {{lacking(maps.queries, true, false), lacking(maps.keys, true, false)},
                   {lacking(maps.queries, false, true), lacking(maps.keys, false, true)},
                   {lacking(maps.queries, true, true), std::vector<bool>(maps.keys.size())}};
    data.diverging = around_zero(maps, symmetric_limit({maps.difference}));
    data.signed_from = 2;
    if (options.without_first) data.notes.insert(data.notes.begin(), kWithoutFirst.toStdString());
    data.title = head_name(head) + QStringLiteral(" in A and B");
    data.description = QStringLiteral(
        "The attention of one head in two runs, and their difference. A and B are drawn on one scale; the difference on a scale "
        "symmetric around 0: blue where B attends more, orange where it attends less. Rows are queries, columns keys; tokens of "
        "both texts stand for each other, tokens of one text alone stand where they are in it and are hatched in the other. "
        "Weight that B puts on tokens that A does not have counts as more, weight that A puts on tokens that B does not have as "
        "less.");
    return matrix_figure(std::move(data));
}

std::unique_ptr<Figure> matrix_difference(const Beside& beside, const ViewState& state, const CancelToken& cancel,
                                          const Progress&) {
    const std::vector<HeadId> heads = heads_shown(state);
    MatrixViewData data;
    for (const HeadId head : heads) {
        cancel.throw_if_cancelled();
        const ComparedMaps maps = compared_maps(*beside.pair, head, head, {.without_first = state.pattern.hide_sinks});
        if (data.weights.empty()) data = maps_data(beside, maps);
        data.weights.push_back(maps.difference);
        data.absent.push_back({lacking(maps.queries, true, true), std::vector<bool>(maps.keys.size())});
        data.diverging = around_zero(maps, symmetric_limit(data.weights));
    }
    data.heads = heads;
    data.weight_name = QStringLiteral("B − A of the softmax weight");
    if (state.pattern.hide_sinks) data.notes.insert(data.notes.begin(), kWithoutFirst.toStdString());
    data.value_word = QStringLiteral("B − A");
    data.column = "difference";
    data.title = difference_title(heads.size() == 1 ? head_name(heads.front()) : QStringLiteral("%1 heads").arg(heads.size()));
    data.description = QStringLiteral(
        "What changes in a head's attention from A to B: blue where B attends more, orange where it attends less, on one scale "
        "symmetric around 0. Rows of tokens that only one text has are hatched; columns of such tokens hold the weight that they "
        "gain or lose.");
    return matrix_figure(std::move(data));
}

std::unique_ptr<Figure> head_difference(const Beside& beside, const ViewState& state, const CancelToken& cancel,
                                        const Progress&) {
    const std::vector<HeadId> heads = heads_shown(state);
    analyze::Matrix mean;
    HeadViewData data;
    for (const HeadId head : heads) {
        cancel.throw_if_cancelled();
        ComparedMaps maps = compared_maps(*beside.pair, head, head, {.without_first = state.pattern.hide_sinks});
        data.differences = maps.difference.array().isFinite().count();
        maps.difference = maps.difference.unaryExpr([](float x) { return std::isfinite(x) ? x : 0.0F; });
        if (mean.size() == 0) mean = analyze::Matrix::Zero(maps.difference.rows(), maps.difference.cols());
        mean += maps.difference / static_cast<float>(heads.size());
        data.axes = std::move(maps.axes);
    }
    const trace::Trace& a = *beside.pair->a;
    data.layer = state.layer;
    data.n_heads = a.config().n_heads;
    data.heads = state.heads;
    data.words = axis_words(a);
    data.attention = attention_name(a.config());
    data.causal = false;  // pairs without a weight have no line
    data.difference = true;
    data.weights = {mean.cwiseMax(0), (-mean).cwiseMax(0)};
    data.limit = static_cast<double>(symmetric_limit({mean}));
    data.together =
        difference_title(heads.size() == 1 ? head_name(heads.front())
                                           : QStringLiteral("layer %2, %1 heads").arg(heads.size()).arg(state.layer.value));
    data.weight_name = (heads.size() > 1 ? QStringLiteral("mean of the heads · ") : QString()) +
                       (state.pattern.hide_sinks ? kWithoutFirst + QStringLiteral(" · ") : QString()) + QStringLiteral("B: ") +
                       QString::fromStdString(beside.words);
    return head_figure(std::move(data));
}

std::unique_ptr<Figure> model_difference(const Beside& beside, const ViewState& state, const CancelToken& cancel,
                                         const Progress&) {
    return compare_maps_view(beside, {.without_first = state.pattern.hide_sinks}, state.view, cancel);
}

}  // namespace headlight::figure
