// SPDX-License-Identifier: GPL-3.0-or-later
// The rules of selection, through the mouse and the keyboard, in the real window.
#include "tests/ui/window_fixture.h"

namespace headlight::ui {
namespace selection_test {

using Kind = figure::Hit::Kind;

TEST_F(WindowTest, FirstStartShowsAnInterestingHeadWithAPinnedPair) {
    EXPECT_EQ(selected().focus, analyze::interesting_head(*window.document().head_table()));
    const auto pair = analyze::interesting_pair(*window.document().trace(), selected().focus);
    EXPECT_EQ(selected().pinned_queries, std::vector{pair.query});
    EXPECT_EQ(selected().pinned_keys, std::vector{pair.key});
    ASSERT_TRUE(canvas().shown());
    ASSERT_TRUE(window.inspector().chain());
    const auto chain = analyze::pair_chain(*window.document().trace(), selected().focus, pair.query, pair.key, 0);
    const NumberRow* weight = window.inspector().row(QStringLiteral("weight (softmax)"));
    ASSERT_NE(weight, nullptr);
    EXPECT_NEAR(weight->exact().toDouble(), chain.weight, 1e-6);
}

TEST_F(WindowTest, HeadSquaresSwitchHeadsOnAndOffAndKeepTheLast) {
    window.document().selection().focus_head({Layer(2), Head(1)});
    auto at = square(3);
    ASSERT_TRUE(at);
    click(*at);
    EXPECT_EQ(selected().heads, (std::vector{Head(1), Head(3)}));
    next_click();
    at = square(1);
    ASSERT_TRUE(at);
    click(*at);
    EXPECT_EQ(selected().heads, std::vector{Head(3)});
    next_click();
    at = square(3);
    ASSERT_TRUE(at);
    click(*at);
    EXPECT_EQ(selected().heads, std::vector{Head(3)}) << "the last active head stays on";
}

TEST_F(WindowTest, DoubleClickOnASquareLeavesOneHeadThenBringsAllBack) {
    window.document().selection().all_heads();
    auto at = square(6);
    ASSERT_TRUE(at);
    QTest::mouseDClick(canvas().viewport(), Qt::LeftButton, {}, *at);
    EXPECT_EQ(selected().heads, std::vector{Head(6)});
    next_click();
    at = square(6);
    ASSERT_TRUE(at);
    QTest::mouseDClick(canvas().viewport(), Qt::LeftButton, {}, *at);
    EXPECT_EQ(std::int64_t(selected().heads.size()), window.document().selection().heads());
}

TEST_F(WindowTest, HoverPreviewsClickPinsAndCtrlClickAdds) {
    window.document().selection().clear_pins();
    auto at = token(Kind::query, 5);
    ASSERT_TRUE(at);
    move(*at);
    EXPECT_EQ(selected().hover_query, Position(5));
    EXPECT_TRUE(selected().pinned_queries.empty());
    click(*at);
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(5)});
    at = token(Kind::query, 9);
    ASSERT_TRUE(at);
    click(*at, Qt::ControlModifier);
    EXPECT_EQ(selected().pinned_queries, (std::vector{Position(5), Position(9)}));
    at = token(Kind::key, 2);
    ASSERT_TRUE(at);
    move(*at);
    EXPECT_EQ(selected().hover_key, Position(2));
    EXPECT_FALSE(selected().hover_query);
}

TEST_F(WindowTest, EscapeClearsHoverThenPinsAndNoHeads) {
    window.document().selection().focus_head({Layer(3), Head(3)});
    window.document().selection().pin_query(Position(6), false);
    window.document().selection().hover_position(Position(4));
    canvas().setFocus();
    QTest::keyClick(&canvas(), Qt::Key_Escape);
    EXPECT_FALSE(selected().hover_query);
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(6)});
    QTest::keyClick(&canvas(), Qt::Key_Escape);
    EXPECT_TRUE(selected().pinned_queries.empty());
    EXPECT_EQ(selected().heads.size(), 1u);
    QTest::keyClick(&canvas(), Qt::Key_Escape);
    EXPECT_EQ(selected().heads, std::vector{Head(3)}) << "one head is not turned into all";
}

TEST_F(WindowTest, EscapeLeavesTheTextBeforeItClearsPins) {
    window.document().selection().pin_query(Position(6), false);
    window.prompt_bar().text().setFocus();
    QTest::keyClick(&window.prompt_bar().text(), Qt::Key_Escape);
    EXPECT_EQ(window.focusWidget(), &canvas());
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(6)});
}

TEST_F(WindowTest, ActionsStepThroughLayersHeadsAndQueries) {
    window.document().selection().focus_head({Layer(2), Head(7)});
    window.action(Command::layer_down).trigger();
    EXPECT_EQ(selected().layer, Layer(3));
    window.action(Command::head_right).trigger();
    EXPECT_EQ(selected().focus, (HeadId{Layer(3), Head(0)})) << "the last head is followed by the first";
    for (int i = 0; i < 20; ++i) window.action(Command::layer_up).trigger();
    EXPECT_EQ(selected().layer, Layer(0));
    window.document().selection().pin_query(Position(3), false);
    window.action(Command::query_after).trigger();
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(4)});
}

TEST_F(WindowTest, TokenChipsAndTheMosaicSetTheSameSelection) {
    TokenStrip& strip = window.prompt_bar().tokens();
    QTest::mouseClick(strip.viewport(), Qt::LeftButton, {}, strip.chip_rect(Position(7)).center());
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(7)});
    FigureCanvas& mosaic = window.heads_panel().mosaic();
    const auto cell = find(mosaic, [](const figure::Hit& h) { return h.head == HeadId{Layer(1), Head(2)}; });
    ASSERT_TRUE(cell);
    QTest::mouseClick(mosaic.viewport(), Qt::LeftButton, {}, *cell);
    EXPECT_EQ(selected().focus, (HeadId{Layer(1), Head(2)}));
    EXPECT_EQ(selected().heads, std::vector{Head(2)});
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(7)}) << "another head of the same token";
}

}  // namespace selection_test
}  // namespace headlight::ui
