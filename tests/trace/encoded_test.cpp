// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/trace/encoded.h"

#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <mutex>

namespace headlight::trace {
namespace {

/// Copies what it is given.
class Copies final : public PatternReader {
public:
    void pattern(HeadId head, const HeadPattern& pattern) override {
        const std::lock_guard lock(mutex_);
        const bool is_new = found
                                .try_emplace(head, Copy{{pattern.weights.begin(), pattern.weights.end()},
                                                        {pattern.lengths.begin(), pattern.lengths.end()},
                                                        pattern.keys})
                                .second;
        EXPECT_TRUE(is_new) << "L" << head.layer.value << "H" << head.head.value;
    }
    struct Copy {
        std::vector<float> weights, lengths;
        std::int64_t keys = 0;
    };
    std::map<HeadId, Copy> found;

private:
    std::mutex mutex_;
};

/// What a reader gets during the pass is what the trace gives behind it, bit for bit.
void expect_patterns_of_the_trace(const std::filesystem::path& folder, const std::string& text) {
    SCOPED_TRACE(folder.filename().string() + ": " + std::to_string(text.size()) + " bytes");
    const auto model = model::Model::load(std::filesystem::path(HEADLIGHT_SOURCE_DIR) / folder);
    const auto tokenizer = load_tokenizer(std::filesystem::path(HEADLIGHT_SOURCE_DIR) / folder);
    Copies copies;
    const text::Encoding encoding = tokenizer->encode(text);
    const auto trace = run_encoded(model, tokenizer, {.text = text, .encoding = encoding}, {}, {}, &copies);
    const model::ModelConfig& c = model->config();
    ASSERT_EQ(std::ssize(copies.found), c.n_layers * c.n_heads);
    for (const auto& [head, copy] : copies.found) {
        const at::Tensor expected = pattern_rows(*trace, head.layer, head.head, 0, encoding.size()).contiguous();
        ASSERT_EQ(std::ssize(copy.weights), expected.numel());
        ASSERT_EQ(copy.keys, encoding.size());
        EXPECT_TRUE(std::equal(copy.weights.begin(), copy.weights.end(), expected.data_ptr<float>()));
        const at::Tensor v = tensor(*trace, {model::Hook::v, head.layer});
        const at::Tensor w_o = attention_weights(*model, head.layer).w_o[head.head.value];
        const at::Tensor lengths = at::mm(v.select(1, head.head.value * v.size(1) / c.n_heads), w_o).square().sum(1).sqrt();
        ASSERT_EQ(std::ssize(copy.lengths), encoding.size());
        for (std::int64_t j = 0; j < encoding.size(); ++j) {
            const float length = lengths[j].item<float>();
            EXPECT_NEAR(copy.lengths[static_cast<std::size_t>(j)], length, 1e-5F * (1 + length));
        }
    }
}

TEST(Encoded, ItsPatternsAreThoseOfTheTrace) {
    std::string text = "Call me";
    for (int i = 0; i < 90; ++i) text += i % 2 ? " by my" : " other name";
    expect_patterns_of_the_trace("models/novella-7m", text);  // causal, several tiles of rows
    expect_patterns_of_the_trace("models/novella-7m", "Call me.");
    expect_patterns_of_the_trace("tests/fixtures/models/bert", "the cats asked; the cat asked.");
    expect_patterns_of_the_trace("tests/fixtures/models/mistral", "The cats asked; the cat asked.");  // windows, fewer values
}

}  // namespace
}  // namespace headlight::trace
