// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/heads/head_table.h"

#include "analyze/heads/head_excess.h"
#include "analyze/heads/head_measures.h"
#include "analyze/pattern/head_reader.h"
#include "headlight/analyze/heads/model_probe.h"
#include "headlight/base/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

namespace headlight::analyze {
namespace {

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

/// The queries of the text that have what some measures are about.
void count_queries(HeadTable& table, const trace::Trace& trace, bool with_first_row) {
    table.causal = trace.config().causal;
    table.rows = trace.tokens() - (table.causal && !trace.across_texts() && !with_first_row ? 1 : 0);
    if (trace.across_texts()) return;
    const text::Encoding& text = trace.encoding();
    const std::vector<std::int64_t> same = previous_same_tokens(text.ids);
    table.queries["induction"] = table.queries["duplicate_token"] =
        std::count_if(same.begin(), same.end(), [](std::int64_t j) { return j >= 0; });
    using Kind = HeadExcess::Kind;
    std::set<std::int64_t> windows;
    for (std::int64_t l = 0; l < table.n_layers; ++l) windows.insert(model::window_of(trace.config(), l));
    for (const auto& [id, kind] :
         {std::pair("induction_excess", Kind::induction), std::pair("duplicate_excess", Kind::duplicate_token),
          std::pair("previous_excess", Kind::previous_token)})
        for (const std::int64_t window : windows) {
            // Of layers that see different keys the one with the fewest counts.
            const trace::PatternShape shape{trace.tokens(), trace.keys(), false, table.causal, window};
            const std::int64_t queries = HeadExcess(kind, shape, same, text.special).queries();
            const auto [count, first] = table.queries.emplace(id, queries);
            if (!first) count->second = std::min(count->second, queries);
        }
}

}  // namespace

std::string repeats_text(const HeadTable& table, std::string_view measure_id) {
    const auto found = table.queries.find(measure_id);
    if (found == table.queries.end() || measure_id == "previous_excess") return {};
    return std::to_string(found->second) + (found->second == 1 ? " repeat" : " repeats");
}

const Eigen::MatrixXd* HeadTable::find(std::string_view measure_id) const noexcept {
    for (std::size_t m = 0; m < measures.size() && m < values.size(); ++m)
        if (measures[m].id == measure_id) return &values[m];
    return nullptr;
}

HeadTable unmeasured_heads(const model::ModelConfig& c) {
    HeadTable table;
    table.n_layers = c.n_layers;
    table.n_heads = c.n_heads;
    table.n_kv_heads = c.n_kv_heads;
    table.measures = head_measures();
    table.values.assign(table.measures.size(), Eigen::MatrixXd::Constant(table.n_layers, table.n_heads, kNaN));
    table.causal = c.causal;
    return table;
}

HeadTable head_table(const trace::Trace& trace, const HeadTableOptions& options) {
    HeadTable table = unmeasured_heads(trace.config());
    for (std::int64_t layer = 0; layer < table.n_layers; ++layer)
        for (std::int64_t head = 0; head < table.n_heads; ++head) {
            const std::vector<double>& numbers = trace.head_numbers(Layer(layer), Head(head), options.with_first_row);
            for (std::size_t m = 0; m < numbers.size(); ++m) table.values[m](layer, head) = numbers[m];
        }
    const HeadUpdates updates = head_updates(trace, options.with_first_row, 0, true);
    for (std::size_t m = 0; m < table.values.size(); ++m)
        if (const Eigen::MatrixXd* update = update_of(m, updates)) table.values[m] = *update;
    count_queries(table, trace, options.with_first_row);
    if (const auto probe = known_probe(*trace.model())) fill_probe(table, *probe);
    return table;
}

HeadId interesting_head(const HeadTable& table) {
    const auto any = [](HeadId) { return true; };
    const Eigen::MatrixXd* excess = table.find("induction_excess");
    const Eigen::MatrixXd* probe = table.find("probe_induction");
    const bool probed = probe && !probe->array().isNaN().all();
    const auto is_induction = [&](HeadId id) { return !probed || (*probe)(id.layer.value, id.head.value) >= induction_from; };
    if (const auto head = best_head(table, excess, is_induction))
        if ((*excess)(head->layer.value, head->head.value) >= (probed ? 0.1 : induction_from)) return *head;

    const Eigen::MatrixXd* focus = table.find("top1_minus_top2");
    const Eigen::MatrixXd* self = table.find("share_self");
    const Eigen::MatrixXd* first = table.find("share_first");
    const auto looks_around = [&](HeadId id) {
        const auto below_half = [&](const Eigen::MatrixXd* m) { return !m || (*m)(id.layer.value, id.head.value) < 0.5; };
        return id.layer.value > 0 && below_half(self) && below_half(first);
    };
    if (const auto head = best_head(table, focus, looks_around)) return *head;
    return best_head(table, focus, any).value_or(HeadId{});
}

InterestingPair interesting_pair(const trace::Trace& trace, HeadId id, const CancelToken& cancel) {
    check_head(trace, id);
    const text::Encoding& encoding = trace.encoding();
    const std::int64_t n = trace.tokens();
    const bool across = trace.across_texts();
    const auto index = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    enum Class { special, plain, induction, classes };
    struct Best {
        InterestingPair pair;
        float weight = -1;
    };
    std::array<Best, classes> best;
    const auto take = [&](std::int64_t i, const float* row) {
        const std::int64_t end = trace.config().causal ? i : trace.keys();
        for (std::int64_t j = across ? 0 : 1; j < end; ++j) {
            if (j == i && !across) continue;
            const bool behind_copy = !across && j - 1 < i && encoding.ids[index(j - 1)] == encoding.ids[index(i)];
            const bool is_special = encoding.special[index(i)] || trace.key_encoding().special[index(j)];
            Best& so_far = best[is_special ? special : behind_copy ? induction : plain];
            if (row[j] > so_far.weight) so_far = {{Position(i), Position(j)}, row[j]};
        }
    };
    for_each_pattern_row(trace, id, 0, n, take, cancel);
    if (best[induction].weight > std::min(0.3F, best[plain].weight)) return best[induction].pair;
    if (best[plain].weight >= 0) return best[plain].pair;
    return best[special].weight >= 0 ? best[special].pair : InterestingPair{Position(n - 1), Position(0)};
}

}  // namespace headlight::analyze
