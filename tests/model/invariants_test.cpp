// SPDX-License-Identifier: GPL-3.0-or-later
// What must hold in any transformer, on every fixture: invariants (a)-(g), and equal bits however a run is watched.
#include "headlight/base/error.h"
#include "model/internals.h"
#include "tests/model/run_all.h"
#include "tests/support/case_name.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

namespace headlight::model {
namespace invariants_test {

double relative(const at::Tensor& a, const at::Tensor& b) { return ((a - b).abs().max() / b.abs().max()).item<double>(); }

/// Several tiles of rows where the model has positions enough.
std::int64_t tokens_for(const ModelConfig& c) {
    return c.context_is_hard_limit ? std::min<std::int64_t>(c.context_length, 150) : 150;
}

class Invariants : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        model = Model::load(fixture(GetParam()), {.device = "cpu"});
        input = some_text(model->config(), tokens_for(model->config()));
        seen = run_all(*model, input);
    }
    at::Tensor get(const char* name, std::int64_t layer) const {
        return seen.tensors.at("blocks." + std::to_string(layer) + "." + name);
    }
    at::Tensor last() const { return seen.tensors.at(name_of(seen.order.back())); }

    std::shared_ptr<const Model> model;
    ForwardInput input;
    Collector seen;
};

TEST_P(Invariants, PatternsAreDistributionsOverLegalKeys) {
    const ModelConfig& c = model->config();
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        const at::Tensor p = get("attn.hook_pattern", l);
        at::Tensor sums = p.sum(-1);
        if (c.attention_sinks) {
            sums = sums + get("attn.hook_sink", l);
            EXPECT_GT(get("attn.hook_sink", l).mean().item<double>(), 0.01) << "no share: proves nothing";
        }
        EXPECT_LE((sums - 1).abs().max().item<double>(), 1e-5);
        EXPECT_GE(p.min().item<double>(), 0.0);
        EXPECT_GT(p.amax(-1).mean().item<double>(), 3.0 / static_cast<double>(input.ids.size())) << "flat: proves nothing";
        if (const std::int64_t window = window_of(c, l); window > 0) {
            EXPECT_EQ(p.tril(-window).abs().max().item<double>(), 0.0);
            EXPECT_GT(p.tril(1 - window).abs().max().item<double>(), 0.0);
            if (!c.causal) {
                EXPECT_EQ(p.triu(window).abs().max().item<double>(), 0.0);
            }
        }
        if (!c.causal) continue;
        EXPECT_EQ(p.triu(1).abs().max().item<double>(), 0.0);
        if (!c.attention_sinks) {
            EXPECT_TRUE(at::equal(p.select(1, 0).select(1, 0), at::ones({c.n_heads})));
        }
    }
}

TEST_P(Invariants, PartsSumToTheResidualStream) {
    const ModelConfig& c = model->config();
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        const LayerWeights& w = model->internals().layers[static_cast<std::size_t>(l)];
        const auto with = [](at::Tensor sum, const at::Tensor& bias) { return bias.defined() ? sum + bias : sum; };
        const auto behind = [&](const at::Tensor& x, const NormWeights& norm, const std::string& name) {
            return c.branch_norm ? x / get((name + ".hook_scale").c_str(), l) * norm.gain : x;
        };
        EXPECT_LE(
            relative(behind(with(get("attn.hook_result", l).sum(1), w.o.bias), w.ln1_post, "ln1_post"), get("hook_attn_out", l)),
            1e-5);
        at::Tensor written = with(at::mm(get("mlp.hook_post", l), w.mlp_out.weight), w.mlp_out.bias);
        if (w.expert_bias.defined()) written = written + at::mm(get("mlp.hook_experts", l), w.expert_bias);
        EXPECT_LE(relative(behind(written, w.ln2_post, "ln2_post"), get("hook_mlp_out", l)), 1e-5);
        if (c.post_norm) {
            EXPECT_LE(relative(get("ln1.hook_normalized", l) * w.ln1.gain + w.ln1.bias, get("hook_resid_mid", l)), 1e-5);
            const char* behind_mlp = has_convolution(c, l) ? "hook_resid_post_mlp" : "hook_resid_post";
            EXPECT_LE(relative(get("ln2.hook_normalized", l) * w.ln2.gain + w.ln2.bias, get(behind_mlp, l)), 1e-5);
            if (has_convolution(c, l)) {
                const NormWeights& norm = model->internals().conv_norm;
                const at::Tensor sum = get("hook_resid_post_mlp", l) + get("hook_conv_out", l);
                EXPECT_LE(relative((sum - sum.mean(-1, true)) / get("ln_conv.hook_scale", l), get("ln_conv.hook_normalized", l)),
                          1e-5);
                EXPECT_LE(relative(get("ln_conv.hook_normalized", l) * norm.gain + norm.bias, get("hook_resid_post", l)), 1e-5);
            }
            continue;
        }
        if (c.residual_after_norm) continue;
        EXPECT_LE(relative(get("hook_resid_pre", l) + get("hook_attn_out", l), get("hook_resid_mid", l)), 1e-5);
        EXPECT_LE(relative(get("hook_resid_mid", l) + get("hook_mlp_out", l), get("hook_resid_post", l)), 1e-5);
    }
}

TEST_P(Invariants, HooksComeInTheListedOrderAndShape) {
    const auto listed = hooks_of(model->config());
    ASSERT_EQ(seen.order.size(), listed.size());
    for (const HookPoint& point : listed)
        EXPECT_EQ(seen.tensors.at(name_of(point)).sizes().vec(),
                  shape_of(point, model->config(), static_cast<std::int64_t>(input.ids.size())))
            << name_of(point);
    for (std::size_t i = 0; i < listed.size(); ++i) ASSERT_EQ(name_of(seen.order[i]), name_of(listed[i]));
}

TEST_P(Invariants, EqualBitsHoweverTheRunIsWatched) {
    const HookPoint end = seen.order.back();
    Collector alone;
    alone.wanted = [&](HookPoint p) { return p == end; };
    forward(*model, input, alone, {}, {});
    expect_same_tensors(run_all(*model, input), seen);
    EXPECT_TRUE(at::equal(last(), alone.tensors.at(name_of(end)))) << "observing hooks changed the result";
}

TEST_P(Invariants, PatternsOnDemandAreThoseOfTheRun) {
    const ModelConfig& c = model->config();
    const auto tokens = static_cast<std::int64_t>(input.ids.size());
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        const at::Tensor p = get("attn.hook_pattern", l), s = get("attn.hook_attn_scores", l);
        const AttentionInput& in = seen.inputs.at(l);
        EXPECT_TRUE(at::equal(pattern_tile(in, 0, c.n_heads, 0, tokens), p));
        EXPECT_TRUE(at::equal(score_tile(in, 0, c.n_heads, 0, tokens), s));
        if (c.attention_sinks) {
            EXPECT_TRUE(at::equal(sink_tile(in, 0, c.n_heads, 0, tokens), get("attn.hook_sink", l)));
        }
        for (const std::int64_t row : {std::int64_t{0}, tokens / 2, tokens - 1})
            EXPECT_TRUE(at::equal(pattern_tile(in, c.n_heads - 1, 1, row, 1), p.narrow(0, c.n_heads - 1, 1).narrow(1, row, 1)));
    }
    EXPECT_THROW(pattern_tile(seen.inputs.at(0), 0, 1, tokens, 1), Error);
    EXPECT_THROW(pattern_tile(seen.inputs.at(0), -1, 1, 0, 1), Error);
}

/// Content and rotary parts sum to the score, neither is small, and both are -inf where the score is.
TEST_P(Invariants, PartsOfTheScoreSumToIt) {
    const ModelConfig& c = model->config();
    for (std::int64_t l = 0; l < c.n_layers && c.latent.any(); ++l) {
        const at::Tensor scores = get("attn.hook_attn_scores", l), legal = at::isfinite(scores);
        const at::Tensor content = get("attn.hook_content_scores", l), rotary = get("attn.hook_rotary_scores", l);
        EXPECT_TRUE(at::equal(at::isfinite(content), legal) && at::equal(at::isfinite(rotary), legal));
        EXPECT_LE(relative((content + rotary).masked_select(legal), scores.masked_select(legal)), 1e-5);
        for (const at::Tensor& part : {content, rotary})
            EXPECT_GT(part.masked_select(legal).abs().mean().item<double>(), 0.05) << "nothing there: proves nothing";
        const AttentionInput& in = seen.inputs.at(l);
        EXPECT_TRUE(at::equal(score_part(in, Hook::rotary_scores, 1, 2, 3, 4), rotary.narrow(0, 1, 2).narrow(1, 3, 4)));
    }
}

/// Patterns by the textbook: no tiles, no own kernels.
TEST_P(Invariants, TilesAgreeWithThePlainFormula) {
    const ModelConfig& c = model->config();
    const auto tokens = static_cast<std::int64_t>(input.ids.size());
    const AttentionInput& in = seen.inputs.at(0);
    const at::Tensor k = in.k.repeat_interleave(c.n_heads / c.n_kv_heads, 0).to(at::kDouble);
    at::Tensor s = at::matmul(in.q.to(at::kDouble), k.transpose(1, 2)) * in.scale;
    const at::Tensor i = at::arange(tokens, at::kDouble);
    if (in.alibi_slopes.defined()) s = s - in.alibi_slopes.view({-1, 1, 1}) * (i.unsqueeze(1) - i.unsqueeze(0));
    if (in.key_bias.defined()) s = s + in.key_bias.unsqueeze(1) - in.key_bias.unsqueeze(2);
    if (in.relative_bias.defined()) {
        const at::Tensor column = (i.unsqueeze(0) - i.unsqueeze(1) + static_cast<double>(tokens - 1)).to(at::kLong).flatten();
        s = s + in.relative_bias.to(at::kDouble).index_select(1, column).view({-1, tokens, tokens});
    }
    if (const Disentangled& d = c.disentangled; d.any()) {
        const auto& m = model->internals();
        const at::Tensor distance = (i.unsqueeze(1) - i.unsqueeze(0)).to(at::kLong).contiguous();
        at::Tensor row = at::empty_like(distance);
        for (std::int64_t n = 0; n < row.numel(); ++n)
            row.data_ptr<std::int64_t>()[n] = relative_row(d, distance.data_ptr<std::int64_t>()[n]);
        const auto vectors = [&](const Linear& w) -> at::Tensor {  // [head, query, key, d_head]
            if (d.by_layer)
                return m.layers.front()
                    .relative_rows.to(at::kDouble)
                    .index_select(0, row.flatten())
                    .view({1, tokens, tokens, -1});
            const at::Tensor rows = at::mm(m.relative_embed, w.weight);
            return (w.bias.defined() ? rows + w.bias : rows)
                .to(at::kDouble)
                .index_select(0, row.flatten())
                .view({tokens, tokens, c.n_heads, c.d_head})
                .permute({2, 0, 1, 3});
        };
        const LayerWeights& w = m.layers.front();
        if (d.content_to_position)
            s = s + (in.q.to(at::kDouble).unsqueeze(2) * vectors(d.shared_projections ? w.k : w.relative_k)).sum(-1) * in.scale;
        if (d.position_to_content)
            s = s + (in.k.to(at::kDouble).unsqueeze(1) * vectors(d.shared_projections ? w.q : w.relative_q)).sum(-1) * in.scale;
    }
    if (in.softcap > 0) s = (s / in.softcap).tanh() * in.softcap;
    if (in.causal) s = s.masked_fill(i.unsqueeze(0) > i.unsqueeze(1), -std::numeric_limits<double>::infinity());
    if (in.window > 0)
        s = s.masked_fill((i.unsqueeze(0) - i.unsqueeze(1)).abs() >= static_cast<double>(in.window),
                          -std::numeric_limits<double>::infinity());
    if (in.window < 0)
        s = s.masked_fill((i / -in.window).floor().unsqueeze(0) != (i / -in.window).floor().unsqueeze(1),
                          -std::numeric_limits<double>::infinity());
    if (in.sinks.defined()) s = at::cat({s, in.sinks.view({-1, 1, 1}).expand({c.n_heads, tokens, 1})}, -1);
    EXPECT_LE((at::softmax(s, -1).narrow(-1, 0, tokens) - get("attn.hook_pattern", 0)).abs().max().item<double>(), 1e-5);
}

/// Reassembles the tiles of a run.
TEST(Tiles, AScaleGivesTheBitsOfScaledScoresWhereverItIsApplied) {
    at::manual_seed(3);
    for (const std::int64_t keys : {40, 700}) {  // at once, and in blocks
        AttentionInput in{
            .q = at::randn({4, keys, 8}), .k = at::randn({2, keys, 8}), .alibi_slopes = {}, .scale = 1, .causal = true};
        const at::Tensor plain = score_tile(in, 0, 4, 0, keys);
        for (const double scale : {0.125, 2.0, 0.3}) {
            in.scale = scale;
            EXPECT_TRUE(at::equal(score_tile(in, 0, 4, 0, keys), plain * scale)) << scale << ", " << keys;
        }
        in.alibi_slopes = at::full({4}, 0.5, at::kDouble);
        in.scale = 0.125;
        const at::Tensor i = at::arange(keys, at::kFloat), distance = i.unsqueeze(0) - i.unsqueeze(1);
        EXPECT_LT(
            (score_tile(in, 0, 4, 0, keys) - (plain * 0.125 + 0.5 * distance)).nan_to_num(0, 0, 0).abs().max().item<float>(),
            1e-4);
    }
}

TEST(Tiles, ALongTextIsCutTheSameWayWhoeverAsks) {
    at::manual_seed(4);
    constexpr std::int64_t keys = 8300;
    const AttentionInput in{
        .q = at::randn({2, keys, 8}), .k = at::randn({1, keys, 8}), .alibi_slopes = {}, .scale = 0.5, .causal = true};
    const at::Tensor asked = at::tensor({0, 127, 128, 5000, 8299}, at::kLong);
    std::map<std::int64_t, at::Tensor> rows;
    for (std::int64_t i = 0; i < asked.numel(); ++i) {
        const auto row = asked[i].item<std::int64_t>();
        const at::Tensor scores = at::matmul(in.q.select(0, 1)[row].to(at::kDouble), in.k[0].to(at::kDouble).t()) * 0.5;
        const at::Tensor expected = at::softmax(scores.narrow(0, 0, row + 1), 0);
        rows[row] = pattern_tile(in, 1, 1, row, 1)[0][0];
        EXPECT_LE((rows[row].narrow(0, 0, row + 1) - expected).abs().max().item<double>(), 1e-6) << row;
        EXPECT_EQ(rows[row].narrow(0, row + 1, keys - row - 1).count_nonzero().item<std::int64_t>(), 0) << row;
    }
    std::mutex mutex;
    std::size_t seen = 0;
    for_pattern_rows(in, 0, 2, 1, [&](std::int64_t head, std::int64_t first, const at::Tensor& tile) {
        const std::lock_guard lock(mutex);
        for (const auto& [row, weights] : rows) {
            if (head != 1 || row < first || row >= first + tile.size(1)) continue;
            EXPECT_TRUE(at::equal(tile[0][row - first], weights.narrow(0, 0, tile.size(2)))) << row;
            ++seen;
        }
    });
    EXPECT_EQ(seen, rows.size());
}

class TileCollector : public Collector {
public:
    explicit TileCollector(const ModelConfig& c, std::int64_t tokens) : covered(at::zeros({c.n_layers, c.n_heads, tokens})) {
        patterns = at::zeros({c.n_layers, c.n_heads, tokens, tokens});
    }
    bool wants_pattern_tiles() const override { return true; }
    void pattern_tile(Layer l, std::int64_t head0, std::int64_t row0, const at::Tensor& tile, std::span<const RowLogs>) override {
        const std::lock_guard lock(mutex);
        covered[l.value].narrow(0, head0, tile.size(0)).narrow(1, row0, tile.size(1)).add_(1);
        patterns[l.value].narrow(0, head0, tile.size(0)).narrow(1, row0, tile.size(1)).narrow(2, 0, tile.size(2)).copy_(tile);
    }
    at::Tensor covered, patterns;
    std::mutex mutex;
};

TEST_P(Invariants, TilesCoverEveryRowOnce) {
    const auto tokens = static_cast<std::int64_t>(input.ids.size());
    for (const bool whole : {false, true}) {
        TileCollector tiles(model->config(), tokens);
        tiles.wanted = [&](HookPoint p) { return whole && p.hook == Hook::pattern; };
        forward(*model, input, tiles, {}, {});
        EXPECT_TRUE(at::equal(tiles.covered, at::ones_like(tiles.covered)));
        for (std::int64_t l = 0; l < model->config().n_layers; ++l)
            EXPECT_TRUE(at::equal(tiles.patterns[l], get("attn.hook_pattern", l)));
    }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Invariants, testing::ValuesIn(fixture_names()),
                         [](const auto& each) { return test::case_name(each.param); });

}  // namespace invariants_test
}  // namespace headlight::model
