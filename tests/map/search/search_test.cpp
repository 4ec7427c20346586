// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/search/search.h"

#include "headlight/base/error.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headlight::map {
namespace {

using Hits = std::vector<std::uint8_t>;

MapTokens words(const std::vector<std::string>& tokens) {
    MapTokens out;
    for (const std::string& token : tokens) {
        out.position.push_back(static_cast<std::int32_t>(out.tokens.size()));
        out.token_ids.push_back(std::ssize(out.tokens));
        out.tokens.push_back(token);
        out.text.push_back(0);
        out.apart.push_back(0);
    }
    out.names = {"text"};
    return out;
}

TEST(Search, FindsTokensPartsExpressionsAndPositions) {
    const MapTokens tokens = words({"The", " the", " they", "9", "."});
    EXPECT_EQ(find_tokens(tokens, SearchKind::token, "THE"), (Hits{1, 1, 0, 0, 0})) << "the first token too";
    EXPECT_EQ(find_tokens(tokens, SearchKind::substring, "he"), (Hits{1, 1, 1, 0, 0}));
    EXPECT_EQ(find_tokens(tokens, SearchKind::regex, "^[0-9]+$|y$"), (Hits{0, 0, 1, 1, 0}));
    EXPECT_EQ(find_tokens(tokens, SearchKind::positions, "1-2"), (Hits{0, 1, 1, 0, 0}));
    EXPECT_EQ(find_tokens(tokens, SearchKind::positions, "4"), (Hits{0, 0, 0, 0, 1}));
    EXPECT_EQ(find_tokens(tokens, SearchKind::token, ""), Hits(5));
    EXPECT_EQ(find_tokens(tokens, SearchKind::token, "dog", [](std::int64_t id) { return id == 3 ? " dog" : "cat"; }),
              (Hits{0, 0, 0, 1, 0}));
    EXPECT_THROW(find_tokens(tokens, SearchKind::part_of_speech, "NOUN"), Error) << "no treebank";
    MapTokens tagged = tokens;
    tagged.tags = {"DET", "DET", "PRON", "", "PUNCT"};
    EXPECT_EQ(find_tokens(tagged, SearchKind::part_of_speech, "det"), (Hits{1, 1, 0, 0, 0}));
    EXPECT_EQ(find_tokens(tagged, SearchKind::part_of_speech, "PRON, PUNCT"), (Hits{0, 0, 1, 0, 1}));
    for (const char* unknown : {"NN", "none", "DET,", "first"})
        EXPECT_THROW(find_tokens(tagged, SearchKind::part_of_speech, unknown), Error) << unknown;
    EXPECT_THROW(find_tokens(tokens, SearchKind::regex, "("), Error);
    for (const char* range : {"-1", "5-2", "3-", "x"})
        EXPECT_THROW(find_tokens(tokens, SearchKind::positions, range), Error) << range;
}

TEST(Search, ExpressionsReadLettersOfAllScriptsAndEndWhenTheyTakeTooLong) {
    EXPECT_EQ(find_tokens(words({"Größe", "ÉTÉ", "\xC3", ""}), SearchKind::regex, "^(gr.{2}e|été)$"), (Hits{1, 1, 0, 0}));
    const MapTokens tokens = words({"the", std::string(40, 'a') + "!"});
    EXPECT_EQ(find_tokens(tokens, SearchKind::regex, "^a+$"), (Hits{0, 0}));
    try {
        find_tokens(tokens, SearchKind::regex, "^(a+)+$");
        FAIL() << "2^40 ways to divide the letters";
    } catch (const Error& error) {
        EXPECT_EQ(error.facts().problem, "The regular expression takes too long");
        EXPECT_EQ(error.facts().item, tokens.tokens[1]);
    }
}

TEST(Search, RanksHeadsByHowTightlyHitsStand) {
    QueryKeyMap map;
    map.tokens = words({"a", "a", "b", "b"});
    // Queries and keys on a line: in the first head the hits are at the ends, in the second next to each other.
    for (const std::vector<float>& x : {std::vector<float>{0, 9, 3, 6}, {0, 1, 5, 9}}) {
        HeadMap head;
        for (int role = 0; role < 2; ++role)
            for (const float value : x) head.points.insert(head.points.end(), {value, 0});
        map.heads.push_back(head);
    }
    const auto ranked = heads_by_tightness(map, Hits{1, 1, 0, 0});
    EXPECT_EQ(ranked[0].head, 1u);
    EXPECT_NEAR(ranked[0].dispersion, 1 / ((1 + 5 + 9 + 4 + 8 + 4) / 6.0), 1e-9);
    EXPECT_NEAR(ranked[1].dispersion, 9 / ((9 + 3 + 6 + 6 + 3 + 3) / 6.0), 1e-9);
    EXPECT_TRUE(std::isnan(heads_by_tightness(map, Hits{1, 0, 0, 0})[0].dispersion)) << "one hit";
}

}  // namespace
}  // namespace headlight::map
