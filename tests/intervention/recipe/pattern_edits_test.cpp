// SPDX-License-Identifier: GPL-3.0-or-later
// The hand example of docs/recipe.md: s = [0, ln 2, ln 3], v = [1, 10, 100].
#include "intervention/recipe/pattern_edits.h"

#include "headlight/base/error.h"
#include "headlight/intervention/recipe/words.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace headlight::intervention {
namespace pattern_edits_test {

constexpr double kSink = 0.5;  ///< score of the sink, where there is one

/// The last row of one head, which sees three keys.
class OneRow {
public:
    explicit OneRow(const std::vector<std::string>& words, bool sink = false) {
        model::ModelConfig c;
        c.causal = false;
        c.n_heads = 1;
        const at::Tensor sinks = sink ? at::full({1}, kSink, at::kDouble) : at::Tensor();
        notes = std::make_shared<Notes>();
        edits = std::make_unique<PatternEdits>(c, 0, sinks, std::make_shared<PassRows>(PassRows{.first = 2, .rows = 1}), notes);
        at::Tensor scores = at::tensor({0.0, std::log(2.0), std::log(3.0)}, at::kDouble).view({1, 1, 3});
        std::vector<std::size_t> numbers;
        for (const std::string& each : words) {
            const Edit edit = parse_edit(each);
            PatternStep step{.edit = edit, .heads = {0}, .queries = {}, .keys = {}};
            if (edit.edges) {
                step.keys = {.all = edit.edges->keys.empty(), .at = {}};
                for (const PositionRange& key : edit.edges->keys)
                    for (std::int64_t k = key.first.offset; k <= key.last.offset; ++k) step.keys.at.push_back(k);
            }
            numbers.push_back(edits->add(step));
        }
        for (const std::size_t number : numbers)
            if (edits->step_at_scores(number)) scores = edits->at_scores(number, scores);
        shifted = scores[0][0];
        at::Tensor all = scores;
        if (sink) all = at::cat({scores, at::full({1, 1, 1}, kSink, at::kDouble)}, -1);
        all = at::softmax(all, -1);
        if (sink) edits->at_sink(all.select(2, 3));
        row = edits->at_pattern(all.narrow(2, 0, 3).contiguous())[0][0];
        z = (row * at::tensor({1.0, 10.0, 100.0}, at::kDouble)).sum().item<double>();
    }
    double at(std::int64_t key) const { return row[key].item<double>(); }
    at::Tensor row, shifted;
    double z = 0;
    std::shared_ptr<Notes> notes;
    std::unique_ptr<PatternEdits> edits;
};

TEST(PatternEdits, GiveTheValuesOfTheHandExample) {
    EXPECT_NEAR(OneRow({}).z, 53.5, 1e-12);
    EXPECT_NEAR(OneRow({"write L0H0 0<-1 0"}).z, 50.1667, 5e-5);
    const OneRow knockout({"knockout L0H0 0<-1"});
    EXPECT_NEAR(knockout.z, 75.25, 1e-12);
    EXPECT_NEAR(knockout.at(0), 0.25, 1e-12);
    const OneRow set({"set L0H0 0<-1 0.8"});
    EXPECT_NEAR(set.z, 23.05, 1e-12);
    EXPECT_NEAR(set.at(0), 0.05, 1e-12);
    EXPECT_NEAR(set.at(2), 0.15, 1e-12);
    EXPECT_NEAR(set.shifted[1].item<double>() - std::log(2.0), 2.079442, 5e-7);
    const OneRow cold({"temperature L0H0 0.5"});
    EXPECT_NEAR(cold.z, 67.2143, 5e-5);
    EXPECT_NEAR(cold.at(2), 9.0 / 14, 1e-12);
    const OneRow warm({"temperature L0H0 2"});
    EXPECT_NEAR(warm.z, 45.4258, 5e-5);
    EXPECT_NEAR(warm.at(0), 0.241181, 5e-7);
    EXPECT_NEAR(warm.at(2), 0.417738, 5e-7);
}

/// The same formulas where the scores cannot carry them any more: behind an edit of the weights.
TEST(PatternEdits, AgreeBehindAnEditOfTheWeights) {
    for (const char* words : {"knockout L0H0 0<-1", "set L0H0 0<-1 0.8", "temperature L0H0 0.5", "temperature L0H0 2"})
        for (const bool sink : {false, true}) {
            const OneRow by_scores({words}, sink), by_weights({"scale L0H0.pattern 1", words}, sink);
            for (std::int64_t k = 0; k < 3; ++k) EXPECT_NEAR(by_scores.at(k), by_weights.at(k), 1e-12) << words << sink << k;
        }
}

TEST(PatternEdits, ASinkKeepsItsPartAmongTheOthers) {
    const double sum = 6 + std::exp(kSink);
    EXPECT_NEAR(OneRow({}, true).at(2), 3 / sum, 1e-12);
    EXPECT_NEAR(OneRow({"knockout L0H0 0<-1"}, true).at(2), 3 / (sum - 2), 1e-12);
    EXPECT_NEAR(OneRow({"set L0H0 0<-1 0.8"}, true).at(2), 3 / (sum - 2) * 0.2, 1e-12);
    const double cold = 14 + std::exp(2 * kSink);
    EXPECT_NEAR(OneRow({"temperature L0H0 0.5"}, true).at(1), 4 / cold, 1e-12);
    EXPECT_NEAR(OneRow({"uniform L0H0"}, true).at(1), (1 - std::exp(kSink) / sum) / 3, 1e-12);
}

TEST(PatternEdits, ApplyInTheOrderOfTheRecipe) {
    const OneRow first({"write L0H0 0<-1 0.5", "knockout L0H0 0<-1"}), last({"knockout L0H0 0<-1", "write L0H0 0<-1 0.5"});
    EXPECT_EQ(first.at(1), 0);
    EXPECT_EQ(last.at(1), 0.5);
    EXPECT_NEAR(last.at(0), 0.25, 1e-12);
    const OneRow twice({"set L0H0 0<-1 0.8", "set L0H0 0<-2 0.5"});
    EXPECT_NEAR(twice.at(2), 0.5, 1e-12);
    EXPECT_NEAR(twice.at(1), 0.8 * 0.5 / 0.85, 1e-12);
}

TEST(PatternEdits, RowsThatNoScoreCanExpress) {
    const OneRow empty({"knockout L0H0 0<-*"});
    EXPECT_EQ(empty.z, 0);
    ASSERT_EQ(empty.notes->all().size(), 1u);
    EXPECT_NE(empty.notes->all()[0].find("empty"), std::string::npos);
    EXPECT_EQ(OneRow({"knockout L0H0 0<-*", "temperature L0H0 2"}).z, 0);
    const OneRow whole({"set L0H0 0<-1 1"});
    EXPECT_NEAR(whole.z, 10, 1e-12);
    // What a key with the whole row loses goes to the others in equal parts.
    const OneRow back({"set L0H0 0<-1 1", "set L0H0 0<-1 0.4"});
    EXPECT_NEAR(back.at(0), 0.3, 1e-12);
    EXPECT_NEAR(back.at(2), 0.3, 1e-12);
    const OneRow missing({"set L0H0 0<-0-2 0.2"});
    EXPECT_NEAR(missing.z, 0.2 * 111, 1e-12);
    EXPECT_THROW(OneRow({"set L0H0 0<-0-2 0.5"}), Error);
}

}  // namespace pattern_edits_test
}  // namespace headlight::intervention
