// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/text/alignment.h"

#include <gtest/gtest.h>

namespace headlight::text {
namespace alignment_test {

using Strings = std::vector<std::string>;
using Indices = std::vector<std::int64_t>;

TEST(Alignment, TokensBehindAnInsertionMoveAlong) {
    EXPECT_EQ(align_tokens({"a", "b", "c"}, {"a", "x", "y", "b", "c"}), (Indices{0, 3, 4}));
    EXPECT_EQ(align_tokens({"a", "b", "c"}, {"b", "c"}), (Indices{-1, 0, 1}));
}

TEST(Alignment, WhatStaysBetweenTwoEditsIsFound) {
    EXPECT_EQ(align_tokens({"s", "a", "b", "c", "d", "e"}, {"s", "x", "b", "c", "y", "e"}), (Indices{0, -1, 2, 3, -1, 5}));
    EXPECT_EQ(align_tokens({"a", "b", "a", "b"}, {"b", "a", "b", "a", "b"}), (Indices{1, 2, 3, 4}));
}

TEST(Alignment, NothingInCommonAndNothingAtAll) {
    EXPECT_EQ(align_tokens({"a"}, {"b"}), (Indices{-1}));
    EXPECT_EQ(align_tokens({"a", "b"}, {}), (Indices{-1, -1}));
    EXPECT_TRUE(align_tokens({}, {"a"}).empty());
}

TEST(Alignment, RepeatedHeadDoesNotOverlapTheTail) {
    EXPECT_EQ(align_tokens({"a", "a"}, {"a", "a", "a"}), (Indices{0, 1}));
    EXPECT_EQ(align_tokens({"a", "a", "a"}, {"a"}), (Indices{0, -1, -1}));
}

TEST(Alignment, RunsOfAsManyTokensReplaceEachOther) {
    EXPECT_EQ(align_positions(Strings{"a", "X", "Y", "b", "c"}, Strings{"a", "P", "Q", "b", "x", "c"}), (Indices{0, 1, 2, 3, 5}));
    EXPECT_EQ(align_positions(Strings{"a", "X", "b"}, Strings{"a", "P", "Q", "b"}), (Indices{0, -1, 3}));
    EXPECT_EQ(align_positions(Indices{8, 7, 1}, Indices{7, 2}), (Indices{-1, 0, 1}));
    EXPECT_EQ(align_positions(Indices{8, 7}, Indices{7, 8}), (Indices{0, 1})) << "of equal length: position by position";
    EXPECT_EQ(align_positions(Indices{8}, Indices{}), (Indices{-1}));
}

TEST(Alignment, EndsArePartners) {
    EXPECT_EQ(align_positions(Strings{"so", "odd"}, Strings{"so", "o", "ld"}), (Indices{0, 2}));
    EXPECT_EQ(align_positions(Strings{"so", "odd"}, Strings{"so", "odd", "now"}), (Indices{0, 2})) << "whatever stands there";
    EXPECT_EQ(align_positions(Strings{"a", "[MASK]", "b", "c"}, Strings{"x", "a", "[MASK]", "c"}, TextEnds{1, 2}),
              (Indices{1, 2, -1, 3}))
        << "in texts of equal length too";
    EXPECT_EQ(align_positions(Indices{1, 2, 3}, Indices{1, 2, 3}, TextEnds{0, 1}), (Indices{1, -1, 2}));
}

}  // namespace alignment_test
}  // namespace headlight::text
