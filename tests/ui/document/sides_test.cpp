// SPDX-License-Identifier: GPL-3.0-or-later
// One screen, one run: what stands beside a figure of A, B or B - A is of the same run.
#include "tests/ui/window_fixture.h"

#include "headlight/analyze/heads/head_table.h"
#include "headlight/analyze/pattern/pair_chain.h"
#include "headlight/intervention/compare/comparison.h"

#include <QLabel>
#include <QToolTip>

namespace headlight::ui {
namespace sides_test {

using figure::Side;

class SidesTest : public WindowTest {
protected:
    /// B has one token more before the pair, so that its positions are others.
    void compare() {
        ViewOptions options = document().options();
        options.other = {
            .on = true,
            .prompt = {.text = QStringLiteral("The very old doctor asked the nurse to wait, because the old doctor was late."),
                       .pair = {}}};
        options.side = Side::b;
        document().set_options(options);
        ASSERT_TRUE(settle());
        ASSERT_TRUE(document().beside());
    }
    double shown(const QString& row, int column) {
        const NumberRow* found = window.inspector().row(row);
        return found ? found->exact().split(u'\t').value(column).toDouble() : kNaN;
    }
};

TEST_F(SidesTest, TheInspectorHasThePairInBothRuns) {
    compare();
    const HeadId head{Layer(3), Head(2)};
    document().selection().pin_pair(head, Position(12), Position(3));
    ASSERT_TRUE(settle());
    const auto& beside = document().beside();
    const auto a = analyze::pair_chain(*document().trace(), head, Position(12), Position(3));
    const auto b = analyze::pair_chain(*beside->pair->b, head, Position(13), Position(4));
    ASSERT_NE(a.weight, b.weight);
    EXPECT_NEAR(shown(QStringLiteral("weight (softmax)"), 0), a.weight, 1e-8);
    EXPECT_NEAR(shown(QStringLiteral("weight (softmax)"), 1), b.weight, 1e-8);
    EXPECT_NEAR(shown(QStringLiteral("weight (softmax)"), 2), b.weight - a.weight, 1e-8);
    EXPECT_NEAR(shown(QStringLiteral("score"), 1), b.score, 1e-6);
    EXPECT_EQ(window.inspector().row(QStringLiteral("weight (softmax)"))->columns().size(), 3);
    // Without a pin: its measures.
    document().selection().clear_pins();
    ASSERT_TRUE(settle());
    const auto of_b = analyze::head_table(*beside->pair->b);
    EXPECT_NEAR(shown(QStringLiteral("entropy"), 1),
                (*of_b.find("entropy"))(selected().focus.layer.value, selected().focus.head.value), 1e-8);
}

/// The selection's positions are A's, and the figure's own are B's.
TEST_F(SidesTest, AClickInBPinsItsTokenAndPinsArePaintedWhereTheyAre) {
    compare();
    ASSERT_TRUE(show_view("matrix"));
    document().selection().clear_pins();
    ASSERT_TRUE(settle());
    const auto at = cell(13, 4);
    ASSERT_TRUE(at);
    const figure::Hit hit = canvas().hit_at(*at);
    EXPECT_EQ(hit.query, Position(12));
    EXPECT_EQ(hit.key, Position(3));
    click(*at);
    ASSERT_TRUE(settle());
    EXPECT_EQ(selected().pinned_queries, std::vector<Position>{Position(12)});
    EXPECT_EQ(canvas().selection_of_figure().pinned_queries, std::vector<Position>{Position(13)});
    // The inspector's B is what the figure's tip says.
    EXPECT_NEAR(shown(QStringLiteral("weight (softmax)"), 1), *hit.value, 1e-6);
    const auto of_b_alone = cell(13, 2);
    ASSERT_TRUE(of_b_alone);
    EXPECT_FALSE(canvas().hit_at(*of_b_alone).key) << "A has no such token";
}

TEST_F(SidesTest, ListAndMosaicAreOfTheRunThatIsShown) {
    compare();
    document().edit_options([](ViewOptions& o) { o.measure = "entropy"; });
    ASSERT_TRUE(settle());
    const auto a = analyze::head_table(*document().trace()), b = analyze::head_table(*document().beside()->pair->b);
    const Eigen::MatrixXd &of_a = *a.find("entropy"), &of_b = *b.find("entropy");
    HeadsPanel& panel = window.heads_panel();
    const auto first = [&](int column) {
        return panel.model().data(panel.model().index(0, column), HeadListModel::value_role).toDouble();
    };
    const auto mosaic = [&](std::int64_t layer, std::int64_t head) {
        for (const auto& row : panel.mosaic().shown()->table().rows)
            if (std::get<std::int64_t>(row[0]) == layer && std::get<std::int64_t>(row[1]) == head)
                return std::get<double>(row[2]);
        return kNaN;
    };
    EXPECT_NEAR(first(1), of_b.maxCoeff(), 1e-6);
    EXPECT_NEAR(mosaic(2, 1), of_b(2, 1), 1e-6);
    document().set_side(Side::a);
    ASSERT_TRUE(settle());
    EXPECT_NEAR(first(1), of_a.maxCoeff(), 1e-6);
    EXPECT_NEAR(mosaic(2, 1), of_a(2, 1), 1e-6);
    document().set_side(Side::difference);
    ASSERT_TRUE(settle());
    EXPECT_NEAR(std::abs(first(1)), (of_b - of_a).cwiseAbs().maxCoeff(), 1e-6) << "the largest difference first";
    const HeadId head = panel.model().heads().front();
    EXPECT_NEAR(first(2), of_a(head.layer.value, head.head.value), 1e-6);
    EXPECT_NEAR(mosaic(2, 1), of_b(2, 1) - of_a(2, 1), 1e-6);
    EXPECT_EQ(panel.model().headerData(1, Qt::Horizontal, Qt::AccessibleTextRole).toString(), QStringLiteral("B − A"));
    // What the finder asks is asked of the run that is shown.
    const auto more = [&](const Eigen::MatrixXd& of) { return (of.array() > 1.5).count(); };
    set_finder(QStringLiteral("entropy > 1.5"));
    for (const auto& [side, of] : {std::pair(Side::a, &of_a), std::pair(Side::b, &of_b)}) {
        document().set_side(side);
        ASSERT_TRUE(settle());
        EXPECT_EQ(document().finder().matching(), more(*of)) << int(side);
    }
}

/// As long as nobody chooses a measure, a difference is tinted and sorted by how far attention moved.
TEST_F(SidesTest, WithoutAChoiceADifferenceShowsHowFarAttentionMoved) {
    compare();
    document().set_side(Side::difference);
    ASSERT_TRUE(settle());
    HeadsPanel& panel = window.heads_panel();
    EXPECT_EQ(panel.measure(), moved_measure);
    EXPECT_TRUE(panel.measure_note().isHidden());
    const intervention::RunPair& pair = *document().beside()->pair;
    const auto compared = intervention::compare_heads(pair, intervention::same_heads(pair));
    const auto most = std::ranges::max_element(compared.heads, {}, &intervention::HeadComparison::tv);
    EXPECT_EQ(panel.model().heads().front(), most->head);
    EXPECT_NEAR(panel.model().data(panel.model().index(0, 1), HeadListModel::value_role).toDouble(), most->tv, 1e-7);
    document().set_side(Side::a);
    ASSERT_TRUE(settle());
    EXPECT_EQ(panel.measure(), "probe_induction");
}

/// A property of the model cannot differ between two texts.
TEST_F(SidesTest, AMeasureOfTheModelHasNoDifference) {
    ASSERT_TRUE(wait_for([&] { return document().probe().found() && window.jobs().idle(); }));
    document().edit_options([](ViewOptions& o) { o.measure = "probe_induction"; });
    compare();
    HeadsPanel& panel = window.heads_panel();
    EXPECT_EQ(panel.mosaic().shown()->table().columns[2], "probe_induction") << "B is of the same model";
    document().set_side(Side::difference);
    ASSERT_TRUE(settle());
    EXPECT_EQ(panel.mosaic().shown()->table().columns[2], "entropy");
    EXPECT_TRUE(panel.measure_note().isVisible());
}

TEST_F(SidesTest, AFigureOfBSaysWhatBIs) {
    EXPECT_TRUE(canvas().side_words().isEmpty());
    document().add_edit(QStringLiteral("zero L5H7"));
    ASSERT_TRUE(settle());
    ASSERT_EQ(document().shown_side(), Side::b);
    EXPECT_EQ(canvas().side_words(), QStringLiteral("B: zero L5H7"));
    EXPECT_TRUE(canvas().accessibleDescription().contains(QStringLiteral("zero L5H7")));
    document().set_side(Side::a);
    ASSERT_TRUE(settle());
    EXPECT_TRUE(canvas().side_words().isEmpty());
}

TEST_F(SidesTest, BIsNotComparedWithAnUnrelatedText) {
    window.history().set_merging(0);  // on a fast machine the end of the comparison would be one step with its beginning
    compare();
    const ViewOptions before = document().options();
    EXPECT_FALSE(document().unrelated_b());
    set_text(QStringLiteral("Keys to a cabinet are made of brass, the smith said."));
    ASSERT_TRUE(settle());
    ASSERT_TRUE(document().unrelated_b());
    EXPECT_FALSE(document().beside());
    EXPECT_EQ(document().shown_side(), Side::a);
    EXPECT_TRUE(window.tool_row().side().button(Side::a).isChecked());
    EXPECT_TRUE(window.notice_bar().isVisible());
    EXPECT_EQ(document().options(), before) << "nothing is lost";
    window.notice_bar().second().click();
    ASSERT_TRUE(settle());
    EXPECT_TRUE(wait_for([&] { return document().beside() != nullptr; })) << "as asked";
    EXPECT_FALSE(window.notice_bar().isVisible());
    // Back by undo, and gone by the cross.
    ASSERT_TRUE(trigger(Command::undo));
    EXPECT_TRUE(wait_for([&] { return document().beside() != nullptr; }));
    EXPECT_FALSE(document().unrelated_b());
    window.tool_row().side().end_button().click();
    ASSERT_TRUE(settle());
    EXPECT_FALSE(document().has_other());
    ASSERT_TRUE(trigger(Command::undo));
    EXPECT_TRUE(wait_for([&] { return document().beside() != nullptr; }));
}

TEST_F(SidesTest, TokensChosenForATextGoWithIt) {
    document().edit_options([](ViewOptions& o) {
        set_view_value(o, "attribution", "minus", " nurse");
        set_view_value(o, "lens", "watch", " late");
        set_view_value(o, "reach", "passage", "2-4");
    });
    const ViewOptions chosen = document().options();
    ASSERT_FALSE(chosen.values.empty());
    set_text(document().prompt().text + QStringLiteral(" And so"));
    ASSERT_TRUE(settle());
    EXPECT_FALSE(document().options().values.contains("attribution")) << "an answer is of its text";
    EXPECT_FALSE(document().options().values.contains("lens"));
    EXPECT_TRUE(document().options().values.contains("reach")) << "the text goes on";
    set_text(QStringLiteral("Keys to a cabinet are made of brass"));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(document().options().values.empty()) << "they are of another text";
    while (document().options().values.size() < chosen.values.size() && window.history().stack().canUndo())
        ASSERT_TRUE(trigger(Command::undo));
    EXPECT_EQ(document().options().values, chosen.values);
}

/// Nothing moves the pointer, and the head below it is another one.
TEST_F(WindowTest, ATipGoesWithWhatItIsAbout) {
    ASSERT_TRUE(show_view("matrix"));
    const auto at = cell(12, 3);
    ASSERT_TRUE(at);
    const auto tip = [&] {
        QHelpEvent help(QEvent::ToolTip, *at, canvas().viewport()->mapToGlobal(*at));
        QApplication::sendEvent(canvas().viewport(), &help);
        return QToolTip::isVisible();
    };
    const auto gone = [] { return wait_for([] { return !QToolTip::isVisible(); }); };
    ASSERT_TRUE(tip());
    document().selection().step_layer(-1);
    EXPECT_TRUE(gone());
    ASSERT_TRUE(settle());
    ASSERT_TRUE(tip());
    document().edit_options([](ViewOptions& o) { o.pattern.hide_sinks = true; });
    EXPECT_TRUE(gone());
}

}  // namespace sides_test
}  // namespace headlight::ui
