// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/index_list.h"

#include "headlight/base/error.h"

#include <gtest/gtest.h>

namespace headlight {

TEST(IndexList, IsReadAndWrittenTheShortestWay) {
    EXPECT_EQ(index_list("4-6,0,5"), (std::vector<std::int64_t>{0, 4, 5, 6}));
    for (const char* text : {"0", "0,2", "3-5", "0,2-3,9"}) EXPECT_EQ(index_list_text(index_list(text)), text);
    EXPECT_EQ(index_list_text({}), "");
    for (const char* wrong : {"", "x", "3-", "5-2", "1,,2", "-1", "2000000"}) EXPECT_THROW(index_list(wrong), Error) << wrong;
}

}  // namespace headlight
