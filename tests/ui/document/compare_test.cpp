// SPDX-License-Identifier: GPL-3.0-or-later
// A second run beside the first, in the window.
#include "tests/ui/window_fixture.h"
#include "ui/document/session.h"

#include "headlight/intervention/compare/comparison.h"

#include <set>

namespace headlight::ui {
namespace compare_window_test {

using figure::Side;

TEST_F(WindowTest, AnExamplePairShowsWhatChanges) {
    ASSERT_TRUE(trigger(Command::compare_bias));
    const auto beside = window.document().beside();
    ASSERT_TRUE(beside);
    EXPECT_EQ(beside->pair->a, window.document().trace());
    EXPECT_TRUE(window.tool_row().side().isVisible());
    EXPECT_EQ(window.document().options().side, Side::difference);
    std::set<View> with_difference;
    for (const figure::ViewSpec& spec : figure::view_specs()) {
        ASSERT_TRUE(show_view(spec.id)) << spec.id;
        EXPECT_FALSE(window.error_panel().isVisible()) << spec.id << ": " << window.error_panel().message().toStdString();
        const bool has = spec.difference && figure::why_missing(spec, *window.document().trace(), {}).empty();
        if (spec.compares || has) {
            ASSERT_TRUE(canvas().shown()) << spec.id;
            EXPECT_EQ(canvas().shown()->view(), spec.id);
            EXPECT_GT(ink(canvas()), 500) << spec.id;
            with_difference.insert(spec.id);
        } else {
            EXPECT_FALSE(canvas().shown()) << spec.id << " says that it has no difference";
        }
        EXPECT_TRUE(window.command_for_shown().isEmpty() || window.command_for_shown().contains(QStringLiteral("--with")))
            << spec.id;
    }
    EXPECT_GE(with_difference.size(), 25u);
}

TEST_F(WindowTest, SpaceGoesFromAToBToTheDifference) {
    ASSERT_TRUE(trigger(Command::compare_bias));
    window.show_view("matrix");
    window.document().set_side(Side::a);
    ASSERT_TRUE(settle());
    const std::string a = canvas().shown()->title().toStdString();
    const auto names = [&] { return canvas().shown()->table(); };
    const auto of_a = names();
    QTest::keyClick(&canvas(), Qt::Key_Space);
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.document().options().side, Side::b);
    EXPECT_EQ(canvas().shown()->title().toStdString(), a);
    EXPECT_NE(names().rows, of_a.rows);
    QTest::keyClick(&canvas(), Qt::Key_Space);
    ASSERT_TRUE(settle());
    EXPECT_TRUE(window.document().options().both_sides);
    QTest::keyClick(&canvas(), Qt::Key_Space);
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.document().options().side, Side::difference);
    QTest::keyClick(&canvas(), Qt::Key_Space);
    ASSERT_TRUE(settle());
    EXPECT_EQ(names().rows, of_a.rows);
}

TEST_F(WindowTest, AGreySideSaysWhyItIsGrey) {
    ASSERT_TRUE(trigger(Command::compare_bias));
    SideSwitch& side = window.tool_row().side();
    ASSERT_TRUE(show_view("compare-maps"));
    EXPECT_FALSE(side.both().isEnabled());
    EXPECT_TRUE(side.both().toolTip().contains(QStringLiteral("together already"))) << side.both().toolTip().toStdString();
    ASSERT_TRUE(show_view("reach"));
    EXPECT_TRUE(side.both().isEnabled());
    EXPECT_FALSE(side.button(Side::difference).isEnabled());
    EXPECT_TRUE(side.button(Side::difference).toolTip().contains(QStringLiteral("no difference")));
}

TEST_F(WindowTest, ADoubleClickOnAHeadOpensItInBothRuns) {
    ASSERT_TRUE(trigger(Command::compare_bias));
    ASSERT_TRUE(show_view("compare-maps"));
    const auto place = find(canvas(), [](const figure::Hit& h) { return h.head == HeadId{Layer(3), Head(1)}; });
    ASSERT_TRUE(place);
    QTest::mouseDClick(canvas().viewport(), Qt::LeftButton, {}, *place);
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.document().views().left, "compare-head");
    EXPECT_EQ(selected().focus, (HeadId{Layer(3), Head(1)}));
}

TEST_F(WindowTest, TheLineOfBNamesItAndItsCrossEndsTheComparison) {
    BLine& line = window.prompt_bar().b_line();
    window.history().set_merging(0);
    EXPECT_FALSE(line.isVisible());
    window.prompt_bar().compare_button().click();
    ASSERT_TRUE(line.isVisible());
    EXPECT_EQ(line.text().toPlainText(), window.document().prompt().text);
    EXPECT_TRUE(window.document().options().other.prompt.text.isEmpty()) << "A's own text is taken over";
    line.text().selectAll();
    QTest::keyClicks(&line.text(), QStringLiteral("The old doctor asked the nurse to wait, because he was late."));
    QTest::keyClick(&line.text(), Qt::Key_Return);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(window.document().beside());
    EXPECT_GT(std::ssize(window.document().beside()->pair->queries.a), window.document().beside()->pair->queries.aligned());
    EXPECT_TRUE(line.differs().text().contains(QStringLiteral("tokens differ"))) << line.differs().text().toStdString();
    // A text that shares nothing with A: the error says so, and A stays.
    window.document().edit_options([&](ViewOptions& o) { o.other.prompt.text = QStringLiteral("Yes"); });
    ASSERT_TRUE(settle());
    EXPECT_FALSE(window.document().beside());
    EXPECT_TRUE(window.error_panel().isVisible());
    line.end_button().click();
    ASSERT_TRUE(settle());
    EXPECT_FALSE(window.document().options().other.on);
    EXPECT_FALSE(line.isVisible());
    EXPECT_FALSE(window.tool_row().side().isVisible());
    window.history().stack().undo();
    ASSERT_TRUE(settle());
    EXPECT_TRUE(line.isVisible()) << "undo brings it back";
}

TEST_F(WindowTest, AAndBStandNextToEachOther) {
    ASSERT_TRUE(trigger(Command::compare_bias));
    ASSERT_TRUE(show_view("matrix"));
    SideSwitch& side = window.tool_row().side();
    side.both().click();
    ASSERT_TRUE(settle());
    EXPECT_TRUE(side.both().isChecked());
    ASSERT_TRUE(window.right_pane().isVisible());
    EXPECT_EQ(window.right_pane().view(), "matrix");
    EXPECT_EQ(window.left_pane().shown()->state.side, Side::a);
    EXPECT_EQ(window.right_pane().shown()->state.side, Side::b);
    EXPECT_NE(window.left_pane().canvas().shown()->table().rows, window.right_pane().canvas().shown()->table().rows);
    EXPECT_FALSE(window.document().views().split) << "it is no split of the views";
    side.step(1);
    ASSERT_TRUE(settle());
    EXPECT_TRUE(side.button(Side::difference).isChecked());
    EXPECT_FALSE(window.right_pane().isVisible());
    side.step(-1);
    EXPECT_TRUE(side.both().isChecked());
    side.step(-1);
    EXPECT_TRUE(side.button(Side::b).isChecked());
    ASSERT_TRUE(settle());
}

TEST_F(WindowTest, ThePairIsAlwaysThatOfTheShownRun) {
    Document& document = window.document();
    ViewOptions options = document.options();
    options.other = {.on = true, .prompt = {.text = QStringLiteral("The nurse asked the old doctor to wait."), .pair = {}}};
    options.side = Side::difference;
    document.set_options(options);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(document.beside());
    const auto b = document.beside()->pair->b;
    int announced = 0;
    QObject::connect(&document, &Document::changed, &window, [&] {
        if (const auto beside = document.beside()) {
            EXPECT_EQ(beside->pair->a, document.trace());
            ++announced;
        }
    });
    QObject::connect(&document.selection(), &SelectionModel::changed, &window, [&] {
        if (const auto beside = document.beside()) {
            EXPECT_EQ(beside->pair->a, document.trace());
        }
    });
    set_text(QStringLiteral("The doctor was late."));
    ASSERT_TRUE(settle());
    ASSERT_TRUE(document.beside());
    EXPECT_GT(announced, 0);
    EXPECT_EQ(document.beside()->pair->a, document.trace());
    EXPECT_EQ(document.beside()->pair->b, b) << "B has a text of its own: nothing of it has changed";
    EXPECT_FALSE(window.error_panel().isVisible());
}

TEST_F(WindowTest, WhatCannotBeComparedIsTriedOnce) {
    Document& document = window.document();
    ViewOptions options = document.options();
    options.other = {.on = true, .prompt = {.text = QStringLiteral("Yes"), .pair = {}}};
    options.side = Side::difference;
    document.set_options(options);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(document.other().problem());
    EXPECT_TRUE(window.tool_row().side().button(Side::a).isChecked()) << "it is A that the views show";
    options.predictions = !options.predictions;
    document.set_options(options);
    EXPECT_FALSE(window.jobs().busy(Jobs::Lane::other)) << "the option has nothing to do with B";
    EXPECT_TRUE(document.other().problem());
}

TEST_F(WindowTest, ASessionKeepsBothRuns) {
    ASSERT_TRUE(trigger(Command::compare_paraphrase));
    const Session session{window.document().model().reference, window.document().state(), window.document().views()};
    const Session read = session_from_json(to_json(session), "s.headlight");
    EXPECT_EQ(read.state.options.other, session.state.options.other);
    EXPECT_EQ(read.state.options.side, Side::difference);
    EXPECT_FALSE(read.state.options.other.prompt.text.isEmpty());
}

}  // namespace compare_window_test
}  // namespace headlight::ui
