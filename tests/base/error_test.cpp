// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/base/job.h"

#include <gtest/gtest.h>

namespace headlight {
namespace error_test {

TEST(Error, SaysEveryFactOnOneLine) {
    const Error e(ErrorFacts{.problem = "Wrong shape",
                             .file = "model.safetensors",
                             .item = "wte.weight",
                             .expected = "[4, 8]",
                             .found = "[4, 7]",
                             .hint = "Check config.json"});
    EXPECT_STREQ(e.what(), "Wrong shape: model.safetensors, wte.weight: expected [4, 8], found [4, 7]. Check config.json");
}

TEST(Error, LeavesOutWhatIsNotKnown) {
    EXPECT_STREQ(Error(ErrorFacts{.problem = "no text", .hint = "Type one"}).what(), "no text. Type one");
}

TEST(Error, CutsNamesAndValuesOfAnyLength) {
    const std::string name(400'000, 'x');
    const std::string half = std::string(199, 'x') + "ä" + name;  // the cut is not inside a character
    const Error e(ErrorFacts{.problem = "Unknown " + name, .item = "tensor " + half + ", tensor b", .found = "[" + name});
    EXPECT_LT(std::string(e.what()).size(), 1000u);
    EXPECT_EQ(e.facts().item, "tensor " + std::string(199, 'x') + "…" + " tensor b");
    EXPECT_EQ(e.facts().found, "[" + std::string(199, 'x') + "…");
    // A list keeps its entries.
    std::string list;
    for (int i = 0; i < 60; ++i) list += (i ? ", entry" : "entry") + std::to_string(i);
    EXPECT_EQ(Error(ErrorFacts{.problem = "p", .expected = list}).facts().expected, list);
}

TEST(CancelToken, CopiesShareTheFlag) {
    CancelToken a;
    const CancelToken b = a;
    a.cancel();
    EXPECT_THROW(b.throw_if_cancelled(), Cancelled);
}

}  // namespace error_test
}  // namespace headlight
