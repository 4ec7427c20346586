// SPDX-License-Identifier: GPL-3.0-or-later
// Layers that are made again against the same layers kept: bit for bit, whatever the model.
#include "headlight/trace/remade.h"
#include "headlight/base/working_for.h"
#include "headlight/trace/tensors.h"
#include "tests/support/case_name.h"
#include "tests/support/memory_budget.h"
#include "tests/trace/novella.h"
#include "tests/trace/text_fixtures.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <thread>

namespace headlight::trace {
namespace remade_test {

using model::Hook;
using model::HookPoint;
using model::Stack;
using namespace testing_support;

bool same(const at::Tensor& a, const at::Tensor& b) { return a.sizes() == b.sizes() && at::equal(a, b); }

/// Everything that the full trace gives, from the last layer to the first and again from the first to the last.
void expect_same(const Trace& made, const Trace& kept) {
    EXPECT_TRUE(remade_now(made).any);
    EXPECT_FALSE(remade_now(kept).any);
    EXPECT_EQ(made.kept(), kept.kept());
    std::vector<HookPoint> points = kept.kept();
    for (std::int64_t l = 0; l < kept.config().n_layers; ++l)
        for (const Hook hook : {Hook::pattern, Hook::attn_scores, Hook::result, Hook::mlp_post, Hook::ln1_normalized})
            if (kept.has({hook, Layer(l)})) points.push_back({hook, Layer(l)});
    for (int turn = 0; turn < 2; ++turn) {
        std::ranges::reverse(points);
        for (const HookPoint& point : points) {
            EXPECT_TRUE(made.has(point)) << name_of(point);
            EXPECT_TRUE(same(tensor(made, point), tensor(kept, point))) << name_of(point);
        }
    }
    // Layer after layer, so that every tensor is the first to be asked of its layer.
    std::ranges::sort(points, {}, [](const HookPoint& p) { return std::pair(p.hook, p.layer.value); });
    for (const HookPoint& point : points) EXPECT_TRUE(same(tensor(made, point), tensor(kept, point))) << name_of(point);
    for (const HookPoint& point : kept.kept()) {
        const std::int64_t rows = tensor(kept, point).size(0);
        if (rows < 3 || rows != kept.tokens()) continue;
        EXPECT_TRUE(same(tensor_rows(made, point, rows - 2, 2), tensor_rows(kept, point, rows - 2, 2))) << name_of(point);
    }
    if (kept.overview().any()) {
        EXPECT_EQ(made.pooled(Layer(0), Head(0)).mean, kept.pooled(Layer(0), Head(0)).mean);
    }
}

class RemadeFamilies : public testing::TestWithParam<std::string> {};

TEST_P(RemadeFamilies, GivesWhatAFullTraceGives) {
    const Opened opened(fixtures() / GetParam());
    const bool two = opened.model->part(Stack::encoder) != nullptr;
    const Prompt prompt{.text = "the nurse asked the old nurse", .pair = two ? "die alte Katze" : ""};
    const auto kept = run(opened.model, opened.tokenizer, prompt);
    const test::Budget none;
    const auto made = run(opened.model, opened.tokenizer, prompt);
    expect_same(*made, *kept);
    if (!two) return;
    expect_same(*made->part(Stack::encoder), *kept->part(Stack::encoder));
    expect_same(*made->part(Stack::cross), *kept->part(Stack::cross));
}

INSTANTIATE_TEST_SUITE_P(EveryFixture, RemadeFamilies, testing::ValuesIn(text_fixtures()),
                         [](const auto& p) { return test::case_name(p.param); });

std::string long_text() {
    std::string text;
    for (int i = 0; i < 24; ++i) text += std::string(kSentence) + (i % 3 ? " " : "\n");
    return text;
}

TEST(Remade, LogitsOfATextOfSeveralTilesAreMadeRowByRow) {
    const Novella& novella = Novella::get();
    const auto kept = novella.run(long_text());
    const test::Budget none;
    const auto made = novella.run(long_text());
    const HookPoint logits{Hook::logits, Layer(0)};
    const std::int64_t n = kept->tokens();
    ASSERT_GT(n, 2 * kLogitRows + 10);
    const at::Tensor all = tensor(*kept, logits);
    for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {kLogitRows - 1, 2}, {n - 1, 1}, {5, n - 7}})
        EXPECT_TRUE(same(tensor_rows(*made, logits, first, count), all.narrow(0, first, count))) << first;
    EXPECT_EQ(tensor_rows(*made, logits, 3, 0).sizes(), (std::vector<std::int64_t>{0, all.size(1)}));
    expect_same(*made, *kept);
}

TEST(Remade, TakesLessMemoryAndKeepsWithinItsRoom) {
    const Novella& novella = Novella::get();
    const auto kept = novella.run(long_text());
    const std::int64_t layer = kept->bytes() / kept->config().n_layers;
    const test::Budget some(4 * layer);
    const auto made = novella.run(long_text());
    EXPECT_LT(made->bytes(), kept->bytes() / 3);
    for (std::int64_t l = 0; l < kept->config().n_layers; ++l) tensor(*made, {Hook::mlp_pre, Layer(l)});
    EXPECT_GT(remade_now(*made).bytes, 0);
    EXPECT_LE(remade_now(*made).bytes, layer) << "a quarter of the budget";
    const auto other = novella.run(long_text());
    tensor(*other, {Hook::mlp_pre, Layer(0)});
    const std::int64_t one = remade_now(*other).bytes;
    for (std::int64_t l = 0; l < kept->config().n_layers; ++l) tensor(*other, {Hook::mlp_pre, Layer(l)});
    EXPECT_LE(remade_now(*made).bytes + remade_now(*other).bytes, std::max(layer, remade_now(*made).bytes + one))
        << "runs share it";
}

TEST(Remade, GivesUpAllButTheLatestLayerForWorkThatNeedsTheBudget) {
    const Novella& novella = Novella::get();
    const auto kept = novella.run(long_text());
    const auto made = [&] {
        const test::Budget none;
        return novella.run(long_text());
    }();
    const test::Budget some(3 * kept->bytes());
    tensor(*made, {Hook::mlp_out, Layer(0)});
    const std::int64_t one = remade_now(*made).bytes;
    for (std::int64_t l = 1; l < 3; ++l) tensor(*made, {Hook::mlp_out, Layer(l)});
    ASSERT_EQ(remade_now(*made).bytes, 3 * one);
    keep_to_budget(3 * kept->bytes());
    EXPECT_EQ(remade_now(*made).bytes, one);
    for (std::int64_t l = 0; l < 3; ++l)
        EXPECT_TRUE(same(tensor(*made, {Hook::mlp_out, Layer(l)}), tensor(*kept, {Hook::mlp_out, Layer(l)}))) << l;
}

TEST(Remade, CountsTheTileOfLogitsAndTheEncodersLayers) {
    const test::Budget none;
    const auto made = Novella::get().run(long_text());
    tensor_rows(*made, {Hook::logits, Layer(0)}, 0, 1);
    EXPECT_GE(remade_now(*made).bytes, kLogitRows * made->config().vocab_size * 4);
    const Opened t5(fixtures() / "encoder_decoders/t5");
    const auto two = run(t5.model, t5.tokenizer, {.text = "the nurse asked the old nurse", .pair = "die alte Katze"});
    const std::int64_t bytes = two->bytes();
    tensor(*two->part(Stack::encoder), {Hook::mlp_out, Layer(0)});
    EXPECT_GT(remade_now(*two).bytes, 0);
    EXPECT_EQ(two->bytes(), bytes + remade_now(*two).bytes);
}

/// What is there needs no work, which nobody wants here.
bool is_kept(const Trace& trace, Layer layer) {
    const CancelToken cancelled;
    cancelled.cancel();
    const WorkingFor nobody(cancelled);
    try {
        tensor(trace, {Hook::mlp_out, layer});
        return true;
    } catch (const Cancelled&) {
        return false;
    }
}

TEST(Remade, MakesALayerAheadWhereThereIsRoomBesideTheLatest) {
    const Novella& novella = Novella::get();
    const auto kept = novella.run(long_text());
    const auto layer_bytes = [&] {
        const test::Budget none;
        const auto made = novella.run(long_text());
        tensor(*made, {Hook::mlp_out, Layer(0)});
        return remade_now(*made).bytes;
    }();
    const WorkingFor someone{CancelToken()};
    {
        const test::Budget two(4 * (2 * layer_bytes + layer_bytes / 2));
        const auto made = novella.run(long_text());
        make_ahead(*made, Layer(1));
        EXPECT_EQ(remade_now(*made).bytes, 0) << "nothing was read yet: how far to make it is not known";
        tensor(*made, {Hook::mlp_out, Layer(2)});
        make_ahead(*made, Layer(7'000));
        EXPECT_EQ(remade_now(*made).bytes, layer_bytes);
        make_ahead(*made, Layer(3));
        EXPECT_EQ(remade_now(*made).bytes, 2 * layer_bytes);
        make_ahead(*made, Layer(1));
        EXPECT_EQ(remade_now(*made).bytes, 2 * layer_bytes) << "not in the place of another one that is likely to be read";
        EXPECT_TRUE(is_kept(*made, Layer(3)));
        EXPECT_TRUE(is_kept(*made, Layer(2)));
        make_ahead(*made, Layer(1));
        EXPECT_EQ(remade_now(*made).bytes, 2 * layer_bytes) << "in the place of the one before";
        EXPECT_TRUE(is_kept(*made, Layer(1)));
        EXPECT_FALSE(is_kept(*made, Layer(3)));
        EXPECT_TRUE(same(tensor(*made, {Hook::mlp_out, Layer(1)}), tensor(*kept, {Hook::mlp_out, Layer(1)})));
        tensor(*made, {Hook::logits, Layer(0)});
        make_ahead(*made, Layer(0));
        EXPECT_TRUE(is_kept(*made, Layer(0))) << "beside the latest layer, though logits were read after it";
        EXPECT_TRUE(is_kept(*made, Layer(1)));
        tensor(*made, {Hook::logits, Layer(0)});
        for (const std::int64_t beside : {2, 0}) make_ahead(*made, Layer(beside));
        EXPECT_TRUE(is_kept(*made, Layer(1))) << "the layer that was read stays, whatever is made beside it";
    }
    const test::Budget one(4 * (layer_bytes + layer_bytes / 2));
    const auto made = novella.run(long_text());
    tensor(*made, {Hook::mlp_out, Layer(2)});
    make_ahead(*made, Layer(1));
    EXPECT_EQ(remade_now(*made).bytes, layer_bytes) << "no room beside the latest";
}

TEST(Remade, LayersWithInterventionsAreKeptAsTheyWere) {
    const Novella& novella = Novella::get();
    const Intervention halve{"blocks.1.attn.hook_z", [](HookPoint, const at::Tensor& t) { return t * 0.5; }};
    const Intervention shift{"blocks.2.hook_resid_pre", [](HookPoint, const at::Tensor& t) { return t + 1.0; }};
    const auto kept = novella.run_with(kSentence, {halve, shift});
    const test::Budget none;
    int calls = 0;
    const Intervention counted{"blocks.1.attn.hook_z", [&](HookPoint, const at::Tensor& t) { return ++calls, t * 0.5; }};
    const auto made = novella.run_with(kSentence, {counted, shift});
    expect_same(*made, *kept);
    EXPECT_EQ(calls, 1) << "an intervention is called in the run alone";
}

TEST(Remade, AnExplicitListIsKeptWhateverTheBudget) {
    const test::Budget none;
    EXPECT_FALSE(remade_now(*Novella::get().run(kSentence, {.globs = {"blocks.*.attn.hook_q"}})).any);
}

TEST(Remade, EveryHookIsMadeAgainBitForBit) {
    const auto kept = Novella::get().run(kSentence, CapturePlan::everything());
    const test::Budget none;
    expect_same(*Novella::get().run(kSentence, CapturePlan::everything()), *kept);
}

TEST(Remade, ACancelledJobEndsAndTheNextOneGetsTheLayer) {
    const Novella& novella = Novella::get();
    const auto kept = novella.run(kSentence);
    const test::Budget none;
    const auto made = novella.run(kSentence);
    const HookPoint point{Hook::mlp_out, Layer(1)};
    {
        const CancelToken token;
        token.cancel();
        const WorkingFor cancelled(token);
        EXPECT_THROW(tensor(*made, point), Cancelled);
    }
    EXPECT_TRUE(same(tensor(*made, point), tensor(*kept, point)));
}

TEST(Remade, SeveralThreadsReadDifferentLayers) {
    const Novella& novella = Novella::get();
    const auto kept = novella.run(kSentence);
    const test::Budget none;
    const auto made = novella.run(kSentence);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (std::int64_t i = 0; i < 12; ++i) {
                const HookPoint point{i % 2 ? Hook::mlp_out : Hook::q, Layer((i + t) % kept->config().n_layers)};
                wrong += !same(tensor(*made, point), tensor(*kept, point));
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

std::int64_t made_layer_bytes(const Trace& trace, Layer layer) {
    tensor(trace, {Hook::mlp_out, layer});
    return remade_now(trace).bytes;
}

TEST(Remade, TheForecastSaysWhatARunKeepsAndWhatItMakesAgain) {
    const model::ModelConfig& c = Novella::get().model->config();
    const Forecast full = forecast(c, 300, {});
    EXPECT_EQ(remade_bytes(c, 300, {}), 0);
    const test::Budget none;
    const Forecast less = forecast(c, 300, {});
    EXPECT_EQ(less.kept + remade_bytes(c, 300, {}), full.kept);
    EXPECT_EQ(remade_bytes(c, 300, {.globs = {"*hook_q"}}), 0);
    EXPECT_GT(remade_bytes(c, 300, CapturePlan::everything()), remade_bytes(c, 300, {}));
    const auto made = Novella::get().run(kSentence);
    EXPECT_EQ(made->bytes(), forecast(c, made->tokens(), {}).kept);
    // Where the first layer is a dense one, a layer of experts is the largest.
    const Opened experts(fixtures() / "models/deepseek-v3");
    model::ModelConfig dense = experts.model->config();
    ASSERT_FALSE(model::has_experts(dense, 0));
    const auto run_of_it = run(experts.model, experts.tokenizer, {.text = "the nurse asked the old nurse"});
    tensor(*run_of_it, {Hook::mlp_out, Layer(dense.n_layers - 1)});
    const Forecast all = forecast(dense, run_of_it->tokens(), {});
    dense.n_layers = 1;
    EXPECT_GE(all.working - forecast(dense, run_of_it->tokens(), {}).working,
              remade_now(*run_of_it).bytes - made_layer_bytes(*run_of_it, Layer(0)));
}

}  // namespace remade_test
}  // namespace headlight::trace
