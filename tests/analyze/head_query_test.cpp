// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/head_table.h"
#include "headlight/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace headlight::analyze {
namespace {

using testing::HasSubstr;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// 2 layers x 3 heads.
HeadTable table() {
    HeadTable t;
    t.n_layers = 2;
    t.n_heads = 3;
    for (const char* id : {"entropy", "induction", "share_first"}) t.measures.emplace_back().id = id;
    t.values = {(Eigen::MatrixXd(2, 3) << 2, 1.5, 1, 0.5, 0.4, 3).finished(),
                (Eigen::MatrixXd(2, 3) << 0, 0.1, 0.2, 0.9, 0.4, nan).finished(),
                (Eigen::MatrixXd(2, 3) << 0.1, 0.6, 0.7, 0.2, 0.8, 0.3).finished()};
    return t;
}

std::string names(const std::vector<HeadId>& heads) {
    std::string out;
    for (const HeadId& id : heads)
        out += "L" + std::to_string(id.layer.value) + "H" + std::to_string(id.head.value) + " ";
    return out;
}

std::string found(const std::string& expression) {
    const HeadTable t = table();
    return names(ranked_heads(t, HeadQuery::parse(expression, t), "layer", true));
}

TEST(HeadQuery, ComparesMeasuresLayersAndHeads) {
    EXPECT_EQ(found("induction > 0.3"), "L1H0 L1H1 ");
    EXPECT_EQ(found("induction >= 0.4"), "L1H0 L1H1 ");
    EXPECT_EQ(found("induction < .1"), "L0H0 ");
    EXPECT_EQ(found("induction <= 0.1"), "L0H0 L0H1 ");
    EXPECT_EQ(found("layer = 1"), "L1H0 L1H1 L1H2 ");
    EXPECT_EQ(found("layer == 1"), found("layer=1"));
    EXPECT_EQ(found("head != 1"), "L0H0 L0H2 L1H0 L1H2 ");
    EXPECT_EQ(found("2e-1 < INDUCTION"), "L1H0 L1H1 ");
    EXPECT_EQ(found("0.1 >= induction"), found("induction <= 0.1"));
    EXPECT_EQ(found("entropy > -1 and entropy > +2.5"), "L1H2 ");
}

TEST(HeadQuery, AndBindsTighterThanOrAndNotTightest) {
    EXPECT_EQ(found("layer = 1 or layer = 0 and head = 0"), "L0H0 L1H0 L1H1 L1H2 ");
    EXPECT_EQ(found("(layer = 1 or layer = 0) and head = 0"), "L0H0 L1H0 ");
    EXPECT_EQ(found("not layer = 0 and head = 2"), "L1H2 ");
    EXPECT_EQ(found("not (layer = 0 and head = 2)"), "L0H0 L0H1 L1H0 L1H1 L1H2 ");
    EXPECT_EQ(found("not not layer = 0"), found("layer = 0"));
    EXPECT_EQ(found("LAYER = 1 Or Not (Share_First >= 0.5)"), "L0H0 L1H0 L1H1 L1H2 ");
}

TEST(HeadQuery, NaNSatisfiesNoComparison) {
    EXPECT_EQ(found("layer = 1 and induction != 5"), "L1H0 L1H1 ");
    EXPECT_EQ(found("layer = 1 and not induction > 0"), "L1H2 ");
}

TEST(HeadQuery, EmptyExpressionMatchesAll) {
    EXPECT_TRUE(HeadQuery::parse("  ", table()).empty());
    EXPECT_EQ(found(""), "L0H0 L0H1 L0H2 L1H0 L1H1 L1H2 ");
}

TEST(HeadQuery, ManyParenthesesDoNotExhaustTheStack) {
    const std::string deep(200000, '(');
    EXPECT_EQ(found(deep + "layer = 1" + std::string(200000, ')')), found("layer = 1"));
    EXPECT_THROW(found(deep), Error);
}

struct Mistake {
    const char* expression;
    const char* column;
    const char* says;
};

class HeadQueryMistake : public testing::TestWithParam<Mistake> {};

TEST_P(HeadQueryMistake, NamesTheColumnAndWhatWouldBeRight) {
    try {
        HeadQuery::parse(GetParam().expression, table());
        FAIL() << GetParam().expression << " was accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.facts().item, std::string("column ") + GetParam().column) << error.what();
        EXPECT_THAT(error.what(), HasSubstr(GetParam().says));
    }
}

INSTANTIATE_TEST_SUITE_P(
    HeadQuery, HeadQueryMistake,
    testing::Values(
        Mistake{"inductoin > 0.3", "1", "Did you mean induction?"},
        Mistake{"layer = 1 and first > 1", "15", "Did you mean share_first?"},
        Mistake{"induction", "10", "comparison is missing"}, Mistake{"induction 0.3", "11", "comparison is missing"},
        Mistake{"induction >", "12", "number is missing"}, Mistake{"induction > entropy", "13", "number is missing"},
        Mistake{"induction > 0.3 entropy < 1", "17", "and, or"},
        Mistake{"induction > 0.3 and", "20", "measure is missing"},
        Mistake{"and induction > 0.3", "1", "measure is missing"}, Mistake{"(induction > 0.3", "1", "not closed"},
        Mistake{"induction > 0.3)", "16", "closes nothing"}, Mistake{"()", "2", "measure is missing"},
        Mistake{"induction > 0.3 ; x", "17", "Not understood"}, Mistake{"induction > -", "13", "Not a number"},
        Mistake{"größe > 1", "1", "Did you mean"}, Mistake{"layer = 1 or größe größe", "14", "Did you mean"},
        Mistake{"induction ≥ 1", "11", "comparison is missing"}));

TEST(RankedHeads, DescendingByDefaultNaNLastTiesInOrder) {
    const HeadTable t = table();
    const HeadQuery all = HeadQuery::parse("", t);
    EXPECT_EQ(names(ranked_heads(t, all, "induction", false)), "L1H0 L1H1 L0H2 L0H1 L0H0 L1H2 ");
    EXPECT_EQ(names(ranked_heads(t, all, "induction", true)), "L0H0 L0H1 L0H2 L1H1 L1H0 L1H2 ");
    EXPECT_EQ(names(ranked_heads(t, all, "head", false)), "L0H2 L1H2 L0H1 L1H1 L0H0 L1H0 ");
    EXPECT_THROW(ranked_heads(t, all, "indction", false), Error);
}

TEST(InterestingHead, PrefersInductionThenFocus) {
    HeadTable t = table();
    EXPECT_EQ(names({interesting_head(t)}), "L1H0 ");
    t.values[1].setConstant(0.2);
    t.measures.emplace_back().id = "top1_minus_top2";
    t.values.push_back((Eigen::MatrixXd(2, 3) << 1, 1, 1, 0.3, 0.9, 0.5).finished());
    EXPECT_EQ(names({interesting_head(t)}), "L1H2 ") << "L1H1 is more focused but looks at the first token";
    t.values[2].setConstant(1);
    EXPECT_EQ(names({interesting_head(t)}), "L0H0 ") << "when none qualifies, the most focused of all";
    for (auto& values : t.values) values.setConstant(nan);
    EXPECT_EQ(names({interesting_head(t)}), "L0H0 ");
}

TEST(HeadMeasures, EveryMeasureIsDescribedOnce) {
    std::vector<std::string> ids;
    for (const MeasureInfo& m : head_measures()) {
        EXPECT_FALSE(m.title.empty() || m.definition.empty() || m.unit.empty()) << m.id;
        ids.push_back(m.id);
    }
    // The order of the columns of `headlight analyze heads`: others may come behind.
    const std::vector<std::string> first = {
        "entropy",         "entropy_smoothed",   "entropy_uniform", "mean_distance",     "share_self",
        "share_previous",  "share_next",         "share_first",     "share_special",     "share_punctuation",
        "share_same_token", "top1_minus_top2",   "argmax_self",     "argmax_first",      "variability",
        "update_magnitude", "update_orientation", "vw_share_first", "vw_share_self",     "induction",
        "previous_token",  "duplicate_token"};
    ASSERT_GE(ids.size(), first.size());
    EXPECT_TRUE(std::equal(first.begin(), first.end(), ids.begin()));
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

}  // namespace
}  // namespace headlight::analyze
