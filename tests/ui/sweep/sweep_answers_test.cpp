// SPDX-License-Identifier: GPL-3.0-or-later
// The page of sweeps: clicks and hovers in its figure, and its fields for tokens.
#include "tests/ui/sweep/sweep_page.h"

#include <QApplication>
#include <QCompleter>
#include <QMouseEvent>
#include <QSettings>
#include <QSignalSpy>

#include <algorithm>
#include <numeric>

namespace headlight::ui {
namespace sweep_answers_test {

/// The figure answers after a click as before it.
TEST_F(SweepPage, EveryClickAndEveryHoverIsAnswered) {
    ASSERT_TRUE(sweep());
    QSignalSpy pointed(&page().canvas(), &FigureCanvas::pointed_at);
    for (const HeadId head : {HeadId{Layer(3), Head(5)}, HeadId{Layer(1), Head(2)}, HeadId{Layer(4), Head(0)}}) {
        press({.site = intervention::Site::z, .layer = head.layer.value, .head = head.head.value});
        EXPECT_EQ(selected().focus, head);
        EXPECT_EQ(page().exportable().selection.focus, head) << "the frame";
        EXPECT_TRUE(page().largest().story().text().startsWith(QStringLiteral("With z ") + figure::head_name(head)))
            << page().largest().story().text().toStdString();
        ASSERT_TRUE(page().canvas().answers());
        pointed.clear();
        const intervention::SweepCell other{.site = intervention::Site::z, .layer = 5, .head = 7 - head.head.value};
        const QPointF at = place(other);
        QWidget* viewport = page().canvas().viewport();
        QMouseEvent move(QEvent::MouseMove, at, viewport->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(viewport, &move);
        ASSERT_FALSE(pointed.isEmpty());
        EXPECT_TRUE(pointed.last().at(0).toString().contains(QStringLiteral("L5H%1").arg(7 - head.head.value)));
    }
    EXPECT_TRUE(page().largest().story().text().contains(QStringLiteral("the logit difference ")));
}

/// The list beside the figure: the largest by size, the chosen one in words, and the two runs.
TEST_F(SweepPage, TheLargestCellsStandBesideTheFigure) {
    EXPECT_FALSE(page().largest().isVisible());
    ASSERT_TRUE(sweep());
    LargestCells& largest = page().largest();
    ASSERT_TRUE(largest.isVisible());
    const intervention::SweepResult& r = *page().result();
    std::vector<std::size_t> order(r.cells.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return std::abs(r.results[i].effect); });
    ASSERT_EQ(largest.list().model()->rowCount(), 10);
    for (int row = 0; row < 10; ++row)
        EXPECT_EQ(largest.list().model()->index(row, 0).data().toString(),
                  figure::sweep_cell_name(r, r.cells[order[std::size_t(row)]]));
    EXPECT_EQ(largest.title().text(), QStringLiteral("Ten largest of 48"));
    EXPECT_EQ(largest.rest().text(),
              QStringLiteral("the other 38: each within ±%1").arg(figure::sweep_number(std::abs(r.results[order[10]].effect))));
    // A row is its cell, also by the keyboard; the cell of the figure is its row.
    largest.list().setCurrentIndex(largest.list().model()->index(2, 0));
    const intervention::SweepCell& third = r.cells[order[2]];
    EXPECT_EQ(selected().focus, (HeadId{Layer(third.layer), Head(third.head)}));
    EXPECT_EQ(largest.story().text(), figure::sweep_story(r, order[2]));
    EXPECT_TRUE(largest.story().text().contains(figure::sweep_number(r.results[order[2]].value)));
    press(r.cells[order[1]]);
    EXPECT_EQ(largest.list().currentIndex().row(), 1);
    press(r.cells[order[40]]);
    EXPECT_FALSE(largest.list().currentIndex().isValid());
    EXPECT_EQ(largest.story().text(), figure::sweep_story(r, order[40]));
    const NumberRow* clean = largest.runs().row(QStringLiteral("clean"));
    ASSERT_TRUE(clean);
    EXPECT_NEAR(clean->exact().toDouble(), r.clean_mean(), 1e-6);
    QSignalSpy asked(&page(), &SweepWindow::text_asked);
    largest.text_button().click();
    EXPECT_EQ(asked.size(), 1);
}

/// Six fields ask a first question. What stands behind "More" counts all the same, and is named.
TEST_F(SweepPage, FurtherFieldsAreFoldedAndNamedWhereTheyAreSet) {
    QSettings().remove(QStringLiteral("sweep/more"));
    EXPECT_FALSE(form().choice("metric").isVisible());
    EXPECT_TRUE(form().choice("site").isVisible());
    EXPECT_TRUE(form().edit().isVisible());
    EXPECT_TRUE(form().more().text().startsWith(QStringLiteral("More: ")));
    form().line("layers").setText(QStringLiteral("2-3"));
    EXPECT_EQ(form().request().options.layers, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(form().more().text(), QStringLiteral("More, with Layers set"));
    form().more().click();
    EXPECT_TRUE(form().choice("metric").isVisible());
    EXPECT_TRUE(form().line("layers").isVisible());
    form().more().click();
    EXPECT_FALSE(form().line("layers").isVisible());
}

/// The fields of answers are those of the views' tokens.
TEST_F(SweepPage, AnswersAreOfferedAndSpelledOut) {
    ASSERT_TRUE(forecast());
    ASSERT_TRUE(wait_for([&] { return form().answer().completer()->model()->rowCount() == 20; }));
    EXPECT_TRUE(page().forecast().text().contains(QStringLiteral("Wrong answer: “"))) << page().forecast().text().toStdString();
    form().answer().setText(QStringLiteral("a"));
    const QString note = form().answer_field().note().text();
    EXPECT_TRUE(note.contains(QStringLiteral("with a space")) && note.contains(QStringLiteral("href=\"0: a\"")))
        << note.toStdString();
    Q_EMIT form().answer_field().note().linkActivated(QStringLiteral("0: a"));
    EXPECT_EQ(form().answer().text(), QStringLiteral("·a"));
    EXPECT_EQ(form().request().answers, std::vector<std::string>{" a"});
    form().answer().setText(QStringLiteral("·a | the"));
    EXPECT_EQ(form().answer_field().note().text().count(QStringLiteral("; ")), 1) << "a note for each";
    EXPECT_EQ(form().request().answers, (std::vector<std::string>{" a", "the"}));
    form().answer().setText(QStringLiteral("·a"));
    form().wrong().setText(QStringLiteral("·a"));
    ASSERT_TRUE(wait_for([&] { return page().forecast().text().contains(QStringLiteral("same token")); }));
    EXPECT_FALSE(page().start_button().isEnabled());
}

}  // namespace sweep_answers_test
}  // namespace headlight::ui
