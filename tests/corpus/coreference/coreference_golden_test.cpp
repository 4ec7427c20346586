// SPDX-License-Identifier: GPL-3.0-or-later
// Heads of the built-in model at mentions, against transformers and NumPy (tests/golden/make_coreference_golden.py).
#include "headlight/corpus/coreference/coreference.h"
#include "headlight/corpus/store/stored_corpus.h"
#include "headlight/corpus/syntax/relations.h"
#include "tests/corpus/runs.h"

namespace headlight::corpus {
namespace coreference_golden_test {

/// The documents and questions of tests/fixtures/coreference, run once.
const StoredCorpus& stored() {
    static const std::shared_ptr<const StoredCorpus> corpus = [] {
        const test::TempFolder folder;
        run_store(run_setup(folder / "store", source_file("tests/fixtures/coreference"), {"words", "mentions"}));
        return read_store(folder / "store");
    }();
    return *corpus;
}

nlohmann::json golden() { return golden_json("corpus/coreference.json"); }

TEST(CoreferenceGolden, EveryHeadAttendsToTheMentionThatNumpyFinds) {
    const MentionIndex index = MentionIndex::read(stored().merged.arrays);
    std::int64_t decided = 0;
    const nlohmann::json all = golden();
    for (const auto& wanted : all["texts"]) {
        const auto found = std::ranges::find_if(
            index.chunks(), [&](const auto& chunk) { return chunk.second.key == wanted["id"].get<std::string>(); });
        ASSERT_NE(found, index.chunks().end()) << wanted["id"];
        const IndexedMentions& chunk = found->second;
        ASSERT_EQ(std::ssize(chunk.mentions), wanted["mentions"].get<std::int64_t>());
        std::size_t row = 0;
        for (const auto& asked : wanted["asked"]) {
            ASSERT_TRUE(chunk.mentions[asked["mention"].get<std::size_t>()].asked) << asked["mention"];
            for (std::size_t h = 0; h < 48; ++h, ++decided) {
                EXPECT_EQ(chunk.to[48 * row + h], asked["to"][h].get<int>()) << asked["mention"] << " head " << h;
                // A weight is kept as round(32767 w).
                EXPECT_NEAR(chunk.to_weight[48 * row + h] / 32767.0, asked["weights"][h].get<double>(), 2e-5);
            }
            ++row;
        }
        EXPECT_EQ(48 * row, chunk.to.size()) << "no other mention is asked";
    }
    EXPECT_EQ(decided, 13 * 48);
}

TEST(CoreferenceGolden, ScoresAndBaselinesAreThoseOfNumpy) {
    const CoreferenceTable table =
        coreference_table(MentionIndex::read(stored().merged.arrays), stored().text_of_chunk, {.draws = 10});
    const nlohmann::json all = golden();
    ASSERT_EQ(all["rows"].size(), 4u);
    for (const auto& wanted : all["rows"]) {
        SCOPED_TRACE(wanted["score"].get<std::string>());
        const auto score = enum_value<CoreferenceScore>(wanted["score"].get<std::string>());
        ASSERT_TRUE(score);
        std::size_t heads = 0;
        for (const CoreferenceRow& row : table.rows) {
            if (row.score != *score) continue;
            const auto h = static_cast<std::size_t>(8 * row.head.layer.value + row.head.head.value);
            EXPECT_NEAR(row.accuracy.mean, wanted["accuracy"][h].get<double>(), 1e-12) << "head " << h;
            EXPECT_EQ(row.n, wanted["n"].get<std::int64_t>());
            EXPECT_EQ(row.cases, wanted["cases"].get<std::int64_t>());
            EXPECT_NEAR(row.nearest_mention, wanted["nearest_mention"].get<double>(), 1e-12);
            for (const auto& [name, value] : {std::pair("head_match", row.head_match), std::pair("first_name", row.first_name)}) {
                if (wanted.contains(name)) {
                    EXPECT_NEAR(value, wanted[name].get<double>(), 1e-12) << name;
                }
            }
            ++heads;
        }
        EXPECT_EQ(heads, 48u);
    }
}

TEST(CoreferenceGolden, TheTreesOfDocumentsAreScoredSentenceBySentence) {
    const WordIndex index = WordIndex::read(stored().merged.arrays);
    ASSERT_EQ(index.sentences().size(), 2u) << "two documents; questions have no words";
    const IndexedSentence& king = std::next(index.sentences().begin())->second;
    ASSERT_EQ(king.words.size(), 12u + 11 + 6);
    EXPECT_EQ(sentence_of(king.words, 15), (std::pair<std::int32_t, std::int32_t>(12, 23)));
    EXPECT_EQ(king.words[14].form, "loved");
    EXPECT_EQ(king.words[15].head, 16) << "the → city, in the numbering of the document";
    for (std::size_t w = 0; w < king.words.size(); ++w) {
        const auto [first, last] = sentence_of(king.words, static_cast<std::int32_t>(w));
        for (std::size_t h = 0; h < 48; ++h)
            for (const std::int16_t other : {king.to[48 * w + h], king.from[48 * w + h]}) {
                if (other < 0) continue;
                EXPECT_GE(other, first) << w;
                EXPECT_LT(other, last) << w;
            }
    }
    const RelationTable table = relation_table(index, {.bootstrap = {.draws = 10}});
    EXPECT_EQ(table.sentences, 2);
    EXPECT_EQ(table.no_trees, 0) << "each sentence has one root";
    EXPECT_EQ(table.arcs, 9 + 14 + 10 + 12 + 11 + 6 - 6) << "all words but the roots";
}

}  // namespace coreference_golden_test
}  // namespace headlight::corpus
