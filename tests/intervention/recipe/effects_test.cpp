// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/recipe/effects.h"

#include "headlight/base/error.h"
#include "tests/intervention/recipe/edited.h"

#include <gtest/gtest.h>

namespace headlight::intervention {
namespace effects_test {

using namespace testing_support;

TEST(Effects, AreThoseOfEachEditAloneAndOfAllUpToIt) {
    for (const char* name : {"models/gpt2", "encoder_decoders/t5"}) {
        const Fixture f(name);
        const std::vector<std::string> words = {"zero L0H1", "off zero L1.mlp_out", "scale L1H0 -2"};
        Recipe recipe;
        for (const std::string& each : words) recipe.edits.push_back(parse_edit(each));
        Sources sources(f.model, f.tokenizer, f.prompt);
        const std::int64_t at = f.plain()->tokens() - 1, token = 7;
        const RecipeEffects found = effects_of(sources, recipe, Position(at), token);
        const auto logit = [&](const std::vector<std::string>& some) {
            return output_of(f.edited(some))[at][token].item<double>();
        };
        ASSERT_EQ(found.edits.size(), 3u);
        EXPECT_NEAR(found.unedited.logit, output_of(f.plain())[at][token].item<double>(), 1e-12);
        EXPECT_NEAR(found.edits[0].alone->logit, logit({words[0]}), 1e-12);
        EXPECT_NEAR(found.edits[0].together->logit, found.edits[0].alone->logit, 1e-12);
        EXPECT_FALSE(found.edits[1].alone);
        EXPECT_NEAR(found.edits[2].alone->logit, logit({words[2]}), 1e-12);
        EXPECT_NEAR(found.edits[2].together->logit, logit({words[0], words[2]}), 1e-12);
        EXPECT_EQ(effects_of(sources, {}, Position(at), {}).token, output_of(f.plain())[at].argmax().item<std::int64_t>());
        EXPECT_THROW(effects_of(sources, recipe, Position(at + 1), token), Error);
    }
}

}  // namespace effects_test
}  // namespace headlight::intervention
