// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/architecture/architecture_view.h"

#include "headlight/model/block_list.h"
#include "tests/support/case_name.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace headlight::figure {
namespace architecture_view_test {

class Architecture : public testing::TestWithParam<const char*> {
protected:
    const std::shared_ptr<const model::Model> model_ =
        model::Model::load(std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/models" / GetParam());
};

// Every parameter stands in exactly one block: the sum over all blocks is the model's own count.
TEST_P(Architecture, BlocksHoldEveryParameterOnce) {
    const model::BlockList list = model::blocks_of(*model_);
    std::int64_t blocks = 0, all = 0;
    for (const auto& block : list.before) blocks += block.parameters;
    for (const auto& block : list.layer) blocks += block.parameters * (block.layers > 0 ? block.layers : list.n_layers);
    for (const auto& block : list.after) blocks += block.parameters;
    for (const auto& [part, count] : model_->parameter_counts()) all += count;
    EXPECT_EQ(blocks, all);
}

TEST_P(Architecture, FitsItsWidthAndSharesSumToOne) {
    ArchitectureFigure figure(model_);
    for (const double width : {1000.0, 400.0}) {
        EXPECT_LE(figure.layout({width, 600}, {}, {}).width(), width);
        EXPECT_GE(figure.marks({}, {})->size(), figure.parts().size() + 3) << "blocks and parts can be pointed at";
    }
    double shares = 0;
    for (const PartShare& part : figure.parts()) shares += part.share;
    EXPECT_NEAR(shares, 1, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Families, Architecture,
                         testing::Values("gpt2", "bert-mlm", "bloom", "llama-kv2", "gpt2-untied", "gemma2", "gemma3", "electra",
                                         "falcon", "olmo2", "cohere", "smollm3", "roberta", "gpt-neox", "mpt", "distilbert",
                                         "albert", "deberta-conv"),
                         [](const auto& family) { return test::case_name(family.param); });

}  // namespace architecture_view_test
}  // namespace headlight::figure
