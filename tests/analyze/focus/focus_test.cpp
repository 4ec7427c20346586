// SPDX-License-Identifier: GPL-3.0-or-later
// Shares by layer and updates by token: figures 4 to 10.
#include "headlight/analyze/focus/focus.h"
#include "headlight/analyze/pattern/pair_chain.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"
#include "tests/analyze/traces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace headlight::analyze {
namespace focus_test {

constexpr std::array shares = {FocusShare::argmax_self, FocusShare::argmax_first, FocusShare::top1_minus_top2};

class Focus : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Focus, RankedValuesAreTheHeadsValuesAndNeverRise) {
    const TracePtr trace = run_model(GetParam(), cats);
    const auto& config = trace->config();
    for (const FocusShare share : shares) {
        const FocusShares found = focus_shares(std::array{trace}, share);
        EXPECT_EQ(found.queries, trace->tokens() - (config.causal ? 1 : 0));
        for (std::int64_t l = 0; l < config.n_layers; ++l) {
            auto heads = found.ranked[static_cast<std::size_t>(l)];
            for (std::int64_t r = 1; r < config.n_heads; ++r)
                EXPECT_GE(found.ranked_value(l, r - 1), found.ranked_value(l, r)) << "lines cross";
            std::sort(heads.begin(), heads.end());
            for (std::int64_t h = 0; h < config.n_heads; ++h) {
                EXPECT_EQ(heads[static_cast<std::size_t>(h)], h) << "every head once";
                EXPECT_GE(found.values(l, h), 0);
                EXPECT_LE(found.values(l, h), 1);
            }
        }
    }
    const Eigen::MatrixXd self = focus_shares(std::array{trace}, FocusShare::argmax_self).values,
                          first = focus_shares(std::array{trace}, FocusShare::argmax_first).values;
    EXPECT_LE((self + first).maxCoeff(), 1 + (config.causal ? 0 : 1.0 / static_cast<double>(trace->tokens())) + 1e-9);
}

/// Straight from the patterns, rows counted one by one.
TEST_P(Focus, SharesOfSeveralTextsCountEveryQueryOnce) {
    const std::array traces = {run_model(GetParam(), cats), run_model(GetParam(), "The nurse asked the cats.")};
    const auto& config = traces[0]->config();
    for (const bool include_first : {false, true}) {
        const FocusShares self = focus_shares(traces, FocusShare::argmax_self, include_first),
                          first = focus_shares(traces, FocusShare::argmax_first, include_first),
                          focus = focus_shares(traces, FocusShare::top1_minus_top2, include_first);
        for (std::int64_t l = 0; l < config.n_layers; ++l)
            for (std::int64_t h = 0; h < config.n_heads; ++h) {
                double on_self = 0, on_first = 0, gap = 0;
                std::int64_t rows = 0, with_second = 0;
                for (const TracePtr& trace : traces) {
                    const Matrix p = pattern(*trace, head_id(l, h), {});
                    for (Eigen::Index i = 0; i < p.rows(); ++i) {
                        if (config.causal && i == 0 && !include_first) continue;
                        // Also the first query of a chunk.
                        const bool only_self =
                            model::legal_keys(i, p.cols(), config.causal, model::window_of(config, l)).count() == 1;
                        Eigen::Index best = 0;
                        std::vector<float> row(p.row(i).begin(), p.row(i).end());
                        p.row(i).maxCoeff(&best);
                        ++rows;
                        on_self += best == i;
                        on_first += best == 0;
                        if (only_self) continue;
                        std::partial_sort(row.begin(), row.begin() + 2, row.end(), std::greater<>());
                        ++with_second;
                        gap += static_cast<double>(row[0]) - static_cast<double>(row[1]);
                    }
                }
                EXPECT_NEAR(self.values(l, h), on_self / static_cast<double>(rows), 1e-9);
                EXPECT_NEAR(first.values(l, h), on_first / static_cast<double>(rows), 1e-9);
                EXPECT_NEAR(focus.values(l, h), gap / static_cast<double>(with_second), 1e-6);
                EXPECT_EQ(self.queries, rows);
                // Of the layer that has most.
                EXPECT_GE(focus.queries, with_second);
                if (!model::window_of(config, l)) {
                    EXPECT_EQ(focus.queries, with_second);
                }
            }
    }
}

TEST_P(Focus, UpdatesAndTheOutputBiasSumToWhatAttentionWrites) {
    const TracePtr trace = run_model(GetParam(), cats);
    const auto& config = trace->config();
    for (std::int64_t l = 0; l < config.n_layers; ++l) {
        const FocusUpdates found = focus_updates(std::array{trace}, Layer(l));
        const at::Tensor out = trace::tensor(*trace, {model::Hook::attn_out, Layer(l)}).to(at::kDouble),
                         h = trace::tensor(*trace, {model::Hook::resid_pre, Layer(l)}).to(at::kDouble);
        EXPECT_EQ(found.has_output_bias, trace::attention_weights(*trace->model(), Layer(l)).b_o.defined());
        ASSERT_EQ(found.magnitude.cols(), config.n_heads + (found.has_output_bias ? 1 : 0));
        for (std::int64_t i = 0; i < trace->tokens(); ++i) {
            // sum_e |u_e| cos(u_e, h) |h| = (sum_e u_e).h: all entries together are attn_out.
            const double base = h[i].norm().item<double>();
            const double together = (found.magnitude.row(i).array() * found.orientation.row(i).array()).sum() * base * base;
            const double expected = at::dot(out[i], h[i]).item<double>();
            EXPECT_NEAR(together, expected, 1e-5 * std::max(1.0, base * base)) << "layer " << l << " token " << i;
            for (std::int64_t head = 0; head < config.n_heads; ++head) {
                const PairChain chain = pair_chain(*trace, head_id(l, head), Position(i), Position(i), 0);
                EXPECT_NEAR(found.magnitude(i, head), chain.update_ratio, 1e-9);
                EXPECT_NEAR(found.orientation(i, head), chain.update_cosine, 1e-9);
                Eigen::Index best = 0;
                pattern(*trace, head_id(l, head), {}).row(i).maxCoeff(&best);
                EXPECT_EQ(found.on_first(i, head), best == 0);
            }
        }
        EXPECT_EQ(found.entry_name(0), "L" + std::to_string(l) + "H0");
        if (found.has_output_bias) {
            EXPECT_EQ(found.entry_name(config.n_heads), "L" + std::to_string(l) + " b_O");
        }
    }
}

TEST_P(Focus, LiteralMagnitudeIsOfTheContextLayer) {
    const TracePtr trace = run_model(GetParam(), cats);
    const FocusUpdates plain = focus_updates(std::array{trace}, Layer(1)),
                       literal = focus_updates(std::array{trace}, Layer(1), {.literal = true, .on_first = false});
    const at::Tensor z = trace::tensor(*trace, {model::Hook::z, Layer(1)}),
                     h = trace::tensor(*trace, {model::Hook::resid_pre, Layer(1)});
    for (std::int64_t i = 0; i < trace->tokens(); ++i)
        EXPECT_NEAR(literal.magnitude(i, 0), z[i][0].norm().item<double>() / h[i].norm().item<double>(), 1e-5);
    EXPECT_EQ(literal.orientation, plain.orientation);
    EXPECT_FALSE(literal.on_first.any());
}

TEST_P(Focus, OneTokenLeavesGaps) {
    const TracePtr loaded = run_model(GetParam(), "a");
    const TracePtr trace = trace::run(loaded->model(), loaded->tokenizer(), {.text = "a", .add_special_tokens = false});
    ASSERT_EQ(trace->tokens(), 1);
    const bool causal = trace->config().causal;
    EXPECT_EQ(focus_shares(std::array{trace}, FocusShare::argmax_self).values.array().isNaN().all(), causal);
    EXPECT_TRUE(focus_shares(std::array{trace}, FocusShare::top1_minus_top2).values.array().isNaN().all());
    EXPECT_TRUE((focus_shares(std::array{trace}, FocusShare::argmax_first, true).values.array() == 1).all());
    EXPECT_FALSE(focus_updates(std::array{trace}, Layer(0)).magnitude.array().isNaN().any());
}

INSTANTIATE_TEST_SUITE_P(Models, Focus, testing::ValuesIn(model_folders()), model_name);

TEST(FocusShares, OfUniformAttentionIsZeroAndGapsComeLast) {
    const TracePtr flat = flat_attention(doctor);
    EXPECT_TRUE((focus_shares(std::array{flat}, FocusShare::top1_minus_top2).values.array().abs() < 1e-7).all());
    EXPECT_TRUE((focus_shares(std::array{flat}, FocusShare::argmax_first).values.array() == 1).all());
    const FocusUpdates updates = focus_updates(std::array{flat}, Layer(2));
    EXPECT_TRUE(updates.on_first.all()) << "of equal weights the first";
}

TEST(FocusUpdates, TextsFollowEachOtherAndSilentHeadsAreGaps) {
    const TracePtr a = built_in(doctor), b = built_in("The cats asked.");
    const FocusUpdates both = focus_updates(std::array{a, b}, Layer(3)), second = focus_updates(std::array{b}, Layer(3));
    ASSERT_EQ(both.magnitude.rows(), a->tokens() + b->tokens());
    EXPECT_EQ(both.magnitude.bottomRows(b->tokens()), second.magnitude);
    EXPECT_EQ(both.on_first.bottomRows(b->tokens()), second.on_first);
    EXPECT_EQ(both.tokens.back().text, 1);
    EXPECT_EQ(both.tokens.back().position, Position(b->tokens() - 1));
    EXPECT_THROW(focus_updates(std::array{a}, Layer(6)), Error);
    EXPECT_THROW(focus_updates({}, Layer(0)), Error);

    const TracePtr silent = trace::run_with_hooks(
        a->model(), a->tokenizer(), {.text = doctor, .pair = {}}, {},
        {{"blocks.3.attn.hook_z", [](model::HookPoint, const at::Tensor& z) { return at::zeros_like(z); }}});
    const FocusUpdates nothing = focus_updates(std::array{silent}, Layer(3));
    EXPECT_TRUE((nothing.magnitude.leftCols(8).array() == 0).all());
    EXPECT_TRUE(nothing.orientation.leftCols(8).array().isNaN().all());
}

}  // namespace focus_test
}  // namespace headlight::analyze
