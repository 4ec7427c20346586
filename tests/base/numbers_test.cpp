// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/numbers.h"

#include <gtest/gtest.h>

#include <limits>

namespace headlight {
namespace numbers_test {

TEST(Numbers, BytesAreRoundedForPeople) {
    EXPECT_EQ(rounded_bytes(7'400), "7 kB");
    EXPECT_EQ(rounded_bytes(512e6), "512 MB");
    EXPECT_EQ(rounded_bytes(1.53e9), "1.5 GB");
}

TEST(Numbers, CommasStandBetweenThousands) {
    EXPECT_EQ(with_commas(0), "0");
    EXPECT_EQ(with_commas(999), "999");
    EXPECT_EQ(with_commas(1000), "1,000");
    EXPECT_EQ(with_commas(13682632), "13,682,632");
    EXPECT_EQ(with_commas(-100), "-100");
    EXPECT_EQ(with_commas(-1234567), "-1,234,567");
    EXPECT_EQ(with_commas(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Numbers, ThreeDigitsSayHowLargeANumberIs) {
    for (const auto& [x, text] : {std::pair(0.0, "0"), std::pair(0.92304, "0.923"), std::pair(0.9996, "1.00"),
                                  std::pair(0.0042, "0.00420"), std::pair(-0.1478, "-0.148"), std::pair(70.32, "70.3"),
                                  std::pair(999.7, "1,000"), std::pair(-53214.2, "-53,214"), std::pair(0.0000421, "4.21e-05")})
        EXPECT_EQ(significant(x), text);
    EXPECT_EQ(significant(kNaN), "–");
    EXPECT_EQ(significant(-std::numeric_limits<double>::infinity()), "-∞");
}

}  // namespace numbers_test
}  // namespace headlight
