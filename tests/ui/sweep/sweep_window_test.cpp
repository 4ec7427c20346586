// SPDX-License-Identifier: GPL-3.0-or-later
// The page of sweeps: asked from the window, stopped, continued, clicked.
#include "ui/sweep/sweep_window.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/document/session.h"

#include <QApplication>
#include <QClipboard>
#include <QSettings>
#include <QSignalSpy>

namespace headlight::ui {
namespace sweep_window_test {

using intervention::CellState;
using intervention::Grid;

class SweepPage : public WindowTest {
protected:
    void TearDown() override { QSettings().remove(QStringLiteral("export")); }
    void SetUp() override {
        WindowTest::SetUp();
        window.action(Command::sweep).trigger();
        ASSERT_TRUE(window.sweeps());
        ASSERT_TRUE(QTest::qWaitForWindowExposed(window.sweeps(), longest_wait_ms));
    }
    SweepWindow& page() { return *window.sweeps(); }
    SweepForm& form() { return page().form(); }
    bool forecast() {
        return wait_for([&] { return !page().forecast().text().isEmpty(); });
    }
    bool done() {
        return wait_for([&] { return window.jobs().idle() && page().result() && page().canvas().shown(); });
    }
    bool sweep() {
        page().start_button().click();
        return done();
    }
    /// The middle of a cell on screen.
    QPoint place(const intervention::SweepCell& cell) {
        const auto index = std::ranges::find(page().result()->cells, cell) - page().result()->cells.begin();
        const QSize room = page().canvas().viewport()->size();
        for (int y = 2; y < room.height(); y += 3)
            for (int x = 2; x < room.width(); x += 3) {
                const figure::Hit hit = page().canvas().hit_at(QPointF(x, y));
                if (hit.options == std::vector<std::pair<std::string, std::string>>{{"cell", std::to_string(index)}})
                    return {x, y};
            }
        return {};
    }
    void press(const intervention::SweepCell& cell) {
        QTest::mouseClick(page().canvas().viewport(), Qt::LeftButton, {}, place(cell));
    }
};

TEST_F(SweepPage, OpensWithTheTextOfTheWindowAndSaysWhatItWillCost) {
    EXPECT_EQ(form().clean().toPlainText(), window.document().prompt().text);
    ASSERT_TRUE(forecast());
    EXPECT_TRUE(page().forecast().text().startsWith(QStringLiteral("48 cells (48 computed), ")))
        << page().forecast().text().toStdString();
    EXPECT_FALSE(form().answer().placeholderText().isEmpty()) << "the likeliest token";
    type_text(QStringLiteral("The nurse asked the doctor because"));
    ASSERT_TRUE(settle());
    EXPECT_EQ(form().clean().toPlainText(), QStringLiteral("The nurse asked the doctor because"));
    form().clean().setPlainText(QStringLiteral("My own text"));
    type_text(QStringLiteral("Another text"));
    ASSERT_TRUE(settle());
    EXPECT_EQ(form().clean().toPlainText(), QStringLiteral("My own text")) << "typed here";
}

TEST_F(SweepPage, AClickSelectsTheHeadAndOffersItsEdit) {
    ASSERT_TRUE(sweep());
    ASSERT_TRUE(page().result()->complete);
    EXPECT_EQ(page().result()->cells.size(), 48u);
    press({.site = intervention::Site::z, .layer = 3, .head = 5});
    EXPECT_EQ(selected().focus, (HeadId{Layer(3), Head(5)}));
    ASSERT_TRUE(page().edit_button().isEnabled());
    page().edit_button().click();
    ASSERT_EQ(window.document().edits().lines.size(), 1u);
    EXPECT_EQ(window.document().edits().lines.front().words, QStringLiteral("zero L3H5"));
    EXPECT_TRUE(page().cell_words().text().contains(QStringLiteral("L3H5")));
    // The command names the answers that nobody has typed.
    EXPECT_TRUE(page().command().contains(QStringLiteral("--answer ")));
    EXPECT_TRUE(page().command().contains(QStringLiteral("--ablate zero")));
}

TEST_F(SweepPage, EveryEdgeOfWhatIsSelected) {
    window.document().selection().focus_head({Layer(2), Head(4)});
    window.action(Command::sweep_edges).trigger();
    const intervention::SweepRequest asked = form().request();
    EXPECT_EQ(asked.options.grid, Grid::pattern_by_edge);
    EXPECT_EQ(asked.options.layers, std::vector<std::int64_t>{2});
    EXPECT_EQ(asked.options.heads, std::vector<std::int64_t>{4});
    EXPECT_EQ(asked.options.ablation, intervention::Ablation::knockout) << "weights are knocked out, not zeroed";
    ASSERT_TRUE(sweep());
    const std::int64_t tokens = window.document().trace()->tokens();
    EXPECT_EQ(std::ssize(page().result()->cells), tokens * (tokens + 1) / 2);
    press({.site = intervention::Site::pattern, .layer = 2, .head = 4, .position = tokens - 1, .source = 1});
    EXPECT_EQ(selected().focus, (HeadId{Layer(2), Head(4)}));
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(tokens - 1)});
    EXPECT_EQ(selected().pinned_keys, std::vector{Position(1)});
    page().edit_button().click();
    EXPECT_EQ(window.document().edits().lines.back().words, QStringLiteral("knockout L2H4 %1<-1").arg(tokens - 1));
    type_text(QStringLiteral("Another text"));
    ASSERT_TRUE(settle());
    page().choose_cell(0);
    page().edit_button().click();
    EXPECT_EQ(window.document().edits().lines.size(), 1u) << "it would edit other tokens";
    EXPECT_TRUE(QApplication::clipboard()->text().startsWith(QStringLiteral("knockout L2H4 ")));
}

TEST_F(SweepPage, StoppingKeepsTheCellsAndGoesOn) {
    window.action(Command::sweep_heads).trigger();
    form().site().setCurrentIndex(form().site().findData(static_cast<int>(Grid::head_every_by_position)));
    form().edit().setCurrentIndex(1);
    QString corrupt = form().clean().toPlainText();
    form().corrupt().setPlainText(corrupt.replace(QStringLiteral("The"), QStringLiteral("A")));
    page().start_button().click();
    ASSERT_TRUE(wait_for([&] { return page().result() && page().result()->computed > 0; })) << "painted while it runs";
    page().stop_button().click();
    ASSERT_TRUE(done());
    if (page().result()->complete) GTEST_SKIP() << "it was quicker than the click";
    ASSERT_TRUE(page().go_on_button().isVisible());
    const std::vector<double> before = page().result()->effects.front();
    page().go_on_button().click();
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && page().result()->complete; }));
    EXPECT_FALSE(page().go_on_button().isVisible());
    const std::vector<double>& after = page().result()->effects.front();
    for (std::size_t i = 0; i < before.size(); ++i) ASSERT_TRUE(std::isnan(before[i]) || before[i] == after[i]) << i;
}

TEST_F(SweepPage, WhatCannotBeSweptSaysWhy) {
    form().edit().setCurrentIndex(0);
    ASSERT_TRUE(wait_for([&] { return page().forecast().text().contains(QStringLiteral("corrupt text")); }));
    EXPECT_FALSE(page().start_button().isEnabled());
    form().edit().setCurrentIndex(2);
    form().answer().setText(QStringLiteral("antidisestablishmentarianism"));
    ASSERT_TRUE(wait_for([&] { return page().forecast().text().contains(QStringLiteral("more than one token")); }));
    EXPECT_FALSE(page().start_button().isEnabled());
    form().answer().clear();
    form().layers().setText(QStringLiteral("7-x"));
    ASSERT_TRUE(wait_for([&] { return page().forecast().text().contains(QStringLiteral("7-x")); }));
    form().layers().setText(QStringLiteral("0-1"));
    ASSERT_TRUE(wait_for([&] { return page().forecast().text().startsWith(QStringLiteral("16 cells")); }));
    EXPECT_TRUE(page().start_button().isEnabled());
}

TEST_F(SweepPage, ExportsTheFigureAndItsNumbers) {
    ASSERT_TRUE(sweep());
    page().export_button().click();
    auto* dialog = page().findChild<ExportDialog*>();
    ASSERT_TRUE(dialog);
    QTemporaryDir folder;
    dialog->format().setCurrentIndex(dialog->format().findData(QStringLiteral("svg")));
    dialog->file().setText(folder.filePath(QStringLiteral("s.svg")));
    QSignalSpy written(dialog, &ExportDialog::written);
    dialog->write();
    ASSERT_TRUE(wait_for([&] { return written.count() == 1; }));
    QFile file(folder.filePath(QStringLiteral("s.svg")));
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    const QByteArray svg = file.readAll();
    EXPECT_TRUE(svg.contains("zero ablation"));
    EXPECT_TRUE(svg.contains("headlight sweep novella-7m"));
}

/// Path patching: the numbers are those of the engine, and the command names the receivers.
TEST_F(SweepPage, TheWayThroughQueriesKeysAndValues) {
    form().edit().setCurrentIndex(1);
    QString corrupt = form().clean().toPlainText();
    form().corrupt().setPlainText(corrupt.replace(QStringLiteral("nurse"), QStringLiteral("king")));
    form().to().setText(QStringLiteral("L4H5.k  L5H0.q"));
    EXPECT_FALSE(form().direct().isVisible()) << "the way to the logits is another one";
    ASSERT_TRUE(sweep());
    const intervention::SweepRequest asked = form().request();
    EXPECT_EQ(asked.options.to, (std::vector<std::string>{"L4H5.k", "L5H0.q"}));
    const OpenModel& opened = window.document().model();
    const auto expected = intervention::run_sweep(opened.model, page().sweep()->pairs(), asked.options);
    ASSERT_EQ(page().result()->results.size(), expected.results.size());
    double most = 0;
    for (std::size_t i = 0; i < expected.results.size(); ++i) {
        EXPECT_NEAR(page().result()->results[i].effect, expected.results[i].effect, 1e-5) << i;
        most = std::max(most, std::abs(expected.results[i].effect));
    }
    EXPECT_GT(most, 1e-4);
    EXPECT_EQ(expected.results.back().effect, 0) << "a head behind the receivers";
    EXPECT_TRUE(page().command().contains(QStringLiteral("--to L4H5.k --to L5H0.q"))) << page().command().toStdString();
    form().to().setText(QStringLiteral("L4H5.x"));
    ASSERT_TRUE(wait_for([&] { return page().forecast().text().contains(QStringLiteral("L4H5.x")); }));
    EXPECT_FALSE(page().start_button().isEnabled());
}

TEST_F(SweepPage, ASessionKeepsWhatIsAsked) {
    form().edit().setCurrentIndex(0);
    form().corrupt().setPlainText(QStringLiteral("Another text"));
    form().site().setCurrentIndex(form().site().findData(static_cast<int>(Grid::q_by_position)));
    form().layers().setText(QStringLiteral("0-2,4"));
    form().to().setText(QStringLiteral("L5H1.v"));
    form().answer().setText(QStringLiteral("·she"));
    form().window_size().setValue(3);
    const Session saved = window.session();
    ASSERT_TRUE(saved.sweep);
    EXPECT_TRUE(saved.sweep->clean.empty()) << "the window's text, which the page follows";
    EXPECT_EQ(session_from_json(to_json(saved), "a.headlight"), saved);
    EXPECT_TRUE(window.document().modified());
    const intervention::SweepRequest asked = form().request();

    MainWindow other;
    other.show();
    other.apply_session(saved, {});
    ASSERT_TRUE(wait_for([&] { return other.jobs().idle() && other.document().up_to_date(); }));
    EXPECT_EQ(other.session().sweep, saved.sweep) << "before the page is opened";
    other.action(Command::sweep).trigger();
    EXPECT_EQ(other.sweeps()->form().request(), asked);
    EXPECT_EQ(other.session().sweep, saved.sweep);
    Session plain = saved;
    plain.sweep.reset();
    other.apply_session(plain, {});
    EXPECT_TRUE(other.sweeps()->form().request().options.to.empty()) << "a session without a sweep has the page's beginning";

    std::string wrong = to_json(saved);
    const std::string site = "\"site\": \"q_by_position\"";
    ASSERT_NE(wrong.find(site), std::string::npos);
    wrong.replace(wrong.find(site), site.size(), "\"site\": \"qq\"");
    EXPECT_THROW(session_from_json(wrong, "a.headlight"), Error);
}

TEST_F(SweepPage, ItsFieldsAreUndone) {
    const intervention::SweepRequest first = page().request();
    QTest::keyClicks(&form().layers(), QStringLiteral("0-2"));
    EXPECT_EQ(page().undo_stack().count(), 1) << "letters typed are one step";
    form().site().setCurrentIndex(form().site().findData(static_cast<int>(Grid::mlp_out)));
    form().clean().setPlainText(QStringLiteral("My own text"));
    const intervention::SweepRequest last = page().request();
    EXPECT_EQ(page().undo_stack().count(), 3);
    QTest::keyClick(&form().clean(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(form().clean().toPlainText(), window.document().prompt().text);
    EXPECT_TRUE(page().request().clean.empty()) << "it follows the window again";
    QTest::keyClick(&form().layers(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(page().request().options.grid, Grid::z);
    page().undo_stack().undo();
    EXPECT_EQ(page().request(), first);
    while (page().undo_stack().canRedo()) page().undo_stack().redo();
    EXPECT_EQ(page().request(), last);
}

TEST_F(SweepPage, TheMenuOfAHeadOffersItsSweeps) {
    const auto offered = sweeps_of({Layer(4), Head(5)}, window.document().model().model->config());
    ASSERT_FALSE(offered.empty());
    for (const OfferedSweep& each : offered) {
        SCOPED_TRACE(each.title.toStdString());
        window.sweep(each.ask);
        EXPECT_EQ(form().request().options.grid, each.ask.grid);
        EXPECT_EQ(form().request().options.layers, each.ask.layers);
        EXPECT_EQ(form().request().options.heads, each.ask.heads);
    }
}

}  // namespace sweep_window_test
}  // namespace headlight::ui
