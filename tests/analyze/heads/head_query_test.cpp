// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/heads/head_table.h"
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/base/error.h"
#include "tests/analyze/traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace headlight::analyze {
namespace head_query_test {

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
    for (const HeadId& id : heads) out += "L" + std::to_string(id.layer.value) + "H" + std::to_string(id.head.value) + " ";
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
    EXPECT_EQ(found("heads where induction >= 40 % and 30% < induction"), "L1H0 L1H1 ");
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

TEST(HeadQuery, SignsForAtMostAtLeastAndUnequal) {
    EXPECT_EQ(found("induction ≥ 0.4"), found("induction >= 0.4"));
    EXPECT_EQ(found("induction≤0.1 and head≠0"), "L0H1 ");
}

TEST(HeadQuery, NumbersAreExact) {
    HeadTable t = table();
    t.values[0](0, 0) = 0.1;
    t.values[0](0, 1) = std::nextafter(0.1, 1.0);
    EXPECT_EQ(names(ranked_heads(t, HeadQuery::parse("entropy = 0.1", t), "layer", true)), "L0H0 ");
    EXPECT_EQ(names(ranked_heads(t, HeadQuery::parse("entropy > 0.1 and entropy < 0.2", t), "layer", true)), "L0H1 ");
    EXPECT_EQ(names(ranked_heads(t, HeadQuery::parse("entropy <= 1000000.0e-7", t), "layer", true)), "L0H0 ");
}

TEST(HeadQuery, HeadsAndLayersByName) {
    EXPECT_EQ(found("L1H2"), "L1H2 ");
    EXPECT_EQ(found("l0 and not l0h1"), "L0H0 L0H2 ");
    EXPECT_EQ(found("L0H0 or L1H1 or entropy > 2.5"), "L0H0 L1H1 L1H2 ");
}

/// Ids and titles as they are in the program, to be called by parts.
HeadTable titled() {
    HeadTable t = table();
    t.measures.clear();
    const std::pair<const char*, const char*> all[] = {
        {"entropy", "entropy"},
        {"entropy_smoothed", "smoothed entropy"},
        {"mean_distance", "mean distance"},
        {"share_first", "share on the first token"},
        {"vw_share_first", "value-weighted share on the first token"},
        {"top1_minus_top2", "focus: largest minus second"},
        {"previous_token", "previous-token score"},
        {"share_punctuation", "share on periods and commas"},
    };
    for (const auto& [id, title] : all) t.measures.push_back({id, title, {}, {}, 0, 1});
    t.values.assign(t.measures.size(), Eigen::MatrixXd::Zero(2, 3));
    return t;
}

TEST(HeadQuery, MeasuresAreCalledByIdTitleOrAnyPartThatIsTheirsAlone) {
    const HeadTable t = titled();
    const std::pair<const char*, const char*> means[] = {
        {"entropy", "entropy"},
        {"Smoothed", "entropy_smoothed"},
        {"entropy_smoothed", "entropy_smoothed"},
        {"smoothed entropy", "entropy_smoothed"},
        {"distance", "mean_distance"},
        {"dist", "mean_distance"},
        {"mean distance", "mean_distance"},
        {"share first", "share_first"},
        {"share on the first token", "share_first"},
        {"value-weighted share to first token", "vw_share_first"},
        {"value weighted share first", "vw_share_first"},
        {"weighted share", "vw_share_first"},
        {"vw", "vw_share_first"},
        {"focus: largest minus second", "top1_minus_top2"},
        {"top1", "top1_minus_top2"},
        {"previous token", "previous_token"},
        {"'share on periods and commas'", "share_punctuation"},
        {"layer", "layer"},
    };
    for (const auto& [words, id] : means) {
        const HeadQuery query = HeadQuery::parse(std::string(words) + " < 2", t);
        const std::vector<std::string> found_ids = query.measures();
        if (std::string(id) == "layer")
            EXPECT_TRUE(found_ids.empty());
        else
            EXPECT_EQ(found_ids, std::vector<std::string>{id}) << words;
    }
    EXPECT_EQ(HeadQuery::parse("0.2 > weighted share and distance < 3 or distance > 9", t).measures(),
              (std::vector<std::string>{"vw_share_first", "mean_distance"}));
    EXPECT_EQ(measure_called("mean distance", t), "mean_distance");
    EXPECT_THROW(measure_called("nothing like it", t), Error);
}

TEST(HeadQuery, APartOfSeveralNamesListsThem) {
    const HeadTable t = titled();
    const ErrorFacts facts = error_facts([&] { HeadQuery::parse("entropy < 1 and share > 0.5", t); });
    EXPECT_EQ(facts.item, "column 17");
    EXPECT_EQ(facts.expected, "one of share_first, vw_share_first, share_punctuation");
    EXPECT_EQ(HeadQuery::parse("first > 0.5", t).measures(), std::vector<std::string>{"share_first"})
        << "the share on it, not what is said of it besides";
}

/// As the Inspector and the menus write them, and as people shorten them.
TEST(HeadQuery, EveryTitleAndIdOfTheProgramIsUnderstoodWithoutQuotes) {
    HeadTable t = table();
    t.measures = head_measures();
    t.values.assign(t.measures.size(), Eigen::MatrixXd::Zero(2, 3));
    for (const MeasureInfo& measure : t.measures)
        for (const std::string& words : {measure.id, measure.title})
            for (const char* form : {"0.5 < %", "% > 0.5", "layer = 1 and not (% <= 0.5)"}) {
                std::string expression = form;
                expression.replace(expression.find('%'), 1, words);
                EXPECT_EQ(HeadQuery::parse(expression, t).measures(), std::vector<std::string>{measure.id}) << expression;
            }
    for (const auto& [words, id] :
         {std::pair("sep", "share_sep"), std::pair("[sep]", "share_sep"), std::pair("self", "share_self"),
          std::pair("share to [CLS]", "share_cls"), std::pair("induct", "induction"), std::pair("punct", "share_punctuation"),
          std::pair("induction on random", "probe_induction")})
        EXPECT_EQ(HeadQuery::parse(std::string(words) + " > 0", t).measures(), std::vector<std::string>{id}) << words;
}

TEST(HeadQuery, SaysWhyNothingMatches) {
    const HeadTable t = [] {
        HeadTable made = table();
        for (MeasureInfo& measure : made.measures) measure.title = measure.id + " title";
        return made;
    }();
    const auto why = [&](const char* expression) { return HeadQuery::parse(expression, t).why_none(t); };
    EXPECT_EQ(why("induction > 0.95"), "the largest induction title is 0.900, L1H0");
    EXPECT_EQ(why("entropy < 2 and induction >= 1"), "the largest induction title is 0.900, L1H0");
    EXPECT_EQ(why("entropy < 0.1"), "the smallest entropy title is 0.400, L1H1");
    EXPECT_EQ(why("induction > 0.5 and entropy > 2"), "each condition holds for some head, all of them for none");
    HeadTable empty = t;
    empty.values[1].setConstant(nan);
    EXPECT_EQ(HeadQuery::parse("induction > 0", empty).why_none(empty), "this text has no induction title");
}

std::string completed(const std::string& typed, const HeadTable& t, const trace::Trace* trace = nullptr) {
    const QueryCompletions found = complete_query(typed, t, trace);
    std::string out = typed.substr(0, static_cast<std::size_t>(found.from)) + "|";
    for (std::size_t i = 0; i < std::min<std::size_t>(3, found.found.size()); ++i) out += (i ? "|" : "") + found.found[i];
    return out;
}

TEST(HeadQuery, CompletesMeasuresAndWords) {
    HeadTable t = table();
    t.measures = head_measures();
    t.values.assign(t.measures.size(), Eigen::MatrixXd::Zero(2, 3));
    EXPECT_EQ(completed("", t), "|");
    EXPECT_EQ(completed("share on [", t), "|share on [CLS]|share on [SEP]|share on itself") << "the closest first";
    EXPECT_EQ(completed("layer = 1 and (mean d", t), "layer = 1 and (|mean distance");
    EXPECT_EQ(completed("entropy < 1 and vari", t), "entropy < 1 and |variability over texts");
    EXPECT_EQ(completed("random", t), "|induction on random tokens|previous token on random tokens|duplicates on random tokens");
    EXPECT_EQ(completed("entropy > 0.", t), "entropy > 0.|");
    EXPECT_EQ(completed("entropy > 0.3 ", t), "entropy > 0.3 |and |or ");
    EXPECT_EQ(completed("entropy > 0.3 o", t), "entropy > 0.3 |or ");
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

void expect_mistake(const Mistake& mistake, const HeadTable& of, const trace::Trace* trace = nullptr) {
    SCOPED_TRACE(mistake.expression);
    const ErrorFacts facts = error_facts([&] { HeadQuery::parse(mistake.expression, of, trace); });
    EXPECT_EQ(facts.item, std::string("column ") + mistake.column) << Error(facts).what();
    EXPECT_THAT(Error(facts).what(), HasSubstr(mistake.says));
}

class HeadQueryMistake : public testing::TestWithParam<Mistake> {};

TEST_P(HeadQueryMistake, NamesTheColumnAndWhatWouldBeRight) { expect_mistake(GetParam(), table()); }

INSTANTIATE_TEST_SUITE_P(
    HeadQuery, HeadQueryMistake,
    testing::Values(Mistake{"inductoin > 0.3", "1", "Did you mean induction?"},
                    Mistake{"layer = 1 and firts > 1", "15", "Did you mean share_first?"},
                    Mistake{"induction", "10", "comparison is missing"}, Mistake{"induction 0.3", "11", "comparison is missing"},
                    Mistake{"induction >", "12", "number is missing"}, Mistake{"induction > entropy", "13", "number is missing"},
                    Mistake{"induction > 0.3 entropy < 1", "17", "and, or"},
                    Mistake{"induction > 0.3 and", "20", "measure is missing"},
                    Mistake{"and induction > 0.3", "1", "measure is missing"}, Mistake{"(induction > 0.3", "1", "not closed"},
                    Mistake{"induction > 0.3)", "16", "closes nothing"}, Mistake{"()", "2", "measure is missing"},
                    Mistake{"induction > 0.3 ; x", "17", "Not understood"}, Mistake{"induction > -", "13", "Not a number"},
                    Mistake{"größe > 1", "1", "Did you mean"}, Mistake{"layer = 1 or größe größe", "14", "Did you mean"},
                    Mistake{"induction score entropy > 1", "17", "comparison is missing"},
                    Mistake{"layer = 1 and `induction", "15", "not closed"}, Mistake{"l2h0", "1", "layer 0 to 1, head 0 to 2"},
                    Mistake{"layer = 0 or L0H3", "14", "No such head"},
                    Mistake{"attention from `a` to `b` > 0", "1", "needs a text"},
                    Mistake{"layer = 1 or nsubj:pass attends to its head > 0", "14", "headlight corpus query"}));

/// On the built-in model, where "it" is one token and the words below are in the text.
class TokenQuery : public testing::Test {
protected:
    TracePtr trace = built_in("The animal was late because it was tired. It slept, and the old animal waited.");
    HeadTable measures = head_table(*trace);

    std::vector<std::int64_t> places(const char* typed) const {
        std::vector<std::int64_t> out;
        for (const Position p : tokens_called(*trace, typed)) out.push_back(p.value);
        return out;
    }
    /// Positions whose bytes, without a leading space and in lower case, are the word.
    std::vector<std::int64_t> expected_places(const std::string& word) const {
        std::vector<std::int64_t> out;
        for (std::int64_t i = 0; i < trace->tokens(); ++i) {
            std::string bytes = trace->tokenizer()->bytes_of(trace->encoding().ids[static_cast<std::size_t>(i)]);
            if (bytes.starts_with(' ')) bytes.erase(0, 1);
            std::transform(bytes.begin(), bytes.end(), bytes.begin(), [](char c) { return std::tolower(c); });
            if (bytes == word) out.push_back(i);
        }
        return out;
    }
    HeadQuery measured(const std::string& expression) const {
        HeadQuery query = HeadQuery::parse(expression, measures, trace.get());
        query.measure(*trace);
        return query;
    }
};

TEST_F(TokenQuery, TokensAreFoundInAnyCaseWithoutTheirSpace) {
    const auto it = expected_places("it");
    ASSERT_EQ(it.size(), 2u) << "\"it\" and \"It\"";
    EXPECT_EQ(places("it"), it);
    EXPECT_EQ(places("IT"), it);
    EXPECT_EQ(places(" it"), it);
    EXPECT_EQ(places("·it"), it);
    EXPECT_EQ(places("was"), expected_places("was"));
    EXPECT_TRUE(places("zebra").empty());
    EXPECT_TRUE(places("").empty());
}

TEST_F(TokenQuery, AWordOfSeveralTokensMeansItsPieces) {
    const TracePtr split = built_in("A hippopotamus and the unbelievableness of it.");
    const auto pieces = tokens_called(*split, "hippopotamus");
    ASSERT_GT(pieces.size(), 1u) << "this test needs a word that the tokenizer splits";
    std::string joined;
    for (const Position p : pieces)
        joined += split->tokenizer()->bytes_of(split->encoding().ids[static_cast<std::size_t>(p.value)]);
    EXPECT_EQ(joined, " hippopotamus");
}

TEST_F(TokenQuery, TheLargestWeightOverAllPairsCounts) {
    const auto from = expected_places("it"), to = expected_places("animal");
    ASSERT_FALSE(from.empty() || to.empty());
    const HeadQuery query = measured("attention from `it` to `animal` > 0.05 and attention from 'It' to animal <= 1");
    ASSERT_EQ(query.terms().size(), 2u) << "tokens are distinguished as typed";
    const Eigen::MatrixXd& values = query.terms()[0].values;
    double top = 0;
    for (std::int64_t l = 0; l < measures.n_layers; ++l) {
        for (std::int64_t h = 0; h < measures.n_heads; ++h) {
            const Matrix whole = pattern(*trace, head_id(l, h), {});
            double largest = 0;
            for (const std::int64_t i : from)
                for (const std::int64_t j : to) largest = std::max(largest, static_cast<double>(whole(i, j)));
            EXPECT_NEAR(values(l, h), largest, 1e-6) << l << ' ' << h;
            EXPECT_EQ(query.matches(measures, head_id(l, h)), values(l, h) > 0.05);
            top = std::max(top, largest);
        }
    }
    EXPECT_GT(top, 0.05) << "some head looks back at the animal";
}

TEST_F(TokenQuery, PositionsGiveExactlyThePatternsRow) {
    const HeadQuery query = measured("attention from 9 to 3 >= 0 or weighted attention from 9 to 3 >= 0");
    ASSERT_EQ(query.terms().size(), 2u);
    std::vector<HeadId> heads;
    for (std::int64_t l = 0; l < measures.n_layers; ++l)
        for (std::int64_t h = 0; h < measures.n_heads; ++h) heads.push_back(head_id(l, h));
    const Matrix plain = pattern_row(*trace, heads, 9, {});
    const Matrix weighted = pattern_row(*trace, heads, 9, {.weighting = Weighting::output_norm});
    for (std::size_t i = 0; i < heads.size(); ++i) {
        const auto row = static_cast<Eigen::Index>(i);
        const auto l = heads[i].layer.value, h = heads[i].head.value;
        EXPECT_EQ(query.terms()[0].values(l, h), static_cast<double>(plain(row, 3)));
        EXPECT_EQ(query.terms()[1].values(l, h), static_cast<double>(weighted(row, 3)));
    }
    EXPECT_GT((query.terms()[0].values - query.terms()[1].values).cwiseAbs().maxCoeff(), 1e-3)
        << "lengths of values make a difference";
}

TEST_F(TokenQuery, NothingIsTrueBeforeItIsMeasuredAndTheFutureHasNoWeight) {
    const HeadQuery query = HeadQuery::parse("attention from 9 to 3 >= 0", measures, trace.get());
    EXPECT_FALSE(query.measured());
    EXPECT_GT(query.cost(*trace), 0);
    EXPECT_FALSE(query.matches(measures, head_id(0, 0)));
    const HeadQuery future = measured("attention from 3 to 9 > 0");
    EXPECT_TRUE(future.measured());
    EXPECT_TRUE(ranked_heads(measures, future, "layer", true).empty());
    CancelToken cancelled;
    cancelled.cancel();
    HeadQuery other = HeadQuery::parse("attention from 9 to 3 >= 0", measures, trace.get());
    EXPECT_THROW(other.measure(*trace, cancelled), Cancelled);
}

TEST_F(TokenQuery, TermsAreColumnsToSortBy) {
    const HeadQuery query = measured("attention from `it` to 1 > 0");
    EXPECT_EQ(query.measures(), std::vector<std::string>{"attention from `it` to 1"});
    const HeadTable wide = query.with_terms(measures);
    ASSERT_EQ(wide.measures.size(), measures.measures.size() + 1);
    EXPECT_EQ(wide.measures.back().title, "it → 1");
    const auto heads = ranked_heads(wide, query, "attention from `it` to 1", false);
    ASSERT_GT(heads.size(), 2u);
    const Eigen::MatrixXd& values = wide.values.back();
    for (std::size_t i = 1; i < heads.size(); ++i)
        EXPECT_GE(values(heads[i - 1].layer.value, heads[i - 1].head.value), values(heads[i].layer.value, heads[i].head.value));
}

TEST_F(TokenQuery, TokensOfSignsNeedNoQuotes) {
    EXPECT_EQ(measured("attention from . to , > 0").terms()[0].from.size(), 2u);
    EXPECT_EQ(measured("attention from <s> to animal>0").terms()[0].from, std::vector<Position>{Position(0)});
    EXPECT_EQ(measured("attention from it to 1 > 0 and layer = 1").terms()[0].to, std::vector<Position>{Position(1)});
}

TEST_F(TokenQuery, TokensOfTheTextAreCompleted) {
    EXPECT_EQ(completed("attention ", measures, trace.get()), "attention |from ");
    EXPECT_EQ(completed("attention from `a", measures, trace.get()), "attention from |`animal`|`and`");
    EXPECT_EQ(completed("attention from it t", measures, trace.get()), "attention from it |to ");
    EXPECT_EQ(completed("attention from it to was", measures, trace.get()), "attention from it to |");
    EXPECT_EQ(completed("attention from it to wa", measures, trace.get()), "attention from it to |`was`|`waited`");
}

TEST_F(TokenQuery, UnknownTokensAndBrokenTermsAreNamedWithTheirColumn) {
    const Mistake mistakes[] = {
        {"attention from `animul` to `it` > 0.3", "16", "Did you mean `animal` (2)?"},
        {"layer = 1 and attention from `it` to zebra > 0.3", "38", "No such token in the text"},
        {"attention from 99 to 3 > 0", "16", "No such position"},
        {"attention from 1.5 to 3 > 0", "16", "No such position"},
        {"attention from -1 to 3 > 0", "16", "No such position"},
        {"attention > 0.3", "11", "\"from\" is missing"},
        {"attention from `it` > 0.3", "21", "\"to\" is missing"},
        {"attention from `it` to > 0.3", "24", "token is missing"},
        {"attention from `it` to `animal`", "32", "comparison is missing"},
        {"attention from `` to 3 > 0", "16", "No such token"},
    };
    for (const Mistake& mistake : mistakes) expect_mistake(mistake, measures, trace.get());
}

TEST(TokenAttention, EveryFamilyEqualsThePatternWithAndWithoutWeights) {
    for (const auto& folder : model_folders()) {
        const TracePtr trace = run_model(folder, "The doctor asked.");
        const Position from(trace->tokens() - 1), to(1);
        for (const bool weighted : {false, true}) {
            const Eigen::MatrixXd values = attention_between(*trace, {from}, {to}, weighted);
            const PatternOptions options{.weighting = weighted ? Weighting::output_norm : Weighting::attention};
            for (std::int64_t l = 0; l < values.rows(); ++l)
                for (std::int64_t h = 0; h < values.cols(); ++h)
                    EXPECT_NEAR(values(l, h), pattern(*trace, head_id(l, h), options)(from.value, to.value), 1e-6) << folder;
        }
    }
}

TEST(RankedHeads, DescendingByDefaultNaNLastTiesInOrder) {
    const HeadTable t = table();
    const HeadQuery all = HeadQuery::parse("", t);
    EXPECT_EQ(names(ranked_heads(t, all, "induction", false)), "L1H0 L1H1 L0H2 L0H1 L0H0 L1H2 ");
    EXPECT_EQ(names(ranked_heads(t, all, "induction", true)), "L0H0 L0H1 L0H2 L1H1 L1H0 L1H2 ");
    EXPECT_EQ(names(ranked_heads(t, all, "head", false)), "L0H2 L1H2 L0H1 L1H1 L0H0 L1H0 ");
    EXPECT_THROW(ranked_heads(t, all, "indction", false), Error);
}

TEST(InterestingHead, IsAnInductionHeadByEvidenceElseFocused) {
    HeadTable t = table();
    t.measures[1].id = "induction_excess";  // L1H0 0.9, L1H1 0.4
    EXPECT_EQ(names({interesting_head(t)}), "L1H0 ");
    t.measures.emplace_back().id = "probe_induction";
    t.values.push_back((Eigen::MatrixXd(2, 3) << nan, nan, nan, nan, nan, nan).finished());
    EXPECT_EQ(names({interesting_head(t)}), "L1H0 ") << "the probe is not known yet";
    t.values.back() << 0, 0, 0, 0.01, 0.8, 0.9;
    EXPECT_EQ(names({interesting_head(t)}), "L1H1 ") << "L1H0 is none on random tokens, and L1H2 shows nothing here";
    t.values.back().setConstant(0.1);
    t.measures.emplace_back().id = "top1_minus_top2";
    t.values.push_back((Eigen::MatrixXd(2, 3) << 1, 1, 1, 0.3, 0.9, 0.5).finished());
    EXPECT_EQ(names({interesting_head(t)}), "L1H2 ") << "L1H1 is more focused but attends to the first token";
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
        "entropy",       "entropy_smoothed", "entropy_uniform", "mean_distance",     "share_self",         "share_previous",
        "share_next",    "share_first",      "share_special",   "share_punctuation", "share_same_token",   "top1_minus_top2",
        "argmax_self",   "argmax_first",     "variability",     "update_magnitude",  "update_orientation", "vw_share_first",
        "vw_share_self", "induction",        "previous_token",  "duplicate_token"};
    ASSERT_GE(ids.size(), first.size());
    EXPECT_TRUE(std::equal(first.begin(), first.end(), ids.begin()));
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

}  // namespace head_query_test
}  // namespace headlight::analyze
