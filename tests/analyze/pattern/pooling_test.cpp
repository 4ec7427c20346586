// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/pattern/pooling.h"

#include <gtest/gtest.h>

namespace headlight::analyze {
namespace pooling_test {

TEST(Pooling, CellsCoverTheAxisAsDocumented) {
    for (const std::int64_t length : {1, 5, 7, 128, 130, 1000}) {
        for (const std::int64_t n : {1, 2, 3, 5, 100, 128}) {
            if (n > length) continue;
            for (std::int64_t i = 0; i < length; ++i) {
                const std::int64_t c = pooled_cell(i, length, n);
                EXPECT_LE(c * length / n, i);
                EXPECT_LT(i, (c + 1) * length / n);
            }
        }
    }
}

TEST(Pooling, MeanIsOverLegalPairsOnly) {
    Pooler pooler(4, 4, 2);
    const Matrix map = (Matrix(4, 4) << 1, 0, 0, 0, .5, .5, 0, 0, .2, .3, .5, 0, .1, .2, .3, .4).finished();
    for (std::int64_t i = 0; i < 4; ++i) pooler.add(i, map.row(i).data(), i + 1);
    const PooledMap pooled = pooler.result(HeadId{Layer(2), Head(1)});
    EXPECT_EQ(pooled.head, (HeadId{Layer(2), Head(1)}));
    EXPECT_FLOAT_EQ(pooled.max(0, 0), 1);
    EXPECT_FLOAT_EQ(pooled.mean(0, 0), 2.0F / 3);  // 1, .5, .5
    EXPECT_FLOAT_EQ(pooled.mean(1, 0), .2F);       // .2, .3, .1, .2
    EXPECT_FLOAT_EQ(pooled.mean(1, 1), .4F);       // .5, .3, .4
    EXPECT_FLOAT_EQ(pooled.max(0, 1), 0);
    EXPECT_FLOAT_EQ(pooled.mean(0, 1), 0) << "no legal pair";
}

TEST(Pooling, SmallAndEmptyMapsKeepTheirSize) {
    EXPECT_EQ(Pooler(3, 5, 128).result({}).max.cols(), 5);
    EXPECT_EQ(Pooler(3, 5, 128).result({}).max.rows(), 3);
    EXPECT_EQ(Pooler(0, 5, 128).result({}).max.size(), 0);
    const float value = 1;
    Pooler none(1, 0, 128);
    none.add(0, &value, 1);
    EXPECT_EQ(none.result({}).mean.rows(), 1);
    EXPECT_EQ(none.result({}).mean.cols(), 0);
}

TEST(Pooling, RepoolingCutsThroughNoCell) {
    EXPECT_EQ(repooled_side(128, 100), 64);
    EXPECT_EQ(repooled_side(128, 128), 128);
    EXPECT_EQ(repooled_side(128, 500), 128);
    EXPECT_EQ(repooled_side(17, 16), 1);
    EXPECT_EQ(repooled_side(60, 25), 20);
}

}  // namespace pooling_test
}  // namespace headlight::analyze
