// SPDX-License-Identifier: GPL-3.0-or-later
// Typing, undo, sessions, errors and exports in the real window.
#include "headlight/intervention/compare/comparison.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/style/appearance.h"
#include "ui/window/command_palette.h"

#include <QClipboard>
#include <QImage>
#include <QSignalSpy>

#include <set>

namespace headlight::ui {
namespace document_test {

/// By itself: the thread sanitizer takes minutes for it.
class LongPaste : public WindowTest {};

class EveryView : public WindowTest {
protected:
    /// The views that have nothing to show of the open model.
    std::set<View> views_without_data() {
        std::set<View> views;
        for (const figure::ViewSpec& spec : figure::view_specs())
            if (spec.missing && !spec.missing(*window.document().trace()).empty()) views.insert(spec.id);
        return views;
    }
    /// Of a decoder without experts that reads text, and one run.
    const std::set<View> missing_for_text{"picture",      "experts",      "compare-heads",
                                          "compare-maps", "compare-head", "compare-layers"};
};

TEST_F(WindowTest, TypingRunsAgainAndPinsFollowTheirTokens) {
    const auto first = window.document().trace();
    window.document().selection().pin_query(Position(6), false);
    ASSERT_EQ(selected().pinned_queries, std::vector{Position(6)});
    const std::string pinned = first->encoding().tokens[6];
    QTextCursor cursor = window.prompt_bar().text().textCursor();
    cursor.setPosition(3);
    window.prompt_bar().text().setTextCursor(cursor);
    QTest::keyClicks(&window.prompt_bar().text(), QStringLiteral(" very"));
    ASSERT_TRUE(settle());
    ASSERT_NE(window.document().trace(), first);
    EXPECT_EQ(window.document().trace()->text_a(),
              "The very old doctor asked the nurse to wait, because the old doctor was late.");
    ASSERT_EQ(selected().pinned_queries.size(), 1u);
    const auto now = selected().pinned_queries[0];
    EXPECT_GT(now, Position(6));
    EXPECT_EQ(window.document().trace()->encoding().tokens[std::size_t(now.value)], pinned);
    EXPECT_EQ(window.left_pane().shown()->trace, window.document().trace());
}

TEST_F(WindowTest, AnotherComputeTypeRunsTheTextAndBAgain) {
    const auto chosen = [&] {
        std::vector<Command> on;
        for (const ComputeCommand& each : compute_commands)
            if (window.action(each.command).isChecked()) on.push_back(each.command);
        return on;
    };
    ASSERT_TRUE(trigger(Command::compare_bias));
    const QString text = window.document().prompt().text;
    const auto in_float32 = window.document().trace();
    EXPECT_EQ(chosen(), std::vector{Command::compute_float32});
    ASSERT_TRUE(trigger(Command::compute_float64));
    EXPECT_EQ(chosen(), std::vector{Command::compute_float64});
    EXPECT_EQ(window.document().prompt().text, text);
    const auto trace = window.document().trace();
    ASSERT_NE(trace, in_float32);
    EXPECT_EQ(trace->model()->dtype(), model::ComputeType::float64);
    const auto beside = window.document().beside();
    ASSERT_TRUE(beside);
    EXPECT_EQ(beside->pair->a, trace);
    EXPECT_EQ(beside->pair->b->model()->dtype(), model::ComputeType::float64);
    ASSERT_TRUE(trigger(Command::compute_float64));
    EXPECT_EQ(window.document().trace(), trace) << "it computes in this type already";
    window.open(QStringLiteral("novella-7m"));
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.document().model().model->dtype(), model::ComputeType::float64) << "so do models opened later";
}

TEST_F(WindowTest, BOfAnotherModelComputesInTheSameType) {
    QTemporaryDir folder;
    const auto copy = std::filesystem::path(folder.path().toStdString()) / "copy";
    std::filesystem::copy(window.document().model().model->folder(), copy);
    window.document().edit_options([&](ViewOptions& o) {
        o.other.on = true;
        o.other.model = QString::fromStdString(copy.string());
    });
    ASSERT_TRUE(settle());
    const auto type_of_b = [&] { return window.document().beside()->pair->b->model()->dtype(); };
    ASSERT_TRUE(window.document().beside());
    EXPECT_EQ(type_of_b(), model::ComputeType::float32);
    for (const Command chosen : {Command::compute_float64, Command::compute_float32}) {
        ASSERT_TRUE(trigger(chosen));
        ASSERT_TRUE(window.document().beside());
        EXPECT_EQ(window.document().beside()->pair->a, window.document().trace());
        EXPECT_EQ(type_of_b(), window.document().compute_type());
    }
}

TEST_F(WindowTest, AComputeTypeChosenWhileAModelIsOpenedIsThatModels) {
    QTemporaryDir folder;
    const auto copy = std::filesystem::path(folder.path().toStdString()) / "copy";
    std::filesystem::copy(window.document().model().model->folder(), copy);
    window.open(QString::fromStdString(copy.string()));
    ASSERT_TRUE(window.document().opening());
    ASSERT_TRUE(trigger(Command::compute_float64));
    EXPECT_EQ(window.document().model().model->folder(), copy);
    EXPECT_EQ(window.document().model().model->dtype(), model::ComputeType::float64);
    EXPECT_TRUE(window.document().up_to_date());
}

TEST_F(WindowTest, AComputeTypeInWhichTheModelDoesNotOpenIsNotTaken) {
    QTemporaryDir folder;
    const auto copy = std::filesystem::path(folder.path().toStdString()) / "copy";
    std::filesystem::copy(window.document().model().model->folder(), copy);
    window.open(QString::fromStdString(copy.string()));
    ASSERT_TRUE(settle());
    const auto open_one = window.document().model().model;
    ASSERT_TRUE(std::filesystem::remove(copy / "config.json"));
    ASSERT_TRUE(trigger(Command::compute_float64));
    EXPECT_TRUE(window.error_panel().isVisible());
    EXPECT_EQ(window.document().compute_type(), model::ComputeType::float32);
    EXPECT_EQ(window.document().model().model, open_one);
    EXPECT_TRUE(window.action(Command::compute_float32).isChecked());
}

TEST_F(WindowTest, OnlyTheLastOfManyEditsArrives) {
    QSignalSpy changes(&window.document(), &Document::changed);
    for (int i = 0; i < 12; ++i) {
        set_text(QStringLiteral("number %1 of the texts").arg(i));
        window.document().run_now();
    }
    ASSERT_TRUE(settle());
    int traces = 0;
    for (const auto& arguments : changes) traces += arguments[0].value<Document::Change>() == Document::Change::trace;
    EXPECT_EQ(traces, 1);
    EXPECT_EQ(window.document().trace()->text_a(), "number 11 of the texts");
}

TEST_F(LongPaste, IsAskedForAndItsRunEndsWhenCancelled) {
    constexpr int kWords = 40'000;
    const auto before = window.document().trace();
    QGuiApplication::clipboard()->setText(QStringLiteral("nurse ").repeated(kWords));
    window.prompt_bar().text().selectAll();
    window.prompt_bar().text().paste();
    ASSERT_TRUE(wait_for([&] { return window.notice_bar().isVisible() && window.jobs().idle(); }));
    EXPECT_EQ(window.document().why_not_run(), Document::NotRun::long_text);
    EXPECT_TRUE(window.notice_bar().text().startsWith(QStringLiteral("40,0"))) << window.notice_bar().text().toStdString();
    EXPECT_EQ(window.document().trace(), before) << "nothing has been run";
    bool begun = false;
    QObject::connect(&window.jobs(), &Jobs::progressed, &window, [&](Jobs::Lane lane) { begun |= lane == Jobs::Lane::model; });
    window.notice_bar().action().click();
    ASSERT_TRUE(wait_for([&] { return begun; }));
    window.document().stop();
    EXPECT_EQ(window.document().why_not_run(), Document::NotRun::stopped) << "at once";
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle(); }));
    EXPECT_EQ(window.document().trace(), before);
    EXPECT_FALSE(window.error_panel().isVisible());
    for (const int into_run_ms : {50, 500, 2000, 5000}) {
        begun = false;
        window.document().run_now();
        ASSERT_TRUE(wait_for([&] { return begun; }));
        QTest::qWait(into_run_ms);
        ASSERT_FALSE(window.jobs().idle());
        const std::clock_t before_stop = std::clock();  // of all threads
        window.document().stop();
        EXPECT_TRUE(window.jobs().idle());
        QTest::qWait(500);
        const double ms = 1e3 * static_cast<double>(std::clock() - before_stop) / CLOCKS_PER_SEC;
        RecordProperty("ms_of_work_after_" + std::to_string(into_run_ms), std::to_string(ms));
        EXPECT_LT(ms, 300) << "of work, stopped after " << into_run_ms << " ms";
    }
}

TEST_F(WindowTest, EmptyTextShowsNothingAndTheNextLetterWorks) {
    type_text(QStringLiteral(" "));
    window.prompt_bar().text().clear();
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && !window.document().trace(); }));
    EXPECT_FALSE(canvas().shown());
    EXPECT_FALSE(window.error_panel().isVisible());
    ASSERT_TRUE(retype(QStringLiteral("again")));
    EXPECT_TRUE(window.document().trace());
    EXPECT_TRUE(canvas().shown());
}

TEST_F(EveryView, WorksForOneToken) {
    ASSERT_TRUE(retype(QStringLiteral("a")));
    EXPECT_EQ(views_without_data(), missing_for_text);
    for (const figure::ViewSpec& spec : figure::view_specs()) {
        const View view = spec.id;
        if (missing_for_text.contains(view)) continue;  // the pane says why
        ASSERT_TRUE(show_view(view)) << view;
        FigureCanvas& shows = window.active_pane().canvas();
        ASSERT_TRUE(shows.shown()) << view;
        EXPECT_EQ(shows.shown()->view(), view);
        EXPECT_GT(ink(shows), 200) << view;
        for (int x = 0; x < canvas().viewport()->width(); x += 40) move(QPoint(x, 200));
    }
}

TEST_F(WindowTest, UndoAndRedoCoverTextOptionsAndSelection) {
    const State before = window.document().state();
    window.document().selection().focus_head({Layer(1), Head(2)});
    window.action(Command::hide_sinks).trigger();
    ASSERT_TRUE(retype(QStringLiteral("The nurse")));
    const State after = window.document().state();
    QUndoStack& stack = window.history().stack();
    ASSERT_EQ(stack.count(), 3) << "one step for the letters, however many: " << stack.text(0).toStdString() << ", "
                                << stack.text(1).toStdString();
    while (stack.canUndo()) stack.undo();
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.document().state(), before);
    EXPECT_EQ(window.document().trace()->text_a(), before.prompt.text.toStdString());
    while (stack.canRedo()) stack.redo();
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.document().state(), after);
}

TEST_F(WindowTest, UndoInTheTextFieldIsTheWindows) {
    window.document().selection().focus_head({Layer(0), Head(0)});
    window.prompt_bar().text().setFocus();
    QTest::keyClick(&window.prompt_bar().text(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_NE(selected().focus, (HeadId{Layer(0), Head(0)}));
}

TEST_F(WindowTest, SessionsComeBackAsTheyWere) {
    QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("a.headlight"));
    window.prompt_bar().text().selectAll();
    window.prompt_bar().text().insertPlainText(QStringLiteral("“Curly” – née ☃"));
    ASSERT_TRUE(settle());
    window.document().selection().focus_head({Layer(3), Head(4)});
    window.document().selection().pin_query(Position(2), false);
    ViewOptions options = window.document().options();
    options.transfer.curve = figure::Transfer::Curve::log;
    options.finder = QStringLiteral("entropy < 1");
    options.filters = {{QStringLiteral("“first” & ☃"), QStringLiteral("share first > 0.5")}};
    window.document().set_options(options);
    window.document().set_views({"model", "neuron", true});
    const Session saved = window.session();
    ASSERT_TRUE(window.save_to(file));

    MainWindow other;
    ASSERT_TRUE(opened_in(other, file));
    EXPECT_EQ(other.session(), saved);
    EXPECT_FALSE(other.document().modified());
}

TEST_F(WindowTest, BrokenSessionsAndFoldersAreExplainedAndChangeNothing) {
    QTemporaryDir folder;
    const QString broken = folder.filePath(QStringLiteral("b.headlight"));
    ASSERT_TRUE(write_file(broken, R"({"format": "headlight-session", "version": 1, "options": {"curve": "bent"}})"));
    const State before = window.document().state();
    const auto trace = window.document().trace();
    window.open(broken);
    EXPECT_TRUE(window.error_panel().isVisible());
    EXPECT_TRUE(window.error_panel().message().contains(QStringLiteral("bent"))) << window.error_panel().message().toStdString();
    window.open(folder.path());
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle(); }));
    EXPECT_TRUE(window.error_panel().message().contains(folder.path())) << window.error_panel().message().toStdString();
    EXPECT_EQ(window.document().state(), before);
    EXPECT_EQ(window.document().trace(), trace);
    type_text(QStringLiteral("It still runs"));
    ASSERT_TRUE(wait_for([&] { return window.document().up_to_date(); }));
    EXPECT_EQ(window.document().trace()->text_a(), "It still runs");
}

TEST_F(WindowTest, ExportWritesTheFileAndSaysWhatFails) {
    QTemporaryDir folder;
    ExportDialog dialog(window.document(), window.jobs(), *window.left_pane().shown(), QSize(800, 600));
    const QString file = folder.filePath(QStringLiteral("figure.png"));
    dialog.file().setText(file);
    dialog.write();
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle(); }));
    const QImage image(file);
    EXPECT_EQ(image.width(), 1600) << "800 px at 2x";
    dialog.file().setText(folder.filePath(QStringLiteral("no/such/folder/figure.png")));
    QSignalSpy failures(&window.jobs(), &Jobs::failed);
    dialog.write();
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle(); }));
    EXPECT_EQ(failures.size(), 1);
}

TEST_F(EveryView, PaintsAndTheCommandNamesIt) {
    EXPECT_EQ(views_without_data(), missing_for_text);
    for (const figure::ViewSpec& spec : figure::view_specs()) {
        const View view = spec.id;
        if (missing_for_text.contains(view)) continue;
        ASSERT_TRUE(show_view(view));
        ASSERT_TRUE(window.active_pane().canvas().shown()) << view;
        EXPECT_GT(ink(window.active_pane().canvas()), 1000) << view;
        const QString command = window.command_for_shown();
        EXPECT_TRUE(command.contains(QStringLiteral("--view ") + QString::fromStdString(view))) << command.toStdString();
    }
}

TEST(CommandPaletteRoom, IsThereOverAWindowOfFiftyPixels) {
    QWidget over;
    over.resize(50, 400);
    auto* palette = new CommandPalette(QStringLiteral("Search"), {}, &over, {});
    palette->open();
    EXPECT_GE(palette->width(), 200);
    EXPECT_GE(palette->findChild<QLineEdit*>()->width(), 100);
    palette->close();
}

/// A button of such a window has none: Qt reports every call of a painter that could not begin.
TEST(Icon, OfNoPixelsIsNotPainted) {
    static int reported;
    reported = 0;
    const QtMessageHandler before = qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString& message) {
        reported += message.contains(QLatin1String("QPainter"));
    });
    for (const QSize size : {QSize(0, 16), QSize(16, 0), QSize(0, 0)})
        EXPECT_TRUE(icon(QStringLiteral("close")).pixmap(size).isNull());
    EXPECT_FALSE(icon(QStringLiteral("close")).pixmap(QSize(16, 16)).isNull());
    qInstallMessageHandler(before);
    EXPECT_EQ(reported, 0);
}

TEST(CommandPaletteMatch, LettersInOrderAndWholeWordsFirst) {
    EXPECT_EQ(match_score(QStringLiteral("xyz"), QStringLiteral("Export figure")), -1);
    EXPECT_GE(match_score(QStringLiteral("efig"), QStringLiteral("Export figure")), 0);
    EXPECT_LT(match_score(QStringLiteral("fig"), QStringLiteral("Export figure")),
              match_score(QStringLiteral("efg"), QStringLiteral("Export figure")));
}

TEST(HistoryOfLongTexts, KeepsTheLastStepsAndTheirTexts) {
    Jobs jobs;
    Document document(jobs, {});
    History history(document);
    history.set_merging(0);
    constexpr int steps = 60;
    const auto text = [](int i) { return QString(1 << 20, QChar(u'a' + i % 26)) + QString::number(i); };
    for (int i = 0; i < steps; ++i) document.edit_prompt([&](PromptText& p) { p.text = text(i); });
    const int kept = history.stack().count();
    EXPECT_GT(kept, 10);
    EXPECT_LE(kept, 32) << "two megabytes each";
    for (int i = steps - 2; i > steps - 2 - kept; --i) {
        history.stack().undo();
        ASSERT_TRUE(document.prompt().text == text(i)) << i;
    }
    EXPECT_FALSE(history.stack().canUndo());
    while (history.stack().canRedo()) history.stack().redo();
    EXPECT_TRUE(document.prompt().text == text(steps - 1));
    jobs.cancel_all();
}

}  // namespace document_test
}  // namespace headlight::ui
