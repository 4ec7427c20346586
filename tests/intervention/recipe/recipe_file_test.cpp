// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/recipe/recipe_file.h"

#include "headlight/base/error.h"
#include "headlight/intervention/recipe/words.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::intervention {
namespace recipe_file_test {

Recipe every_kind() {
    Recipe recipe{
        .model = "gpt2", .sha256 = "abc", .text = "A \"text\" with ünicode", .names = {{"IO", 4}, {"S2", 10}}, .seed = 7};
    for (const char* words : {"zero L9H6",
                              "off zero L9H6 without value bias",
                              "zero L3.mlp_out",
                              "clamp L3N512 4 @END-1",
                              "zero L7-8 where \"induction < 0.2, or so\"",
                              "zero z where \"entropy < 1\"",
                              "mean L9H6,L10H0-2,5 without first",
                              "mean L9H6 over \"t.txt\"",
                              "mean L9H6 over \"t.jsonl\" per position",
                              "resample L9H6 over \"t.txt\" draw 3",
                              "scale L2G1.v -0.5",
                              "knockout L9H6 END<-IO",
                              "knockout pattern *<-0",
                              "set L9H6 12<-4 0.8",
                              "write L9H6 10-12,14<-4 0.2",
                              "temperature L9H6 0.5",
                              "uniform L9",
                              "swap L9H6 L9H7",
                              "add L6.resid_post \"v 1.npz\" 0.4 norm",
                              "add L6.resid_post token \" Mary\" 4",
                              "add L6.resid_post neuron L3N5 4",
                              "direct L6.resid_post ov L9H6.2 1",
                              "project L6.resid_post difference @12 @4-6",
                              "patch cross.L0H1 from \"SOURCE \\\\ \\\"x\\\"\" to \"TARGET\"",
                              "freeze norm",
                              "freeze pattern from \"TEXT\"",
                              "forbid L3E2",
                              "force encoder.L3E2 @5"})
        recipe.edits.push_back(parse_edit(words));
    return recipe;
}

TEST(RecipeFile, GoesRoundWithOneLineAnEdit) {
    const Recipe recipe = every_kind();
    const std::string json = recipe_json(recipe);
    const Recipe again = parse_recipe(json, "r.json");
    ASSERT_EQ(again.edits.size(), recipe.edits.size());
    for (std::size_t i = 0; i < recipe.edits.size(); ++i) EXPECT_EQ(words_of(again.edits[i]), words_of(recipe.edits[i]));
    EXPECT_EQ(again, recipe);
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(json, '\n')), recipe.edits.size() + 7);
    EXPECT_NE(
        json.find("\n  {\"on\":true,\"op\":\"knockout\",\"site\":\"pattern\",\"where\":\"L9H6\",\"edge\":[\"END\",\"IO\"]}"),
        std::string::npos)
        << json;
    const test::TempFolder folder;
    write_recipe(recipe, folder / "r.json");
    EXPECT_EQ(read_recipe(folder / "r.json"), recipe);
}

TEST(RecipeFile, ErrorsNameTheField) {
    const auto error = [](const std::string& edits, const std::string& version = "recipe 1") {
        return test::error_of([&] { parse_recipe("{\"headlight\":\"" + version + "\",\"edits\":" + edits + "}", "r.json"); });
    };
    using testing::HasSubstr;
    EXPECT_THAT(error("[]", "recipe 2"), HasSubstr("\"recipe 1\""));
    EXPECT_THAT(error("[{\"op\":\"zero\",\"site\":\"z\",\"wher\":\"L1H2\"}]"), HasSubstr("Did you mean \"where\"?"));
    EXPECT_THAT(error("[{\"op\":\"zero\",\"where\":\"L1H2\"},{\"op\":\"zerro\",\"site\":\"z\",\"where\":\"L1H2\"}]"),
                HasSubstr("edits[1]"));
    EXPECT_THAT(error("[{\"op\":\"scale\",\"site\":\"z\",\"where\":\"L1H2\",\"by\":\"2\"}]"), HasSubstr("edits[0].by"));
    EXPECT_THAT(error("[{\"op\":\"knockout\",\"site\":\"pattern\",\"where\":\"L1H2\",\"edge\":[1,2]}]"),
                HasSubstr("edits[0].edge"));
    EXPECT_THAT(error("3"), HasSubstr("a list of edits"));
    EXPECT_THAT(error("[{\"on\":1,\"op\":\"zero\"}]"), HasSubstr("true or false"));
}

}  // namespace recipe_file_test
}  // namespace headlight::intervention
