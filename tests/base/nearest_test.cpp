// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/nearest.h"

#include <gtest/gtest.h>

namespace headlight {
namespace nearest_test {

TEST(Nearest, CountsInsertionsDeletionsReplacementsAndSwaps) {
    EXPECT_EQ(edit_distance("trace", "tarce"), 1U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
    EXPECT_EQ(edit_distance("", "abc"), 3U);
    EXPECT_EQ(edit_distance("abc", ""), 3U);
    EXPECT_EQ(edit_distance("same", "same"), 0U);
    EXPECT_EQ(edit_distance("ca", "abc"), 3U) << "no edit between the letters that were swapped";
}

TEST(Nearest, IsTheWordThatWasMeantOrNone) {
    const std::vector<std::string> words = {"trace", "tokenize", "--theme", "render"};
    EXPECT_EQ(nearest("tarce", words), "trace");
    EXPECT_EQ(nearest("tok", words), "tokenize");
    EXPECT_EQ(nearest("--them", words), "--theme");
    EXPECT_EQ(nearest("quaternion", words), "");
    EXPECT_EQ(nearest("", words), "");
    EXPECT_EQ(nearest(std::string(65, 'r'), words), "");
    EXPECT_EQ(nearest("trace", {}), "");
}

TEST(Nearest, OfEqualDistancesTheFirstComesFirst) {
    EXPECT_EQ(nearest_three({{2, "d"}, {1, "b"}, {0, "a"}, {1, "c"}}), "a, b, c");
    EXPECT_EQ(nearest_three({{5, "only"}}), "only");
    EXPECT_EQ(nearest_three({}), "");
}

}  // namespace nearest_test
}  // namespace headlight
