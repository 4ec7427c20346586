// SPDX-License-Identifier: GPL-3.0-or-later
// Scores of heads on mentions: hand-made patterns with known answers, and the built-in model in any order of the texts.
#include "headlight/corpus/coreference/coreference.h"

#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/accumulator.h"
#include "tests/corpus/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace headlight::corpus {
namespace coreference_test {

using testing::ElementsAre;

/// A text of words of one letter, a token each; mentions "chain" at words, one word each.
struct Made {
    Text text;
    text::Encoding encoding;
    Made(const std::string& id, std::int64_t words, const std::vector<std::pair<std::string, std::int64_t>>& mentions,
         MentionTask task = MentionTask::chains) {
        text.id = id;
        text.task = task;
        for (std::int64_t w = 0; w < words; ++w) {
            text.text += (w ? " " : "") + std::string(1, static_cast<char>('a' + w % 3));
            encoding.ids.push_back(w);
            encoding.offsets.push_back({2 * w, 2 * w + 1});
            encoding.special.push_back(false);
            encoding.sequence.push_back(0);
        }
        for (const auto& [chain, word] : mentions)
            text.mentions.push_back({chain, 2 * word, 2 * word + 1, 2 * word, 2 * word + 1});
    }
    /// `rows`: [head] weights [query, key].
    void add_to(MentionIndex& index, std::int64_t number, const std::vector<std::vector<float>>& heads,
                bool gathered = true) const {
        add_patterns(index, {.number = number, .text = text, .encoding = encoding}, heads, gathered);
    }
};

/// Rows of zeros, with weights at (query, key).
std::vector<float> pattern(std::int64_t n, const std::vector<std::tuple<std::int64_t, std::int64_t, float>>& weights) {
    std::vector<float> out(static_cast<std::size_t>(n * n));
    for (const auto& [q, k, w] : weights) out[static_cast<std::size_t>(q * n + k)] = w;
    return out;
}

TEST(Coreference, TheMostAttendedEarlierMentionDecides) {
    // Words a b c a b c; chains x: 0, 3, 5; y: 1, 4; word 2 is no mention. Asked: 3 (x), 4 (y), 5 (x).
    const Made made("d", 6, {{"x", 0}, {"y", 1}, {"x", 3}, {"y", 4}, {"x", 5}});
    MentionIndex index(1, 3, true);
    made.add_to(index, 0,
                {// right for 3 and 5, and wrong for 4; what is no mention, itself and later ones do not count
                 pattern(6, {{3, 0, .2f}, {3, 2, .7f}, {3, 3, .9f}, {3, 5, .9f}, {4, 0, .4f}, {4, 1, .3f}, {5, 3, .5f}}),
                 // attends to no mention
                 pattern(6, {{3, 2, 1}, {4, 2, 1}, {5, 2, 1}}),
                 // a tie goes to the first: 4 to 0 (wrong), 5 to 0 (right)
                 pattern(6, {{3, 1, .5f}, {4, 0, .25f}, {4, 1, .25f}, {5, 0, .25f}, {5, 1, .25f}})});
    const CoreferenceTable table = coreference_table(index, {0}, {.draws = 10});
    ASSERT_EQ(table.rows.size(), 3u);
    EXPECT_DOUBLE_EQ(table.rows[0].accuracy.mean, 2.0 / 3);
    EXPECT_EQ(table.rows[1].accuracy.mean, 0);
    EXPECT_DOUBLE_EQ(table.rows[2].accuracy.mean, 1.0 / 3);
    EXPECT_EQ(table.rows[0].n, 3);
    EXPECT_EQ(table.rows[0].cases, 3);
    // Nearest: 3 -> 1, 4 -> 3, 5 -> 4: none is right. The same letter: 3 -> 0 and 4 -> 1 are right, 5 has none.
    EXPECT_EQ(table.rows[0].nearest_mention, 0);
    EXPECT_DOUBLE_EQ(table.rows[0].head_match, 2.0 / 3);
    EXPECT_TRUE(std::isnan(table.rows[0].first_name));
    EXPECT_TRUE(table.rows[0].best);
    const auto cases = coreference_cases(index, CoreferenceScore::chains, {Layer(0), Head(0)});
    ASSERT_EQ(cases.size(), 3u);
    EXPECT_TRUE(cases[0].hit);
    EXPECT_NEAR(cases[0].weight, .2, 2e-5);
    EXPECT_FALSE(cases[1].hit);
    EXPECT_EQ(marked_case(index.chunks().at(0), cases[1], made.text.text), "{a} <b> c a [b] c");
    EXPECT_EQ(marked_case(index.chunks().at(0), cases[2], made.text.text), "a b c {a} b [c]");
    EXPECT_EQ(coreference_examples(index, CoreferenceScore::chains, {Layer(0), Head(0)}, 1).size(), 2u);
    EXPECT_THROW(coreference_cases(index, CoreferenceScore::chains, {Layer(1), Head(0)}), Error);
}

TEST(Coreference, AMentionBeyondTheChunkIsCountedAndNotAsked) {
    Made made("d", 4, {{"x", 0}, {"x", 2}, {"x", 3}});
    const TextRun second{
        .number = 1, .text = made.text, .first_byte = 4, .begins = false, .whole = false, .encoding = made.encoding};
    MentionIndex index(1, 1, true);
    const auto patterns = index.patterns_of(second);
    ASSERT_NE(patterns, nullptr);
    index.add(second, patterns.get());
    const auto& mentions = index.chunks().at(1).mentions;
    ASSERT_EQ(mentions.size(), 2u) << "the first one is in the chunk before";
    EXPECT_FALSE(mentions[0].asked);
    EXPECT_TRUE(mentions[1].asked);
    const TextRun first{.number = 0, .text = made.text, .begins = true, .whole = false, .encoding = Made("", 1, {}).encoding};
    EXPECT_EQ(index.patterns_of(first), nullptr);
    index.add(first, nullptr);
    EXPECT_EQ(index.counts(MentionTask::chains), (MentionIndex::Counts{1, 2, 0}));
    const TextRun context{.number = 1,
                          .text = made.text,
                          .first_byte = 4,
                          .first_query = 2,
                          .begins = false,
                          .whole = false,
                          .encoding = made.encoding};
    EXPECT_EQ(index.patterns_of(context), nullptr) << "an earlier chunk has asked what stands before the first query";
}

TEST(Coreference, NamesAreWeighedAsWholesAndThoseBehindThePronounAreNotAskedOfACausalModel) {
    // Names of two words each: the second's best word is the strongest, but the first's sum is larger.
    Made made("q", 5, {}, MentionTask::gap);
    made.text.mentions = {{"p", 8, 9, 8, 9}, {"p", 0, 3, 0, 3}, {"B", 4, 7, 4, 7}};
    const auto right = pattern(5, {{4, 0, .2f}, {4, 1, .2f}, {4, 2, .3f}, {4, 3, .05f}});
    const auto wrong = pattern(5, {{4, 0, .1f}, {4, 2, .3f}});
    Made before("r", 5, {{"p", 0}, {"p", 1}, {"B", 2}}, MentionTask::gap);
    Made neither("s", 5, {{"p", 4}, {"A", 1}, {"B", 2}}, MentionTask::gap);
    for (const bool causal : {true, false}) {
        MentionIndex index(1, 2, causal);
        made.add_to(index, 0, {right, wrong});
        before.add_to(index, 1, {pattern(5, {{0, 1, .5f}}), pattern(5, {{0, 1, .5f}})}, !causal);
        neither.add_to(index, 2, {right, right}, false);
        EXPECT_EQ(index.counts(MentionTask::gap), (MentionIndex::Counts{3, 2, 1}));
        const CoreferenceTable table = coreference_table(index, {0, 1, 2}, {.draws = 10});
        ASSERT_EQ(table.rows.size(), 2u);
        EXPECT_EQ(table.rows[0].n, causal ? 1 : 2);
        EXPECT_EQ(table.rows[0].cases, 2);
        EXPECT_EQ(table.rows[0].accuracy.mean, 1);
        EXPECT_EQ(table.rows[1].accuracy.mean, causal ? 0 : .5);
        EXPECT_EQ(table.rows[0].first_name, 1);
        EXPECT_EQ(table.rows[0].nearest_mention, causal ? 0 : .5);
    }
}

TEST(Coreference, TheLargerOfTwoTinyWeightsDecides) {
    // As of a head with a steep ALiBi slope on names far before the pronoun.
    Made made("d", 40, {{"p", 39}, {"p", 0}, {"B", 2}}, MentionTask::gap);
    MentionIndex index(1, 2, true);
    made.add_to(index, 0, {pattern(40, {{39, 0, 3e-14f}, {39, 2, 2e-14f}}), pattern(40, {{39, 38, 1}})});
    const CoreferenceTable table = coreference_table(index, {0}, {.draws = 10});
    EXPECT_EQ(table.rows[0].accuracy.mean, 1);
    EXPECT_EQ(table.rows[1].accuracy.mean, 0) << "no weight on either";
}

TEST(Coreference, WinobiasComparesTheTwoVersionsOfASentence) {
    MentionIndex index(1, 1, true);
    const auto first = pattern(4, {{3, 0, .5f}}), second = pattern(4, {{3, 1, .5f}});
    const auto add = [&](std::int64_t number, MentionTask task, const std::string& pair, const std::vector<float>& weights) {
        Made made("t" + std::to_string(number), 4, {{"p", 3}, {"p", 0}, {"o", 1}}, task);
        made.text.pair = pair;
        made.add_to(index, number, {weights});
    };
    add(0, MentionTask::winobias_pro, "a", first);
    add(1, MentionTask::winobias_pro, "b", first);
    add(2, MentionTask::winobias_pro, "alone", second);
    add(3, MentionTask::winobias_anti, "a", second);
    add(4, MentionTask::winobias_anti, "b", first);
    const CoreferenceTable table = coreference_table(index, {0, 1, 2, 3, 4}, {.draws = 200});
    ASSERT_EQ(table.rows.size(), 3u);
    EXPECT_DOUBLE_EQ(table.rows[0].accuracy.mean, 2.0 / 3);
    EXPECT_DOUBLE_EQ(table.rows[1].accuracy.mean, .5);
    EXPECT_EQ(table.rows[2].score, CoreferenceScore::winobias_difference);
    EXPECT_DOUBLE_EQ(table.rows[2].accuracy.mean, .5) << "over the two pairs, not over the sentence alone";
    EXPECT_EQ(table.rows[2].n, 2);
    EXPECT_TRUE(std::isnan(table.rows[2].accuracy.low)) << "two pairs are too few for an interval";
}

const Runs& mention_runs() {
    static const Runs* const runs = [] {
        auto* made = new Runs(built_in_model());
        const auto add = [&](const std::string& content, const std::vector<std::pair<std::string, std::string>>& mentions,
                             MentionTask task) {
            Text text{.id = "t" + std::to_string(made->size()), .text = content};
            text.task = task;
            std::size_t at = 0;
            for (const auto& [chain, form] : mentions) {
                at = content.find(form, task == MentionTask::chains ? at : 0);
                const auto begin = static_cast<std::int64_t>(at), end = begin + std::ssize(form);
                text.mentions.push_back({chain, begin, end, begin, end});
                ++at;
            }
            made->run_text(text, {.text = content});
        };
        add("The doctor asked the nurse whether she had seen the doctor.",
            {{"d", "doctor"}, {"n", "nurse"}, {"n", "she"}, {"d", "doctor"}}, MentionTask::chains);
        add("A king and his daughter; the king loved her.",
            {{"k", "king"}, {"k", "his"}, {"e", "daughter"}, {"k", "king"}, {"e", "her"}}, MentionTask::chains);
        add("Nothing is asked here.", {{"n", "Nothing"}}, MentionTask::chains);
        add("Elizabeth told Charlotte that she was tired.", {{"p", "she"}, {"p", "Elizabeth"}, {"B", "Charlotte"}},
            MentionTask::gap);
        return made;
    }();
    return *runs;
}

TEST(Coreference, TheIndexIsTheSameBytesInAnyOrder) {
    expect_the_same_bytes_in_any_order(mention_runs(), MentionIndex(6, 8, true));
}

TEST(Coreference, WeightsAreThoseOfThePatterns) {
    const Runs& runs = mention_runs();
    const MentionIndex index = runs.filled(MentionIndex(6, 8, true));
    ASSERT_EQ(index.chunks().size(), 3u);
    for (const auto& [number, chunk] : index.chunks())
        for (std::int64_t l = 0; l < 6; ++l)
            for (std::int64_t h = 0; h < 8; ++h) {
                const at::Tensor rows =
                    trace::pattern_rows(runs.trace(number), Layer(l), Head(h), 0, runs.trace(number).encoding().size())
                        .to(at::kDouble);
                const auto weight = [&](const IndexedMention& from, const IndexedMention& to) {
                    return rows.slice(0, from.first_token, from.last_token + 1)
                        .slice(1, to.first_token, to.last_token + 1)
                        .sum(1)
                        .mean()
                        .item<double>();
                };
                const auto head = static_cast<std::size_t>(l * 8 + h);
                if (chunk.task == MentionTask::gap) {
                    for (std::size_t name = 0; name < 2; ++name)
                        EXPECT_NEAR(chunk.names[2 * head + name], weight(chunk.mentions[0], chunk.mentions[name + 1]), 1e-7);
                    continue;
                }
                std::size_t row = 0;
                for (std::size_t m = 0; m < chunk.mentions.size(); ++m) {
                    if (!chunk.mentions[m].asked) continue;
                    double most = 0;
                    for (std::size_t c = 0; c < m; ++c) most = std::max(most, weight(chunk.mentions[m], chunk.mentions[c]));
                    const std::size_t at = row++ * 48 + head;
                    EXPECT_NEAR(chunk.to_weight[at] / 32767.0, most, 2e-5);
                    ASSERT_GE(chunk.to[at], 0);
                    EXPECT_NEAR(weight(chunk.mentions[m], chunk.mentions[static_cast<std::size_t>(chunk.to[at])]), most, 1e-6);
                }
            }
}

}  // namespace coreference_test
}  // namespace headlight::corpus
