// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/results.h"

#include <gtest/gtest.h>

namespace headlight {
namespace results_test {

struct Square {
    int of;
    bool operator==(const Square&) const = default;
};
struct Cube {
    int of;
    bool operator==(const Cube&) const = default;
};

/// How often a square was computed.
struct Counted {
    Results results;
    int made = 0;
    int square(int n) {
        return *results.get(
            Square{n},
            [&] {
                ++made;
                return n * n;
            },
            [](int) { return std::int64_t{10}; });
    }
};

TEST(Results, AreComputedOnceAndToldApartByTheTypeOfTheirKey) {
    Counted counted;
    EXPECT_EQ(counted.square(3), 9);
    EXPECT_EQ(counted.square(3), 9);
    EXPECT_EQ(counted.made, 1);
    EXPECT_EQ(*counted.results.get(
                  Cube{3}, [] { return 27; }, [](int) { return std::int64_t{5}; }),
              27);
    EXPECT_EQ(counted.results.bytes(), 15);
}

TEST(Results, ThoseUsedLastAreKept) {
    Counted counted;
    for (int n = 0; n < Results::kept_of_a_kind; ++n) counted.square(n);
    counted.square(0);  // used last now
    counted.square(100);
    EXPECT_EQ(counted.results.bytes(), 10 * Results::kept_of_a_kind);
    const int before = counted.made;
    counted.square(0);
    EXPECT_EQ(counted.made, before);
    counted.square(1);
    EXPECT_EQ(counted.made, before + 1);
}

TEST(Results, EndWithTheirOwner) {
    std::weak_ptr<const std::shared_ptr<int>> seen;
    {
        Results results;
        seen = results.get(
            Square{1}, [] { return std::make_shared<int>(1); }, [](const auto&) { return std::int64_t{4}; });
        EXPECT_FALSE(seen.expired());
    }
    EXPECT_TRUE(seen.expired());
}

TEST(Results, NothingIsKeptOfWhatFailed) {
    Results results;
    const auto fail = []() -> int { throw std::runtime_error("no"); };
    EXPECT_THROW(results.get(Square{1}, fail, [](int) { return std::int64_t{1}; }), std::runtime_error);
    EXPECT_EQ(results.bytes(), 0);
}

}  // namespace results_test
}  // namespace headlight
