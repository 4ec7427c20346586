// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/alignment.h"

#include <gtest/gtest.h>

namespace headlight::ui {
namespace alignment_test {

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
