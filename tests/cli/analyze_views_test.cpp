// SPDX-License-Identifier: GPL-3.0-or-later
// Analyses that are a view too: both write one table.
#include "tests/cli/facts.h"
#include "tests/cli/program.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headlight {
namespace analyze_views_test {

using test::built_in_model;
using test::done;
using test::headlight;

struct Pair {
    const char *analysis, *view, *model;
    std::vector<std::string> analysis_options{}, view_options{};
};
void PrintTo(const Pair& pair, std::ostream* out) { *out << pair.analysis; }

class AnalysisAndView : public testing::TestWithParam<Pair> {};

/// The header of a figure's CSV file, under a line about its origin.
std::vector<std::string> columns_of(const std::string& csv) {
    return test::cells_of(test::lines_of(csv).at(csv.starts_with("#") ? 1 : 0));
}

TEST_P(AnalysisAndView, WriteTheSameColumns) {
    const Pair& pair = GetParam();
    const test::TempFolder folder;
    const std::string model = *pair.model ? test::fixture("") + pair.model : built_in_model();
    const auto made = [&](const char* name, std::vector<std::string> command, const std::vector<std::string>& options) {
        const std::string path = (folder.path() / name).string();
        command.insert(command.end(), {model, "--out", path});
        if (std::string(pair.analysis) != "kv-cache" && std::string(pair.analysis) != "composition")
            command.insert(command.end(), {"--text", "the cat sat on the mat"});
        if (command[0] == "render") command.insert(command.end(), {"--view", pair.view, "--layer", "1", "--head", "1"});
        done(headlight(test::joined(command, options)));
        return path;
    };
    const auto result = test::read_result(made("a.json", {"analyze", pair.analysis}, pair.analysis_options));
    EXPECT_EQ(result["columns"].get<std::vector<std::string>>(),
              columns_of(test::slurp(made("v.csv", {"render"}, pair.view_options))));
}

INSTANTIATE_TEST_SUITE_P(
    All, AnalysisAndView,
    testing::Values(Pair{"lens", "lens", ""}, Pair{"attribution", "attribution", "", {"--position", "2", "--token", "7"}},
                    Pair{"mlp", "mlp", "", {"--layer", "1", "--position", "2"}},
                    Pair{"drivers", "drivers", "", {"--layer", "1", "--neuron", "3", "--position", "2"}},
                    Pair{"experts", "experts", "models/mixtral"},
                    Pair{"mlp", "mlp", "models/mixtral", {"--layer", "1", "--position", "2"}},
                    Pair{"refinement", "refinement", ""}, Pair{"predictions", "predictions", ""},
                    Pair{"predictions", "predictions", "models/bert-mlm", {"--mask", "2"}},
                    Pair{"contributions", "contribution-graph", "", {"--position", "2"}},
                    Pair{"copy-suppression", "copy-suppression", ""}, Pair{"composition", "composition", "", {}, {"--text", "a"}},
                    Pair{"importance", "importance", "", {"--position", "2"}}, Pair{"rollout", "rollout", ""},
                    Pair{"focus", "focus-2", "", {"--layer", "1", "--head", "1"}},
                    Pair{"sparsity", "sparsity", "", {"--window", "3"}, {"--window", "3"}}, Pair{"reach", "reach", ""},
                    Pair{"why", "why", "", {"--layer", "1", "--head", "1"}},
                    Pair{"kv-cache", "kv-cache", "", {}, {"--text", "a"}}),
    [](const auto& one) {
        std::string name = one.param.analysis + std::string(*one.param.model ? one.param.model + 6 : "");
        std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
        return name;
    });

}  // namespace analyze_views_test
}  // namespace headlight
