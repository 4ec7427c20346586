// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/numbers.h"

#include <gtest/gtest.h>

#include <limits>

namespace headlight {
namespace numbers_test {

TEST(Numbers, CommasStandBetweenThousands) {
    EXPECT_EQ(with_commas(0), "0");
    EXPECT_EQ(with_commas(999), "999");
    EXPECT_EQ(with_commas(1000), "1,000");
    EXPECT_EQ(with_commas(13682632), "13,682,632");
    EXPECT_EQ(with_commas(-100), "-100");
    EXPECT_EQ(with_commas(-1234567), "-1,234,567");
    EXPECT_EQ(with_commas(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

}  // namespace numbers_test
}  // namespace headlight
