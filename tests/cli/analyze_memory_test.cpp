// SPDX-License-Identifier: GPL-3.0-or-later
// Every analysis of a text or of weights where memory is scarce, layers of a run made again and quantised weights converted as
// they are used, against the same with all of it kept: byte for byte.
#include "headlight/model/as_used.h"
#include "headlight/model/model.h"
#include "headlight/trace/remade.h"
#include "headlight/trace/trace.h"
#include "tests/cli/program.h"
#include "tests/support/memory_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace headlight {
namespace analyze_memory_test {

using test::done;
using test::headlight;
using test::Outcome;
using test::slurp;

constexpr const char* text = "the old nurse asked the cat and the old nurse asked the";

struct Analysis {
    std::string name;
    std::vector<std::string> options{};
    bool of_text = true, in_file = false;
};

const std::vector<Analysis> analyses = {
    {"heads"},
    {"focus", {"--layer", "1", "--head", "2"}},
    {"rollout"},
    {"induction", {}, false},
    {"detect", {"--kind", "induction"}},
    {"ov", {"--layer", "1", "--head", "2"}, false, true},
    {"qk", {"--layer", "1", "--head", "2"}, false, true},
    {"composition", {}, false},
    {"copy-suppression"},
    {"importance", {"--position", "4"}},
    {"attention-gradient"},
    {"lens"},
    {"attribution", {"--position", "4", "--token", "3"}},
    {"why", {"--layer", "1", "--head", "1"}},
    {"mlp", {"--layer", "1", "--position", "4"}},
    {"refinement"},
    {"drivers", {"--layer", "1", "--position", "4", "--neuron", "3"}},
    {"drivers", {"--layer", "1", "--position", "4", "--head", "2"}},
    {"drivers", {"--token", "3", "--position", "4"}},
    {"drivers", {"--token", "3"}, false},
    {"contributions", {"--position", "4"}},
    {"predictions"},
    {"value-mix"},
    {"sparsity", {"--window", "3"}},
    {"reach"},
    {"edits", {"--edit", "zero L1H2"}},
};

/// The whole of what an analysis writes.
std::string written(const Analysis& of, const std::string& model) {
    const test::TempFolder folder;
    std::vector<std::string> arguments{"analyze", of.name, model};
    if (of.of_text) arguments.insert(arguments.end(), {"--text", text});
    arguments = test::joined(std::move(arguments), of.options);
    const std::string file = folder / "out.json";
    if (of.in_file) arguments.insert(arguments.end(), {"--out", file});
    const Outcome outcome = done(headlight(arguments));
    return of.in_file ? slurp(file) : outcome.out;
}

TEST(AnalyzeMemory, IsTheSameWithLayersAndWeightsMadeAsTheyAreUsed) {
    const std::string quantised = test::fixture("gguf/llama-kv2.gguf");
    const auto makes_again = [&] {
        const test::Budget none;
        const auto model = model::Model::load(quantised, {.device = "cpu"});
        const auto trace = trace::run(model, trace::load_tokenizer(quantised), {.text = text});
        return model::bytes_as_used(*model) > 0 && trace::remade_now(*trace).any ? 0 : 1;
    };
    ASSERT_EQ(test::in_child(makes_again).code, 0);
    for (const Analysis& each : analyses) {
        SCOPED_TRACE(each.name);
        const std::string kept = written(each, quantised);
        EXPECT_GT(kept.size(), 50u);
        const test::Budget none;
        EXPECT_EQ(written(each, quantised), kept);
    }
}

/// A new analysis gets a row above, unless it runs no model or asks for one of another kind.
TEST(AnalyzeMemory, KnowsEveryAnalysis) {
    const std::string help = headlight({"analyze", "--help"}).out;
    const std::string list = help.substr(help.find("NAME ") + 5, help.find(" REQUIRED") - help.find("NAME ") - 5);
    std::istringstream in(list);
    std::vector<std::string> unknown;
    for (std::string name; std::getline(in, name, '|');)
        if (std::ranges::find(analyses, name, &Analysis::name) == analyses.end()) unknown.push_back(name);
    EXPECT_EQ(unknown, (std::vector<std::string>{"kv-cache", "experts"})) << list;
}

}  // namespace analyze_memory_test
}  // namespace headlight
