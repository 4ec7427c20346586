// SPDX-License-Identifier: GPL-3.0-or-later
// Against transformers with forward hooks (tests/golden/edits.py).
#include "headlight/io/json_file.h"
#include "tests/intervention/recipe/edited.h"

#include <gtest/gtest.h>

namespace headlight::intervention {
namespace golden_test {

using namespace testing_support;

TEST(EditGoldens, AgreeWithForwardHooksOfTransformers) {
    const auto golden = io::read_json(std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/golden/edits.json");
    std::size_t cases = 0;
    for (const auto& [name, of_model] : golden.at("models").items()) {
        Fixture f("models/" + name);
        f.prompt = {
            .text = {}, .pair = {}, .add_special_tokens = false, .ids = of_model.at("ids").get<std::vector<std::int64_t>>()};
        for (const auto& [joined, logits] : of_model.at("logits").items()) {
            std::vector<std::string> words;
            for (std::size_t begin = 0; begin < joined.size();) {
                const std::size_t end = std::min(joined.find("; ", begin), joined.size());
                words.push_back(joined.substr(begin, end - begin));
                begin = end + 2;
            }
            const auto trace = f.edited(words);
            const at::Tensor own = output_of(trace)[trace->tokens() - 1];
            ASSERT_EQ(own.size(0), std::ssize(logits));
            const at::Tensor expected = at::tensor(logits.get<std::vector<double>>(), at::kDouble);
            EXPECT_LT(relative(own, expected), 1e-9) << name << " " << joined;
            ++cases;
        }
    }
    EXPECT_EQ(cases, 18u);
}

}  // namespace golden_test
}  // namespace headlight::intervention
