// SPDX-License-Identifier: GPL-3.0-or-later
// Identities that hold whatever the weights are, over every family, and texts at the edge.
#include "headlight/analyze/heads/head_table.h"
#include "headlight/analyze/pattern/neuron_view.h"
#include "headlight/analyze/pattern/pair_chain.h"
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/analyze/pattern/pooled_axes.h"
#include "headlight/analyze/pattern/sinks.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"
#include "tests/analyze/traces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace headlight::analyze {
namespace trace_views_test {

const std::vector<PatternOptions>& many_options() {
    static const std::vector<PatternOptions> options = {
        {},
        {.weighting = Weighting::value_norm},
        {.hide_sinks = true},
        {.hide_sinks = true, .hide_special = true, .merge_words = true},
        {.weighting = Weighting::output_norm, .hide_special = true, .merge_words = true},
        {.filter = PairFilter::a_to_a, .merge_words = true},
        {.filter = PairFilter::a_to_b},
        {.filter = PairFilter::b_to_b, .hide_sinks = true}};
    return options;
}

std::vector<HeadId> some_heads(const trace::Trace& trace) {
    const auto& config = trace.config();
    return {head_id(0, 0), head_id(config.n_layers - 1, config.n_heads - 1), head_id(config.n_layers / 2, config.n_heads / 2)};
}

class EveryFamily : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(EveryFamily, ScoresOnScreenSumToTheWeights) {
    const TracePtr trace = run_model(GetParam(), cats);
    const std::int64_t n = trace->tokens();
    for (const HeadId id : some_heads(*trace)) {
        const Matrix score_map = scores(*trace, id);
        for (std::int64_t i = 0; i < n; ++i) {
            const NeuronView view = neuron_view(*trace, id, Position(i));
            const auto& config = trace->config();
            const model::KeyRange keys = model::legal_keys(i, n, config.causal, model::window_of(config, id.layer.value));
            Eigen::VectorXd score = view.scale * view.products.cast<double>().rowwise().sum();
            for (std::size_t j = 0; j < view.position.size(); ++j) score[static_cast<Eigen::Index>(j)] += view.position[j];
            for (const NeuronView::Term& term : view.terms) score += term.values.cast<double>();
            if (config.score_softcap > 0) score = (score.array() / config.score_softcap).tanh() * config.score_softcap;
            const Eigen::VectorXd visible = score.segment(keys.first, keys.count());
            Eigen::VectorXd weight = (visible.array() - visible.maxCoeff()).exp();
            weight *= (1 - static_cast<double>(view.sink)) / weight.sum();
            EXPECT_NEAR(static_cast<double>(view.weight.sum() + view.sink), 1, 1e-5);
            for (std::int64_t j = 0; j < n; ++j) {
                if (!keys.has(j)) {
                    EXPECT_TRUE(std::isnan(view.score[j]));
                    EXPECT_TRUE(std::isnan(score_map(i, j)));
                    EXPECT_EQ(view.weight[j], 0.0F);
                    continue;
                }
                EXPECT_NEAR(weight[j - keys.first], view.weight[j], 1e-5);
                EXPECT_NEAR(score[j], view.score[j], 1e-4 * std::max(1.0, std::abs(score[j])));
                EXPECT_NEAR(score_map(i, j), view.score[j], 1e-4 * std::max(1.0, std::abs(score[j])));
                EXPECT_FLOAT_EQ(view.weighted_value_norm[j], view.weight[j] * view.value_norm[j]);
            }
            EXPECT_TRUE(query_vectors(*trace, id).row(i).transpose().isApprox(view.q));
        }
    }
}

TEST_P(EveryFamily, ChainAgreesWithTheNeuronView) {
    const TracePtr trace = run_model(GetParam(), cats);
    const Position query(trace->tokens() - 1);
    for (const HeadId id : some_heads(*trace)) {
        const NeuronView view = neuron_view(*trace, id, query);
        std::vector<bool> ranks(static_cast<std::size_t>(trace->tokens()) + 1);
        for (std::int64_t j = 0; j < trace->tokens(); ++j) {
            const PairChain chain = pair_chain(*trace, id, query, Position(j), 0);
            EXPECT_EQ(chain.legal, !std::isnan(view.score[j]));
            if (!chain.legal) continue;  // outside a window
            EXPECT_NEAR(chain.content + chain.position.value_or(0), chain.score, 1e-9);
            const double cap = trace->config().score_softcap;
            EXPECT_NEAR(cap > 0 ? cap * std::tanh(chain.score / cap) : chain.score, view.score[j],
                        1e-4 * std::max(1.0, std::abs(chain.score)));
            EXPECT_FLOAT_EQ(static_cast<float>(chain.weight), view.weight[j]);
            EXPECT_NEAR(chain.value_norm, view.value_norm[j], 1e-4 * std::max(1.0, chain.value_norm));
            EXPECT_EQ(chain.position_kind, view.position_kind);
            EXPECT_TRUE(chain.promoted.empty()) << "none were asked for";
            ranks[static_cast<std::size_t>(chain.rank)] = true;
        }
        EXPECT_TRUE(ranks[1]);
    }
}

TEST_P(EveryFamily, PreparedRowsSumToOne) {
    const TracePtr trace = run_model(GetParam(), cats);
    for (const HeadId id : some_heads(*trace)) {
        for (const Weighting weighting : {Weighting::attention, Weighting::value_norm, Weighting::output_norm}) {
            for (const bool merge : {false, true}) {
                const Matrix map = pattern(*trace, id, {.weighting = weighting, .merge_words = merge});
                const Vector sinks = weighting == Weighting::attention ? sink_shares(*trace, id) : Vector();
                if (merge && sinks.size() > 0) continue;  // rows of a word are means
                for (Eigen::Index i = 0; i < map.rows(); ++i)
                    EXPECT_NEAR(map.row(i).sum(), sinks.size() > 0 ? 1 - sinks[i] : 1, 1e-5);
            }
        }
        const Matrix hidden = pattern(*trace, id, {.hide_sinks = true});
        const auto sinks = attention_sinks(*trace);
        for (Eigen::Index i = 0; i < hidden.rows(); ++i) {
            const auto keys =
                model::legal_keys(i, trace->tokens(), trace->config().causal, model::window_of(trace->config(), id.layer.value));
            bool any = false;
            for (std::int64_t j = keys.first; j < keys.last; ++j) any |= !(*sinks)[static_cast<std::size_t>(j)];
            EXPECT_NEAR(hidden.row(i).sum(), any ? 1 : 0, 1e-5);
        }
        if (trace->config().causal) {
            EXPECT_EQ(hidden.row(0).sum(), 0.0F) << "nothing is left to look at";
        }
    }
}

TEST_P(EveryFamily, SinksTakeMuchOfManyHeadsAndHandOnLittle) {
    const TracePtr trace = run_model(GetParam(), cats);
    const auto& config = trace->config();
    const std::int64_t n = trace->tokens();
    std::vector<std::int64_t> heads(static_cast<std::size_t>(n), 0);
    for (std::int64_t l = 0; l < config.n_layers; ++l)
        for (std::int64_t h = 0; h < config.n_heads; ++h) {
            const Matrix map = pattern(*trace, head_id(l, h), {});
            const at::Tensor v = trace::tensor(*trace, {model::Hook::v, Layer(l)})
                                     .select(1, h / (config.n_heads / config.n_kv_heads))
                                     .to(at::kDouble)
                                     .norm(2, 1)
                                     .contiguous();
            const std::vector<double> lengths(v.data_ptr<double>(), v.data_ptr<double>() + n);
            std::vector<double> sorted = lengths;
            std::sort(sorted.begin(), sorted.end());
            for (std::int64_t j = 0; j < n; ++j) {
                double sum = 0;
                int seen = 0;
                for (std::int64_t i = 0; i < n; ++i) {
                    const auto keys = model::legal_keys(i, n, config.causal, model::window_of(config, l));
                    if (i == j || !keys.has(j)) continue;
                    sum += static_cast<double>(map(i, j));
                    ++seen;
                }
                heads[static_cast<std::size_t>(j)] +=
                    seen >= 4 && sum > 0.3 * seen && lengths[static_cast<std::size_t>(j)] < 0.5 * sorted[sorted.size() / 2];
            }
        }
    const auto sinks = attention_sinks(*trace);
    std::int64_t columns = 0;
    for (std::int64_t j = 0; j < n; ++j) {
        const double share =
            static_cast<double>(heads[static_cast<std::size_t>(j)]) / static_cast<double>(config.n_layers * config.n_heads);
        EXPECT_EQ((*sinks)[static_cast<std::size_t>(j)], j == 0 || share >= 0.1) << j;
        columns += !(*sinks)[static_cast<std::size_t>(j)];
    }
    EXPECT_EQ(pattern(*trace, head_id(0, 0), {.hide_sinks = true}).cols(), columns);
}

TEST_P(EveryFamily, RowsAndColumnsAreThoseOfTheMap) {
    const bool takes_pairs = run_model(GetParam(), "a")->config().type_vocab_size > 1;
    const TracePtr trace = run_model(GetParam(), cats, takes_pairs ? "The cat waited." : "");
    const std::vector<HeadId> heads = some_heads(*trace);
    for (const PatternOptions& options : many_options()) {
        const PatternAxes axes = pattern_axes(*trace, options);
        std::vector<Matrix> maps;
        for (const HeadId id : heads) {
            maps.push_back(pattern(*trace, id, options));
            ASSERT_EQ(static_cast<std::size_t>(maps.back().rows()), axes.queries.size());
            ASSERT_EQ(static_cast<std::size_t>(maps.back().cols()), axes.keys.size());
        }
        for (std::int64_t row = 0; row < maps[0].rows(); ++row) {
            const Matrix rows = pattern_row(*trace, heads, row, options);
            for (std::size_t h = 0; h < heads.size(); ++h)
                EXPECT_LE((rows.row(static_cast<Eigen::Index>(h)) - maps[h].row(row)).cwiseAbs().sum(), 1e-6);
        }
        for (std::int64_t column = 0; column < maps[0].cols(); ++column) {
            const Matrix columns = pattern_column(*trace, heads, column, options);
            for (std::size_t h = 0; h < heads.size(); ++h)
                EXPECT_LE((columns.row(static_cast<Eigen::Index>(h)).transpose() - maps[h].col(column)).cwiseAbs().sum(), 1e-6);
        }
        for (std::int64_t p = 0; p < trace->tokens(); ++p) {
            const std::int64_t row = axes.query_row(Position(p));
            if (row < 0) continue;
            const AxisItem& item = axes.queries[static_cast<std::size_t>(row)];
            EXPECT_LE(item.first.value, p);
            EXPECT_LT(p, item.first.value + item.count);
        }
        EXPECT_EQ(axes.query_row(Position(trace->tokens())), -1);
    }
}

TEST_P(EveryFamily, OneTokenIsEnough) {
    const TracePtr trace = [&] {
        auto loaded = run_model(GetParam(), "a");
        return trace::run(loaded->model(), loaded->tokenizer(), {.text = "a", .pair = {}, .add_special_tokens = false});
    }();
    ASSERT_EQ(trace->tokens(), 1);
    const HeadTable table = head_table(*trace);
    EXPECT_TRUE(table.find("induction")->array().isNaN().all());
    const HeadId id = interesting_head(table);
    const InterestingPair pair = interesting_pair(*trace, id);
    EXPECT_EQ(pair.query, Position(0));
    EXPECT_EQ(pair.key, Position(0));
    const float alone = pattern_row(*trace, {id}, 0, PatternOptions{})(0, 0);  // 1 but for the head's sink
    EXPECT_NEAR(alone + neuron_view(*trace, id, Position(0)).sink, 1, trace->config().attention_sinks ? 1e-6 : 0);
    for (const PatternOptions& options : many_options()) {
        const Matrix map = pattern(*trace, id, options);
        EXPECT_EQ(pooled_pattern(*trace, id, options).max.rows(), map.rows());
        if (options.hide_sinks) {
            EXPECT_EQ(map.cols(), 0);
        } else if (options.filter == PairFilter::all || options.filter == PairFilter::a_to_a) {
            EXPECT_TRUE(map(0, 0) == 1.0F || map(0, 0) == alone) << map(0, 0);  // other weightings bring rows to 1
        }
    }
    EXPECT_EQ(scores(*trace, id).size(), 1);
    EXPECT_EQ(neuron_view(*trace, id, Position(0)).weight[0], alone);
    const PairChain chain = pair_chain(*trace, id, Position(0), Position(0));
    EXPECT_EQ(static_cast<float>(chain.weight), alone);
    EXPECT_EQ(chain.of, 1);
}

INSTANTIATE_TEST_SUITE_P(Models, EveryFamily, testing::ValuesIn(model_folders()), model_name);

TEST(EveryFamilyOfTheRegistry, HasAModelHere) {
    std::set<std::string> found;
    for (const auto& folder : model_folders()) found.insert(model::Model::load(folder)->config().family);
    const auto fixtures = source_folder() / "tests/fixtures/models";
    for (const char* others : {"encoder_decoders", "state_updates"})
        for (const auto& folder : std::filesystem::directory_iterator(fixtures.parent_path() / others))
            if (std::filesystem::exists(folder.path() / "config.json"))
                found.insert(model::Model::load(folder.path())->config().family);
    for (const char* of_pictures : {"vit", "deit", "clip#vision", "dinov2", "dinov2-registers", "dinov3", "siglip"})
        found.insert(model::Model::load(fixtures / of_pictures)->config().family);
    for (const std::string& family : model::family_names()) EXPECT_TRUE(found.count(family)) << family;
}

TEST(PairChainOfAMaskedKey, SaysOnlyThatItIsMasked) {
    const PairChain chain = pair_chain(*built_in(doctor), head_id(4, 5), Position(4), Position(13));
    EXPECT_FALSE(chain.legal);
    EXPECT_TRUE(chain.promoted.empty());
}

TEST(WhatDoesNotExist, IsAnErrorThatSaysWhatDoes) {
    const TracePtr trace = built_in(doctor);
    EXPECT_THROW(pattern(*trace, head_id(6, 0), {}), Error);
    EXPECT_THROW(pattern(*trace, head_id(0, -1), {}), Error);
    EXPECT_THROW(pattern_row(*trace, {head_id(0, 8)}, 0, {}), Error);
    EXPECT_THROW(pattern_row(*trace, {head_id(0, 0)}, 17, {}), Error);
    EXPECT_THROW(pattern_row(*trace, {head_id(0, 0)}, 0, {.filter = PairFilter::b_to_b}), Error);
    EXPECT_THROW(pattern_column(*trace, {head_id(0, 0)}, -1, {}), Error);
    EXPECT_THROW(neuron_view(*trace, head_id(0, 0), Position(17)), Error);
    EXPECT_THROW(pair_chain(*trace, head_id(0, 0), Position(0), Position(17)), Error);
    EXPECT_THROW(pooled_pattern(*trace, head_id(0, 0), {}, 0), Error);
    const ErrorFacts facts = error_facts([&] { query_vectors(*trace, head_id(6, 0)); });
    EXPECT_EQ(facts.item, "L6H0");
    EXPECT_EQ(facts.expected, "layer 0 to 5, head 0 to 7");
}

TEST(FirstSight, IsAnInductionHeadAndAPairThatShowsIt) {
    const TracePtr trace = built_in(doctor);
    const HeadTable table = head_table(*trace);
    const HeadId id = interesting_head(table);
    EXPECT_GT((*table.find("induction"))(id.layer.value, id.head.value), 0.5);
    const InterestingPair pair = interesting_pair(*trace, id);
    EXPECT_EQ(pair.query, Position(12)) << "the second \"old\" ...";
    EXPECT_EQ(pair.key, Position(3)) << "... attends to what followed the first one";
    const auto& ids = trace->encoding().ids;
    EXPECT_EQ(ids[12], ids[2]);
}

TEST(Axes, LabelWordsAndMarkSpecialTokens) {
    const TracePtr trace = built_in("Unfashionably, she asked.");
    const PatternAxes tokens = pattern_axes(*trace, {}), words = pattern_axes(*trace, {.merge_words = true});
    EXPECT_EQ(static_cast<std::int64_t>(tokens.keys.size()), trace->tokens());
    EXPECT_TRUE(tokens.keys[0].special);
    ASSERT_EQ(words.keys.size(), 6U);
    EXPECT_EQ(words.keys[1].label, "Unfashionably");
    EXPECT_EQ(words.keys[1].first, Position(1));
    EXPECT_GT(words.keys[1].count, 1);
    EXPECT_EQ(words.keys[3].label, "·she");
    EXPECT_EQ(words.key_column(Position(words.keys[1].first.value + words.keys[1].count - 1)), 1);
    EXPECT_EQ(pattern_axes(*trace, {.hide_sinks = true}).key_column(Position(0)), -1);
}

TEST(ReplacedPattern, IsShownAsItWasUsed) {
    const TracePtr plain = built_in(doctor);
    const double share = 1.0 / static_cast<double>(plain->tokens());
    const TracePtr trace = trace::run_with_hooks(
        plain->model(), plain->tokenizer(), {.text = doctor, .pair = {}}, {},
        {{"blocks.4.attn.hook_pattern", [&](model::HookPoint, const at::Tensor& p) { return at::full_like(p, share); }}});
    const HeadId id = head_id(4, 5);
    EXPECT_NEAR(pattern(*trace, id, {}).minCoeff(), share, 1e-7) << "the future too";
    const Matrix hidden = pattern(*trace, id, {.hide_sinks = true});
    for (Eigen::Index i = 0; i < hidden.rows(); ++i) EXPECT_NEAR(hidden.row(i).sum(), 1, 1e-5);
    EXPECT_TRUE(pattern_column(*trace, {id}, 9, {.hide_sinks = true}).isApprox(hidden.col(9).transpose(), 1e-6F));
    EXPECT_TRUE(pattern_row(*trace, {id}, 2, {.hide_sinks = true}).isApprox(hidden.row(2), 1e-6F));
}

TEST(PooledPattern, OverviewAndRecomputedPicturesAgree) {
    std::string text;
    for (int i = 0; i < 25; ++i) text += "The old doctor asked the nurse to wait; ";
    const TracePtr trace = built_in(text);
    ASSERT_GT(trace->tokens(), 128);
    const auto folder = source_folder() / "models/novella-7m";
    trace::CapturePlan bare;
    bare.overview = trace::no_overview;
    const TracePtr without = run_model(folder, text, {}, bare);
    ASSERT_FALSE(without->overview().any());
    for (const HeadId id : {head_id(0, 0), head_id(4, 5), head_id(5, 7)}) {
        for (const std::int64_t side : {128, 100, 64, 7, 1, 1000}) {
            const PooledMap a = pooled_pattern(*trace, id, {}, side), b = pooled_pattern(*without, id, {}, a.max.rows());
            ASSERT_LE(a.max.rows(), side);
            EXPECT_GT(a.max.rows() * 2, std::min<std::int64_t>(side, trace->tokens())) << "coarser than asked for";
            EXPECT_LE((a.max - b.max).cwiseAbs().maxCoeff(), 1e-6) << side;
            EXPECT_LE((a.mean - b.mean).cwiseAbs().maxCoeff(), 1e-6) << side;
        }
    }
}

TEST(PooledAxes, NameTheCellsOfAPooledMap) {
    const TracePtr trace =
        run_model(source_folder() / "models/novella-7m", doctor, {}, {.globs = {}, .overview = trace::no_overview});
    const HeadId id = head_id(4, 5);
    const std::int64_t n = trace->tokens(), side = 5;
    const PatternAxes whole = pattern_axes(*trace, {}), axes = pooled_axes(whole, side);
    const Matrix map = pattern(*trace, id, {}), pooled = pooled_pattern(*trace, id, {}, side, CancelToken()).max;
    ASSERT_EQ(axes.queries.size(), static_cast<std::size_t>(side));
    ASSERT_EQ(pooled.rows(), side);
    std::int64_t next = 0;
    for (std::int64_t c = 0; c < side; ++c) {
        const AxisItem& item = axes.queries[static_cast<std::size_t>(c)];
        EXPECT_EQ(item.first.value, next);
        next += item.count;
        for (std::int64_t p = item.first.value; p < next; ++p) EXPECT_EQ(axes.query_row(Position(p)), c);
        EXPECT_TRUE(item.label.starts_with(std::to_string(item.first.value) + " " +
                                           whole.queries[static_cast<std::size_t>(item.first.value)].label))
            << item.label;
        EXPECT_TRUE(item.label.ends_with(whole.queries[static_cast<std::size_t>(next - 1)].label));
        for (std::int64_t k = 0; k < side; ++k) {
            const AxisItem& key = axes.keys[static_cast<std::size_t>(k)];
            EXPECT_EQ(pooled(c, k), map.block(item.first.value, key.first.value, item.count, key.count).maxCoeff());
        }
    }
    EXPECT_EQ(next, n);
    EXPECT_EQ(pooled_axes(whole, 1000).queries.back().label, whole.queries.back().label) << "each by itself";
}

}  // namespace trace_views_test
}  // namespace headlight::analyze
