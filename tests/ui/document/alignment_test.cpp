// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/alignment.h"

#include <gtest/gtest.h>

namespace headlight::ui {
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

TEST(Alignment, PinsGoWithTheirTokensOrGo) {
    figure::Selection s;
    s.pinned_queries = {Position(1), Position(2)};
    s.pinned_keys = {Position(0)};
    s.hover_query = Position(2);
    const auto moved = align_selection(s, {-1, 4, -1}, {-1, 4, -1});
    EXPECT_EQ(moved.pinned_queries, std::vector{Position(4)});
    EXPECT_TRUE(moved.pinned_keys.empty());
    EXPECT_FALSE(moved.hover_query);
}

}  // namespace alignment_test
}  // namespace headlight::ui
