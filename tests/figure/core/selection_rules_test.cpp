// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/selection_rules.h"

#include <gmock/gmock.h>

namespace headlight::figure {
namespace selection_rules_test {

std::vector<Head> heads(std::initializer_list<int> values) {
    std::vector<Head> out;
    for (int v : values) out.emplace_back(v);
    return out;
}

Selection with(std::initializer_list<int> active) {
    Selection s;
    s.layer = Layer(2);
    s.heads = heads(active);
    s.focus = {s.layer, s.heads.front()};
    return s;
}

TEST(ToggleHead, ClickSwitchesOneHead) {
    Selection s = with({0, 3});
    toggle_head(s, 4, Head(1), false);
    EXPECT_EQ(s.heads, heads({0, 1, 3}));
    EXPECT_EQ(s.focus, (HeadId{Layer(2), Head(1)}));
    toggle_head(s, 4, Head(0), false);
    EXPECT_EQ(s.heads, heads({1, 3}));
    EXPECT_EQ(s.focus, (HeadId{Layer(2), Head(1)}));
    toggle_head(s, 4, Head(1), false);
    EXPECT_EQ(s.focus, (HeadId{Layer(2), Head(3)})) << "the focus does not stay on a head that is off";
}

TEST(ToggleHead, TheLastActiveHeadStaysOn) {
    Selection s = with({2});
    toggle_head(s, 4, Head(2), false);
    EXPECT_EQ(s.heads, heads({2}));
}

TEST(ToggleHead, DoubleClickLeavesOneHeadAndThenRestoresAll) {
    for (bool click_before : {false, true}) {
        Selection s = with({0, 1, 3});
        if (click_before) toggle_head(s, 4, Head(1), false);
        toggle_head(s, 4, Head(1), true);
        EXPECT_EQ(s.heads, heads({1}));
        if (click_before) toggle_head(s, 4, Head(1), false);
        toggle_head(s, 4, Head(1), true);
        EXPECT_EQ(s.heads, heads({0, 1, 2, 3}));
        EXPECT_EQ(s.focus, (HeadId{Layer(2), Head(1)}));
    }
}

TEST(ToggleHead, DoubleClickOnAnInactiveHeadSelectsOnlyThat) {
    Selection s = with({0, 1});
    toggle_head(s, 4, Head(3), true);
    EXPECT_EQ(s.heads, heads({3}));
}

TEST(ActiveHeads, AreThoseHeldAndSelected) {
    Selection s = with({1, 2, 5});
    EXPECT_EQ(active_heads(s, Layer(2), heads({0, 1, 5})), heads({1, 5}));
    EXPECT_EQ(active_heads(s, Layer(1), heads({0, 1})), heads({0, 1})) << "another layer's figure shows what it holds";
    EXPECT_EQ(active_heads(s, Layer(2), heads({0, 3})), heads({0, 3}));
}

}  // namespace selection_rules_test
}  // namespace headlight::figure
