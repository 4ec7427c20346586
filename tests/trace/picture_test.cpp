// SPDX-License-Identifier: GPL-3.0-or-later
// A picture through a model: patches are the tokens of the trace, and passes beside it read the same pixels.
#include "headlight/trace/replay.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace headlight::trace {
namespace picture_test {

using model::Hook;
using test::error_of;
using testing::HasSubstr;

std::filesystem::path fixture(const std::string& name) {
    return std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/models" / name;
}

Prompt some_picture() {
    auto picture = std::make_shared<model::Picture>(model::Picture{50, 40, {}});
    for (int i = 0; i < 50 * 40 * 3; ++i) picture->rgb.push_back(static_cast<std::uint8_t>((i * 37 + i / 150 * 11) % 251));
    return {.image = "some.png", .picture = picture};
}

std::shared_ptr<const Trace> run_fixture(const std::string& name) {
    return run(model::Model::load(fixture(name)), load_tokenizer(fixture(name)), some_picture(), CapturePlan::everything());
}

TEST(Picture, PatchesAreTokens) {
    const auto trace = run_fixture("vit");
    ASSERT_EQ(trace->tokens(), 13);
    EXPECT_EQ(trace->encoding().tokens.front(), "[CLS]");
    EXPECT_EQ(trace->labels().at(1).text, "r1c1");
    EXPECT_EQ(trace->labels().back().text, "r3c4");
    EXPECT_TRUE(trace->labels().front().special);
    EXPECT_FALSE(trace->labels().back().special);
    EXPECT_EQ(trace->picture().file, "some.png");
    EXPECT_EQ(trace->picture().seen.width, 50);
    EXPECT_EQ(tensor(*trace, {Hook::pattern, Layer(1)}).sizes().vec(), (std::vector<std::int64_t>{4, 13, 13}));
    EXPECT_TRUE(trace->overview().pooled);
}

// The names of the classes (outputs) come before those of the patches (inputs), whatever the classes are called.
TEST(Picture, ClassesHaveNamesOfTheirOwn) {
    const auto trace = run_fixture("vit");
    const text::Tokenizer& names = *trace->tokenizer();
    EXPECT_EQ(names.token_of(0), "cat");
    EXPECT_EQ(names.token_of(2), "crane");
    EXPECT_EQ(names.token_of(3), "crane (3)");
    EXPECT_EQ(names.token_of(6), "r1c1 (6)");
    EXPECT_EQ(names.id_of("r1c1"), trace->encoding().ids.at(1));
    EXPECT_GE(trace->encoding().ids.front(), trace->config().vocab_size);
    EXPECT_EQ(tensor(*trace, {Hook::logits, Layer(0)}).size(1), 7);
}

TEST(Picture, ReplayReadsTheSamePixels) {
    for (const char* name : {"vit", "deit"}) {
        const auto trace = run_fixture(name);
        EXPECT_TRUE(at::equal(replay(*trace->model(), ids_of(trace->encoding())), tensor(*trace, {Hook::logits, Layer(0)})))
            << name;
    }
}

TEST(Picture, TheLensReadsEveryPosition) {
    const auto trace = run_fixture("vit");
    const at::Tensor last = logits_of(*trace->model(), tensor(*trace, {Hook::resid_post, Layer(1)}));
    EXPECT_TRUE(at::allclose(last, tensor(*trace, {Hook::logits, Layer(0)}), 1e-4, 1e-4));
}

TEST(Picture, TextAndPictureAreNotMixedUp) {
    const auto vit = model::Model::load(fixture("vit")), gpt2 = model::Model::load(fixture("gpt2"));
    const auto patches = load_tokenizer(fixture("vit")), words = load_tokenizer(fixture("gpt2"));
    EXPECT_THAT(error_of([&] { run(vit, patches, {.text = "the cat"}); }), HasSubstr("reads pictures"));
    EXPECT_THAT(error_of([&] { run(vit, patches, {}); }), HasSubstr("no picture"));
    EXPECT_THAT(error_of([&] { run(gpt2, words, some_picture()); }), HasSubstr("reads text"));
    EXPECT_THAT(error_of([&] { embedding(*vit); }), HasSubstr("no embedding of tokens"));
    EXPECT_THAT(error_of([&] { token_streams(*vit, 0, 1, false); }), HasSubstr("no embedding of tokens"));
}

TEST(Clip, TheTowerIsPartOfTheModelsName) {
    const auto text = run(model::Model::load(fixture("clip")), load_tokenizer(fixture("clip")), {.text = "The cat"});
    EXPECT_EQ(text->config().family, "clip-text");
    EXPECT_EQ(text->encoding().tokens, (std::vector<std::string>{"<|startoftext|>", "the</w>", "cat</w>", "<|endoftext|>"}));
    const auto vision = run_fixture("clip#vision");
    EXPECT_EQ(vision->config().name, "clip vision");
    EXPECT_EQ(vision->tokens(), 10);
    EXPECT_EQ(tensor(*vision, {Hook::projected, Layer(0)}).size(1), 12);
    EXPECT_THAT(error_of([&] { model::Model::load(fixture("gpt2#vision")); }), HasSubstr("no towers"));
}

}  // namespace picture_test
}  // namespace headlight::trace
