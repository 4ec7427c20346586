// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/generate.h"

#include "headlight/base/error.h"
#include "model/run/kv_cache.h"
#include "model/run/sampler.h"
#include "tests/model/run_all.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace headlight::model {
namespace generate_test {

using testing::HasSubstr;

std::filesystem::path novella() { return HEADLIGHT_SOURCE_DIR "/models/novella-7m"; }

at::Tensor last_logits(const Collector& seen) {
    const at::Tensor& logits = seen.tensors.at("logits");
    return logits.select(0, logits.size(0) - 1);
}

// Token by token with kept keys and values is the same function as all at once.
TEST(KvCache, EveryFamilyComputesTheSameRowByRow) {
    int checked = 0;
    for (const std::string& name : fixture_names()) {
        SCOPED_TRACE(name);
        const auto model = Model::load(fixture(name), {.dtype = ComputeType::float64, .device = "cpu"});
        if (!model->config().causal || !model->config().has_unembedding) continue;
        const ForwardInput text = some_text(model->config(), 17);
        KvCache cache(model->config().n_layers);
        for (std::size_t n = 7; n <= text.ids.size(); ++n) {
            const std::size_t first = n == 7 ? 0 : n - 1;
            Collector whole, row;
            whole.wanted = row.wanted = [](HookPoint p) { return p.hook == Hook::logits; };
            forward(*model, {.ids = {text.ids.begin(), text.ids.begin() + static_cast<long>(n)}, .type_ids = {}}, whole, {}, {});
            forward_cached(
                *model,
                {.ids = {text.ids.begin() + static_cast<long>(first), text.ids.begin() + static_cast<long>(n)}, .type_ids = {}},
                cache, row, {});
            ASSERT_EQ(row.tensors.at("logits").size(0), 1);
            const at::Tensor expected = last_logits(whole), found = last_logits(row);
            EXPECT_LT((expected - found).abs().max().item<double>(), 1e-11 * (1 + expected.abs().max().item<double>())) << n;
        }
        ++checked;
    }
    EXPECT_GE(checked, 3);
}

TEST(KvCache, BehindAPromptTokensComeOneByOne) {
    const auto model = Model::load(fixture("gpt2"));
    KvCache cache(model->config().n_layers);
    Collector seen;
    forward_cached(*model, {.ids = {5, 6, 7}, .type_ids = {}}, cache, seen, {});
    EXPECT_EQ(cache.tokens(), 3);
    EXPECT_THROW(forward_cached(*model, {.ids = {8, 9}, .type_ids = {}}, cache, seen, {}), Error);
}

TEST(Generate, GreedyTakesTheLikeliestTokenOfAWholeRunEachTime) {
    const auto model = Model::load(novella(), {.device = "cpu"});
    std::vector<std::int64_t> ids = {2, 100, 57, 300};
    const Generated made = generate(*model, ids, {.tokens = 12});
    ASSERT_EQ(made.ids.size(), 12u);
    EXPECT_EQ(made.probabilities.size(), 12u);
    for (std::size_t i = 0; i < made.ids.size(); ++i) {
        Collector seen;
        seen.wanted = [](HookPoint p) { return p.hook == Hook::logits; };
        forward(*model, {.ids = ids, .type_ids = {}}, seen, {}, {});
        const at::Tensor row = last_logits(seen).to(at::kDouble);
        EXPECT_EQ(made.ids[i], row.argmax().item<std::int64_t>()) << i;
        EXPECT_NEAR(made.probabilities[i], row.softmax(0).max().item<double>(), 1e-5);
        ids.push_back(made.ids[i]);
    }
}

TEST(Generate, DrawsFollowTheSeedAndTheLimits) {
    const auto model = Model::load(fixture("gpt2"), {.device = "cpu"});
    const std::vector<std::int64_t> prompt = {2, 10, 7};
    const auto draw = [&](GenerateOptions o) { return generate(*model, prompt, o).ids; };
    EXPECT_EQ(draw({.tokens = 20, .temperature = 1, .seed = 3}), draw({.tokens = 20, .temperature = 1, .seed = 3}));
    EXPECT_NE(draw({.tokens = 20, .temperature = 1, .seed = 3}), draw({.tokens = 20, .temperature = 1, .seed = 4}));
    EXPECT_EQ(draw({.tokens = 8, .temperature = 1, .top_k = 1, .seed = 5}), draw({.tokens = 8}));
    EXPECT_EQ(draw({.tokens = 8, .temperature = 1, .top_p = 1e-6, .seed = 5}), draw({.tokens = 8}));
    EXPECT_EQ(draw({.tokens = 8, .temperature = 1e-3, .seed = 5}), draw({.tokens = 8}));
    // The first token of many draws stays among the three likeliest.
    const Collector seen = run_all(*model, {.ids = prompt, .type_ids = {}});
    const at::Tensor top = std::get<1>(last_logits(seen).topk(3));
    std::set<std::int64_t> first;
    for (std::uint64_t seed = 0; seed < 40; ++seed)
        first.insert(draw({.tokens = 1, .temperature = 5, .top_k = 3, .seed = seed}).front());
    EXPECT_EQ(first, std::set<std::int64_t>(top.data_ptr<std::int64_t>(), top.data_ptr<std::int64_t>() + 3));
}

// The share of each token in many draws is its probability at that temperature.
TEST(Generate, DrawsAreAsLikelyAsTheirProbabilities) {
    const std::vector<double> logits = {0.3, -1.2, 2.0, 0.0, 1.1, -3.0, 0.7};
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit / 0.7);
    std::vector<double> share(logits.size());
    constexpr int kDraws = 4000;
    for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
        const GenerateOptions options{.temperature = 0.7, .seed = seed};
        share[static_cast<std::size_t>(Sampler(options).draw(logits))] += 1.0 / kDraws;
    }
    for (std::size_t i = 0; i < share.size(); ++i) {
        const double expected = std::exp(logits[i] / 0.7) / sum;
        EXPECT_NEAR(share[i], expected, 5 * std::sqrt(expected * (1 - expected) / kDraws)) << i;
    }
}

TEST(Generate, StopsAtAnEndToken) {
    const auto model = Model::load(novella(), {.device = "cpu"});
    const std::vector<std::int64_t> prompt = {2, 100, 57};
    const Generated all = generate(*model, prompt, {.tokens = 6});
    std::int64_t told = 0;
    const Generated cut = generate(*model, prompt, {.tokens = 6, .end = {all.ids[2]}}, [&](std::int64_t) { ++told; });
    EXPECT_TRUE(cut.ended);
    EXPECT_LE(cut.ids.size(), 3u);
    EXPECT_EQ(cut.ids.back(), all.ids[2]);
    EXPECT_EQ(told, static_cast<std::int64_t>(cut.ids.size()));
    CancelToken cancel;
    cancel.cancel();
    EXPECT_THROW(generate(*model, prompt, {}, {}, cancel), Cancelled);
}

TEST(Generate, RefusesWhatCannotBe) {
    const auto failure = [](const Model& model, const std::vector<std::int64_t>& prompt, const GenerateOptions& o) {
        return test::error_of([&] { generate(model, prompt, o); });
    };
    const auto gpt2 = Model::load(fixture("gpt2"));  // 40 positions
    EXPECT_THAT(failure(*gpt2, {}, {}), HasSubstr("no token to continue"));
    EXPECT_THAT(failure(*gpt2, {1}, {.tokens = 41}), HasSubstr("at most 40"));
    EXPECT_EQ(failure(*gpt2, {1}, {.tokens = 40}), "no error");
    EXPECT_THAT(failure(*gpt2, {1}, {.tokens = 0}), HasSubstr("at least 1"));
    EXPECT_THAT(failure(*gpt2, {1}, {.temperature = -1}), HasSubstr("temperature"));
    EXPECT_THAT(failure(*gpt2, {1}, {.top_p = 0}), HasSubstr("top-p"));
    EXPECT_THAT(failure(*gpt2, {1}, {.top_k = -2}), HasSubstr("top-k"));
    EXPECT_THAT(failure(*gpt2, {99999}, {.tokens = 1}), HasSubstr("99999"));
    EXPECT_THAT(failure(*Model::load(fixture("bert")), {1}, {}), HasSubstr("cannot continue"));
}

TEST(EndTokens, AsTheFilesSay) {
    EXPECT_EQ(end_tokens(fixture("gpt2")), std::vector<std::int64_t>{2});
    EXPECT_EQ(end_tokens(tests_folder() / "fixtures/gguf/gpt2.gguf"), std::vector<std::int64_t>{2});
    const test::TempFolder folder;
    folder.write("config.json", R"({"eos_token_id": 7})");
    EXPECT_EQ(end_tokens(folder.path()), std::vector<std::int64_t>{7});
    folder.write("generation_config.json", R"({"eos_token_id": [8, 9]})");
    EXPECT_EQ(end_tokens(folder.path()), (std::vector<std::int64_t>{8, 9}));
    folder.write("generation_config.json", R"({"eos_token_id": null})");
    EXPECT_EQ(end_tokens(folder.path()), std::vector<std::int64_t>{7});
}

}  // namespace generate_test
}  // namespace headlight::model
