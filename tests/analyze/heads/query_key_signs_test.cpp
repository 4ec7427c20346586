// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/heads/query_key_signs.h"

#include "headlight/analyze/heads/head_table.h"
#include "headlight/trace/tensors.h"
#include "tests/support/hand_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

namespace headlight::analyze {
namespace query_key_signs_test {

TEST(QueryKeySigns, OfFourTokensByHand) {
    // Two tokens count. Queries (3, 4), (0, 5): lengths 5; mean (1.5, 4.5), spread 2.25 + .25 = 2.5. Keys (0, 1), (2, 1): lengths
    // 1 and sqrt 5; mean (1, 1), spread 1.
    const std::vector<float> q = {100, 0, 3, 4, 0, 5, 7, 7}, k = {0, 100, 0, 1, 2, 1, -7, 7};
    const std::vector<std::uint8_t> apart = {1, 0, 0, 1};
    const QueryKeySigns found = query_key_signs({q, apart}, {k, apart}, 2, true);
    EXPECT_NEAR(found.norm_gap, 5 - (1 + std::sqrt(5.0)) / 2, 1e-12);
    EXPECT_NEAR(found.centre_distance, std::sqrt((0.25 + 12.25) / ((2.5 + 1) / 2)), 1e-12);
    // About the means: (1.5, -.5)·(-1, 0) and (-1.5, .5)·(1, 0), over sqrt 2.5.
    EXPECT_NEAR(found.similarity, -1.5 / std::sqrt(2.5), 1e-12);
    EXPECT_TRUE(std::isnan(query_key_signs({q, apart}, {k, apart}, 2, false).similarity));
    const std::vector<std::uint8_t> none(4, 1);
    const QueryKeySigns empty = query_key_signs({q, none}, {k, none}, 2, true);
    EXPECT_TRUE(std::isnan(empty.norm_gap) && std::isnan(empty.centre_distance) && std::isnan(empty.similarity));
    const std::vector<float> same(8, 2);
    EXPECT_TRUE(std::isnan(query_key_signs({same, apart}, {same, apart}, 2, true).centre_distance)) << "no extent";
}

TEST(QueryKeySigns, WeightsOfEqualQueriesAndKeysAreAlike) {
    HandModel model;
    EXPECT_NEAR(weight_similarity(*model.load())[0], 1, 1e-6);
    model.k = [](std::int64_t r, std::int64_t c) { return r == c && r % 2 == 0 ? -1.0F : 0.0F; };
    EXPECT_NEAR(weight_similarity(*model.load())[0], -std::sqrt(0.5), 1e-6);
}

/// The measures are those of the vectors before the rotation, of a head's own key group, without first and special tokens.
TEST(QueryKeySigns, AreMeasuresOfEveryHead) {
    for (const char* name : {"gpt2", "llama-kv2", "bert", "deepseek-v2"}) {
        SCOPED_TRACE(name);
        const std::filesystem::path folder = std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/models" / name;
        const auto model = model::Model::load(folder);
        const auto trace = trace::run(model, trace::load_tokenizer(folder), {.text = "The doctor asked the nurse."});
        const model::ModelConfig& c = trace->config();
        const HeadTable table = head_table(*trace);
        const std::vector<double> alike = weight_similarity(*model);
        for (std::int64_t l = 0; l < c.n_layers; ++l)
            for (std::int64_t h = 0; h < c.n_heads; ++h) {
                const at::Tensor q = trace::before_rotation(*trace, Layer(l), model::Hook::q).select(1, h),
                                 k = trace::before_rotation(*trace, Layer(l), model::Hook::k)
                                         .select(1, h / (c.n_heads / c.n_kv_heads));
                const std::int64_t width = c.latent.any() ? c.latent.content : q.size(1);
                double gap = 0, count = 0;
                for (std::int64_t i = 1; i < trace->tokens(); ++i) {
                    if (trace->encoding().special[static_cast<std::size_t>(i)]) continue;
                    gap += q[i].narrow(0, 0, width).norm().item<double>() - k[i].narrow(0, 0, width).norm().item<double>();
                    count += 1;
                }
                EXPECT_NEAR((*table.find("qk_norm_gap"))(l, h), gap / count, 1e-4);
                EXPECT_EQ((*table.find("qk_weight_similarity"))(l, h), alike[static_cast<std::size_t>(l * c.n_heads + h)]);
                EXPECT_GT((*table.find("qk_centre_distance"))(l, h), 0);
                EXPECT_LE(std::abs((*table.find("qk_similarity"))(l, h)), 1);
            }
    }
}

}  // namespace query_key_signs_test
}  // namespace headlight::analyze
