// SPDX-License-Identifier: GPL-3.0-or-later
// The graph of contributions of a decoder behind an encoder, against the definition computed whole.
#include "headlight/analyze/contribution/contributions.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"
#include "tests/analyze/pairs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace headlight::analyze {
namespace decoder_contributions_test {

using model::Hook;
using model::Stack;

at::Tensor wide(const trace::Trace& trace, Hook hook, std::int64_t layer) {
    return trace::tensor(trace, {hook, Layer(layer)}).to(at::kDouble);
}

double weight(const at::Tensor& whole, const at::Tensor& part) {
    return std::max(whole.abs().sum().item<double>() - (whole - part).abs().sum().item<double>(), 1e-5);
}

class DecoderContributions : public testing::TestWithParam<std::string> {
protected:
    TracePtr decoder = run_pair(GetParam()), encoder = decoder->part(Stack::encoder), cross = decoder->part(Stack::cross);
};

/// In float64: the parts of the state behind the attention to the source, one by one.
TEST_P(DecoderContributions, CrossSharesAreThoseOfTheDefinition) {
    const model::ModelConfig& c = decoder->config();
    double most = 0;
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        const at::Tensor v = wide(*cross, Hook::v, l),
                         w_o = trace::attention_output(*cross->model(), Layer(l)).w_o.to(at::kDouble),
                         pattern = wide(*cross, Hook::pattern, l), stream = wide(*decoder, Hook::resid_mid, l),
                         added = wide(*decoder, Hook::cross_attn_out, l), mlp = wide(*decoder, Hook::mlp_out, l),
                         behind = wide(*decoder, Hook::resid_mid_cross, l);
        for (std::int64_t p = 0; p < decoder->tokens(); ++p) {
            const at::Tensor whole = stream[p] + added[p];
            if (!c.post_norm) {
                EXPECT_LE((whole - behind[p]).abs().max().item<double>(), 1e-5);
            }
            double total = weight(whole, stream[p]);
            std::map<std::pair<std::int64_t, std::int64_t>, double> parts;
            at::Tensor sum = stream[p].clone();
            for (std::int64_t h = 0; h < c.n_heads; ++h)
                for (std::int64_t j = 0; j < cross->keys(); ++j) {
                    const at::Tensor part = at::mv(w_o[h].t(), v[j][h]) * pattern[h][p][j];
                    sum += part;
                    total += parts[{h, j}] = weight(whole, part);
                }
            const at::Tensor b_o = trace::attention_output(*cross->model(), Layer(l)).b_o;
            if (b_o.defined()) sum += b_o.to(at::kDouble);
            EXPECT_LE((sum - whole).abs().max().item<double>(), 1e-4) << "the parts are all that there is, but for b_O";
            const AttentionShares found = cross_shares(*decoder, Layer(l), Position(p));
            ASSERT_EQ(found.from_heads.cols(), cross->keys());
            EXPECT_NEAR(found.residual, weight(whole, stream[p]) / total, 2e-6);
            for (const auto& [at, value] : parts) EXPECT_NEAR(found.from_heads(at.first, at.second), value / total, 2e-6);
            EXPECT_NEAR(found.residual + found.from_heads.sum(), 1, 1e-9);
            most = std::max(most, found.from_heads.maxCoeff());
            // The MLP adds to the state behind the attention to the source.
            const at::Tensor last = behind[p] + mlp[p];
            const double through = weight(last, mlp[p]), past = weight(last, behind[p]);
            EXPECT_NEAR(mlp_shares(*decoder, Layer(l), Position(p)).mlp, through / (through + past), 2e-6);
        }
        const HeadId head{Layer(l), Head(1)};
        const Eigen::MatrixXd map = cross_contribution_map(*decoder, head);
        ASSERT_EQ(map.rows(), decoder->tokens());
        ASSERT_EQ(map.cols(), cross->keys());
        EXPECT_NEAR(map(2, 1), cross_shares(*decoder, Layer(l), Position(2)).from_heads(1, 1), 1e-7);
    }
    EXPECT_GT(most, 0.01) << "proves nothing";
}

/// What leads to a state sums to 1, nothing is computed that nothing above uses, and the encoder's lines are those of its own
/// graph from the tokens that cross heads read.
TEST_P(DecoderContributions, GoThroughBothStacks) {
    const Position target(decoder->tokens() - 1);
    for (const double threshold : {0.0, 0.04}) {
        const ContributionGraph graph = contribution_graph(*decoder, target, {.threshold = threshold});
        EXPECT_EQ(graph.source_tokens, encoder->tokens());
        EXPECT_EQ(graph.source_layers, encoder->config().n_layers);
        using State = std::tuple<bool, std::int64_t, std::int64_t, std::int64_t>;  // encoder, layer, place in it, position
        std::map<State, double> sums;
        std::set<State> used{{false, graph.layers, 0, target.value}};
        std::set<std::int64_t> read;
        for (const ContributionEdge& e : graph.edges) {
            const bool two = !e.in_encoder;
            State from, to;
            switch (e.kind) {
                case EdgeKind::attention:
                case EdgeKind::residual: from = {e.in_encoder, e.layer, 0, e.from}, to = {e.in_encoder, e.layer, 1, e.to}; break;
                case EdgeKind::cross: from = {true, graph.source_layers, 0, e.from}, to = {false, e.layer, 2, e.to}; break;
                case EdgeKind::cross_residual: from = {false, e.layer, 1, e.from}, to = {false, e.layer, 2, e.to}; break;
                case EdgeKind::mlp:
                case EdgeKind::mlp_residual:
                    from = {e.in_encoder, e.layer, two ? 2 : 1, e.from}, to = {e.in_encoder, e.layer + 1, 0, e.to};
                    break;
            }
            EXPECT_TRUE(used.contains(to)) << name_of(e.kind) << " of layer " << e.layer << " leads to a state that nothing uses";
            used.insert(from);
            sums[to] += e.weight;
            if (e.kind == EdgeKind::cross) read.insert(e.from);
            double heads = 0;
            for (const auto& [head, weight] : e.heads) heads += weight;
            if (e.kind == EdgeKind::cross || e.kind == EdgeKind::attention) {
                EXPECT_NEAR(heads, e.weight, 1e-12);
            }
        }
        for (const auto& [state, sum] : sums) EXPECT_NEAR(sum, 1, 1e-9);
        ASSERT_FALSE(read.empty());
        std::map<std::tuple<std::int64_t, EdgeKind, std::int64_t, std::int64_t>, double> alone;
        for (const std::int64_t j : read)
            for (const ContributionEdge& e : contribution_graph(*encoder, Position(j), {.threshold = threshold}).edges)
                alone[{e.layer, e.kind, e.from, e.to}] = e.weight;
        std::size_t of_encoder = 0;
        for (const ContributionEdge& e : graph.edges) {
            if (!e.in_encoder) continue;
            ++of_encoder;
            const auto found = alone.find({e.layer, e.kind, e.from, e.to});
            ASSERT_NE(found, alone.end());
            EXPECT_NEAR(found->second, e.weight, 1e-7);
        }
        EXPECT_EQ(of_encoder, alone.size());
    }
    EXPECT_EQ(contribution_graph(*encoder, Position(0)).source_layers, 0);
}

/// Without the weights' sum brought to 1 a line is the share itself.
TEST_P(DecoderContributions, LinesAreTheShares) {
    const Position target(2);
    const std::int64_t last = decoder->config().n_layers - 1;
    const AttentionShares shares = cross_shares(*decoder, Layer(last), target);
    double seen = 0;
    for (const ContributionEdge& e : contribution_graph(*decoder, target, {.threshold = 0, .renormalise = false}).edges) {
        if (e.layer != last || e.to != target.value || e.in_encoder) continue;
        if (e.kind == EdgeKind::cross_residual) {
            EXPECT_NEAR(e.weight, shares.residual, 1e-9);
        }
        if (e.kind != EdgeKind::cross) continue;
        EXPECT_NEAR(e.weight, shares.from_heads.col(e.from).sum(), 1e-9);
        for (const auto& [head, weight] : e.heads) EXPECT_NEAR(weight, shares.from_heads(head, e.from), 1e-9);
        seen += e.weight;
    }
    EXPECT_NEAR(seen + shares.residual, 1, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, DecoderContributions, testing::ValuesIn(pair_models()), pair_name);

}  // namespace decoder_contributions_test
}  // namespace headlight::analyze
