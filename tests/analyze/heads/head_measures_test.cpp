// SPDX-License-Identifier: GPL-3.0-or-later
// The measures that are gathered while rows pass against plain double loops over the whole pattern.
#include "analyze/heads/head_measures.h"

#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"
#include "tests/analyze/heads/naive_measures.h"
#include "tests/analyze/traces.h"
#include "trace/head_kernels.h"

#include <gtest/gtest.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <thread>

namespace headlight::analyze {
namespace head_measures_test {

using namespace testing_support;

Example make_example(std::int64_t tokens, bool causal, unsigned seed, std::int64_t vocabulary = 40) {
    Example e;
    e.causal = causal;
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    const auto n = static_cast<std::size_t>(tokens);
    e.pattern.assign(n * n, 0.0F);
    for (std::size_t i = 0; i < n; ++i) {
        e.ids.push_back(static_cast<std::int64_t>(random() % static_cast<unsigned>(vocabulary)));
        e.special.push_back(i == 0 || (!causal && i + 1 == n));
        e.sequence.push_back(e.special.back() ? -1 : i < n / 2 ? 0 : 1);
        e.punctuation.period_or_comma.push_back(random() % 5 == 0);
        e.punctuation.any.push_back(e.punctuation.period_or_comma.back() || random() % 7 == 0);
        e.value_norms.push_back(static_cast<float>(random() % 1000) / 300.0F);
        const std::size_t legal = causal ? i + 1 : n;
        std::vector<double> w(legal);
        double sum = 0;
        for (double& x : w) sum += x = std::exp(4.0 * normal(random));
        for (std::size_t j = 0; j < legal; ++j) e.pattern[i * n + j] = static_cast<float>(w[j] / sum);
    }
    return e;
}

struct Results {
    trace::PooledPattern pooled;
    trace::GatheredNumbers numbers;
    double usual(const char* id) const { return numbers.usual[index_of(id)]; }
    double with_first_row(const char* id) const { return numbers.with_first_row[index_of(id)]; }
    static std::size_t index_of(std::string_view id) {
        const auto& all = head_measures();
        const auto found = std::ranges::find(all, id, &MeasureInfo::id);
        EXPECT_NE(found, all.end()) << id;
        return static_cast<std::size_t>(found - all.begin());
    }
};

trace::PatternFacts facts_of(const Example& e) {
    const trace::PatternShape shape{e.tokens(), e.tokens(), false, e.causal, e.window};
    text::Encoding encoding;
    encoding.ids = e.ids, encoding.special = e.special, encoding.sequence = e.sequence;
    return {shape, std::make_unique<GatheredMeasures>(MeasuredText(shape, encoding, e.punctuation))};
}

Results run_blocks(const Example& e, std::int64_t block, bool backwards = false, bool short_rows = false) {
    Results r;
    const trace::PatternFacts facts = facts_of(e);
    trace::HeadAccumulator head(facts, r.pooled, r.numbers);
    if (!e.value_norms.empty()) head.set_value_norms(e.value_norms);
    std::vector<std::int64_t> starts;
    for (std::int64_t first = 0; first < e.tokens(); first += block) starts.push_back(first);
    if (backwards) std::reverse(starts.begin(), starts.end());
    for (const std::int64_t first : starts) {
        const std::int64_t count = std::min(block, e.tokens() - first);
        const std::int64_t keys = short_rows && e.causal ? first + count : e.tokens();
        head.add_rows(e.pattern.data() + first * e.tokens(), first, count, keys, e.tokens());
    }
    return r;
}

TEST(HeadMeasures, EqualTheFormulas) {
    for (const bool causal : {true, false}) {
        for (const std::int64_t tokens : {2, 5, 17, 128, 300, 700}) {
            SCOPED_TRACE(testing::Message() << tokens << (causal ? " causal" : " both ways"));
            const Example e = make_example(tokens, causal, 7U + static_cast<unsigned>(tokens), tokens > 5 ? 40 : 2);
            const Results got = run_blocks(e, 64);
            expect_equal(got.numbers.usual, naive_measures(e), 2e-6);
            expect_equal(got.numbers.with_first_row, naive_measures(e, true), 2e-6);
        }
    }
}

TEST(HeadMeasures, ExcessWhereFewTokensComeAgainAndAgain) {
    for (const bool causal : {true, false})
        for (const std::int64_t window : {0, 20})
            for (const std::int64_t vocabulary : {1, 3, 7, 30}) {
                SCOPED_TRACE(testing::Message()
                             << vocabulary << " tokens, window " << window << (causal ? ", causal" : ", both ways"));
                Example e = make_example(150, causal, 11, vocabulary);
                e.window = window;
                for (std::int64_t i = 0; i < 150; ++i)
                    for (std::int64_t j = 0; j < 150; ++j)
                        if (!model::legal_keys(i, 150, causal, window).has(j))
                            e.pattern[static_cast<std::size_t>(i * 150 + j)] = 0;
                const Results got = run_blocks(e, 64);
                for (const std::string kind : {"induction", "duplicate"}) {
                    const double found = got.usual((kind + "_excess").c_str()), expected = naive_excess(e, kind);
                    EXPECT_EQ(std::isnan(found), std::isnan(expected)) << kind;
                    if (!std::isnan(expected)) {
                        EXPECT_NEAR(found, expected, 2e-6) << kind;
                    }
                }
            }
}

TEST(HeadMeasures, OrderOfBlocksAndThreadsDoNotMatter) {
    const Example e = make_example(1111, true, 5);
    const Results forwards = run_blocks(e, 64), backwards = run_blocks(e, 64, true), cut = run_blocks(e, 64, false, true);
    Results threaded;
    {
        const trace::PatternFacts facts = facts_of(e);
        trace::HeadAccumulator head(facts, threaded.pooled, threaded.numbers);
        head.set_value_norms(e.value_norms);
        std::vector<std::thread> threads;
        for (std::int64_t part = 0; part < 3; ++part) {
            threads.emplace_back([&, part] {
                for (std::int64_t first = part * 64; first < e.tokens(); first += 3 * 64) {
                    head.add_rows(e.pattern.data() + first * e.tokens(), first, std::min<std::int64_t>(64, e.tokens() - first),
                                  e.tokens(), e.tokens());
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
    }
    for (const Results* other : std::initializer_list<const Results*>{&backwards, &cut, &threaded}) {
        EXPECT_EQ(forwards.pooled.max, other->pooled.max);
        EXPECT_EQ(forwards.pooled.mean, other->pooled.mean);
        for (std::size_t m = 0; m < forwards.numbers.usual.size(); ++m)
            EXPECT_TRUE(std::bit_cast<std::uint64_t>(forwards.numbers.usual[m]) ==
                        std::bit_cast<std::uint64_t>(other->numbers.usual[m]))
                << head_measures()[m].id;
    }
}

TEST(HeadMeasures, ShortTextsHaveGapsNotZeros) {
    const Results causal = run_blocks(make_example(1, true, 1), 8);
    EXPECT_TRUE(std::isnan(causal.usual("entropy")));
    EXPECT_TRUE(std::isnan(causal.usual("share_self")));
    EXPECT_TRUE(std::isnan(causal.usual("max_weight")));
    EXPECT_TRUE(std::isnan(causal.usual("top1_minus_top2")));
    const Results both_ways = run_blocks(make_example(1, false, 1), 8);
    EXPECT_EQ(both_ways.usual("entropy"), 0.0);
    EXPECT_EQ(both_ways.usual("share_self"), 1.0);
    EXPECT_TRUE(std::isnan(both_ways.usual("share_previous")));
    EXPECT_TRUE(std::isnan(both_ways.usual("top1_minus_top2")));
    Example no_repeat = make_example(4, true, 2);
    no_repeat.ids = {1, 2, 3, 4};
    EXPECT_TRUE(std::isnan(run_blocks(no_repeat, 8).usual("induction")));
}

TEST(HeadMeasures, WithTheFirstRowOneTokenLooksAtItself) {
    const Results s = run_blocks(make_example(1, true, 1), 8);
    EXPECT_EQ(s.with_first_row("entropy"), 0.0);
    EXPECT_EQ(s.with_first_row("entropy_uniform"), 0.0);
    EXPECT_EQ(s.with_first_row("share_self"), 1.0);
    EXPECT_TRUE(std::isnan(s.with_first_row("share_previous")));
    EXPECT_TRUE(std::isnan(s.with_first_row("previous_token")));
    EXPECT_TRUE(std::isnan(s.with_first_row("top1_minus_top2")));
}

/// Both ways, four keys, every row the same.
Example four_keys(const std::vector<float>& row) {
    Example e;
    e.causal = false;
    e.ids = {1, 2, 3, 4};
    e.special = {false, false, false, false};
    for (int i = 0; i < 4; ++i) e.pattern.insert(e.pattern.end(), row.begin(), row.end());
    return e;
}

TEST(HeadMeasures, SmoothedEntropyOfOneHotAndUniformRows) {
    EXPECT_NEAR(run_blocks(four_keys({0, 1, 0, 0}), 4).usual("entropy_smoothed"), 0.000869745, 1e-7);
    const Results uniform = run_blocks(four_keys({0.25F, 0.25F, 0.25F, 0.25F}), 4);
    EXPECT_NEAR(uniform.usual("entropy"), std::log(4.0), 1e-6);
    EXPECT_NEAR(uniform.usual("entropy_smoothed"), std::log(4.0), 1e-6);
    EXPECT_DOUBLE_EQ(uniform.usual("entropy_uniform"), std::log(4.0));
}

TEST(HeadMeasures, NextTokenHeadDividesByAllTokens) {
    Example e = four_keys({0, 0, 0, 0});
    for (const std::size_t i : {0U, 1U, 2U}) e.pattern[i * 4 + i + 1] = 1;
    e.pattern[15 - 3] = 1;  // the last row attends to the first token
    const Results s = run_blocks(e, 2);
    EXPECT_DOUBLE_EQ(s.usual("share_next"), 0.75);
    EXPECT_DOUBLE_EQ(s.usual("share_self"), 0.0);
    EXPECT_DOUBLE_EQ(s.usual("previous_token"), 0.0);
}

TEST(HeadMeasures, SeparatorsCountAsManyAsThereAre) {
    // [CLS] a [SEP] b [SEP]: separators attend to separators, the others to [CLS]
    Example e;
    e.causal = false;
    e.ids = {1, 5, 2, 6, 2};
    e.special = {true, false, true, false, true};
    e.pattern.assign(25, 0.0F);
    for (const std::size_t i : {2U, 4U}) e.pattern[i * 5 + 2] = e.pattern[i * 5 + 4] = 0.5F;
    for (const std::size_t i : {0U, 1U, 3U}) e.pattern[i * 5] = 1;
    const Results s = run_blocks(e, 3);
    EXPECT_DOUBLE_EQ(s.usual("sep_to_sep"), 1.0);
    EXPECT_DOUBLE_EQ(s.usual("other_to_sep"), 0.0);
    EXPECT_DOUBLE_EQ(s.usual("share_sep"), 0.4);
    EXPECT_DOUBLE_EQ(s.usual("share_cls"), 0.6);
    EXPECT_TRUE(std::isnan(s.usual("vw_share_first"))) << "no values are known";
    Example only_special = four_keys({0.5F, 0.5F, 0, 0});
    only_special.special = {true, true, true, true};
    EXPECT_DOUBLE_EQ(run_blocks(only_special, 4).usual("share_special"), 1.0);
}

TEST(HeadMeasures, KnownHeads) {
    // tokens a b a b: row 2 repeats a, row 3 repeats b
    Example e = make_example(4, true, 1);
    e.ids = {5, 6, 5, 6};
    e.special = {false, false, false, false};
    e.pattern = {1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};  // row 2 attends to b after a, row 3 to a after b
    const Results s = run_blocks(e, 2);
    EXPECT_DOUBLE_EQ(s.usual("induction"), 1.0);
    EXPECT_DOUBLE_EQ(s.usual("duplicate_token"), 0.0);
    EXPECT_DOUBLE_EQ(s.usual("share_previous"), 1.0);
    EXPECT_DOUBLE_EQ(s.usual("mean_distance"), 1.0);
    EXPECT_DOUBLE_EQ(s.usual("entropy"), 0.0);
    EXPECT_DOUBLE_EQ(s.usual("top1_minus_top2"), 1.0);
    EXPECT_NEAR(s.usual("argmax_first"), 1.0 / 3, 1e-12);
    EXPECT_DOUBLE_EQ(s.usual("argmax_self"), 0.0);
}

TEST(HeadMeasures, SinksAndPositionsAreNoKindOfHead) {
    const std::int64_t n = 40;
    Example e = make_example(n, true, 3, 12);
    const auto fill = [&](auto key) {
        e.pattern.assign(static_cast<std::size_t>(n * n), 0.0F);
        for (std::int64_t i = 0; i < n; ++i) e.pattern[static_cast<std::size_t>(i * n + std::max<std::int64_t>(0, key(i)))] = 1;
    };
    // All attend to one key, which happens to stand behind tokens that come again.
    std::int64_t sink = 0;
    for (std::int64_t i = 1; i + 1 < n && sink == 0; ++i)
        if (std::count(e.ids.begin() + i + 2, e.ids.end(), e.ids[static_cast<std::size_t>(i)]) >= 2) sink = i + 1;
    ASSERT_GT(sink, 0);
    fill([&](std::int64_t i) { return std::min(i, sink); });
    EXPECT_GT(run_blocks(e, 64).usual("induction"), 0.05);
    EXPECT_LT(run_blocks(e, 64).usual("induction_excess"), 0);
    EXPECT_LT(run_blocks(e, 64).usual("previous_excess"), 0.02);
    // a b c a b c …: whoever attends to the second token before looks like an induction head.
    for (std::int64_t i = 0; i < n; ++i) e.ids[static_cast<std::size_t>(i)] = i % 3;
    e.special.assign(static_cast<std::size_t>(n), false);
    fill([](std::int64_t i) { return i - 2; });
    EXPECT_GT(run_blocks(e, 64).usual("induction"), 0.9);
    EXPECT_LT(run_blocks(e, 64).usual("induction_excess"), 0.1) << "the first queries do so without repeating anything";
    for (std::int64_t i = 0; i < n / 2; ++i) e.ids[static_cast<std::size_t>(i)] = 100 + i;
    EXPECT_GT(run_blocks(e, 64).usual("induction"), 0.8);
    EXPECT_LT(run_blocks(e, 64).usual("induction_excess"), 0.1);
    fill([](std::int64_t i) { return i - 1; });
    EXPECT_GT(run_blocks(e, 64).usual("previous_excess"), 0.95);
}

class MeasuresOfFamilies : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(MeasuresOfFamilies, AreThoseOfThePatterns) {
    const TracePtr trace = run_model(GetParam(), "the nurse asked the old nurse");
    const model::ModelConfig& c = trace->config();
    for (std::int64_t layer = 0; layer < c.n_layers; ++layer) {
        for (std::int64_t head = 0; head < c.n_heads; ++head) {
            const at::Tensor rows = trace::pattern_rows(*trace, Layer(layer), Head(head), 0, trace->tokens()).contiguous();
            const at::Tensor values =
                trace::tensor(*trace, {model::Hook::v, Layer(layer)}).select(1, head / (c.n_heads / c.n_kv_heads));
            const at::Tensor written =
                at::mm(values, trace::attention_weights(*trace->model(), Layer(layer)).w_o.select(0, head));
            const at::Tensor norms = written.square().sum(1).sqrt().contiguous();
            Example e{.ids = trace->encoding().ids,
                      .special = trace->encoding().special,
                      .pattern = {rows.data_ptr<float>(), rows.data_ptr<float>() + rows.numel()},
                      .causal = c.causal,
                      .punctuation = text::punctuation(*trace->tokenizer(), trace->encoding()),
                      .window = model::window_of(c, layer),
                      .value_norms = {norms.data_ptr<float>(), norms.data_ptr<float>() + norms.numel()},
                      .sequence = trace->encoding().sequence};
            SCOPED_TRACE(testing::Message() << "L" << layer << "H" << head);
            expect_equal(trace->head_numbers(Layer(layer), Head(head)), naive_measures(e), 2e-6);
            expect_equal(trace->head_numbers(Layer(layer), Head(head), true), naive_measures(e, true), 2e-6);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(EveryFixture, MeasuresOfFamilies, testing::ValuesIn(model_folders()), model_name);

/// The built-in model against transformers and NumPy (tests/golden/make_trace_golden.py).
TEST(HeadMeasures, OfTheBuiltInModelEqualTheReference) {
    const auto golden = io::read_json(source_folder() / "tests/golden/novella_summaries.json");
    const TracePtr trace = built_in(golden["text"]);
    ASSERT_EQ(trace->encoding().ids, golden["ids"].get<std::vector<std::int64_t>>());
    for (std::int64_t layer = 0; layer < 6; ++layer) {
        for (std::int64_t head = 0; head < 8; ++head) {
            const auto& expected = golden["summaries"][static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)];
            ASSERT_EQ(expected.size(), 13U);
            for (const auto& [id, value] : expected.items())
                EXPECT_NEAR(head_measure(*trace, {Layer(layer), Head(head)}, id), value.get<double>(),
                            1e-4 * std::max(1.0, value.get<double>()))
                    << "L" << layer << "H" << head << " " << id;
        }
    }
    EXPECT_THROW(head_measure(*trace, {Layer(0), Head(0)}, "no_such_measure"), Error);
}

TEST(HeadMeasures, HaveOneGroupEachAndNoGroupIsTooLongForAMenu) {
    for (const std::string& group : measure_groups()) {
        const auto size = std::ranges::count(head_measures(), group, &MeasureInfo::group);
        EXPECT_GT(size, 0) << group;
        EXPECT_LE(size, 10) << group;
    }
    std::set<std::string> ids;
    for (const MeasureInfo& measure : head_measures()) {
        EXPECT_EQ(std::ranges::count(measure_groups(), measure.group), 1) << measure.id;
        EXPECT_TRUE(ids.insert(measure.id).second) << measure.id;
        EXPECT_THAT(measure.definition, testing::EndsWith(".")) << measure.id;
    }
}

/// A pattern that is broken must not give numbers that look right.
TEST(HeadMeasures, ABrokenRowBreaksTheMeans) {
    Example e = make_example(20, true, 3);
    e.pattern[7 * 20 + 2] = std::numeric_limits<float>::quiet_NaN();
    for (const char* id : {"entropy", "mean_distance", "weighted_value_norm", "vw_share_first"})
        EXPECT_TRUE(std::isnan(run_blocks(e, 8).usual(id))) << id;
}

TEST(HeadMeasures, PartsOfAnOverviewAreThoseOfTheWhole) {
    // 300 tokens: cells of two and three rows, of which some lie in two tiles.
    std::string text;
    for (int i = 0; i < 300; ++i) text += i % 3 == 0 ? " the" : i % 4 == 1 ? " river" : " ran";
    const auto run = [&](const trace::HeadOverview& overview) {
        return run_model(source_folder() / "models/novella-7m", text, {}, {.globs = {}, .overview = overview});
    };
    const TracePtr whole = run({}), maps = run({.numbers = false}), numbers = run({.pooled = false});
    ASSERT_TRUE(whole->overview().has({}));
    EXPECT_FALSE(maps->overview().numbers);
    EXPECT_FALSE(numbers->overview().pooled);
    EXPECT_THROW(maps->head_numbers(Layer(0), Head(0)), Error);
    EXPECT_THROW(numbers->pooled(Layer(0), Head(0)), Error);
    for (std::int64_t l = 0; l < whole->config().n_layers; ++l)
        for (std::int64_t h = 0; h < whole->config().n_heads; ++h) {
            const trace::PooledPattern &a = whole->pooled(Layer(l), Head(h)), &b = maps->pooled(Layer(l), Head(h));
            EXPECT_EQ(a.max, b.max);
            EXPECT_EQ(a.mean, b.mean);
            const std::vector<double>&c = whole->head_numbers(Layer(l), Head(h)), &d = numbers->head_numbers(Layer(l), Head(h));
            ASSERT_EQ(c.size(), d.size());
            for (std::size_t m = 0; m < c.size(); ++m) {  // columns are summed over other rows in float32
                const bool same =
                    std::isnan(c[m]) ? std::isnan(d[m]) : std::abs(c[m] - d[m]) <= 1e-6 * std::max(1.0, std::abs(c[m]));
                EXPECT_TRUE(same) << head_measures()[m].id << ": " << c[m] << ", " << d[m];
            }
        }
}

}  // namespace head_measures_test
}  // namespace headlight::analyze
