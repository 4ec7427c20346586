// SPDX-License-Identifier: GPL-3.0-or-later
// Every model type of transformers 5.24 (tests/fixtures/model_types.txt) opens or is refused by name, with the reason.
#include "headlight/model/peek.h"
#include "model/families/registry.h"
#include "model/load/tower.h"
#include "tests/model/scratch_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

namespace headlight::model {
namespace model_types_test {

using nlohmann::json;

/// The type that a config.json of this type is read as: a family's own, or that of the language model in it.
std::string read_as(const std::string& type) {
    return config_of_tower(json{{"model_type", type}}, "nowhere").json.value("model_type", "");
}

TEST(ModelTypes, EachOpensOrIsRefusedWithAReason) {
    std::ifstream list(tests_folder() / "fixtures" / "model_types.txt");
    std::size_t opens = 0, refused = 0;
    for (std::string type; std::getline(list, type);) {
        const bool known = !class_name(read_as(type), true).empty();
        const bool unsupported = !why_unsupported(type).empty();
        EXPECT_NE(known, unsupported) << type
                                      << (known ? " opens and has a reason not to" : " has neither a family nor a reason");
        ++(known ? opens : refused);
    }
    EXPECT_GE(opens, 80u);
    EXPECT_GE(refused, 700u);
}

TEST(ModelTypes, TheReasonIsInTheMessage) {
    for (const char* type :
         {"whisper", "mamba", "big_bird", "dinov3_convnext", "llama4_vision_model", "glm4_moe_lite", "t5gemma"}) {
        const std::string message = config_failure("gpt2", [&](json& c) {
            c["architectures"] = {"SomeModel"};
            c["model_type"] = type;
        });
        EXPECT_THAT(message, testing::AllOf(testing::HasSubstr(type), testing::HasSubstr(std::string(why_unsupported(type)))));
    }
}

TEST(ModelTypes, EveryFamilyIsInTheDocument) {
    std::ifstream file(std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "docs" / "hooks.md");
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    for (const Family& family : families())
        EXPECT_NE(text.find("| " + std::string(family.name) + " |"), std::string::npos)
            << "docs/hooks.md has no row of " << family.name << " in the table of families";
}

}  // namespace model_types_test
}  // namespace headlight::model
