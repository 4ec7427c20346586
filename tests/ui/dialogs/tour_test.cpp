// SPDX-License-Identifier: GPL-3.0-or-later
// The tour, the palette, and what comes into sight by itself.
#include "ui/dialogs/tour.h"
#include "tests/ui/window_fixture.h"
#include "ui/window/command_palette.h"

#include <QLineEdit>
#include <QScrollBar>

namespace headlight::ui {
namespace tour_test {

TEST_F(WindowTest, TheTourShowsSixStepsEachWithItsView) {
    window.show_view("matrix");
    window.action(Command::tour).trigger();
    ASSERT_TRUE(window.tour());
    Tour& tour = *window.tour();
    ASSERT_EQ(tour.steps(), 6);
    const std::vector<View> views{"matrix", "matrix", "head", "attribution", "head", "head"};
    for (int step = 0; step < 6; ++step) {
        EXPECT_EQ(tour.step(), step);
        EXPECT_EQ(window.document().views().left, views[std::size_t(step)]) << step;
        ASSERT_TRUE(settle());
        EXPECT_EQ(canvas().shown()->view(), views[std::size_t(step)]);
        EXPECT_TRUE(tour.isVisible());
        EXPECT_TRUE(window.rect().contains(tour.geometry())) << step;
        EXPECT_EQ(tour.back().isEnabled(), step > 0);
        if (step < 5) QTest::mouseClick(&tour.next(), Qt::LeftButton);
    }
    QTest::mouseClick(&tour.back(), Qt::LeftButton);
    EXPECT_EQ(tour.step(), 4);
    EXPECT_EQ(window.document().views().left, "head");
    QTest::mouseClick(&tour.next(), Qt::LeftButton);
    QTest::mouseClick(&tour.next(), Qt::LeftButton);
    EXPECT_TRUE(wait_for([&] { return !window.tour(); })) << "Done takes it away";
    EXPECT_EQ(window.document().views().left, "matrix") << "and brings back what was open";
}

TEST_F(WindowTest, EscapeEndsTheTourWhateverHasTheFocus) {
    const auto pins = selected().pinned_queries;
    ASSERT_FALSE(pins.empty());
    window.action(Command::tour).trigger();
    window.tour()->show_step(3);
    window.activateWindow();
    canvas().setFocus();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window, longest_wait_ms));
    QTest::keyClick(&canvas(), Qt::Key_Escape);
    EXPECT_TRUE(wait_for([&] { return !window.tour(); }));
    EXPECT_EQ(selected().pinned_queries, pins) << "the key was the tour's";
}

TEST_F(WindowTest, TheTourCanBeBegunAgain) {
    window.action(Command::tour).trigger();
    window.tour()->show_step(2);
    window.action(Command::tour).trigger();
    ASSERT_TRUE(window.tour());
    EXPECT_EQ(window.tour()->step(), 0);
    int shown = 0;
    for (const Tour* tour : window.findChildren<Tour*>()) shown += tour->isVisible();
    EXPECT_EQ(shown, 1);
}

TEST_F(WindowTest, TheTourPinsAPairGoesOnWithReturnAndCoversNoView) {
    window.document().selection().clear_pins();
    ASSERT_TRUE(settle());
    window.action(Command::tour).trigger();
    Tour& tour = *window.tour();
    EXPECT_FALSE(selected().pinned_queries.empty());
    EXPECT_FALSE(selected().pinned_keys.empty());
    for (int step = 1; step < 6; ++step) {
        QTest::keyClick(&tour.next(), Qt::Key_Return);
        ASSERT_EQ(tour.step(), step);
        ASSERT_TRUE(settle());
        const auto* frame = window.findChild<PartFrame*>();
        ASSERT_TRUE(frame && frame->isVisible());
        EXPECT_FALSE(frame->geometry().intersects(tour.geometry())) << step << ": the card covers what it is about";
    }
    tour.end();
    EXPECT_TRUE(selected().pinned_queries.empty());
    EXPECT_FALSE(window.findChild<PartFrame*>());
    ASSERT_TRUE(settle());
}

TEST_F(WindowTest, TheTourGivesBackTheUsersPins) {
    SelectionModel& selection = window.document().selection();
    selection.clear_pins();
    selection.pin_query(Position(4), false);
    ASSERT_TRUE(settle());
    const figure::Selection before = without_hover(selected());
    window.action(Command::tour).trigger();
    EXPECT_FALSE(selected().pinned_keys.empty());
    window.tour()->end();
    EXPECT_EQ(selected(), before);
    selection.clear_pins();
    window.action(Command::tour).trigger();
    selection.pin_pair({Layer(2), Head(3)}, Position(7), Position(1));
    window.tour()->end();
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(7)}) << "pinned during the tour";
    EXPECT_EQ(selected().pinned_keys, std::vector{Position(1)});
    ASSERT_TRUE(settle());
}

TEST_F(WindowTest, TheOfferOfATourOpensIt) {
    auto* offer = new TourOffer(window);
    EXPECT_TRUE(offer->isVisible());
    EXPECT_TRUE(window.rect().contains(offer->geometry()));
    offer->yes().click();
    EXPECT_TRUE(window.tour());
    window.tour()->end();
    QPointer<TourOffer> again = new TourOffer(window);
    window.document().selection().focus_head({Layer(1), Head(1)});
    EXPECT_TRUE(!again || again->isHidden()) << "it goes when one begins to work";
    ASSERT_TRUE(settle());
}

std::string long_text(int words) {
    std::string text;
    for (int i = 0; i < words; ++i) text += (i ? " " : "") + std::string(i % 7 ? "the old doctor" : "waits");
    return text;
}

TEST_F(WindowTest, PinsComeIntoSightInLongTexts) {
    set_text(QString::fromStdString(long_text(60)));
    ASSERT_TRUE(settle());
    const std::int64_t last = window.document().trace()->tokens() - 1;
    ASSERT_GT(last, 80);
    const auto in_sight = [&](std::optional<QRectF> row) {
        if (!row) return false;
        const double top = canvas().to_viewport(row->topLeft()).y(), bottom = canvas().to_viewport(row->bottomRight()).y();
        return top > 90 && bottom < canvas().viewport()->height() - 50;
    };
    window.document().selection().pin_pair(selected().focus, Position(last), Position(last - 30));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(in_sight(canvas().shown()->row_of_query(Position(last)))) << "head view: the query";
    EXPECT_TRUE(window.prompt_bar().tokens().chip_rect(Position(last)).right() <=
                window.prompt_bar().tokens().viewport()->width())
        << "token strip";
    ASSERT_TRUE(show_view("neuron"));
    EXPECT_TRUE(in_sight(canvas().shown()->row_of_key(Position(last - 30)))) << "neuron view: rows are keys";
    window.document().selection().pin_key(Position(2), false);
    ASSERT_TRUE(settle());
    EXPECT_FALSE(in_sight(canvas().shown()->row_of_key(Position(last - 30))));
    EXPECT_EQ(canvas().verticalScrollBar()->value(), 0);
    ASSERT_TRUE(show_view("head"));
    EXPECT_TRUE(in_sight(canvas().shown()->row_of_query(Position(last)))) << "again after another view";
    ASSERT_TRUE(show_view("lens"));
    EXPECT_TRUE(in_sight(canvas().shown()->row_of_query(Position(last)))) << "lens";
}

TEST_F(WindowTest, ThePaletteFindsAndRunsACommand) {
    window.action(Command::palette).trigger();
    auto* palette = window.findChild<CommandPalette*>();
    ASSERT_TRUE(palette);
    QTest::keyClicks(palette->findChild<QLineEdit*>(), QStringLiteral("matrix view"));
    QTest::keyClick(palette->findChild<QLineEdit*>(), Qt::Key_Return);
    EXPECT_EQ(window.document().views().left, "matrix");
}

}  // namespace tour_test
}  // namespace headlight::ui
