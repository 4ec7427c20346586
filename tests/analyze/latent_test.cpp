// SPDX-License-Identifier: GPL-3.0-or-later
// Latent attention in the views: the parts of the score, what the weights alone say, the cache.
#include "headlight/analyze/architecture/kv_cache.h"
#include "headlight/analyze/pattern/neuron_view.h"
#include "headlight/analyze/pattern/score_parts.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"
#include "tests/analyze/traces.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace headlight::analyze {
namespace latent_test {

using model::Hook;
using model::HookPoint;

constexpr const char* sentence = "the cat, the hat: the cat";
constexpr const char* models[] = {"deepseek-v2", "deepseek-v2-groups", "deepseek-v3", "deepseek-v3-halves"};

std::filesystem::path folder_of(const char* name) { return source_folder() / "tests/fixtures/models" / name; }

TEST(LatentParts, TheNeuronViewTellsContentAndRotationApart) {
    for (const char* name : models) {
        SCOPED_TRACE(name);
        const TracePtr trace = run_model(folder_of(name), sentence);
        const HeadId id{Layer(1), Head(2)};
        const Position query(5);
        const NeuronView view = neuron_view(*trace, id, query);
        const std::int64_t content = trace->config().latent.content;
        ASSERT_EQ(view.content, content);
        ASSERT_EQ(view.parts.size(), 2U);
        EXPECT_EQ(view.q.size(), trace->config().d_head);
        const at::Tensor scores = trace::score_rows(*trace, id.layer, id.head, query.value, 1)[0];
        for (std::int64_t j = 0; j <= query.value; ++j) {
            const auto products = view.products.row(j).cast<double>();
            EXPECT_NEAR(view.parts[0].values[j], view.scale * products.head(content).sum(), 1e-5);
            EXPECT_NEAR(view.parts[1].values[j], view.scale * products.tail(products.size() - content).sum(), 1e-5);
            EXPECT_NEAR(view.parts[0].values[j] + view.parts[1].values[j], scores[j].item<double>(), 1e-5);
            EXPECT_NEAR(view.score[j], scores[j].item<double>(), 1e-5);
        }
        for (std::int64_t j = query.value + 1; j < trace->tokens(); ++j)
            EXPECT_TRUE(std::isnan(view.parts[0].values[j]) && std::isnan(view.parts[1].values[j]) && std::isnan(view.score[j]));
    }
}

/// A replaced part is in the scores, the pattern, the neuron view and the maps.
TEST(LatentParts, AReplacedPartIsPartOfTheScore) {
    const TracePtr plain = run_model(folder_of("deepseek-v2"), sentence);
    const auto changed = trace::run_with_hooks(
        plain->model(), plain->tokenizer(), {.text = sentence}, {},
        {{"blocks.1.attn.hook_rotary_scores", [](HookPoint, const at::Tensor& t) { return at::zeros_like(t); }}});
    const at::Tensor content = trace::tensor(*plain, {Hook::content_scores, Layer(1)}), legal = at::isfinite(content);
    const at::Tensor scores = trace::tensor(*changed, {Hook::attn_scores, Layer(1)});
    EXPECT_LE((scores.masked_select(legal) - content.masked_select(legal)).abs().max().item<double>(), 1e-5);
    EXPECT_LE((trace::tensor(*changed, {Hook::pattern, Layer(1)}) - at::softmax(scores, -1)).abs().max().item<double>(), 1e-6);
    const NeuronView view = neuron_view(*changed, {Layer(1), Head(0)}, Position(4));
    for (std::int64_t j = 0; j <= 4; ++j) {
        EXPECT_EQ(view.parts[1].values[j], 0);
        EXPECT_NEAR(view.score[j], content[0][4][j].item<double>(), 1e-5);
    }
    const auto parts = score_parts(*changed, {Layer(1), Head(0)});
    EXPECT_NEAR(parts.back().values(4, 2), content[0][4][2].item<double>(), 1e-5);
}

TEST(LatentParts, AreMadeOnDemand) {
    const TracePtr trace = run_model(folder_of("deepseek-v3"), sentence);
    EXPECT_THAT(trace->kept(), testing::Not(testing::Contains(HookPoint{Hook::content_scores, Layer(0)})));
    EXPECT_THAT(trace->kept(), testing::Contains(HookPoint{Hook::latent, Layer(0)}));
    EXPECT_TRUE(trace->has({Hook::content_scores, Layer(0)}) && trace->has({Hook::rotary_scores, Layer(1)}));
}

/// In every model the parts sum to the score before its cap, and illegal keys have no parts.
TEST(ScoreParts, SumToTheScoreInEveryFamily) {
    std::map<std::string, int> names;
    for (const auto& folder : model_folders()) {
        SCOPED_TRACE(folder.filename().string());
        const TracePtr trace = run_model(folder, sentence);
        const HeadId id{Layer(1), Head(0)};
        const auto parts = score_parts(*trace, id);
        ASSERT_EQ(parts.back().name, "score");
        const Matrix whole = scores(*trace, id);
        const bool capped = trace->config().score_softcap > 0;
        for (std::int64_t i = 0; i < whole.rows(); ++i)
            for (std::int64_t j = 0; j < whole.cols(); ++j) {
                double sum = 0;
                for (std::size_t p = 0; p + 1 < parts.size(); ++p) sum += parts[p].values(i, j);
                const double score = parts.back().values(i, j);
                ASSERT_EQ(std::isnan(score), std::isnan(whole(i, j)));
                if (std::isnan(score)) continue;
                if (parts.size() > 1) {
                    EXPECT_NEAR(sum, score, 2e-5 * std::max(1.0, std::abs(score)));
                }
                const double cap = trace->config().score_softcap;
                EXPECT_NEAR(capped ? cap * std::tanh(score / cap) : score, whole(i, j), 1e-5);
            }
        for (std::size_t p = 0; p + 1 < parts.size(); ++p) ++names[parts[p].name];
    }
    EXPECT_GE(names["rotary"], 4);
    EXPECT_GE(names["position"], 10);
    EXPECT_GE(names["c2p"], 2);
}

/// w_q, w_k and w_v, and the lengths that the latents' norms divide by, give what the pass had.
TEST(LatentWeights, AreWhatThePassMultipliesWith) {
    for (const char* name : models) {
        SCOPED_TRACE(name);
        const auto model = model::Model::load(folder_of(name), {.dtype = model::ComputeType::float64});
        const auto tokenizer = text::Tokenizer::load(folder_of(name));
        const auto trace = trace::run(model, tokenizer, {.text = sentence}, trace::CapturePlan::everything());
        const model::ModelConfig& c = trace->config();
        const Layer layer(1);
        const trace::AttentionTensors w = trace::attention_weights(*model, layer);
        EXPECT_EQ(w.w_q_latent.defined(), c.latent.query_rank > 0);
        const at::Tensor x = trace::tensor(*trace, {Hook::ln1_normalized, layer}) * w.norm.gain;
        const auto through = [&](const at::Tensor& head, const at::Tensor& latent) {
            const at::Tensor y = at::mm(x, head);
            return latent.defined() ? y / at::mm(x, latent).square().mean(1, true).sqrt() : y;
        };
        const auto seen = [&](Hook hook, std::int64_t head, std::int64_t count) {
            return trace::tensor(*trace, {hook, layer}).select(1, head).narrow(1, 0, count);
        };
        const auto far = [](const at::Tensor& a, const at::Tensor& b) {
            return ((a - b).abs().max() / b.abs().max()).item<double>();
        };
        for (std::int64_t h = 0; h < c.n_heads; ++h) {
            EXPECT_LE(far(through(w.w_q[h], w.w_q_latent), seen(Hook::q, h, c.latent.content)), 1e-5);
            EXPECT_LE(far(through(w.w_k[h], w.w_kv_latent), seen(Hook::k, h, c.latent.content)), 1e-5);
            EXPECT_LE(far(through(w.w_v[h], w.w_kv_latent), seen(Hook::v, h, model::value_width(c))), 1e-5);
        }
    }
}

/// DeepSeek-V2 (arXiv:2405.04434): 34,560 numbers a token, as 2.25 groups of heads would keep.
TEST(LatentCache, IsThatOfThePaper) {
    model::ModelConfig c;
    c.n_layers = 60;
    c.n_heads = c.n_kv_heads = 128;
    c.d_head = 192;
    c.d_value = 128;
    c.latent = {.rank = 512, .query_rank = 1536, .content = 128};
    const KvCache cache = kv_cache(c, {.groups = 8});
    std::map<std::string, KvScheme> schemes;
    for (const KvScheme& scheme : cache.schemes) schemes[scheme.id] = scheme;
    EXPECT_EQ(schemes.at("MHA").elements_per_token, 1'966'080);
    EXPECT_EQ(schemes.at("GQA").elements_per_token, 122'880);
    EXPECT_EQ(schemes.at("MQA").elements_per_token, 15'360);
    EXPECT_EQ(schemes.at("MLA").elements_per_token, 34'560);
    EXPECT_EQ(schemes.at("expanded").elements_per_token, 128 * (192 + 128) * 60);
    for (const auto& [id, scheme] : schemes) EXPECT_EQ(scheme.own, id == "MLA") << id;
    const KvCache narrower = kv_cache(c, {.latent = 256});
    ASSERT_EQ(narrower.schemes.size(), 6U) << "the model's own stays beside what would be";
    EXPECT_EQ(narrower.schemes[3].elements_per_token, 34'560);
    EXPECT_EQ(narrower.schemes[4].elements_per_token, (256 + 64) * 60);
    EXPECT_TRUE(narrower.schemes[3].own && !narrower.schemes[4].own);

    model::ModelConfig plain = c;  // the same heads without a latent: 4 d and d / 2, as in the paper
    plain.d_head = 128;
    plain.d_value = 0;
    plain.latent = {};
    const KvCache what_if = kv_cache(plain);
    ASSERT_EQ(what_if.schemes.size(), 4U);
    EXPECT_EQ(what_if.schemes[3].elements_per_token, 34'560);
    EXPECT_TRUE(what_if.schemes[0].own);
}

}  // namespace latent_test
}  // namespace headlight::analyze
