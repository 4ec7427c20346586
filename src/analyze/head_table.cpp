// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/head_table.h"

#include "analyze/head_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace headlight::analyze {
namespace {

using Field = double trace::HeadSummary::*;
constexpr double data_driven = std::numeric_limits<double>::quiet_NaN();

struct Measure {
    MeasureInfo info;
    Field field;
};

/// The one list of measures: order of the columns everywhere.
const std::vector<Measure>& measure_list() {
    using S = trace::HeadSummary;
    static const std::vector<Measure> list = {
        {{"entropy", "entropy", "Mean over queries of -sum_j a_ij ln a_ij (Clark 2019, 3.3; unsmoothed).", "nats", 0,
          data_driven},
         &S::entropy},
        {{"mean_distance", "mean distance",
          "Mean over queries of sum_j a_ij |i - j| (after Vig & Belinkov 2019, with the first token).", "tokens", 0,
          data_driven},
         &S::mean_distance},
        {{"share_self", "share on itself", "Mean over queries of a_ii (Clark 2019, 3.1).", "share", 0, 1},
         &S::share_self},
        {{"share_previous", "share on the previous token", "Mean over queries of a_i,i-1 (Clark 2019, 3.1).", "share",
          0, 1},
         &S::share_previous},
        {{"share_next", "share on the next token",
          "Mean over queries of a_i,i+1 (Clark 2019, 3.1); 0 in causal models.", "share", 0, 1},
         &S::share_next},
        {{"share_first", "share on the first token",
          "Mean over queries of a_i0, the attention sink (Vig & Belinkov 2019).", "share", 0, 1},
         &S::share_first},
        {{"share_special", "share on special tokens",
          "Mean over queries of sum_j a_ij over special tokens such as <s>, [CLS], [SEP] (Clark 2019, 3.2).", "share",
          0, 1},
         &S::share_special},
        {{"top1_minus_top2", "focus: largest minus second",
          "Mean over queries of the largest weight minus the second largest; 1: all on one token.", "share", 0, 1},
         &S::top1_minus_top2},
        {{"argmax_self", "mostly itself", "Share of queries whose largest weight is on themselves.", "share", 0, 1},
         &S::argmax_self},
        {{"argmax_first", "mostly the first token", "Share of queries whose largest weight is on the first token.",
          "share", 0, 1},
         &S::argmax_first},
        {{"induction", "induction score",
          "Mean over queries that repeat an earlier token of the weight on tokens right behind an earlier copy "
          "(Elhage 2021, Olsson 2022), on this text.",
          "share", 0, 1},
         &S::induction},
        {{"duplicate_token", "duplicate-token score",
          "Mean over queries that repeat an earlier token of the weight on its earlier copies (Wang 2022), on this "
          "text.",
          "share", 0, 1},
         &S::duplicate_token},
        {{"max_weight", "largest weight", "Largest single weight of the head.", "share", 0, 1}, &S::max_weight},
    };
    return list;
}

/// The head with the largest value of `measure` among those that `wanted` accepts; empty when there is none.
template <class Wanted>
std::optional<HeadId> best_head(const HeadTable& table, const Eigen::MatrixXd* measure, Wanted wanted) {
    std::optional<HeadId> best;
    double best_value = 0;
    if (!measure) return best;
    for (std::int64_t layer = 0; layer < table.n_layers; ++layer) {
        for (std::int64_t head = 0; head < table.n_heads; ++head) {
            const double value = (*measure)(layer, head);
            const HeadId id{Layer(layer), Head(head)};
            if (std::isnan(value) || !wanted(id) || (best && value <= best_value)) continue;
            best = id;
            best_value = value;
        }
    }
    return best;
}

}  // namespace

const std::vector<MeasureInfo>& head_measures() {
    static const std::vector<MeasureInfo> infos = [] {
        std::vector<MeasureInfo> out;
        for (const Measure& measure : measure_list()) out.push_back(measure.info);
        return out;
    }();
    return infos;
}

const Eigen::MatrixXd* HeadTable::find(std::string_view measure_id) const noexcept {
    for (std::size_t m = 0; m < measures.size() && m < values.size(); ++m)
        if (measures[m].id == measure_id) return &values[m];
    return nullptr;
}

HeadTable head_table(const trace::Trace& trace) {
    HeadTable table;
    table.n_layers = trace.config().n_layers;
    table.n_heads = trace.config().n_heads;
    table.measures = head_measures();
    table.values.assign(table.measures.size(), Eigen::MatrixXd(table.n_layers, table.n_heads));
    for (std::int64_t layer = 0; layer < table.n_layers; ++layer) {
        for (std::int64_t head = 0; head < table.n_heads; ++head) {
            const trace::HeadSummary& summary = trace.summary(Layer(layer), Head(head));
            for (std::size_t m = 0; m < table.values.size(); ++m)
                table.values[m](layer, head) = summary.*(measure_list()[m].field);
        }
    }
    return table;
}

HeadId interesting_head(const HeadTable& table) {
    const auto any = [](HeadId) { return true; };
    const Eigen::MatrixXd* induction = table.find("induction");
    if (const auto head = best_head(table, induction, any))
        if ((*induction)(head->layer.value, head->head.value) > 0.3) return *head;

    const Eigen::MatrixXd* focus = table.find("top1_minus_top2");
    const Eigen::MatrixXd* self = table.find("share_self");
    const Eigen::MatrixXd* first = table.find("share_first");
    const auto looks_around = [&](HeadId id) {
        const auto below_half = [&](const Eigen::MatrixXd* m) {
            return !m || (*m)(id.layer.value, id.head.value) < 0.5;
        };
        return id.layer.value > 0 && below_half(self) && below_half(first);
    };
    if (const auto head = best_head(table, focus, looks_around)) return *head;
    return best_head(table, focus, any).value_or(HeadId{});
}

InterestingPair interesting_pair(const trace::Trace& trace, HeadId id) {
    check_head(trace, id);
    const text::Encoding& encoding = trace.encoding();
    const std::int64_t n = trace.tokens();
    const auto index = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    enum Class { special, plain, induction, classes };
    struct Best {
        InterestingPair pair;
        float weight = -1;
    };
    std::array<Best, classes> best;
    for_each_pattern_row(trace, id, 0, n, [&](std::int64_t i, const float* row) {
        const std::int64_t end = trace.config().causal ? i : n;
        for (std::int64_t j = 1; j < end; ++j) {
            if (j == i) continue;
            const bool behind_copy = j - 1 < i && encoding.ids[index(j - 1)] == encoding.ids[index(i)];
            const bool is_special = encoding.special[index(i)] || encoding.special[index(j)];
            Best& so_far = best[is_special ? special : behind_copy ? induction : plain];
            if (row[j] > so_far.weight) so_far = {{Position(i), Position(j)}, row[j]};
        }
    });
    if (best[induction].weight > std::min(0.3F, best[plain].weight)) return best[induction].pair;
    if (best[plain].weight >= 0) return best[plain].pair;
    return best[special].weight >= 0 ? best[special].pair : InterestingPair{Position(n - 1), Position(0)};
}

}  // namespace headlight::analyze
