// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers beside the figure: which are there, and what they are of.
#include "tests/ui/window_fixture.h"
#include "ui/style/typeset.h"

#include <QLabel>

namespace headlight::ui {
namespace inspector_test {

std::vector<NumberRow*> rows_of(Inspector& inspector) {
    QTest::qWait(20);  // what has just been put into a layout is not shown yet
    std::vector<NumberRow*> rows;
    for (NumberRow* row : inspector.findChildren<NumberRow*>())
        if (row->isVisible()) rows.push_back(row);
    return rows;
}

TEST(Typeset, TurnsFormulasIntoSumsAndIndices) {
    EXPECT_EQ(typeset(QStringLiteral("Mean of -sum_j a_ij ln a_ij, as share_previous")),
              QStringLiteral("Mean of −Σ<sub>j</sub> <i>a</i><sub>ij</sub> ln <i>a</i><sub>ij</sub>, as share_previous"));
    EXPECT_EQ(typeset(QStringLiteral("a_i,i-1 < |v_j W_O^h|")),
              QStringLiteral("<i>a</i><sub>i,i−1</sub> &lt; |<i>v</i><sub>j</sub> <i>W</i><sub>O</sub><sup>h</sup>|"));
    EXPECT_EQ(typeset(QStringLiteral("a_q,q-(n-1) of [CLS]\nand i - j")),
              QStringLiteral("<i>a</i><sub>q,q−(n−1)</sub> of [CLS]<br>and i − j"));
}

TEST_F(WindowTest, WithoutPinsTheInspectorListsWhatThisTextHasOfTheHead) {
    window.document().selection().clear_pins();
    ASSERT_TRUE(settle());
    const auto rows = rows_of(window.inspector());
    EXPECT_GT(rows.size(), 20u);
    for (const NumberRow* row : rows) EXPECT_NE(row->shown(), QStringLiteral("–")) << row->text().toStdString();
    const NumberRow* induction = window.inspector().row(QStringLiteral("induction score"));
    ASSERT_TRUE(induction);
    EXPECT_TRUE(induction->shown().endsWith(QStringLiteral(", n = 3"))) << induction->shown().toStdString();
    EXPECT_FALSE(window.inspector().row(QStringLiteral("share on [SEP]"))) << "a causal model has none";
    EXPECT_TRUE(window.inspector().row(QStringLiteral("entropy"))->toolTip().contains(QStringLiteral("Σ")));
}

/// Its layout takes too long for every head that the pointer passes over.
TEST_F(WindowTest, TheStoryIsOfTheHeadWhereThePointerRests) {
    ASSERT_TRUE(wait_for([&] { return window.document().head_table() && window.jobs().idle(); }));
    const QLabel& story = *window.inspector().findChild<QLabel*>(QStringLiteral("Story"));
    SelectionModel& selection = window.document().selection();
    selection.focus_head({Layer(5), Head(7)});
    const QString of_focus = story.text();
    EXPECT_FALSE(of_focus.isEmpty());
    selection.hover_head(HeadId{Layer(0), Head(0)});
    EXPECT_EQ(story.text(), of_focus);
    EXPECT_TRUE(wait_for([&] { return story.text() != of_focus; }));
    selection.clear_hover();
    EXPECT_EQ(story.text(), of_focus);
}

TEST_F(WindowTest, KeysThatTheQueryCannotAttendToAreNotListed) {
    figure::Selection next = window.document().selection().get();
    next.pinned_queries = {Position(1)};
    next.pinned_keys.clear();
    window.document().selection().set(next);
    ASSERT_TRUE(settle());
    EXPECT_EQ(rows_of(window.inspector()).size(), 2u) << "itself and the first token";
}

TEST_F(WindowTest, WithWordsTheInspectorSaysWhichNumbersAreOfWords) {
    ASSERT_TRUE(retype(QStringLiteral("The hippopotamus saw the unbelievableness of the hippopotamus.")));
    const auto pieces = analyze::tokens_called(*window.document().trace(), "unbelievableness");
    ASSERT_GT(pieces.size(), 1u);
    window.document().selection().pin_pair({Layer(2), Head(1)}, pieces.back(), pieces.front());
    ASSERT_TRUE(settle());
    const auto find = [&] { return window.inspector().row(QStringLiteral("in the figure (words)")); };
    EXPECT_FALSE(find());
    window.document().edit_options([&](ViewOptions& o) { o.pattern.merge_words = true; });
    ASSERT_TRUE(settle());
    ASSERT_TRUE(find());
    const analyze::PatternOptions& options = document().options().pattern;
    const auto axes = analyze::pattern_axes(*window.document().trace(), options);
    const auto map = analyze::pattern(*window.document().trace(), {Layer(2), Head(1)}, options);
    const double expected = map(axes.query_row(pieces.back()), axes.key_column(pieces.front()));
    EXPECT_NEAR(find()->exact().toDouble(), expected, 1e-6);
    EXPECT_NE(find()->exact(), window.inspector().row(QStringLiteral("weight (softmax)"))->exact());
    QTest::qWait(20);
    bool said = false;
    for (const QLabel* label : window.inspector().findChildren<QLabel*>())
        said |= label->isVisible() && label->text().contains(QStringLiteral("not of the words"));
    EXPECT_TRUE(said);
}

/// Bars give way to numbers and names.
TEST(NumberRow, ANarrowRowShowsItsWholeNumberAndNoBar) {
    const auto pixels = [](NumberRow& row) { return row.grab().toImage(); };
    for (const bool wide : {false, true}) {
        NumberRow with(QStringLiteral("·she")), without(QStringLiteral("·she"));
        for (NumberRow* row : {&with, &without}) {
            row->set_wide_bar(wide);
            row->set_value(QStringLiteral("+1.30"), QStringLiteral("1.3"));
            row->resize(150, 24);
        }
        with.set_bar(1, false);
        EXPECT_EQ(pixels(with), pixels(without)) << "no room beside the number";
        for (NumberRow* row : {&with, &without}) row->resize(300, 24);
        const QImage bar = pixels(with), none = pixels(without);
        EXPECT_NE(bar, none);
        const QRect number(300 - 40, 0, 40, 24);
        EXPECT_EQ(bar.copy(number), none.copy(number)) << "the bar covers no digit";
    }
}

/// The option is of models with norms behind their blocks; the views show what comes next to it.
TEST_F(WindowTest, TheNumberInTheFigureIsOfTheWeightingThatTheViewsShow) {
    window.document().edit_options([&](ViewOptions& o) { o.pattern.weighting = analyze::Weighting::layer_mix_norm; });
    ASSERT_TRUE(settle());
    EXPECT_FALSE(window.error_panel().isVisible()) << window.error_panel().message().toStdString();
    EXPECT_EQ(window.left_pane().shown()->state.pattern.weighting, analyze::Weighting::layer_mix_residual);
    EXPECT_TRUE(window.inspector().row(QStringLiteral("in the figure (layer mix residual)")));
}

}  // namespace inspector_test
}  // namespace headlight::ui
