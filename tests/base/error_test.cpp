// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/base/job.h"

#include <gtest/gtest.h>

namespace headlight {
namespace error_test {

TEST(Error, SaysEveryFactOnOneLine) {
    const Error e(ErrorFacts{.problem = "wrong shape",
                             .file = "model.safetensors",
                             .item = "wte.weight",
                             .expected = "[4, 8]",
                             .found = "[4, 7]",
                             .hint = "Check config.json"});
    EXPECT_STREQ(e.what(), "wrong shape: model.safetensors, wte.weight: expected [4, 8], found [4, 7]. Check config.json");
}

TEST(Error, LeavesOutWhatIsNotKnown) {
    EXPECT_STREQ(Error(ErrorFacts{.problem = "no text", .hint = "Type one"}).what(), "no text. Type one");
}

TEST(CancelToken, CopiesShareTheFlag) {
    CancelToken a;
    const CancelToken b = a;
    a.cancel();
    EXPECT_THROW(b.throw_if_cancelled(), Cancelled);
}

}  // namespace error_test
}  // namespace headlight
