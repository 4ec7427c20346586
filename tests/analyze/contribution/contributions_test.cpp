// SPDX-License-Identifier: GPL-3.0-or-later
// Shares against the definition computed whole, and norm-based attention against vectors added up one by one.
#include "headlight/analyze/contribution/contributions.h"
#include "headlight/analyze/contribution/value_mix.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"
#include "tests/analyze/traces.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace headlight::analyze {
namespace contributions_test {

using model::Hook;

at::Tensor wide(const at::Tensor& t) { return t.to(at::kDouble); }

/// f_h(x_j) = v_j W_O^h: [head, token, d_model]
at::Tensor written(const trace::Trace& trace, Layer layer) {
    const model::ModelConfig& c = trace.config();
    const at::Tensor v = wide(trace::tensor(trace, {Hook::v, layer})),
                     w_o = wide(trace::attention_weights(*trace.model(), layer).w_o);
    std::vector<at::Tensor> heads;
    for (std::int64_t h = 0; h < c.n_heads; ++h) heads.push_back(at::mm(v.select(1, h / (c.n_heads / c.n_kv_heads)), w_o[h]));
    return at::stack(heads);
}

/// The part of [.., query, d_model] that is the same whatever the norm behind the attention saw: times gain over its scale.
at::Tensor branch_factor(const trace::Trace& trace, Layer layer) {
    if (!trace.config().branch_norm) return at::ones({trace.tokens(), 1}, at::kDouble);
    return wide(trace::attention_output(*trace.model(), layer).branch.gain) /
           wide(trace::tensor(trace, {Hook::ln1_post_scale, layer}));
}

class Shares : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Shares, AreThoseOfTheDefinition) {
    const TracePtr trace = run_model(GetParam(), cats);
    const model::ModelConfig& c = trace->config();
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        const at::Tensor factor = branch_factor(*trace, Layer(l));
        const at::Tensor f = written(*trace, Layer(l)), pattern = wide(trace::tensor(*trace, {Hook::pattern, Layer(l)}));
        for (std::int64_t p = 0; p < trace->tokens(); p += 3) {
            const at::Tensor attn = wide(trace::tensor(*trace, {Hook::attn_out, Layer(l)}))[p],
                             mlp = wide(trace::tensor(*trace, {Hook::mlp_out, Layer(l)}))[p];
            at::Tensor whole = wide(trace::tensor(*trace, {Hook::resid_mid, Layer(l)}))[p];
            at::Tensor after = wide(trace::tensor(*trace, {Hook::resid_post, Layer(l)}))[p];
            if (c.post_norm) {
                after = whole + mlp;
                whole = wide(trace::tensor(*trace, {Hook::resid_pre, Layer(l)}))[p] + attn;
            }
            const auto weight = [](const at::Tensor& w, const at::Tensor& part) {
                return std::max(w.abs().sum().item<double>() - (w - part).abs().sum().item<double>(), 1e-5);
            };
            // What is added to: the stream, or (BLOOM's flag) the normalised stream.
            const double stream = weight(whole, whole - attn), through = weight(after, mlp), past = weight(after, after - mlp);
            const AttentionShares found = attention_shares(*trace, Layer(l), Position(p));
            double total = stream;
            std::map<std::pair<std::int64_t, std::int64_t>, double> parts;
            for (std::int64_t h = 0; h < c.n_heads; ++h)
                for (std::int64_t j = 0; j < (c.causal ? p + 1 : trace->tokens()); ++j)
                    total += parts[{h, j}] = weight(whole, f[h][j] * pattern[h][p][j] * factor[p]);
            EXPECT_NEAR(found.residual, stream / total, 2e-6);
            for (const auto& [at, value] : parts) EXPECT_NEAR(found.from_heads(at.first, at.second), value / total, 2e-6);
            EXPECT_NEAR(found.residual + found.from_heads.sum(), 1, 1e-9);
            if (c.causal && p + 1 < trace->tokens()) {
                EXPECT_EQ(found.from_heads.col(p + 1).sum(), 0);
            }
            const MlpShares shares = mlp_shares(*trace, Layer(l), Position(p));
            EXPECT_NEAR(shares.mlp, through / (through + past), 2e-6);
            EXPECT_NEAR(shares.mlp + shares.residual, 1, 1e-12);
        }
        const Eigen::MatrixXd map = head_contribution_map(*trace, head_id(l, 1));
        EXPECT_NEAR(map(3, 1), attention_shares(*trace, Layer(l), Position(3)).from_heads(1, 1), 1e-7);  // float32 products
    }
}

TEST_P(Shares, OfEveryStateInTheGraphSumToOne) {
    const TracePtr trace = run_model(GetParam(), cats);
    const Position target(trace->tokens() - 1);
    // A convolution beside layer 0 hands on neighbouring tokens, for which the graph has no edges.
    const std::int64_t first = trace->config().convolution.any() ? 1 : 0;
    if (first > 0) {
        EXPECT_THROW(contribution_graph(*trace, target), Error);
    }
    for (const double threshold : {0.0, 0.04}) {
        const ContributionGraph graph = contribution_graph(*trace, target, {.threshold = threshold, .from_layer = first});
        std::map<std::pair<std::int64_t, std::int64_t>, double> attention, mlp;
        std::set<std::pair<std::int64_t, std::int64_t>> used{{trace->config().n_layers, target.value}};
        for (const ContributionEdge& edge : graph.edges) {
            const bool in_attention = edge.kind == EdgeKind::attention || edge.kind == EdgeKind::residual;
            (in_attention ? attention : mlp)[{edge.layer, edge.to}] += edge.weight;
            EXPECT_TRUE(used.contains({edge.layer + 1, edge.to})) << "nothing is computed that is not used above";
            if (in_attention) used.insert({edge.layer, edge.from});
            double heads = 0;
            for (const auto& [head, weight] : edge.heads) heads += weight;
            if (edge.kind == EdgeKind::attention) {
                EXPECT_NEAR(heads, edge.weight, 1e-12);
            }
        }
        for (const auto& [state, sum] : attention) EXPECT_NEAR(sum, 1, 1e-9);
        for (const auto& [state, sum] : mlp) EXPECT_NEAR(sum, 1, 1e-9);
        ASSERT_TRUE(mlp.contains({trace->config().n_layers - 1, target.value}));
    }
    const ContributionGraph none = contribution_graph(*trace, target, {.threshold = 1, .from_layer = first});
    EXPECT_TRUE(none.edges.empty());
    EXPECT_THROW(contribution_graph(*trace, Position(trace->tokens())), Error);
    EXPECT_THROW(contribution_graph(*trace, target, {.threshold = 1.5}), Error);
}

TEST_P(Shares, NormsAreThoseOfTheSummedVectors) {
    const TracePtr trace = run_model(GetParam(), cats);
    const model::ModelConfig& c = trace->config();
    const Layer layer(1);
    const at::Tensor f = written(*trace, layer), pattern = wide(trace::tensor(*trace, {Hook::pattern, layer}));
    const at::Tensor scale = c.post_norm ? wide(trace::tensor(*trace, {Hook::ln1_scale, layer})) : at::Tensor();
    const at::Tensor factor = branch_factor(*trace, layer);
    const trace::NormTensors norm = trace::attention_weights(*trace->model(), layer).norm;
    at::Tensor stream = wide(trace::tensor(*trace, {Hook::resid_pre, layer}));
    if (c.residual_after_norm)
        stream = wide(trace::tensor(*trace, {Hook::resid_mid, layer})) - wide(trace::tensor(*trace, {Hook::attn_out, layer}));
    for (const MixScope scope : {MixScope::attention, MixScope::attention_residual, MixScope::with_norm}) {
        if (scope == MixScope::with_norm && !c.post_norm) {
            EXPECT_THROW(value_mix(*trace, layer, scope), Error);
            continue;
        }
        const Matrix map = value_mix(*trace, layer, scope);
        const Vector ratio = mixing_ratio(*trace, layer, scope);
        for (std::int64_t i = 0; i < trace->tokens(); ++i) {
            at::Tensor others = at::zeros({c.d_model}, at::kDouble), own;
            for (std::int64_t j = 0; j < trace->tokens(); ++j) {
                at::Tensor sum = at::zeros({c.d_model}, at::kDouble);
                for (std::int64_t h = 0; h < c.n_heads; ++h) sum += f[h][j] * pattern[h][i][j];
                if (scope != MixScope::attention) sum = sum * factor[i];
                if (i == j && scope != MixScope::attention) sum += stream[i];
                if (scope == MixScope::with_norm) sum = (sum - sum.mean()) / scale[i] * wide(norm.gain);
                EXPECT_NEAR(map(i, j), sum.norm().item<double>(), 1e-4 * std::max(1.0, sum.norm().item<double>()))
                    << i << ", " << j;
                if (i == j)
                    own = sum;
                else
                    others += sum;
            }
            const double mixed = others.norm().item<double>(), kept = own.norm().item<double>();
            if (c.causal && i == 0) {
                EXPECT_TRUE(std::isnan(ratio[0]));
            } else {
                EXPECT_NEAR(ratio[i], mixed / (mixed + kept), 1e-4);
            }
        }
    }
    const Matrix head = head_value_mix(*trace, head_id(1, 1));
    EXPECT_NEAR(head(4, 2), (f[1][2] * pattern[1][4][2]).norm().item<double>(), 1e-4);
}

TEST_P(Shares, NormsAreWeightingsOfThePatterns) {
    const TracePtr trace = run_model(GetParam(), cats);
    const model::ModelConfig& c = trace->config();
    const Layer layer(1);
    const std::pair<Weighting, MixScope> layered[] = {{Weighting::layer_mix, MixScope::attention},
                                                      {Weighting::layer_mix_residual, MixScope::attention_residual},
                                                      {Weighting::layer_mix_norm, MixScope::with_norm}};
    for (const auto& [weighting, scope] : layered) {
        const PatternOptions options{.weighting = weighting};
        if (scope == MixScope::with_norm && !c.post_norm) {
            EXPECT_THROW(pattern(*trace, head_id(1, 0), options), Error);
            continue;
        }
        const Matrix lengths = value_mix(*trace, layer, scope), map = pattern(*trace, head_id(1, 0), options);
        EXPECT_TRUE(map.isApprox(pattern(*trace, head_id(1, 1), options))) << "of the whole layer";
        for (std::int64_t i = 0; i < trace->tokens(); ++i)
            for (std::int64_t j = 0; j < trace->tokens(); ++j) EXPECT_NEAR(map(i, j), lengths(i, j) / lengths.row(i).sum(), 1e-5);
        EXPECT_TRUE(value_mix_rows(*trace, layer, scope, Position(2), 3).isApprox(lengths.middleRows(2, 3), 1e-5F));
        EXPECT_TRUE(pattern_row(*trace, {head_id(1, 0)}, 4, options).row(0).isApprox(map.row(4), 1e-5F));
        EXPECT_TRUE(pattern_column(*trace, {head_id(1, 0)}, 2, options).row(0).transpose().isApprox(map.col(2), 1e-5F));
    }
    double longest = 0;
    const at::Tensor f = written(*trace, layer);
    longest = f.norm(2, -1).max().item<double>();
    const PatternOptions lengths{.weighting = Weighting::output_length, .hide_sinks = true};
    const Matrix map = pattern(*trace, head_id(1, 1), lengths), whole = head_value_mix(*trace, head_id(1, 1));
    const PatternAxes axes = pattern_axes(*trace, lengths);
    EXPECT_EQ(axes.key_column(Position(0)), -1);
    for (std::int64_t i = 0; i < trace->tokens(); ++i)
        for (std::size_t key = 0; key < axes.keys.size(); ++key)
            EXPECT_NEAR(map(i, static_cast<Eigen::Index>(key)), whole(i, axes.keys[key].first.value) / longest, 1e-5);
    EXPECT_THROW(value_mix_rows(*trace, layer, MixScope::attention, Position(trace->tokens() - 1), 2), Error);
}

INSTANTIATE_TEST_SUITE_P(Models, Shares, testing::ValuesIn(model_folders()), model_name);

TEST(MixingRatio, OfOneTokenIsAGap) {
    const TracePtr trace = run_model(source_folder() / "tests/fixtures/models/gpt2", "a");
    ASSERT_EQ(trace->tokens(), 1);
    EXPECT_TRUE(std::isnan(mixing_ratio(*trace, Layer(0), MixScope::attention)[0]));
    EXPECT_EQ(contribution_graph(*trace, Position(0)).target, Position(0));
}

}  // namespace contributions_test
}  // namespace headlight::analyze
