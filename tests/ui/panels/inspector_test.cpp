// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers beside the figure: which are there, and what they are of.
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/base/numbers.h"
#include "tests/ui/window_fixture.h"
#include "ui/document/subject.h"
#include "ui/style/typeset.h"

#include <QLabel>
#include <QPushButton>

#include <algorithm>
#include <cmath>

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
    EXPECT_EQ(rows_of(window.inspector()).size(), 5u) << "what heads are called after";
    QPushButton& all = window.inspector().all_measures();
    const int number = all.text().split(u' ').at(1).toInt();
    QTest::mouseClick(&all, Qt::LeftButton);
    const auto rows = rows_of(window.inspector());
    EXPECT_GT(rows.size(), 20u);
    EXPECT_EQ(rows.size(), std::size_t(number));
    for (const NumberRow* row : rows) EXPECT_NE(row->shown(), QStringLiteral("–")) << row->text().toStdString();
    const NumberRow* induction = window.inspector().row(QStringLiteral("induction score"));
    ASSERT_TRUE(induction);
    EXPECT_TRUE(induction->shown().endsWith(QStringLiteral(", n = 3"))) << induction->shown().toStdString();
    EXPECT_FALSE(window.inspector().row(QStringLiteral("share on [SEP]"))) << "a causal model has none";
    EXPECT_TRUE(window.inspector().row(QStringLiteral("entropy"))->toolTip().contains(QStringLiteral("Σ")));
    QTest::mouseClick(&all, Qt::LeftButton);  // it is a setting
    EXPECT_EQ(rows_of(window.inspector()).size(), 5u);
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
    window.inspector().kind().set_folded(true);
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

TEST_F(WindowTest, ThePinnedPairSaysWhoWroteItsQueryAndItsKey) {
    const HeadId head{Layer(5), Head(7)};
    ASSERT_TRUE(
        retype(QStringLiteral("A ship of grey stones crossed the narrow garden while nine merchants counted silver "
                              "buttons under a broken lamp and Martha whistled. A ship of grey")));
    window.document().selection().pin_pair(head, Position(33), Position(5));
    ASSERT_TRUE(settle());
    const trace::Trace& trace = *window.document().trace();
    const analyze::Why why = analyze::why(trace, analyze::why_options(trace, head, Position(33), Position(5), {}));
    const auto sum = [&](const char* name) {
        QCoreApplication::processEvents();  // rows are shown by an event
        const NumberRow* row = window.inspector().row(QString::fromUtf8(name));
        return row && row->isVisible() ? row->exact().toDouble() : kNaN;
    };
    const auto of_key = [&](std::int64_t layer, std::int64_t index) {
        const auto found = std::ranges::find(why.key_parts, analyze::StreamPart{analyze::Component::head, layer, index});
        return why.key_sums[found - why.key_parts.begin()];
    };
    // The four largest writers of the key by docs/views/why.md's example; the query's are the embedding's MLP and more.
    EXPECT_NEAR(sum("L1H0"), of_key(1, 0), 1e-6);
    EXPECT_NEAR(sum("L3H0"), of_key(3, 0), 1e-6);
    EXPECT_NEAR(sum("L2H0"), of_key(2, 0), 1e-6);
    EXPECT_GT(sum("L1H0"), sum("L3H0"));
    EXPECT_NEAR(sum("advantage over the row"), why.advantage, 1e-6);
    ASSERT_LT(std::abs(why.position_advantage), 0.05);
    EXPECT_TRUE(std::isnan(sum("of it position"))) << "too little to be listed";
    // Shares by another computation than the section's.
    const auto held = [](const Eigen::VectorXd& sums) {
        std::vector<double> amounts;
        for (const double x : sums) amounts.push_back(std::abs(x));
        std::ranges::sort(amounts, std::greater());
        double all = 0;
        for (const double x : amounts) all += x;
        return QStringLiteral("the three largest hold %1 %").arg(std::lround(100 * (amounts[0] + amounts[1] + amounts[2]) / all));
    };
    const auto says = [&](const QString& words) {
        return std::ranges::any_of(window.inspector().writers().findChildren<QLabel*>(),
                                   [&](const QLabel* label) { return label->isVisible() && label->text().contains(words); });
    };
    EXPECT_TRUE(says(QStringLiteral("(5): ") + held(why.key_sums)));
    EXPECT_TRUE(says(QStringLiteral("(33): ") + held(why.query_sums)));
    EXPECT_TRUE(says(QStringLiteral("No short story by pair"))) << "docs/views/why.md: ten pairs hold too little of this weight";
    // Not of the pair under the pointer, and nothing while it is folded.
    window.document().selection().hover(std::nullopt, Position(33), Position(4));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(std::isnan(sum("L1H0")));
    window.document().selection().clear_hover();
    ASSERT_TRUE(settle());
    EXPECT_NEAR(sum("L1H0"), of_key(1, 0), 1e-6);
    QTest::mouseClick(&window.inspector().writers().heading(), Qt::LeftButton);
    EXPECT_TRUE(std::isnan(sum("L1H0")));
    // Unfolded while the numbers of another pair are on their way.
    window.document().selection().pin_pair(head, Position(33), Position(4));
    QTest::mouseClick(&window.inspector().writers().heading(), Qt::LeftButton);
    ASSERT_TRUE(settle());
    EXPECT_NEAR(window.inspector().row(QStringLiteral("weight (softmax)"))->exact().toDouble(),
                double(analyze::pattern_row(trace, {head}, 33, {})(0, 4)), 1e-7);
    EXPECT_FALSE(std::isnan(sum("L0 MLP"))) << "asked again when it is unfolded";
}

TEST_F(WindowTest, OfTwoRunsTheWritersThatDifferStandInColumns) {
    const HeadId head{Layer(5), Head(7)};
    window.document().selection().pin_pair(head, Position(12), Position(3));
    window.document().set_edits({.lines = {{QStringLiteral("zero L3H0")}}});
    ASSERT_TRUE(settle());
    ASSERT_TRUE(wait_for([&] { return window.document().beside() && window.jobs().idle(); }));
    const NumberRow* row = window.inspector().row(QStringLiteral("L3H0"));
    ASSERT_TRUE(row) << "the head that B lacks differs most";
    ASSERT_EQ(row->columns().size(), 3);
    const QStringList exact = row->exact().split(u'\t');
    EXPECT_NEAR(exact.at(1).toDouble(), 0, 1e-6);
    EXPECT_NEAR(exact.at(2).toDouble(), -exact.at(0).toDouble(), 1e-6);
    for (const NumberRow* each : rows_of(window.inspector()))
        for (const QString& column : each->columns())
            EXPECT_FALSE(column.startsWith(QStringLiteral("++"))) << each->text().toStdString();
}

TEST_F(WindowTest, TheLinkOfTheWritersOpensTheViewOfThatWeight) {
    const figure::Selection found = selected();
    ASSERT_TRUE(found.found_pins) << "the pair that the program shows at first";
    const auto links = window.inspector().writers().findChildren<QPushButton*>();
    const auto open = std::ranges::find(links, QStringLiteral("open Why"), [](const QPushButton* b) { return b->text(); });
    ASSERT_NE(open, links.end());
    QTest::mouseClick(*open, Qt::LeftButton);
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.document().views().left, "why");
    EXPECT_FALSE(selected().found_pins) << "a person asks about it now";
    EXPECT_EQ(selected().pinned_queries, found.pinned_queries);
    EXPECT_EQ(selected().pinned_keys, found.pinned_keys);
    EXPECT_EQ(selected().focus, found.focus);
}

TEST_F(WindowTest, ViewsOfAPredictionSayWhatIsPredictedThere) {
    figure::Selection next = window.document().selection().get();
    next.pinned_queries = {Position(12)};
    next.pinned_keys.clear();
    next.found_pins = false;
    window.document().selection().set(next);
    ASSERT_TRUE(settle());
    const auto shown = [&](const QString& name) {
        const NumberRow* row = window.inspector().row(name);
        return row && row->isVisible() ? row->exact().toDouble() : kNaN;
    };
    const trace::Trace& trace = *window.document().trace();
    const analyze::TokenPrediction there = analyze::predictions(trace)[12];
    const auto name = [&](std::int64_t id) { return QString::fromStdString(text::token_label(*trace.tokenizer(), id)); };
    EXPECT_TRUE(std::isnan(shown(name(there.next[0].id)))) << "the view is about attention";
    ASSERT_TRUE(show_view("lens"));
    QCoreApplication::processEvents();
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(shown(name(there.next[i].id)), double(there.next[i].probability), 1e-6) << i;
    EXPECT_NEAR(shown(QStringLiteral("entropy")), there.entropy, 1e-6) << "of the prediction; that of the head stands below";
    EXPECT_FALSE(window.inspector().row(QStringLiteral("rank of %1").arg(name(there.next[7].id))));
    window.document().edit_options([&](ViewOptions& o) { set_subject(o, Subject::answer, std::to_string(there.next[7].id)); });
    ASSERT_TRUE(settle());
    QCoreApplication::processEvents();
    EXPECT_EQ(shown(QStringLiteral("rank of %1").arg(name(there.next[7].id))), 8);
    EXPECT_NEAR(shown(name(there.next[7].id)), double(there.next[7].probability), 1e-6);
}

/// As the view and its chip say.
TEST_F(WindowTest, APairThatTheProgramHasPinnedIsNoQuestionOfAPrediction) {
    ASSERT_TRUE(selected().found_pins);
    ASSERT_TRUE(show_view("lens"));
    QCoreApplication::processEvents();
    const trace::Trace& trace = *window.document().trace();
    const analyze::TokenScore likeliest = analyze::predictions(trace).back().next.front();
    const NumberRow* row = window.inspector().row(QString::fromStdString(text::token_label(*trace.tokenizer(), likeliest.id)));
    ASSERT_TRUE(row);
    EXPECT_NEAR(row->exact().toDouble(), double(likeliest.probability), 1e-6);
}

/// The key of a pair is known, and not its query: where a comparison has pinned what differs, or after Shift+click.
TEST_F(WindowTest, AKeyWithoutAQueryIsNoPair) {
    figure::Selection next = selected();
    next.pinned_queries.clear();
    next.pinned_keys = {Position(3)};
    window.document().selection().set(next);
    for (const char* view : {"lens", "drivers", "matrix"}) {
        ASSERT_TRUE(show_view(view));
        EXPECT_FALSE(window.error_panel().isVisible()) << view << ": " << window.error_panel().message().toStdString();
        EXPECT_FALSE(window.inspector().row(QStringLiteral("weight (softmax)")));
    }
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
