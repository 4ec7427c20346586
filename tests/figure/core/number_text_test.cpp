// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/number_text.h"
#include "headlight/figure/core/fixed_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace headlight::figure {
namespace number_text_test {

TEST(NumberText, NothingSmallReadsAsZero) {
    EXPECT_EQ(number_text(0.0002, 3), QStringLiteral("0.000200"));
    EXPECT_EQ(number_text(-0.00041238, 3), QStringLiteral("−0.000412"));
    EXPECT_EQ(number_text(1.234e-7, 4), QStringLiteral("1.23·10⁻⁷"));
    EXPECT_EQ(number_text(0, 3), QStringLiteral("0.000"));
    EXPECT_EQ(number_text(-1e-17, 2), QStringLiteral("0.00")) << "a rounding error";
    EXPECT_EQ(number_text(0.6, 0), QStringLiteral("1"));
}

TEST(NumberText, ThousandsHaveCommasAndMinusIsAMinus) {
    EXPECT_EQ(number_text(1834, 0), QStringLiteral("1,834"));
    EXPECT_EQ(number_text(-30081024, 0), QStringLiteral("−30,081,024"));
    EXPECT_EQ(number_text(1234.567, 1), QStringLiteral("1,234.6"));
    EXPECT_EQ(number_text(999.4, 0), QStringLiteral("999"));
    EXPECT_EQ(count_text(12345), QStringLiteral("12,345"));
    EXPECT_EQ(number_text(std::nan("")), QString());
    EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), QStringLiteral("−∞"));
}

TEST(NumberText, DecimalsFallAsANumberGrows) {
    EXPECT_EQ(value_text(0.43124), QStringLiteral("0.4312"));
    EXPECT_EQ(value_text(7.20412), QStringLiteral("7.2041"));
    EXPECT_EQ(value_text(-70.3249), QStringLiteral("−70.32"));
    EXPECT_EQ(value_text(649.04), QStringLiteral("649.0"));
    EXPECT_EQ(value_text(1203.44), QStringLiteral("1,203.4"));
    EXPECT_EQ(value_text(0.00012345), QStringLiteral("0.000123"));
    EXPECT_EQ(value_text(50.123, 3), QStringLiteral("50.1"));
    EXPECT_EQ(value_text(0, 4), QStringLiteral("0.0000"));
}

TEST(NumberText, OfOneQuantityHaveTheSameDecimals) {
    EXPECT_EQ(draw::fixed_text(0.02, 2), QStringLiteral("0.02"));
    EXPECT_EQ(draw::fixed_text(0.000194, 2), QStringLiteral("<0.01"));
    EXPECT_EQ(draw::fixed_text(-0.00046, 3), QStringLiteral(">−0.001"));
    EXPECT_EQ(draw::fixed_text(-0.153, 3), QStringLiteral("−0.153"));
    EXPECT_EQ(draw::fixed_text(0, 2), QStringLiteral("0.00"));
    EXPECT_EQ(draw::fixed_text(std::nan(""), 2), QString());
    EXPECT_EQ(draw::decimals_for(0.4, 2), 2);
    EXPECT_EQ(draw::decimals_for(0.03, 2), 3) << "two digits of the largest";
    EXPECT_EQ(draw::decimals_for(0.0996, 2), 2) << "rounds to 0.10";
    EXPECT_EQ(draw::decimals_for(0, 2), 2);
}

}  // namespace number_text_test
}  // namespace headlight::figure
