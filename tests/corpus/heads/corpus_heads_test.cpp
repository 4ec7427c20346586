// SPDX-License-Identifier: GPL-3.0-or-later
// Measures of a corpus beside those of a text, and what a question means by their names.
#include "headlight/corpus/heads/corpus_heads.h"

#include "tests/corpus/fixtures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::corpus {
namespace corpus_heads_test {

using testing::ElementsAre;
using testing::HasSubstr;

/// Two heads of one layer: `values` of each measure.
analyze::HeadTable table_with(const std::vector<std::pair<std::string, Eigen::RowVector2d>>& values) {
    analyze::HeadTable table;
    table.n_layers = 1;
    table.n_heads = 2;
    for (const auto& [id, row] : values) {
        std::string title = id;
        std::ranges::replace(title, '_', ' ');
        table.measures.push_back({.id = id, .title = title, .definition = {}, .unit = "share"});
        table.values.emplace_back(row);
    }
    return table;
}

CorpusHeads corpus_with(double first, double second) {
    return {.folder = "store",
            .name = "store",
            .words = {},
            .model_hash = {},
            .table = table_with({{"corpus_entropy", {first, second}}, {"corpus_induction", {0, 1}}}),
            .index = nullptr};
}

std::vector<std::int64_t> found(const std::string& question, const analyze::HeadTable& table) {
    const HeadQuestion asked = head_question(question, table, nullptr, nullptr);
    std::vector<std::int64_t> heads;
    for (std::int64_t h = 0; h < 2; ++h)
        if (asked.query.matches(asked.table, {Layer(0), Head(h)})) heads.push_back(h);
    return heads;
}

std::string mistake(const std::string& question, const analyze::HeadTable& table) {
    return error_of([&] { found(question, table); });
}

TEST(CorpusHeads, StandBesideTheTextsOwnAndGiveWayToAnotherCorpus) {
    const analyze::HeadTable text = table_with({{"entropy", {1, 2}}});
    const CorpusHeads one = corpus_with(3, 4), other = corpus_with(5, 6);
    const analyze::HeadTable both = with_corpus(text, &one);
    ASSERT_EQ(both.measures.size(), 3u);
    EXPECT_EQ((*both.find("entropy"))(0, 1), 2);
    EXPECT_EQ((*both.find("corpus_entropy"))(0, 1), 4);
    EXPECT_EQ((*with_corpus(both, &other).find("corpus_entropy"))(0, 1), 6);
    EXPECT_EQ(with_corpus(both, nullptr).measures.size(), 1u);
    analyze::HeadTable wider = text;
    wider.n_heads = 3;
    EXPECT_THROW(with_corpus(wider, &one), Error);
}

TEST(CorpusHeads, AreMeantOnlyWhereTheCorpusIsNamed) {
    const CorpusHeads corpus = corpus_with(2, 1);
    const analyze::HeadTable text = table_with({{"entropy", {1, 2}}, {"distance", {1, 1}}}), both = with_corpus(text, &corpus);
    EXPECT_THAT(found("entropy > 1.5", both), ElementsAre(1));
    EXPECT_THAT(found("entr > 1.5", both), ElementsAre(1)) << "a part of a name is as clear as without a corpus";
    EXPECT_THAT(found("corpus entropy > 1.5", both), ElementsAre(0));
    EXPECT_THAT(found("corpus_entropy > 1.5", both), ElementsAre(0));
    EXPECT_THAT(found("corpus entr > 1.5 or corpus induction > 0.5", both), ElementsAre(0, 1));
    EXPECT_THAT(mistake("induction > 0.5", both), HasSubstr("No such measure"));
    EXPECT_THAT(mistake("corpus distance > 0.5", both), HasSubstr("No such measure"));
    EXPECT_THAT(mistake("corpus entropy > 0.5", text), HasSubstr("No corpus is in use"));
    EXPECT_THAT(mistake("corpus > 0.5", both), HasSubstr("More than one measure"));
    EXPECT_THAT(mistake("VERB attends to NOUN > 0.5", both), HasSubstr("needs a treebank"));

    const auto offered = [&](const char* typed) { return analyze::complete_query(typed, both).found; };
    EXPECT_THAT(offered("entr"), ElementsAre("entropy"));
    EXPECT_THAT(offered("corpus e"), ElementsAre("corpus entropy"));
}

}  // namespace corpus_heads_test
}  // namespace headlight::corpus
