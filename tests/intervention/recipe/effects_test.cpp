// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/recipe/effects.h"

#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "tests/intervention/recipe/edited.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headlight::intervention {
namespace effects_test {

using namespace testing_support;

TEST(Effects, AreThoseOfEachEditAloneAndOfAllUpToIt) {
    for (const char* name : {"models/gpt2", "encoder_decoders/t5"}) {
        const Fixture f(name);
        const std::vector<std::string> words = {"zero L0H1", "off zero L1.mlp_out", "scale L1H0 -2"};
        const Recipe recipe = recipe_of(words);
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

TEST(Effects, OfClassesThatDoNotExcludeEachOtherAreOfTheirSigmoids) {
    const test::TempFolder folder;
    std::filesystem::copy(fixture_folder("class_heads/bert"), folder.path());
    nlohmann::json config = io::read_json(folder / "config.json");
    config["problem_type"] = "multi_label_classification";
    folder.write("config.json", config.dump());
    const Fixture f(folder.path().string());
    ASSERT_TRUE(f.config().class_head.independent);
    Sources sources(f.model, f.tokenizer, f.prompt);
    const RecipeEffects found = effects_of(sources, recipe_of({"zero L0H1"}), Position(0), 1, 2);
    const auto log_sigmoid = [](double logit) { return -std::log1p(std::exp(-logit)); };
    EXPECT_NEAR(found.unedited.log_probability, log_sigmoid(found.unedited.logit), 1e-12);
    EXPECT_NEAR(found.edits[0].alone->log_probability, log_sigmoid(found.edits[0].alone->logit), 1e-12);
    const at::Tensor row = output_of(f.plain())[0];
    EXPECT_NEAR(found.unedited.difference, (row[1] - row[2]).item<double>(), 1e-12) << "against another class";
}

/// A run that shares layers with the unedited one has the measures of a whole run.
TEST(Restart, MeasuresOfHeadsAreThoseOfAWholeRun) {
    for (const char* name : {"models/gpt2", "models/gpt-neox", "models/bert", "encoder_decoders/t5"}) {
        SCOPED_TRACE(name);
        const Fixture f(name);
        const Recipe recipe{.edits = {parse_edit("scale L1H0 -2")}};
        Sources alone(f.model, f.tokenizer, f.prompt), beside(f.model, f.tokenizer, f.prompt);
        beside.set_unedited(trace::run(f.model, f.tokenizer, f.prompt));
        const auto whole = run_recipe(alone, recipe), made = run_recipe(beside, recipe);
        for (const model::Stack stack : {model::Stack::decoder, model::Stack::encoder, model::Stack::cross}) {
            if (stack != model::Stack::decoder && !whole->part(stack)) continue;
            const analyze::HeadTable a = analyze::head_table(*trace::part_of(whole, stack));
            const analyze::HeadTable b = analyze::head_table(*trace::part_of(made, stack));
            for (std::size_t m = 0; m < a.values.size(); ++m)
                EXPECT_TRUE(
                    ((a.values[m].array() == b.values[m].array()) || (a.values[m].array().isNaN() && b.values[m].array().isNaN()))
                        .all())
                    << a.measures[m].id;
        }
    }
}

}  // namespace effects_test
}  // namespace headlight::intervention
