// SPDX-License-Identifier: GPL-3.0-or-later
// Results that figures leave with the run or the model: whose they are, what they weigh, and when they end.
#include "headlight/figure/core/request.h"
#include "headlight/io/safetensors.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <span>

namespace headlight::figure {
namespace figure_results_test {

TracePtr run_gpt2() {
    const std::filesystem::path folder = std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/models/gpt2";
    return trace::run(model::Model::load(folder), text::Tokenizer::load(folder), {.text = "The cats asked; the old cat asked."});
}

/// A tuned lens of the fixture that adds `shift` to the first number of every state.
void write_lens(const std::filesystem::path& file, float shift) {
    constexpr std::int64_t width = 16;
    std::vector<float> identity(width * width, 0), bias(width, 0);
    for (std::size_t i = 0; i < width; ++i) identity[i * width + i] = 1;
    bias[0] = shift;
    std::vector<io::ArrayRef> refs;
    for (const std::string layer : {"0", "1"}) {
        refs.push_back({layer + ".A", io::DType::F32, {width, width}, std::as_bytes(std::span(identity))});
        refs.push_back({layer + ".b", io::DType::F32, {width}, std::as_bytes(std::span(bias))});
    }
    io::write_safetensors(file, refs, {{"at", "resid_post"}});
}

TEST(FigureResults, AChangedTunedLensGivesAFreshPicture) {
    const test::TempFolder folder;
    const std::filesystem::path file = folder.path() / "lens.safetensors";
    const TracePtr trace = run_gpt2();
    const ViewState state{.view = "lens", .values = {{"tuned", file.string()}}};
    const auto numbers = [&] { return make_figure(trace, state)->arrays()[1].values; };
    write_lens(file, 0);
    std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    const auto before = numbers();
    EXPECT_EQ(numbers(), before);
    write_lens(file, 4);  // of the same size
    EXPECT_NE(numbers(), before);
}

TEST(FigureResults, ATunedLensIsReadOncePerRun) {
    const test::TempFolder folder;
    const std::filesystem::path file = folder.path() / "lens.safetensors";
    const TracePtr trace = run_gpt2();
    write_lens(file, 0);
    const auto time = std::filesystem::last_write_time(file);
    ViewState state{.view = "lens", .values = {{"tuned", file.string()}}};
    make_figure(trace, state);
    // Not the same bytes any more, though of the same size and time: another reading of them would fail.
    std::ofstream(file, std::ios::in | std::ios::out).write("\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    std::filesystem::last_write_time(file, time);
    state.values["shade"] = "entropy";
    EXPECT_NO_THROW(make_figure(trace, state));
}

TEST(FigureResults, CompositionScoresEndWithTheirModel) {
    TracePtr trace = run_gpt2();
    const std::weak_ptr<const model::Model> model = trace->model();
    const ViewState state{.view = "composition"};
    EXPECT_EQ(trace->model()->results().bytes(), 0);
    make_figure(trace, state);
    const auto& c = trace->config();
    const std::int64_t heads = c.n_layers * c.n_heads, one = 3 * heads * heads * 8;
    EXPECT_EQ(trace->model()->results().bytes(), one) << "three kinds of scores, in double";
    make_figure(trace, state);
    EXPECT_EQ(trace->model()->results().bytes(), one) << "computed once";
    trace.reset();
    EXPECT_TRUE(model.expired());
}

TEST(FigureResults, WhatALensKeepsCountsAsMemoryOfTheRun) {
    const TracePtr trace = run_gpt2();
    const std::int64_t before = trace->bytes();
    make_figure(trace, ViewState{.view = "lens"});
    const std::int64_t states = (trace->config().n_layers + 1) * trace->tokens();
    EXPECT_GE(trace->bytes() - before, states * 20 * 8) << "twenty candidates a state";
    const std::int64_t kept = trace->bytes();
    make_figure(trace, ViewState{.view = "lens"});
    EXPECT_EQ(trace->bytes(), kept);
}

TEST(FigureResults, TheModelViewLeavesNoCycle) {
    TracePtr trace = run_gpt2();
    const std::weak_ptr<const trace::Trace> run = trace;
    auto figure = make_figure(trace, ViewState{.view = "model"});
    trace.reset();
    EXPECT_FALSE(run.expired()) << "the figure draws from it";
    figure.reset();
    EXPECT_TRUE(run.expired());
}

}  // namespace figure_results_test
}  // namespace headlight::figure
