// SPDX-License-Identifier: GPL-3.0-or-later
// Causal tracing with noise against transformers, and what noise is.
#include "intervention/sweep/noise.h"
#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "tests/intervention/sweep/whole_passes.h"
#include "tests/support/case_name.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::intervention {
namespace noise_test {

using testing_support::fixture;
using testing_support::kTests;

SweepPair text_with_subject(const std::vector<std::int64_t>& ids, std::vector<std::int64_t> subject, std::int64_t answer) {
    SweepPair pair{.clean = {.ids = ids, .end = std::ssize(ids) - 1}, .answers = {answer}, .wrong = {(answer + 1) % 7}};
    pair.clean.places["subject"] = std::move(subject);
    return pair;
}

class CausalTracing : public testing::TestWithParam<std::string> {};

/// The noise is the reference's; pairs are made as with_noise() makes them.
TEST_P(CausalTracing, RestoresWhatTransformersRestores) {
    const nlohmann::json golden = io::read_json(kTests / "golden/sweep/noise.json"), &of = golden["models"][GetParam()];
    const auto model = fixture("models/" + GetParam());
    const auto ids = golden["ids"].get<std::vector<std::int64_t>>();
    const auto subject = golden["subject"].get<std::vector<std::int64_t>>();
    const SweepPair text = text_with_subject(ids, subject, of["answer"].get<std::int64_t>());
    std::vector<SweepPair> pairs;
    for (const auto& draw : of["noise"].get<std::vector<std::vector<std::vector<float>>>>()) {
        SweepPair& pair = pairs.emplace_back(text);
        pair.corrupt = pair.clean;
        const std::size_t width = draw.front().size();
        pair.corrupt.noise.assign(ids.size() * width, 0);
        for (std::size_t i = 0; i < subject.size(); ++i)
            std::ranges::copy(draw[i], pair.corrupt.noise.begin() + subject[i] * static_cast<std::int64_t>(width));
    }
    const auto sweep = [&](Grid grid, std::int64_t window) {
        const SweepResult r = run_sweep(model, pairs, {.grid = grid, .metric = Metric::prob, .window = window});
        EXPECT_NEAR(r.clean.front(), of["clean"].get<double>(), 1e-6);
        EXPECT_THAT(r.corrupt, testing::Pointwise(testing::DoubleNear(1e-6), of["corrupt"].get<std::vector<double>>()));
        return r;
    };
    const auto value = [&](const SweepResult& r, std::int64_t layer, std::int64_t position) {
        for (std::size_t i = 0; i < r.cells.size(); ++i)
            if (r.cells[i].layer == layer && r.cells[i].position == position) return r.results[i].value;
        ADD_FAILURE() << "no cell " << layer << ", " << position;
        return 0.0;
    };
    // The output of a block is the stream before the next one.
    const SweepResult stream = sweep(Grid::resid_pre, 1);
    double largest = 0;
    for (std::int64_t l = 1; l < model->config().n_layers; ++l)
        for (std::int64_t p = 0; p < std::ssize(ids); ++p) {
            EXPECT_NEAR(value(stream, l, p), of["stream"][l - 1][p].get<double>(), 1e-6) << l << " " << p;
            largest = std::max(largest, std::abs(value(stream, l, p) - stream.corrupt_mean()));
        }
    EXPECT_GT(largest, 1e-4) << "something is restored";
    for (const auto& [name, grid] : {std::pair{"mlp", Grid::mlp_out}, {"attention", Grid::attn_out}}) {
        if (!of.contains(name)) continue;
        const SweepResult r = sweep(grid, golden["window"].get<std::int64_t>());
        for (std::int64_t l = 0; l < model->config().n_layers; ++l)
            for (std::int64_t p = 0; p < std::ssize(ids); ++p)
                EXPECT_NEAR(value(r, l, p), of[name][l][p].get<double>(), 1e-6) << name << " " << l << " " << p;
    }
    // Our own noise is as large.
    const SweepOptions ours{.noise = "subject", .noise_scale = 3, .noise_draws = 400};
    double square = 0;
    const std::vector<SweepPair> drawn = with_noise(model, {text}, ours);
    for (const SweepPair& pair : drawn)
        for (const float x : pair.corrupt.noise) square += static_cast<double>(x) * x;
    const double numbers = 400.0 * static_cast<double>(subject.size() * (drawn[0].corrupt.noise.size() / ids.size()));
    EXPECT_NEAR(std::sqrt(square / numbers) / (3 * of["deviation"].get<double>()), 1, 0.03);
}

INSTANTIATE_TEST_SUITE_P(Shapes, CausalTracing, testing::Values("gpt2", "llama-mha", "gpt-neox", "bloom"),
                         [](const auto& each) { return test::case_name(each.param); });

TEST(Noise, IsOfItsPlaceSeededAndNormal) {
    const auto model = fixture("models/gpt2");
    const SweepPair text = text_with_subject(testing_support::ids_of_length(9, model->config().vocab_size), {2, 3}, 3);
    const auto drawn = [&](std::uint64_t seed) {
        return with_noise(model, {text}, {.noise = "subject", .noise_draws = 200, .bootstrap = {.seed = seed}});
    };
    const std::vector<SweepPair> pairs = drawn(1), same = drawn(1), other = drawn(2);
    ASSERT_EQ(pairs.size(), 200u);
    EXPECT_EQ(pairs[7].corrupt.noise, same[7].corrupt.noise);
    EXPECT_NE(pairs[7].corrupt.noise, other[7].corrupt.noise);
    EXPECT_NE(pairs[7].corrupt.noise, pairs[8].corrupt.noise);
    EXPECT_TRUE(pairs[0].clean.noise.empty());
    const std::size_t width = pairs[0].corrupt.noise.size() / 9;
    std::vector<double> all;
    for (const SweepPair& pair : pairs)
        for (std::size_t i = 0; i < pair.corrupt.noise.size(); ++i) {
            if (i / width != 2 && i / width != 3) {
                ASSERT_EQ(pair.corrupt.noise[i], 0);
            } else {
                all.push_back(pair.corrupt.noise[i]);
            }
        }
    double mean = 0, square = 0, fourth = 0;
    for (const double x : all) mean += x / static_cast<double>(all.size());
    for (const double x : all) square += (x - mean) * (x - mean) / static_cast<double>(all.size());
    for (const double x : all) fourth += std::pow(x - mean, 4) / static_cast<double>(all.size());
    EXPECT_NEAR(mean / std::sqrt(square), 0, 0.05);
    EXPECT_NEAR(fourth / square / square, 3, 0.2) << "kurtosis of a normal distribution";
}

TEST(Noise, TheRestoredEmbeddingIsTheCleanRunAndWhatIsBeforeItIsCertain) {
    for (const char* name : {"models/gpt2", "models/bloom", "models/gemma2", "models/bert-mlm", "models/mixtral"}) {
        SCOPED_TRACE(name);
        const auto model = fixture(name);
        const SweepPair text = text_with_subject(testing_support::ids_of_length(9, model->config().vocab_size), {2, 3}, 3);
        const SweepOptions options{.grid = Grid::resid_pre, .by_name = true, .noise = "subject", .noise_draws = 3};
        SweepPair named = text;
        named.clean.places["before"] = {0, 1};
        named.clean.places["END"] = {8};
        for (const Direction direction : {Direction::denoise, Direction::noise}) {
            SweepOptions with = options;
            with.direction = direction;
            const SweepResult r = run_sweep(model, {named}, with);
            ASSERT_EQ(r.position_names, (std::vector<std::string>{"before", "subject", "END"}));
            ASSERT_EQ(r.effects.size(), 3u);
            for (std::size_t n = 0; n < 3; ++n) {
                const double gap = (r.clean[n] - r.corrupt[n]) * (direction == Direction::denoise ? 1 : -1);
                EXPECT_GT(std::abs(gap), 1e-4);
                EXPECT_NEAR(r.effects[n][1], gap, 1e-6 * std::max(1.0, std::abs(gap))) << "layer 0 at the subject";
            }
            if (model->config().causal) {
                EXPECT_EQ(r.results[0].state, CellState::certain);
            }
        }
        // Attribution, direct effects and paths begin with the same run.
        const SweepResult both = run_sweep(model, {named}, {.grid = Grid::z, .method = Method::both, .noise = "subject"}),
                          direct = run_sweep(model, {named}, {.grid = Grid::z, .effect = Effect::direct, .noise = "subject"});
        const auto last = both.cells.size() - 1;
        EXPECT_NEAR(both.results[last].effect, direct.results[last].effect, 1e-9) << "nothing is behind the last layer's heads";
        for (std::size_t i = 0; i < both.cells.size(); ++i)
            EXPECT_LT(std::abs(both.results[i].estimate - both.results[i].effect), 5) << i;
    }
}

TEST(Noise, ErrorsNameThePlace) {
    const auto model = fixture("models/gpt2");
    const SweepPair text = text_with_subject({5, 9, 31}, {1}, 3);
    const auto message = [&](const SweepPair& pair, const SweepOptions& options, const std::shared_ptr<const model::Model>& of) {
        return test::error_of([&] { run_sweep(of, {pair}, options); });
    };
    EXPECT_THAT(message(text, {.noise = "object"}, model),
                testing::AllOf(testing::HasSubstr("object"), testing::HasSubstr("--at")));
    EXPECT_THAT(message(text, {.ablation = Ablation::zero, .noise = "subject"}, model), testing::HasSubstr("--ablate zero"));
    SweepPair far = text;
    far.clean.places["subject"] = {7};
    EXPECT_THAT(message(far, {.noise = "subject"}, model), testing::AllOf(testing::HasSubstr("0 to 2"), testing::HasSubstr("7")));
    EXPECT_THAT(message(text, {.noise = "subject"}, fixture("encoder_decoders/t5")), testing::HasSubstr("not supported"));
}

}  // namespace noise_test
}  // namespace headlight::intervention
