// SPDX-License-Identifier: GPL-3.0-or-later
// The page of sweeps: clicks and hovers in its figure, and its fields for tokens.
#include "tests/ui/sweep/sweep_page.h"

#include <QApplication>
#include <QCompleter>
#include <QMouseEvent>
#include <QSignalSpy>

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
        EXPECT_TRUE(page().cell_words().text().startsWith(QStringLiteral("z  ") + figure::head_name(head)))
            << page().cell_words().text().toStdString();
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
    EXPECT_TRUE(page().cell_words().text().contains(QStringLiteral("effect on the logit difference ")));
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
