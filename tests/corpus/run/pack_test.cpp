// SPDX-License-Identifier: GPL-3.0-or-later
// Chunks in one pass leave the bytes that each of them leaves alone.
#include "headlight/corpus/run/pack.h"

#include "headlight/base/error.h"
#include "tests/corpus/runs.h"

#include <gmock/gmock.h>

namespace headlight::corpus {
namespace {

using testing::HasSubstr;

/// A model, and chunks of made-up token ids.
class Packing {
public:
    explicit Packing(const std::filesystem::path& folder)
        : model_(model::Model::load(folder, {.device = "cpu"})), tokenizer_(trace::load_tokenizer(folder)) {
        const std::vector<std::int64_t> lengths = {3, 1, 12, 30, 7, 70, 2, 9};
        std::uint64_t state = 5;
        for (const std::int64_t length : lengths) {
            Chunk chunk;
            chunk.number = chunk.text = std::ssize(chunks_);
            std::vector<std::int64_t> ids;
            const std::int64_t most = model_->config().context_length, n = most > 0 ? std::min(most, length) : length;
            while (std::ssize(ids) < n) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                ids.push_back(static_cast<std::int64_t>((state >> 33) % std::min<std::uint64_t>(20, tokenizer_->vocab_size())));
            }
            chunk.encoding = tokenizer_->encode_ids(ids, false);
            chunk.first_query = length == 30 ? 11 : 0;
            chunks_.push_back(std::move(chunk));
        }
    }

    AccumulatorContext context() const { return {.config = model_->config(), .tokenizer = *tokenizer_, .seed = 3}; }
    const std::shared_ptr<const model::Model>& model() const { return model_; }

    /// What the measures gather with so many tokens in a pass.
    std::string bytes(const std::vector<std::string>& measures, std::int64_t most_tokens) const {
        Gathered into(measures, context());
        run(into, most_tokens);
        return saved_bytes(into);
    }

    void run(Gathered& into, std::int64_t most_tokens, const std::function<void(Chunk&)>& change = {}) const {
        PackOfChunks pack(model_, tokenizer_, into.plan(), most_tokens);
        for (Chunk chunk : chunks_) {
            if (change) change(chunk);
            if (!pack.has_room_for(chunk)) pack.run(into);
            pack.put(std::move(chunk), std::make_shared<const Text>(Text{.id = "text:" + std::to_string(chunk.number + 1)}));
        }
        pack.run(into);
    }

private:
    std::shared_ptr<const model::Model> model_;
    std::shared_ptr<const text::Tokenizer> tokenizer_;
    std::vector<Chunk> chunks_;
};

class PackedStores : public testing::TestWithParam<const char*> {};

/// Learned and rotary positions, ALiBi, relative positions, encoders, windows, grouped queries, latents, experts, a convolution.
TEST_P(PackedStores, AreTheBytesOfTextsRunAlone) {
    const Packing packing(fixture_model(GetParam()));
    std::vector<std::string> measures = {"heads", "neurons", "distances"};
    const model::ModelConfig& config = packing.model()->config();
    if (config.has_unembedding && !config.mlm_head) measures.emplace_back("agreement");
    const std::string alone = packing.bytes(measures, 1);
    ASSERT_GT(alone.size(), 1000u);
    EXPECT_TRUE(packing.bytes(measures, kPackedTokens) == alone) << "all in one pass";
    EXPECT_TRUE(packing.bytes(measures, 40) == alone) << "several passes";
    EXPECT_TRUE(on_threads(at::get_num_threads() == 1 ? 2 : 1, [&] { return packing.bytes(measures, kPackedTokens); }) == alone)
        << "another number of threads";
}
INSTANTIATE_TEST_SUITE_P(Families, PackedStores,
                         testing::Values("gpt2", "gpt-neox", "bloom-h6", "falcon-alibi", "bert", "roberta", "deberta-conv",
                                         "mistral", "gemma2", "llama-kv2", "deepseek-v3", "mixtral", "qwen2-moe"),
                         [](const testing::TestParamInfo<const char*>& of) {
                             std::string name = of.param;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

TEST(PackedStores, ATextThatFailsIsNamed) {
    const Packing packing(fixture_model("gpt2"));
    Gathered into({"heads"}, packing.context());
    const auto break_third = [](Chunk& chunk) {
        if (chunk.number == 2) chunk.encoding.ids[1] = 1 << 20;
    };
    try {
        packing.run(into, kPackedTokens, break_third);
        FAIL() << "no such token went unseen";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("text text:3 (chunk 2)"), HasSubstr("position 1")));
    }
}

/// Neurons need no patterns, and words no layer's update: neither changes what is gathered.
TEST(PackedStores, WhatAMeasureGathersDoesNotDependOnTheOthers) {
    const Packing packing(fixture_model("gpt2"));
    const auto arrays_of = [&](const std::vector<std::string>& measures) {
        Gathered into(measures, packing.context());
        packing.run(into, kPackedTokens);
        return saved_arrays(into);
    };
    const Arrays all = arrays_of({"heads", "neurons", "distances"}), neurons = arrays_of({"neurons"}),
                 distances = arrays_of({"distances"}), heads = arrays_of({"heads"});
    EXPECT_FALSE(Gathered({"neurons"}, packing.context()).plan().overview.any());
    EXPECT_EQ(all.get<float>("neurons.samples.value", {-1}), neurons.get<float>("neurons.samples.value", {-1}));
    EXPECT_EQ(all.get<std::int32_t>("neurons.histogram.count", {-1}), neurons.get<std::int32_t>("neurons.histogram.count", {-1}));
    EXPECT_EQ(all.get<std::int64_t>("distances.sums", {-1, 3, 2}), distances.get<std::int64_t>("distances.sums", {-1, 3, 2}));
    EXPECT_EQ(all.get<std::int64_t>("heads.sum", {-1, -1, -1, 2}), heads.get<std::int64_t>("heads.sum", {-1, -1, -1, 2}));
}

}  // namespace
}  // namespace headlight::corpus
