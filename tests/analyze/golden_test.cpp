// SPDX-License-Identifier: GPL-3.0-or-later
// Against tests/golden/analyze/*.json: Hugging Face transformers and NumPy in float64 (make_analyze_golden.py).
#include "headlight/analyze/heads/head_table.h"
#include "headlight/analyze/heads/induction_probe.h"
#include "headlight/analyze/pattern/neuron_view.h"
#include "headlight/analyze/pattern/pair_chain.h"
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "tests/analyze/traces.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace headlight::analyze {
namespace golden_test {

using nlohmann::json;

/// 1e-4 of the number, or absolute for numbers below 1.
void expect_number(double found, const json& expected, const std::string& what) {
    if (expected.is_null()) {
        EXPECT_TRUE(std::isnan(found)) << what << " should not exist, is " << found;
        return;
    }
    EXPECT_NEAR(found, expected.get<double>(), 1e-4 * std::max(1.0, std::abs(expected.get<double>()))) << what;
}

void expect_map(const Matrix& found, const json& expected, const std::string& what) {
    ASSERT_EQ(static_cast<std::size_t>(found.rows()), expected.size()) << what;
    for (Eigen::Index i = 0; i < found.rows(); ++i) {
        ASSERT_EQ(static_cast<std::size_t>(found.cols()), expected[static_cast<std::size_t>(i)].size()) << what;
        for (Eigen::Index j = 0; j < found.cols(); ++j)
            EXPECT_NEAR(found(i, j), expected[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)].get<double>(), 1e-4)
                << what << " at " << i << ", " << j;
    }
}

void expect_effects(const std::vector<TokenEffect>& found, const json& chain, const std::string& name) {
    if (!chain.contains(name)) {
        EXPECT_TRUE(found.empty()) << name << " is not exact for this model";
        return;
    }
    const json& expected = chain[name];
    ASSERT_EQ(found.size(), expected.size()) << name;
    const double last = expected.back()[1].get<double>();
    for (std::size_t k = 0; k < found.size(); ++k) {
        expect_number(found[k].logit, expected[k][1], name + " " + std::to_string(k));
        if (std::abs(expected[k][1].get<double>() - last) < 1e-3) continue;  // may change places with what is left out
        const auto id = expected[k][0].get<std::int64_t>();
        EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const TokenEffect& e) { return e.id == id; }))
            << name << " lacks token " << id;
        EXPECT_FALSE(found[k].label.empty());
    }
}

void check_chain(const trace::Trace& trace, const json& e) {
    const HeadId id = head_id(e["layer"], e["head"]);
    const PairChain c = pair_chain(trace, id, Position(e["query"]), Position(e["key"]));
    SCOPED_TRACE("L" + e["layer"].dump() + "H" + e["head"].dump() + " " + e["query"].dump() + " -> " + e["key"].dump());
    EXPECT_TRUE(c.legal);
    EXPECT_EQ(c.rank, e["rank"].get<std::int64_t>());
    EXPECT_EQ(c.of, e["of"].get<std::int64_t>());
    expect_number(c.weight, e["weight"], "weight");
    expect_number(c.qk, e["qk"], "qk");
    expect_number(c.content, e["content"], "content");
    expect_number(c.position.value_or(std::nan("")), e["position"], "position");
    expect_number(c.score, e["score"], "score");
    expect_number(c.value_norm, e["value_norm"], "value_norm");
    expect_number(c.raw_value_norm, e["raw_value_norm"], "raw_value_norm");
    expect_number(c.weighted_value_norm, e["weighted_value_norm"], "weighted_value_norm");
    expect_number(c.update_ratio, e["update_ratio"], "update_ratio");
    expect_number(c.update_cosine, e["update_cosine"], "update_cosine");
    expect_effects(c.promoted, e, "promoted");
    expect_effects(c.suppressed, e, "suppressed");
    expect_effects(c.pair_promoted, e, "pair_promoted");
    expect_effects(c.pair_suppressed, e, "pair_suppressed");
}

void check_neuron(const trace::Trace& trace, const json& e) {
    const NeuronView view = neuron_view(trace, head_id(e["layer"], e["head"]), Position(e["query"]));
    const auto vector = [](const Vector& v) { return Matrix(v.transpose()); };
    const auto legal = static_cast<Eigen::Index>(e["score"].size());
    expect_map(vector(view.weight), json::array({e["weight"]}), "weight");
    for (Eigen::Index j = 0; j < legal; ++j) {
        expect_number(view.dot[j], e["dot"][static_cast<std::size_t>(j)], "dot");
        expect_number(view.score[j], e["score"][static_cast<std::size_t>(j)], "score");
    }
    for (Eigen::Index j = 0; j < view.value_norm.size(); ++j)
        expect_number(view.value_norm[j], e["value_norm"][static_cast<std::size_t>(j)], "value_norm");
    for (Eigen::Index d = 0; d < view.q.size(); ++d) expect_number(view.q[d], e["q"][static_cast<std::size_t>(d)], "q");
}

void check_maps(const trace::Trace& trace, const json& e) {
    const std::map<std::string, PatternOptions> prepared = {
        {"plain", {}},
        {"merge_words", {.merge_words = true}},
        {"hide", {.hide_sinks = true, .hide_special = true}},
        {"hide_only", {.hide_sinks = true, .hide_special = true, .renormalise = false}},
        {"value_norm", {.weighting = Weighting::value_norm}},
        {"output_norm", {.weighting = Weighting::output_norm}},
        {"merge_output_norm", {.weighting = Weighting::output_norm, .merge_words = true}},
        {"a_to_b", {.filter = PairFilter::a_to_b}},
        {"b_to_a", {.filter = PairFilter::b_to_a}},
        {"b_to_b", {.filter = PairFilter::b_to_b}}};
    for (const auto& [name, options] : prepared) {
        const Matrix map = pattern(trace, head_id(e["layer"], e["head"]), options);
        if (e[name].empty())
            EXPECT_EQ(map.rows(), 0) << name;
        else if (e[name][0].empty())
            EXPECT_EQ(map.cols(), 0) << name;
        else
            expect_map(map, e[name], name);
    }
}

void check_measures(const HeadTable& table, const json& e) {
    ASSERT_GE(e.size(), 33U) << "the reference has fewer measures than it had";  // later ones may be in naive_measures.h alone
    for (const auto& [name, expected] : e.items()) {
        const Eigen::MatrixXd* values = table.find(name);
        ASSERT_NE(values, nullptr) << name;
        for (Eigen::Index l = 0; l < values->rows(); ++l)
            for (Eigen::Index h = 0; h < values->cols(); ++h)
                expect_number((*values)(l, h), expected[static_cast<std::size_t>(l)][static_cast<std::size_t>(h)],
                              name + " of L" + std::to_string(l) + "H" + std::to_string(h));
    }
}

class AnalyzeGolden : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(AnalyzeGolden, AgreesWithTheReference) {
    const auto file = source_folder() / "tests/golden/analyze" / (GetParam().filename().string() + ".json");
    ASSERT_TRUE(std::filesystem::exists(file)) << "make it with tests/golden/make_analyze_golden.py";
    const json golden = io::read_json(file);
    for (const auto& [name, e] : golden["cases"].items()) {
        SCOPED_TRACE(name);
        const TracePtr trace =
            run_model(GetParam(), e["text"], e["pair"].is_null() ? std::string() : e["pair"].get<std::string>());
        ASSERT_EQ(trace->encoding().ids, e["ids"].get<std::vector<std::int64_t>>());
        for (const json& chain : e["chains"]) check_chain(*trace, chain);
        check_neuron(*trace, e["neuron"]);
        if (e.contains("maps")) check_maps(*trace, e["maps"]);
        check_measures(head_table(*trace), e["measures"]);
        if (e.contains("measures_with_first_row"))
            check_measures(head_table(*trace, {.with_first_row = true}), e["measures_with_first_row"]);
    }
}

/// One causal model and one that looks both ways; the other families would repeat the same arithmetic.
TEST(AnalyzeGoldenOfTexts, MeansAndVariabilityAgreeWithTheReference) {
    for (const char* name : {"models/novella-7m", "tests/fixtures/models/bert"}) {
        const auto folder = source_folder() / name;
        const json golden = io::read_json(source_folder() / "tests/golden/analyze" / (folder.filename().string() + ".json"));
        for (const bool with_first_row : {false, true}) {
            SCOPED_TRACE(std::string(name) + (with_first_row ? " with the first row" : ""));
            HeadAverages averages({.with_first_row = with_first_row});
            EXPECT_THROW(averages.table(), Error);
            for (const auto& [text, e] : golden["cases"].items())
                if (e["pair"].is_null()) averages.add(*run_model(folder, e["text"]));
            EXPECT_GE(averages.texts(), 2);
            check_measures(averages.table(), golden[with_first_row ? "averages_with_first_row" : "averages"]);
        }
    }
}

TEST(AnalyzeGoldenOfTheProbe, TokensAndScoresAgreeWithTheReference) {
    const json e = io::read_json(source_folder() / "tests/golden/analyze/novella-7m.json")["probe"];
    const auto folder = source_folder() / "models/novella-7m";
    const InductionProbe found = induction_probe(model::Model::load(folder), text::Tokenizer::load(folder),
                                                 {.n = e["n"], .batch = e["batch"], .seed = e["seed"]});
    EXPECT_EQ(found.ids, e["ids"].get<std::vector<std::vector<std::int64_t>>>());
    for (const auto& [name, values] : {std::pair("induction", &found.induction), std::pair("previous", &found.previous),
                                       std::pair("duplicate", &found.duplicate)})
        for (Eigen::Index l = 0; l < values->rows(); ++l)
            for (Eigen::Index h = 0; h < values->cols(); ++h)
                expect_number((*values)(l, h), e[name][static_cast<std::size_t>(l)][static_cast<std::size_t>(h)], name);
}

INSTANTIATE_TEST_SUITE_P(Models, AnalyzeGolden, testing::ValuesIn(folders_with_golden("analyze")), model_name);

}  // namespace golden_test
}  // namespace headlight::analyze
