// SPDX-License-Identifier: GPL-3.0-or-later
// Analyses that are a view too: both write the same rows.
#include "cli/command.h"
#include "headlight/figure/core/view_spec.h"
#include "tests/cli/facts.h"
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include <string>
#include <vector>

namespace headlight {
namespace analyze_views_test {

using test::built_in_model;
using test::done;
using test::headlight;

/// How the rows of a figure's data relate to those of the analysis.
enum class Rows {
    same,
    first,  ///< the figure has more after them: what else it shows, of a head or of neurons
    some    ///< the figure shows only the strongest
};

struct Pair {
    const char *analysis, *view, *model;
    std::vector<std::string> analysis_options{}, view_options{};
    Rows rows = Rows::same;
};
void PrintTo(const Pair& pair, std::ostream* out) { *out << pair.analysis << " and " << pair.view; }

const std::vector<Pair>& pairs() {
    static const std::vector<std::string> one{"--layer", "1", "--position", "2"}, at{"--position", "2"};
    static const std::vector<Pair> all{
        {"lens", "lens", ""},
        {"lens", "lens", "", {"--top", "3", "--watch", "7"}, {"--top", "3", "--watch", "7"}},
        {"attribution", "attribution", "", {}, {}, Rows::first},
        {"attribution", "attribution", "", {"--position", "2", "--token", "7"}, {"--position", "2", "--token", "7"}, Rows::first},
        {"mlp", "mlp", "", one, at},
        {"mlp",
         "mlp",
         "",
         {"--layer", "1", "--position", "2", "--top", "4", "--gain"},
         {"--position", "2", "--top", "4", "--gain"}},
        {"mlp", "mlp", "models/mixtral", one, at},
        {"drivers",
         "drivers",
         "",
         {"--layer", "1", "--neuron", "3", "--position", "2"},
         {"--neuron", "3", "--position", "2"},
         Rows::first},
        {"experts", "experts", "models/mixtral", {}, {"--every-layer"}},
        {"experts", "experts", "models/mixtral", {"--layer", "1"}},
        {"refinement", "refinement", ""},
        {"refinement", "refinement", "", {"--with-first", "--unembedding"}, {"--with-first", "--unembedding"}},
        {"predictions", "predictions", ""},
        {"predictions", "predictions", "", {"--top", "2"}, {"--candidates", "2"}},
        {"predictions", "predictions", "models/bert-mlm", {"--mask", "2"}, at},
        {"contributions", "contribution-graph", ""},
        {"contributions",
         "contribution-graph",
         "",
         {"--position", "2", "--threshold", "0.1"},
         {"--position", "2", "--least-share", "0.1"}},
        {"copy-suppression", "copy-suppression", "", {"--layer", "1", "--head", "1"}},
        {"composition", "composition", "", {}, {}, Rows::some},
        {"importance", "importance", "", at, {"--position", "2", "--permutations", "0"}},
        {"importance",
         "importance",
         "",
         {"--target", "next", "--position", "2"},
         {"--target", "next", "--position", "2", "--shuffles", "0"}},
        {"rollout", "rollout", "", {"--layer", "1"}},
        {"rollout", "rollout", "", {"--layer", "1", "--last-head", "0"}, {"--last-head", "0"}},
        {"focus", "focus-2", "", {"--layer", "1", "--head", "1"}},
        {"focus", "focus-2", "", {"--layer", "1", "--head", "1", "--five-terms"}, {"--five-terms"}},
        {"sparsity", "sparsity", "", {"--window", "3"}, {"--window", "3"}},
        {"why", "why", "", {"--layer", "1", "--head", "1"}},
        {"reach", "reach", ""},
        {"reach", "reach", "", {"--passage", "1-2"}, {"--passage", "1-2"}},
        {"kv-cache", "kv-cache", ""},
        {"kv-cache",
         "kv-cache",
         "",
         {"--context", "16,64", "--cache-dtype", "fp8"},
         {"--context", "16,64", "--cache-bytes", "1"}}};
    return all;
}

class AnalysisAndView : public testing::TestWithParam<Pair> {};

/// The lines of a CSV file without the one about a figure's origin: the header and the rows.
std::vector<std::string> rows_of(const std::string& file) {
    std::vector<std::string> lines = test::lines_of(test::slurp(file));
    if (lines.front().starts_with("#")) lines.erase(lines.begin());
    return lines;
}

TEST_P(AnalysisAndView, WriteTheSameRows) {
    const Pair& pair = GetParam();
    const test::TempFolder folder;
    const std::string model = *pair.model ? test::fixture("") + pair.model : built_in_model();
    const auto rows = [&](const char* name, std::vector<std::string> command, const std::vector<std::string>& options) {
        const std::string path = (folder.path() / name).string(), analysis = pair.analysis;
        command.insert(command.end(), {model, "--out", path});
        const bool of_text = analysis != "kv-cache" && analysis != "composition";
        if (of_text || command[0] == "render") command.insert(command.end(), {"--text", "the cat sat on the mat"});
        if (command[0] == "render") command.insert(command.end(), {"--view", pair.view, "--layer", "1", "--head", "1"});
        done(headlight(test::joined(command, options)));
        return rows_of(path);
    };
    const std::vector<std::string> result = rows("a.csv", {"analyze", pair.analysis}, pair.analysis_options),
                                   by_name = rows("n.csv", {pair.analysis}, pair.analysis_options);
    std::vector<std::string> drawn = rows("v.csv", {"render"}, pair.view_options);
    EXPECT_EQ(by_name, result);
    ASSERT_GE(result.size(), 2U);
    if (pair.rows == Rows::first) {
        ASSERT_GT(drawn.size(), result.size());
        drawn.resize(result.size());
    }
    if (pair.rows == Rows::some) {
        EXPECT_EQ(drawn.front(), result.front());
        EXPECT_THAT(drawn, testing::IsSubsetOf(result));
    } else {
        EXPECT_EQ(drawn, result);
    }
}

INSTANTIATE_TEST_SUITE_P(All, AnalysisAndView, testing::ValuesIn(pairs()), [](const auto& one) {
    std::string name = one.param.analysis + std::to_string(one.index);
    std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
    return name;
});

TEST(AnalysesAndViews, OfOneNameAreAllCompared) {
    for (const cli::Command& analysis : cli::analyses()) {
        const std::string name(cli::analysis_name(analysis));
        if (!figure::find_view(name)) continue;
        EXPECT_TRUE(std::ranges::any_of(pairs(), [&](const Pair& pair) { return name == pair.view; }) || name == "focus") << name;
    }
}

}  // namespace analyze_views_test
}  // namespace headlight
