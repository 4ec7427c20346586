// SPDX-License-Identifier: GPL-3.0-or-later
// Gradients against central finite differences in float64, and passes beside the trace against the run.
#include "headlight/trace/replay.h"

#include "headlight/base/error.h"
#include "tests/support/case_name.h"
#include "tests/trace/text_fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace headlight::trace {
namespace replay_test {

using model::Hook;
using model::HookPoint;
using namespace testing_support;

/// A curved function of all logits, so that no gradient is 0 by accident.
at::Tensor objective(const at::Tensor& logits) {
    const at::Tensor p = at::log_softmax(logits.to(at::kDouble), 1);
    return p.select(1, 3).sum() + 0.3 * p.select(0, p.size(0) - 1).select(0, std::min<std::int64_t>(11, p.size(1) - 1));
}

class EveryFamilyReplay : public testing::TestWithParam<std::filesystem::path> {
protected:
    static std::shared_ptr<const model::Model> load(model::ComputeType type) {
        return model::Model::load(GetParam(), {.dtype = type});
    }
};

TEST_P(EveryFamilyReplay, GradientsAreFiniteDifferences) {
    const auto model = load(model::ComputeType::float64);
    if (!model->config().has_unembedding) {
        EXPECT_THROW(gradients(*model, some_input(*model), {}, objective), Error);
        return;
    }
    const TokenIds tokens = some_input(*model);
    const std::int64_t last = model->config().n_layers - 1;
    std::vector<HookPoint> points = {{Hook::embed, Layer(0)}};
    for (const Layer layer : {Layer(0), Layer(last)})
        for (const Hook hook : {Hook::pattern, Hook::attn_scores, Hook::q, Hook::k, Hook::v, Hook::z, Hook::result, Hook::mlp_pre,
                                Hook::mlp_out, Hook::resid_mid})
            points.push_back({hook, layer});
    for (const HookPoint point : points) {
        SCOPED_TRACE(name_of(point));
        const Gradients g = gradients(*model, tokens, {point}, objective);
        const at::Tensor gradient = g.gradients.at(point), value = g.values.at(point);
        ASSERT_EQ(gradient.sizes(), value.sizes());
        EXPECT_GT(gradient.abs().max().item<double>(), 0);
        const double scale = gradient.abs().max().item<double>();
        const std::int64_t n = gradient.numel();
        for (const std::int64_t at : {std::int64_t{0}, n / 3, n / 2, 2 * n / 3 + 1, n - 1}) {
            if (!std::isfinite(value.reshape(-1)[at].item<double>())) continue;  // a key that may not be seen
            constexpr double step = 1e-5;
            const auto objective_with = [&](double by) {
                const auto nudge = [&](HookPoint, const at::Tensor& t) {
                    at::Tensor changed = t.contiguous().clone();
                    changed.view(-1)[at] += by;
                    return changed;
                };
                return objective(replay(*model, tokens, {{name_of(point), nudge}})).item<double>();
            };
            const double difference = (objective_with(step) - objective_with(-step)) / (2 * step);
            EXPECT_NEAR(gradient.reshape(-1)[at].item<double>(), difference, 1e-6 * std::max(1.0, scale)) << at;
        }
    }
}

// Asked for its own gradient a pattern is kept whole, and autograd goes through it.
TEST_P(EveryFamilyReplay, PatternsThatAreMadeAgainGiveTheGradientsOfKeptOnes) {
    for (const auto type : {model::ComputeType::float32, model::ComputeType::float64}) {
        const auto model = load(type);
        const model::ModelConfig& c = model->config();
        if (!c.has_unembedding) continue;
        constexpr std::int64_t kSeveralTiles = 600;
        TokenIds tokens = some_input(*model);
        const std::int64_t most = c.context_length > 0 ? std::min(c.context_length, kSeveralTiles) : kSeveralTiles;
        if (!model::reads_pictures(c)) tokens.ids = some_ids(most, c.vocab_size);
        const HookPoint embed{Hook::embed, Layer(0)};
        std::vector<HookPoint> kept = {embed};
        for (std::int64_t l = 0; l < c.n_layers; ++l) {
            kept.push_back({Hook::pattern, Layer(l)});
            if (has_cross_attention(c)) kept.push_back({Hook::cross_pattern, Layer(l)});
        }
        const Gradients again = gradients(*model, tokens, {embed}, objective), whole = gradients(*model, tokens, kept, objective);
        const double least = type == model::ComputeType::float32 ? 2e-5 : 1e-11;
        const auto expect_near = [&](const auto& found, const auto& expected) {
            ASSERT_EQ(found.contains(embed), expected.contains(embed));
            if (!expected.contains(embed)) return;
            const at::Tensor difference = found.at(embed) - expected.at(embed);
            EXPECT_LT(difference.abs().max().template item<double>(),
                      least * expected.at(embed).abs().max().template item<double>())
                << enum_word(type);
        };
        expect_near(again.gradients, whole.gradients);
        expect_near(again.source_gradients, whole.source_gradients);
        EXPECT_EQ(again.source_gradients.empty(), tokens.source.empty());
        EXPECT_NEAR(again.value, whole.value, least * std::abs(whole.value));
    }
}

TEST_P(EveryFamilyReplay, ARowIsThatOfTheWholePattern) {
    const auto model = load(model::ComputeType::float32);
    const model::ModelConfig& c = model->config();
    if (!c.has_unembedding) return;
    const TokenIds tokens = some_input(*model);
    const std::int64_t query = std::ssize(tokens.ids) - 2;
    std::map<HookPoint, at::Tensor> rows, values;
    const at::Tensor logits = replay_row(*model, tokens, query, [&](HookPoint point, const at::Tensor& row, const at::Tensor& v) {
        rows[point] = row;
        values[point] = v;
    });
    EXPECT_TRUE(at::equal(logits, replay(*model, tokens)));
    std::size_t seen = 0;
    const auto check = [&](HookPoint point, const at::Tensor& t) {
        const bool cross = point.hook == Hook::cross_pattern || point.hook == Hook::cross_v;
        const HookPoint pattern{cross ? Hook::cross_pattern : Hook::pattern, point.layer};
        if (point == pattern)
            EXPECT_TRUE(at::equal(rows.at(pattern), t.select(1, query))) << name_of(point);
        else
            EXPECT_TRUE(at::equal(values.at(pattern), t)) << name_of(point);
        ++seen;
        return t;
    };
    std::vector<Intervention> hooks{{"*.attn.hook_pattern", check}, {"*.attn.hook_v", check}};
    if (has_cross_attention(c)) hooks.insert(hooks.end(), {{"*.cross_attn.hook_pattern", check}, {"*.cross_attn.hook_v", check}});
    replay(*model, tokens, hooks);
    EXPECT_EQ(seen, 2 * rows.size());
    EXPECT_EQ(rows.size(), static_cast<std::size_t>(c.n_layers * (has_cross_attention(c) ? 2 : 1)));
}

TEST_P(EveryFamilyReplay, TheRecordedPassIsThePass) {
    for (const auto type : {model::ComputeType::float32, model::ComputeType::float64}) {
        const auto model = load(type);
        if (!model->config().has_unembedding) continue;
        const TokenIds tokens = some_input(*model);
        at::Tensor recorded;
        const Gradients g = gradients(*model, tokens, {{Hook::pattern, Layer(1)}}, [&](const at::Tensor& logits) {
            recorded = logits.detach();
            return objective(logits);
        });
        at::Tensor pattern;
        const auto look = [&](HookPoint, const at::Tensor& t) { return pattern = t; };
        const at::Tensor usual = replay(*model, tokens, {{"blocks.1.attn.hook_pattern", look}});
        const double size = usual.abs().max().item<double>();
        EXPECT_LT((recorded - usual).abs().max().item<double>(),
                  1e-6 * std::max(1.0, size) * (type == model::ComputeType::float32 ? 10 : 1e-6));
        EXPECT_LT((g.values.at({Hook::pattern, Layer(1)}) - pattern).abs().max().item<double>(),
                  type == model::ComputeType::float32 ? 1e-5 : 1e-12);
        EXPECT_NEAR(g.value, objective(usual).item<double>(), 1e-4 * std::max(1.0, std::abs(g.value)));
        // Nothing of it stays: the next pass is the usual one bit for bit.
        EXPECT_TRUE(at::equal(replay(*model, tokens), usual));
    }
}

/// Weights of a head in another order, row by row of [head, key].
at::Tensor backwards(std::int64_t heads, std::int64_t keys) {
    at::Tensor order = at::arange(keys - 1, -1, -1, at::kLong).unsqueeze(0).repeat({heads, 1});
    order[0] = order[0].roll(1);
    return order;
}

Edit reorder(HookPoint point, std::int64_t position, const at::Tensor& order) {
    return {point, position, [=](HookPoint, const at::Tensor& pattern, std::int64_t first) {
                at::Tensor changed = pattern.clone();
                changed.select(1, position - first).copy_(pattern.select(1, position - first).gather(1, order));
                return changed;
            }};
}

/// Of all variants, [variant, vocab].
at::Tensor logits_of_variants(const model::Model& model, const TokenIds& tokens, std::int64_t position,
                              const std::vector<Variant>& variants, const Progress& progress = {}) {
    std::vector<at::Tensor> all;
    const auto take = [&](std::int64_t, const at::Tensor&, const at::Tensor& logits) { all.push_back(logits); };
    replay_variants(model, tokens, position, variants, take, {}, progress);
    return at::cat(all);
}

void expect_variants(const model::Model& model, const TokenIds& tokens, std::int64_t position) {
    const model::ModelConfig& c = model.config();
    std::vector<Variant> variants;
    std::vector<at::Tensor> expected;
    const auto add = [&](Variant v, const TokenIds& ids, const std::vector<Intervention>& hooks) {
        variants.push_back(std::move(v));
        expected.push_back(replay(model, ids, hooks).select(0, position));
    };
    const auto reordered = [&](Hook hook, Layer layer, std::int64_t keys) {
        const HookPoint point{hook, layer};
        const Edit edit = reorder(point, position, backwards(c.n_heads, keys));
        add({.edits = {edit}}, tokens,
            {{name_of(point, c), [edit](HookPoint at, const at::Tensor& t) { return edit.fn(at, t, 0); }}});
    };
    const auto count = static_cast<std::int64_t>(tokens.ids.size()), source = static_cast<std::int64_t>(tokens.source.size());
    const Layer last(c.n_layers - 1);
    reordered(Hook::pattern, last, count);
    for (const std::int64_t at : {std::int64_t{0}, position / 2, position}) {
        TokenIds other = tokens;
        auto& id = other.ids[static_cast<std::size_t>(at)];
        id = (id + 3) % c.vocab_size;
        add({.ids = other.ids}, other, {});
    }
    reordered(Hook::pattern, Layer(0), count);
    if (source > 0) {
        reordered(Hook::cross_pattern, last, source);
        for (const std::size_t at : {std::size_t{0}, tokens.source.size() - 1}) {
            TokenIds other = tokens;
            other.source[at] = (other.source[at] + 3) % model.part(model::Stack::encoder)->config().vocab_size;
            add({.source = other.source}, other, {});
        }
        reordered(Hook::cross_pattern, Layer(0), source);
    }
    reordered(Hook::pattern, Layer(c.n_layers / 2), count);
    std::vector<std::int64_t> passes;
    const at::Tensor found =
        logits_of_variants(model, tokens, position, variants, [&](const ProgressStep& step) { passes.push_back(step.done); });
    ASSERT_EQ(found.size(0), std::ssize(variants));
    const at::Tensor wanted = at::stack(expected);
    EXPECT_LT((found - wanted).abs().max().item<double>(),
              (found.scalar_type() == at::kDouble ? 1e-11 : 2e-5) * std::max(1.0, wanted.abs().max().item<double>()));
    EXPECT_TRUE(std::ranges::is_sorted(passes));
    EXPECT_EQ(passes.back(), std::ssize(variants));
    CancelToken cancel;
    cancel.cancel();
    EXPECT_THROW(replay_variants(
                     model, tokens, position, variants, [](auto...) {}, cancel),
                 Cancelled);
}

TEST_P(EveryFamilyReplay, VariantsOfAStackAreTheirOwnPasses) {
    for (const auto type : {model::ComputeType::float32, model::ComputeType::float64}) {
        const auto model = load(type);
        const TokenIds tokens = some_input(*model);
        if (!model->config().has_unembedding || tokens.pixels) continue;
        for (const std::int64_t position : {std::int64_t{8}, std::int64_t{5}}) expect_variants(*model, tokens, position);
    }
}

TEST(Replay, AVariantWithoutADifferenceIsTheTextOfItsStackInEveryType) {
    // Rounding to bfloat16 is far from 0: only what comes out of the same products can be subtracted.
    for (const char* name : {"gpt2-inverse-layers", "llama-kv2", "bert-mlm"})
        for (const auto type : {model::ComputeType::bfloat16, model::ComputeType::float32}) {
            const auto model = model::Model::load(fixtures() / "models" / name, {.dtype = type});
            const TokenIds tokens = some_input(*model);
            const auto count = static_cast<std::int64_t>(tokens.ids.size());
            const at::Tensor order = at::arange(count, at::kLong).unsqueeze(0).repeat({model->config().n_heads, 1});
            std::vector<Variant> variants{{.ids = tokens.ids}};
            for (std::int64_t l = 0; l < model->config().n_layers; ++l)
                variants.push_back({.edits = {reorder({Hook::pattern, Layer(l)}, count - 1, order)}});
            std::int64_t seen = 0;
            const auto take = [&](std::int64_t first, const at::Tensor& usual, const at::Tensor& logits) {
                EXPECT_EQ(first, seen);
                for (std::int64_t i = 0; i < logits.size(0); ++i, ++seen)
                    EXPECT_LE((logits[i] - usual).abs().max().item<double>(), type == model::ComputeType::bfloat16 ? 0 : 1e-5)
                        << name << ", variant " << seen;
            };
            replay_variants(*model, tokens, count - 1, variants, take);
            EXPECT_EQ(seen, std::ssize(variants));
        }
}

TEST(Replay, ATokenBehindThePositionChangesNothingInACausalModel) {
    const auto model = model::Model::load(fixtures() / "models/gpt2");
    const TokenIds tokens = some_input(*model);
    std::vector<Variant> variants(2, {.ids = tokens.ids});
    variants[0].ids.back() = (tokens.ids.back() + 3) % model->config().vocab_size;
    variants[1].ids[1] = (tokens.ids[1] + 3) % model->config().vocab_size;
    const at::Tensor found = logits_of_variants(*model, tokens, 3, variants);
    EXPECT_LT((found[0] - replay(*model, tokens)[3]).abs().max().item<double>(), 1e-5);
    TokenIds other = tokens;
    other.ids = variants[1].ids;
    EXPECT_LT((found[1] - replay(*model, other)[3]).abs().max().item<double>(), 1e-5);
}

TEST(Replay, VariantsBehindAnEncoderToo) {
    for (const auto& folder : fixture_folders({"encoder_decoders"}, "config.json")) {
        SCOPED_TRACE(folder.filename().string());
        const auto model = model::Model::load(folder, {.dtype = model::ComputeType::float64});
        if (model->config().has_unembedding) expect_variants(*model, some_input(*model), 8);
    }
}

TEST(Replay, MoreVariantsThanAStackHolds) {
    const auto model = model::Model::load(std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "models/novella-7m");
    TokenIds tokens;
    tokens.ids = some_ids(120, model->config().vocab_size);
    std::vector<Variant> variants(tokens.ids.size(), {.ids = tokens.ids});
    for (std::size_t i = 0; i < variants.size(); ++i) variants[i].ids[i] = 9;
    const at::Tensor all = logits_of_variants(*model, tokens, 119, variants);
    ASSERT_EQ(all.size(0), 120);
    for (const std::size_t i : {0, 1, 60, 118, 119}) {
        TokenIds other = tokens;
        other.ids = variants[i].ids;
        const at::Tensor wanted = replay(*model, other).select(0, 119);
        EXPECT_LT((all[static_cast<std::int64_t>(i)] - wanted).abs().max().item<double>(), 1e-4) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Models, EveryFamilyReplay, testing::ValuesIn(fixture_folders({"models"}, "config.json")),
                         [](const auto& each) { return test::case_name(each.param.filename()); });

TEST(Replay, IsTheRun) {
    const auto folder = std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "models/novella-7m";
    const auto model = model::Model::load(folder);
    const auto run_of = run(model, text::Tokenizer::load(folder), {.text = "The doctor asked the nurse to wait."});
    EXPECT_TRUE(at::equal(replay(*model, ids_of(run_of->encoding())), tensor(*run_of, {Hook::logits, Layer(0)})));
    CancelToken cancel;
    cancel.cancel();
    EXPECT_THROW(replay(*model, ids_of(run_of->encoding()), {}, cancel), Cancelled);
    EXPECT_THROW(gradients(*model, ids_of(run_of->encoding()), {}, objective, cancel), Cancelled);
}

// Tiles of long texts have more rows, and keys are read in blocks.
TEST(Replay, TheGradientOfALongTextIsItsSlope) {
    const auto model = model::Model::load(std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/models/llama-kv2",
                                          {.dtype = model::ComputeType::float64});
    TokenIds tokens;
    tokens.ids = some_ids(8'400, model->config().vocab_size);
    const HookPoint embed{Hook::embed, Layer(0)};
    const auto last = [](const at::Tensor& logits) { return at::log_softmax(logits[-1], 0)[3]; };
    const Gradients g = gradients(*model, tokens, {embed}, last);
    const at::Tensor& way = g.gradients.at(embed);
    const double slope = way.square().sum().item<double>(), step = 1e-5 / std::sqrt(slope);
    const auto at = [&](double by) {
        return last(replay(*model, tokens, {{"hook_embed", [&](HookPoint, const at::Tensor& t) { return t + way * by; }}}))
            .item<double>();
    };
    EXPECT_NEAR((at(step) - at(-step)) / (2 * step), slope, 1e-6 * slope);
}

TEST(Replay, GradientsReportTheLayersOfBothWaysAndEndInBoth) {
    const auto model = model::Model::load(std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "models/novella-7m");
    TokenIds tokens;
    tokens.ids = some_ids(40, model->config().vocab_size);
    const HookPoint embed{Hook::embed, Layer(0)};
    const std::int64_t layers = model->config().n_layers;
    std::vector<std::int64_t> done, expected;
    for (std::int64_t i = 0; i <= 2 * layers; ++i) expected.push_back(i);
    gradients(*model, tokens, {embed}, objective, {}, [&](const ProgressStep& step) {
        EXPECT_EQ(step.total, 2 * layers);
        done.push_back(step.done);
    });
    EXPECT_EQ(done, expected);
    std::vector<HookPoint> patterns;
    for (std::int64_t l = 0; l < layers; ++l) patterns.push_back({Hook::pattern, Layer(l)});
    for (const auto& [of, last] : {std::pair(std::vector{embed}, layers / 2), std::pair(std::vector{embed}, layers + layers / 2),
                                   std::pair(patterns, layers + layers / 2)}) {
        CancelToken cancel;
        done.clear();
        EXPECT_THROW(gradients(*model, tokens, of, objective, cancel,
                               [&](const ProgressStep& step) {
                                   done.push_back(step.done);
                                   if (step.done == last) cancel.cancel();
                               }),
                     Cancelled);
        EXPECT_EQ(done.back(), last);
    }
}

}  // namespace replay_test
}  // namespace headlight::trace
