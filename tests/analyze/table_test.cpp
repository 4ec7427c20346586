// SPDX-License-Identifier: GPL-3.0-or-later
// The table of every analysis: its columns, and numbers that are those of the result.
#include "headlight/analyze/table.h"

#include "headlight/analyze/architecture/kv_cache.h"
#include "headlight/analyze/circuit/composition.h"
#include "headlight/analyze/circuit/copy_suppression.h"
#include "headlight/analyze/circuit/head_circuit.h"
#include "headlight/analyze/circuit/importance.h"
#include "headlight/analyze/columns.h"
#include "headlight/analyze/contribution/contributions.h"
#include "headlight/analyze/contribution/drivers.h"
#include "headlight/analyze/contribution/experts.h"
#include "headlight/analyze/contribution/value_mix.h"
#include "headlight/analyze/focus/focus.h"
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/analyze/prediction/refinement.h"
#include "headlight/analyze/rollout/rollout.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "tests/analyze/traces.h"

#include <array>
#include <cmath>
#include <optional>

namespace headlight::analyze {
namespace table_test {

using Cell = Table::Cell;

TracePtr short_run() {
    static const TracePtr trace = built_in("The old doctor asked the nurse");
    return trace;
}

std::size_t column(const Table& table, const std::string& name) {
    const auto at = std::find(table.columns.begin(), table.columns.end(), name);
    EXPECT_NE(at, table.columns.end()) << name;
    return static_cast<std::size_t>(at - table.columns.begin());
}
double number(const Table& table, std::size_t row, const std::string& name) {
    const Cell& cell = table.rows.at(row).at(column(table, name));
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
    return std::holds_alternative<double>(cell) ? std::get<double>(cell) : kNaN;
}
std::string word(const Table& table, std::size_t row, const std::string& name) {
    return std::get<std::string>(table.rows.at(row).at(column(table, name)));
}
void expect_whole(const Table& table, std::size_t rows) {
    EXPECT_EQ(table.rows.size(), rows);
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
    for (const auto& [name, what] : table.definitions) {
        const bool is_array =
            std::any_of(table.arrays.begin(), table.arrays.end(), [&](const auto& a) { return a.name == name; });
        EXPECT_TRUE(is_array || std::find(table.columns.begin(), table.columns.end(), name) != table.columns.end()) << name;
        EXPECT_FALSE(what.empty()) << name;
    }
}

TEST(Table, WritesGapsQuotesAndNumbersThatReadBack) {
    Table table{{"a", "b", "c"}, {}};
    table.add({std::string("say \"no\""), 0.1});
    table.add({std::int64_t{3}, kNaN, static_cast<double>(0.1F)});
    EXPECT_EQ(csv_text(table), "a,b,c\n\"say \"\"no\"\"\",0.1,\n3,,0.1\n");
    table.columns[1] = "of `,`";
    EXPECT_TRUE(csv_text(table).starts_with("a,\"of `,`\",c\n"));
    table.columns[1] = "b";
    EXPECT_EQ(json_members(table),
              "\"columns\": [\"a\", \"b\", \"c\"],\n\"rows\": [\n[\"say \\\"no\\\"\", 0.1, null],\n[3, null, 0.1]\n]");
    EXPECT_THROW(check_rows(2'100'001, 5000), Error);
    EXPECT_NO_THROW(check_rows(2048 * 2049 / 2, 2048));
}

TEST(Columns, KeepNumbersGapsAndDefinitions) {
    struct Row {
        Layer layer;
        bool own = false;
        float share = 0;
        std::optional<double> rest;
    };
    Columns<Row> columns{{"layer", &Row::layer, "of the model"},
                         {"own", &Row::own},
                         {"share", &Row::share},
                         {"rest", &Row::rest},
                         {"token", [](const Row& row) { return row.own ? "a" : "b"; }, "its text"},
                         {"shared", 7},
                         {"absent", 8, "left out", false}};
    columns.add({"number", [](const Row&, std::int64_t number) { return number; }});
    const Table table = columns.table({{Layer(3), true, 0.5F, {}}, {Layer(4), false, 0.25F, 2.0}});
    EXPECT_EQ(csv_text(table), "layer,own,share,rest,token,shared,number\n3,1,0.5,,\"a\",7,0\n4,0,0.25,2,\"b\",7,1\n");
    EXPECT_TRUE(std::holds_alternative<std::int64_t>(table.rows[0][1])) << "NPZ has whole numbers";
    EXPECT_EQ(table.definitions,
              (std::vector<std::pair<std::string, std::string>>{{"layer", "of the model"}, {"token", "its text"}}));
}

TEST(Table, NamedArraysAreRowMajor) {
    Eigen::MatrixXd m(2, 3);
    m << 1, 2, 3, 4, 5, 6;
    const NamedArray map = named_array("m", m), vector = named_array("v", Eigen::VectorXd(m.row(1)));
    EXPECT_EQ(map.shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(map.values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(vector.shape, (std::vector<std::int64_t>{3}));
}

TEST(TableOf, LensHasItsTokensAndTheWatchedOne) {
    const auto trace = short_run();
    const std::int64_t watched = trace->encoding().ids[1];
    const LogitLens lens = logit_lens(*trace, {.top = 3, .watched = watched});
    const Table table = table_of(lens, *trace, 3);
    std::size_t extra = 0;
    for (const LensState& state : lens.states) extra += state.watched_rank >= 3;
    EXPECT_GT(extra, 0U);
    expect_whole(table, 3 * lens.states.size() + extra);
    EXPECT_EQ(word(table, 0, "text_token"), token_name(trace->labels(), 0));
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        const LensState& state =
            lens.state(std::get<std::int64_t>(table.rows[r][0]), Position(std::get<std::int64_t>(table.rows[r][1])));
        const bool first = number(table, r, "rank") == 0;
        EXPECT_EQ(std::isnan(number(table, r, "entropy")), !first);
        if (!first) continue;
        EXPECT_EQ(number(table, r, "probability"), static_cast<double>(state.top[0].probability));
        EXPECT_EQ(number(table, r, "kl_to_final"), state.kl_to_final);
        EXPECT_EQ(number(table, r, "watched_id"), static_cast<double>(watched));
        EXPECT_EQ(number(table, r, "watched_rank"), static_cast<double>(state.watched_rank));
    }
    expect_whole(
        table_of(lens, *trace, 1), lens.states.size() + [&] {
            std::size_t more = 0;
            for (const LensState& state : lens.states) more += state.watched_rank >= 1;
            return more;
        }());
}

TEST(TableOf, MlpTurnsTheEndsWithTheSign) {
    const auto trace = short_run();
    auto found = memories(*trace, Layer(3), Position(4));
    const auto negative_from =
        std::stable_partition(found.begin(), found.end(), [](const Memory& m) { return m.coefficient >= 0; });
    found.erase(found.begin() + 20, std::min(negative_from, found.end() - 10));
    found.resize(30);
    std::vector<Neuron> neurons;
    for (const Memory& m : found) neurons.push_back(m.neuron);
    const auto promoted = promoted_tokens(*trace->model(), Layer(3), neurons, {.top = promoted_listed});
    const Table table = table_of(found, promoted, *trace, Layer(3), Position(4));
    expect_whole(table, 30);
    std::size_t negative = 0;
    for (std::size_t r = 0; r < 30; ++r) {
        EXPECT_EQ(number(table, r, "contribution_norm"), std::abs(found[r].coefficient) * found[r].value_norm);
        EXPECT_EQ(number(table, r, "top_token_id"), static_cast<double>(promoted[r].top[0].id));
        negative += found[r].coefficient < 0;
        EXPECT_TRUE(
            word(table, r, "raises").starts_with(word(table, r, found[r].coefficient < 0 ? "bottom_token" : "top_token")));
    }
    EXPECT_GT(negative, 0U);
    const Table coefficients = table_of(found, {}, *trace, Layer(3), Position(4));
    expect_whole(coefficients, 30);
    EXPECT_EQ(number(coefficients, 7, "pre_activation"), found[7].pre);
}

TEST(TableOf, AttributionEndsInTheTotalAndThenTheSources) {
    const auto trace = short_run();
    const Decomposition whole = attribution(*trace, Position(4), {.token = 7});
    const Eigen::VectorXd sources = head_sources(*trace, {Layer(4), Head(5)}, Position(4), {.token = 7});
    const Table table = table_of(whole, {Layer(4), Head(5)}, sources);
    const std::size_t parts = whole.parts.size();
    expect_whole(table, parts + 1 + static_cast<std::size_t>(sources.size()));
    EXPECT_EQ(word(table, parts, "component"), "total");
    double sum = 0, from_sources = 0, head = 0;
    for (std::size_t r = 0; r < parts; ++r) {
        sum += number(table, r, "contribution");
        if (word(table, r, "component") == "head" && number(table, r, "layer") == 4 && number(table, r, "index") == 5)
            head = number(table, r, "contribution");
    }
    for (std::size_t r = parts + 1; r < table.rows.size(); ++r) from_sources += number(table, r, "contribution");
    EXPECT_NEAR(sum, number(table, parts, "contribution"), 1e-4);
    EXPECT_NEAR(from_sources, head, 1e-5);
    const Decomposition neuron = neuron_drivers(*trace, {Layer(2), Neuron(3)}, Position(4));
    expect_whole(drivers_table(neuron), neuron.parts.size() + 1);
}

TEST(TableOf, DriversHaveARowForEachHead) {
    const auto trace = short_run();
    const auto driven = next_token_drivers(*trace, 7, Position(3), 4, 2);
    const Table table = table_of(driven);
    expect_whole(table, 8);
    EXPECT_EQ(number(table, 3, "contribution"), driven[1].heads[1].second);
    EXPECT_EQ(number(table, 3, "from_head"), static_cast<double>(driven[1].heads[1].first.head.value));
    const auto down = downstream_neurons(*trace, {Layer(1), Head(2)}, Position(3), 6);
    expect_whole(downstream_table(down), 6);
    EXPECT_EQ(number(downstream_table(down), 5, "pre_activation"), down[5].pre);
    const auto next = next_token_neurons(*trace->model(), 7, 5);
    expect_whole(next_token_table(next), 5);
    EXPECT_EQ(number(next_token_table(next), 4, "score"), next[4].value);
}

TEST(TableOf, ContributionsNameBothTokens) {
    const auto trace = short_run();
    const ContributionGraph graph = contribution_graph(*trace, Position(4));
    const Table table = table_of(graph, *trace);
    std::size_t rows = 0;
    for (const ContributionEdge& edge : graph.edges) rows += 1 + edge.heads.size();
    expect_whole(table, rows);
    for (std::size_t r = 0; r < rows; ++r)
        EXPECT_EQ(word(table, r, "from_token"), token_name(trace->labels(), static_cast<std::int64_t>(number(table, r, "from"))));
    EXPECT_EQ(number(table, 0, "contribution"), graph.edges[0].weight);
}

TEST(TableOf, ExpertsListsTheChosenOnes) {
    const auto trace = run_model(source_folder() / "tests/fixtures/models/mixtral", "the cat sat");
    const ExpertUse use = expert_use(*trace, Layer(1));
    const Table table = table_of(std::vector{use}, *trace);
    expect_whole(table, static_cast<std::size_t>(trace->tokens() * trace->config().experts.chosen));
    for (std::size_t r = 0; r < table.rows.size(); ++r)
        EXPECT_EQ(number(table, r, "weight"),
                  static_cast<double>(use.weights(static_cast<Eigen::Index>(number(table, r, "position")),
                                                  static_cast<Eigen::Index>(number(table, r, "expert")))));
    EXPECT_EQ(table.arrays.at(0).name, "layer_1_weights");
}

TEST(TableOf, PredictionsHaveARowForEachCandidate) {
    const auto trace = short_run();
    const auto found = predictions(*trace, 3);
    const Table table = table_of(found, *trace->tokenizer());
    expect_whole(table, 3 * found.size());
    EXPECT_TRUE(std::isnan(number(table, 0, "log_probability")));
    EXPECT_TRUE(std::isnan(number(table, 0, "rank"))) << "a gap, not -1";
    EXPECT_EQ(number(table, 7, "next_probability"), static_cast<double>(found[2].next[1].probability));
    const auto masked =
        masked_candidates(*run_model(source_folder() / "tests/fixtures/models/bert-mlm", "the cat sat"), Position(2), 4);
    const auto tokenizer = text::Tokenizer::load(source_folder() / "tests/fixtures/models/bert-mlm");
    expect_whole(table_of(masked, *tokenizer), 4);
    EXPECT_EQ(number(table_of(masked, *tokenizer), 3, "probability"), static_cast<double>(masked.candidates[3].probability));
}

TEST(TableOf, RefinementHasARowForEachLayer) {
    const auto trace = short_run();
    const Refinement found = refinement({trace});
    const Table table = table_of(found);
    expect_whole(table, 6);
    for (std::size_t l = 0; l < 6; ++l) {
        EXPECT_NEAR(number(table, l, "agreement") + number(table, l, "residual") + number(table, l, "ffn") +
                        number(table, l, "composition"),
                    1, 1e-9);
        EXPECT_EQ(number(table, l, "residual_probability_high"), found.layers[l].residual_probability_high);
    }
    expect_whole(last_layer_table(found, *trace->tokenizer()), found.last_layer.size());
}

TEST(TableOf, CircuitsHaveTheirScores) {
    const auto model = short_run()->model();
    const CompositionScores scores = composition_scores(*model);
    const Table table = table_of(composed_pairs(scores));
    expect_whole(table, 3 * 8 * 8 * 15);
    EXPECT_EQ(word(table, 8 * 8 * 15, "kind"), "K");
    for (std::size_t r = 0; r < table.rows.size(); r += 97) {
        const auto id = [&](const char* layer, const char* head) {
            return HeadId{Layer(static_cast<std::int64_t>(number(table, r, layer))),
                          Head(static_cast<std::int64_t>(number(table, r, head)))};
        };
        const Composition kind = word(table, r, "kind") == "Q"   ? Composition::q
                                 : word(table, r, "kind") == "K" ? Composition::k
                                                                 : Composition::v;
        EXPECT_EQ(number(table, r, "score"), scores.at(kind, id("from_layer", "from_head"), id("to_layer", "to_head")));
    }
    const std::array spectra{circuit_spectrum(*model, Circuit::ov, {Layer(5), Head(7)}),
                             circuit_spectrum(*model, Circuit::qk, {Layer(5), Head(7)})};
    const Table eigenvalues = table_of(spectra);
    expect_whole(eigenvalues, 64);
    EXPECT_EQ(number(eigenvalues, 33, "size"), std::abs(spectra[1].eigenvalues[1]));
    EXPECT_EQ(eigenvalues.arrays.at(1).values.at(3), static_cast<float>(spectra[1].eigenvalues[1].imag()));
}

TEST(TableOf, CopySuppressionNamesItsPairs) {
    const auto trace = short_run();
    const auto pairs = suppressed_pairs(*trace, HeadId{Layer(4), Head(2)}, {.threshold = 0.05});
    ASSERT_GT(pairs.size(), 2U);
    const Table table = table_of(pairs, *trace);
    expect_whole(table, pairs.size());
    EXPECT_EQ(number(table, 2, "source_token_id"),
              static_cast<double>(trace->encoding().ids[static_cast<std::size_t>(pairs[2].source.value)]));
    EXPECT_EQ(number(table, 2, "logit_change"), pairs[2].logit_change);
    const auto explained = suppression_explained(*trace, {Layer(4), Head(2)});
    expect_whole(table_of(std::vector{explained}), 1);
    EXPECT_EQ(number(table_of(std::vector{explained}), 0, "kl_ablated"), explained.kl_ablated);
}

TEST(TableOf, ImportanceHasTokensLayersAndGradients) {
    const auto trace = short_run();
    const Importance r = importance(*trace->model(), *trace->tokenizer(), trace->encoding(), Position(3), {.permutations = 3});
    const Table tokens = table_of(r, trace->encoding(), std::nullopt, *trace->tokenizer()), layers = layers_table(r);
    expect_whole(tokens, 4);
    EXPECT_EQ(number(tokens, 2, "attention_layer_4"), r.attention(4, 2));
    EXPECT_EQ(number(tokens, 2, "attention"), r.attention.col(2).mean());
    EXPECT_EQ(tokens.arrays.at(1).shape, (std::vector<std::int64_t>{6, 4}));
    expect_whole(layers, 24);
    EXPECT_EQ(word(layers, 6, "measure"), "value_weighted");
    EXPECT_EQ(number(layers, 6, "kendall"), r.layers[1].weighted_gradient.kendall);
    const AttentionGradient g = attention_gradient(*trace->model(), *trace->tokenizer(), trace->encoding());
    const Table gradients = table_of(g);
    expect_whole(gradients, 6 * 8 * g.groups.size());
    EXPECT_EQ(number(gradients, g.groups.size(), "mean_abs_gradient"), g.gradient[0](0, 1));
}

TEST(TableOf, RolloutHasEveryLegalPair) {
    const auto trace = short_run();
    const Rollout rolled = rollout(*trace), flow = attention_flow(*trace);
    const std::int64_t n = trace->tokens();
    const Table table = table_of(*trace, rolled.layers, &rolled.maps, &flow.maps);
    expect_whole(table, static_cast<std::size_t>(6 * n * (n + 1) / 2));
    EXPECT_EQ(std::ssize(table.rows), table_rows(*trace, 6));
    EXPECT_EQ(number(table, 4, "rollout"), static_cast<double>(rolled.maps[0](2, 1)));
    EXPECT_EQ(number(table, 4, "flow"), static_cast<double>(flow.maps[0](2, 1)));
    const Rollout one = rollout(*trace, {.layer = Layer(5), .query = Position(3)});
    const Table row = table_of(*trace, one.layers, &one.maps, nullptr, Position(3));
    expect_whole(row, 4);
    // Rows by themselves and whole maps are products of other sizes, which a processor may sum in another order.
    EXPECT_NEAR(number(row, 2, "rollout"), static_cast<double>(rolled.maps[5](3, 2)), 1e-7);
    EXPECT_EQ(arrays_of(*trace, &rolled.maps, &flow.maps).arrays.at(1).shape, (std::vector<std::int64_t>{6, n, n}));
}

TEST(TableOf, FocusTermsSumToTheScoreInRowsAndArrays) {
    const auto trace = short_run();
    const HeadId id{Layer(1), Head(2)};
    const Table best = table_of(focus_breakdown(std::array{trace}, id, 1), trace->labels());
    expect_whole(best, static_cast<std::size_t>(trace->tokens()));
    EXPECT_TRUE(std::isnan(number(best, 0, "score"))) << "the first query has no second target";
    const Table all = focus_table(*trace, id, {}, false), arrays = focus_table(*trace, id, {}, true);
    const std::int64_t n = trace->tokens();
    ASSERT_EQ(std::ssize(all.rows), n * (n + 1) / 2);
    ASSERT_TRUE(arrays.rows.empty());
    ASSERT_EQ(arrays.arrays.size(), 5U);
    EXPECT_TRUE(std::isnan(arrays.arrays[3].values[1])) << "masked";
    for (std::size_t r = 0; r < all.rows.size(); ++r) {
        EXPECT_NEAR(number(all, r, "position_term") + number(all, r, "bias_term") + number(all, r, "quadratic_term"),
                    number(all, r, "score"), 1e-5);
        const auto at = static_cast<std::size_t>(number(all, r, "query") * static_cast<double>(n) + number(all, r, "key"));
        EXPECT_EQ(arrays.arrays[4].values[at], static_cast<float>(number(all, r, "probability")));
    }
}

TEST(TableOf, ValueMixHasRatiosAndPairs) {
    const auto trace = short_run();
    const std::int64_t n = trace->tokens();
    const Table ratios = mixing_table(*trace);
    expect_whole(ratios, static_cast<std::size_t>(6 * n));
    EXPECT_EQ(number(ratios, static_cast<std::size_t>(2 * n + 3), "ratio_residual"),
              static_cast<double>(mixing_ratio(*trace, Layer(2), MixScope::attention_residual)[3]));
    const Table pairs = mix_table(*trace, Layer(2), Head(1), false), arrays = mix_table(*trace, Layer(2), Head(1), true);
    expect_whole(pairs, static_cast<std::size_t>(n * (n + 1) / 2));
    EXPECT_EQ(number(pairs, 4, "head_length"), static_cast<double>(head_value_mix(*trace, {Layer(2), Head(1)})(2, 1)));
    EXPECT_EQ(arrays.arrays.size(), 4U);
    EXPECT_EQ(arrays.arrays[1].values[static_cast<std::size_t>(2 * n + 1)], static_cast<float>(number(pairs, 4, "head_length")));
}

TEST(TableOf, KvCacheHasARowForEachSchemeAndContext) {
    const KvCache cache = kv_cache(short_run()->config(), {.contexts = {16, 64}});
    const Table table = table_of(cache);
    expect_whole(table, 2 * cache.schemes.size());
    EXPECT_EQ(number(table, 1, "bytes"), 64 * 2 * number(table, 1, "elements_per_token"));
}

}  // namespace table_test
}  // namespace headlight::analyze
