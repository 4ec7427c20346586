// SPDX-License-Identifier: GPL-3.0-or-later
// Typing, undo, sessions, errors and exports in the real window.
#include "ui/dialogs/export_dialog.h"
#include "ui/window/command_palette.h"
#include "window_fixture.h"

#include <QDir>
#include <QFile>
#include <QImage>
#include <QSignalSpy>

namespace headlight::ui {
namespace {

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
    EXPECT_EQ(window.document().trace()->text_a(), "The very old doctor asked the nurse to wait, because the old doctor was late.");
    ASSERT_EQ(selected().pinned_queries.size(), 1u);
    const auto now = selected().pinned_queries[0];
    EXPECT_GT(now, Position(6));
    EXPECT_EQ(window.document().trace()->encoding().tokens[std::size_t(now.value)], pinned);
    EXPECT_EQ(window.left_pane().shown()->trace, window.document().trace());
}

TEST_F(WindowTest, OnlyTheLastOfManyEditsArrives) {
    QSignalSpy changes(&window.document(), &Document::changed);
    PromptText prompt = window.document().prompt();
    for (int i = 0; i < 12; ++i) {
        prompt.text = QStringLiteral("number %1 of the texts").arg(i);
        window.document().set_prompt(prompt);
        window.document().run_now();
    }
    ASSERT_TRUE(settle());
    int traces = 0;
    for (const auto& arguments : changes) traces += arguments[0].value<Document::Change>() == Document::Change::trace;
    EXPECT_EQ(traces, 1);
    EXPECT_EQ(window.document().trace()->text_a(), "number 11 of the texts");
}

TEST_F(WindowTest, EmptyTextShowsNothingAndTheNextLetterWorks) {
    type_text(QStringLiteral(" "));
    window.prompt_bar().text().clear();
    ASSERT_TRUE(QTest::qWaitFor([&] { return window.jobs().idle() && !window.document().trace(); }));
    EXPECT_FALSE(canvas().shown());
    EXPECT_FALSE(window.error_panel().isVisible());
    canvas().grab();
    type_text(QStringLiteral("again"));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(window.document().trace());
    EXPECT_TRUE(canvas().shown());
}

TEST_F(WindowTest, OneTokenWorksInEveryView) {
    type_text(QStringLiteral("a"));
    ASSERT_TRUE(settle());
    for (const figure::ViewSpec& spec : figure::view_specs()) {
        const View view = spec.id;
        window.show_view(view);
        ASSERT_TRUE(settle()) << view;
        ASSERT_TRUE(canvas().shown()) << view;
        EXPECT_EQ(canvas().shown()->view(), view);
        EXPECT_FALSE(canvas().grab().isNull());
        for (int x = 0; x < canvas().viewport()->width(); x += 40) move(QPoint(x, 200));
    }
}

TEST_F(WindowTest, UndoAndRedoCoverTextOptionsAndSelection) {
    const State before = window.document().state();
    window.document().selection().focus_head({Layer(1), Head(2)});
    window.tool_row().hide_sinks().click();
    type_text(QStringLiteral("The nurse"));
    ASSERT_TRUE(settle());
    const State after = window.document().state();
    QUndoStack& stack = window.history().stack();
    ASSERT_EQ(stack.count(), 3) << "one step for the letters, however many";
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
    other.show();
    other.open(file);
    ASSERT_TRUE(QTest::qWaitFor([&] { return other.jobs().idle() && other.document().up_to_date(); }, 60'000));
    EXPECT_EQ(other.session(), saved);
    EXPECT_FALSE(other.document().modified());
}

TEST_F(WindowTest, BrokenSessionsAndFoldersAreExplainedAndChangeNothing) {
    QTemporaryDir folder;
    QFile broken(folder.filePath(QStringLiteral("b.headlight")));
    ASSERT_TRUE(broken.open(QIODevice::WriteOnly));
    broken.write("{\"format\": \"headlight-session\", \"version\": 1, \"options\": {\"curve\": \"bent\"}}");
    broken.close();
    const State before = window.document().state();
    const auto trace = window.document().trace();
    window.open(broken.fileName());
    EXPECT_TRUE(window.error_panel().isVisible());
    EXPECT_TRUE(window.error_panel().message().contains(QStringLiteral("bent"))) << window.error_panel().message().toStdString();
    window.open(folder.path());
    ASSERT_TRUE(QTest::qWaitFor([&] { return window.jobs().idle(); }));
    EXPECT_TRUE(window.error_panel().message().contains(folder.path())) << window.error_panel().message().toStdString();
    EXPECT_EQ(window.document().state(), before);
    EXPECT_EQ(window.document().trace(), trace);
    type_text(QStringLiteral("It still runs"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return window.document().up_to_date(); }, 60'000));
    EXPECT_EQ(window.document().trace()->text_a(), "It still runs");
}

TEST_F(WindowTest, FinderFiltersAndMarksMistakes) {
    HeadsPanel& panel = window.heads_panel();
    const int all = panel.model().rowCount();
    QTest::keyClicks(&panel.finder(), QStringLiteral("induction > 0.3"));
    EXPECT_GT(panel.model().rowCount(), 0);
    EXPECT_LT(panel.model().rowCount(), all);
    EXPECT_FALSE(panel.finder_message().isVisible());
    const auto& values = *window.document().head_table()->find("induction");
    for (const HeadId head : panel.model().heads()) EXPECT_GT(values(head.layer.value, head.head.value), 0.3);
    panel.finder().clear();
    QTest::keyClicks(&panel.finder(), QStringLiteral("inducton > 0.3"));
    EXPECT_TRUE(panel.finder_message().isVisible());
    EXPECT_TRUE(panel.finder_message().text().contains(QStringLiteral("induction"))) << panel.finder_message().text().toStdString();
}

TEST_F(WindowTest, AFilterDimsEveryViewAndNoneWhenNothingMatches) {
    HeadsPanel& panel = window.heads_panel();
    const auto matches = [&](HeadId head) { return (*window.document().head_table()->find("entropy"))(head.layer.value, head.head.value) < 1; };
    QTest::keyClicks(&panel.finder(), QStringLiteral("entropy < 1"));
    const auto filter = window.document().finder().filter();
    ASSERT_TRUE(filter);
    EXPECT_EQ(filter->expression, "entropy < 1");
    int dimmed = 0;
    for (std::int64_t l = 0; l < window.document().selection().layers(); ++l) {
        for (std::int64_t h = 0; h < window.document().selection().heads(); ++h) {
            const HeadId head{Layer(l), Head(h)};
            EXPECT_EQ(canvas().style_in_use().dims(head), !matches(head));
            dimmed += !matches(head);
        }
    }
    EXPECT_EQ(std::int64_t(filter->dimmed.size()), dimmed);
    EXPECT_EQ(panel.model().rowCount(), int(filter->matching));
    // The model view really paints them fainter.
    window.show_view("model");
    ASSERT_TRUE(settle());
    const QImage with = canvas().grab().toImage();
    QTest::keyClicks(&panel.finder(), QStringLiteral(" and entropy > 90"));
    EXPECT_EQ(panel.model().rowCount(), 0);
    EXPECT_TRUE(panel.finder_message().text().contains(QStringLiteral("No head matches")));
    EXPECT_TRUE(panel.finder_message().isVisible());
    EXPECT_FALSE(window.document().finder().filter());
    EXPECT_FALSE(canvas().style_in_use().filter);
    const QImage without = canvas().grab().toImage();
    EXPECT_NE(with, without);
    panel.finder().clear();
    QTest::keyClicks(&panel.finder(), QStringLiteral(" "));
    EXPECT_EQ(canvas().grab().toImage(), without) << "as if there were no filter";
    EXPECT_FALSE(panel.finder_message().isVisible());
}

TEST_F(WindowTest, AMistakeKeepsTheLastFilterInForce) {
    HeadsPanel& panel = window.heads_panel();
    QTest::keyClicks(&panel.finder(), QStringLiteral("entropy < 1"));
    const auto filter = window.document().finder().filter();
    const auto heads = panel.model().heads();
    ASSERT_TRUE(filter);
    QTest::keyClicks(&panel.finder(), QStringLiteral(" and nonsens > 2"));
    EXPECT_TRUE(panel.finder_message().isVisible());
    EXPECT_TRUE(panel.finder_message().text().contains(QStringLiteral("Column 17"))) << panel.finder_message().text().toStdString();
    EXPECT_TRUE(panel.finder_message().text().contains(QStringLiteral("<b>nonsens</b>")));
    EXPECT_EQ(panel.finder().text(), QStringLiteral("entropy < 1 and nonsens > 2")) << "nothing typed is lost";
    EXPECT_EQ(window.document().finder().filter()->dimmed, filter->dimmed);
    EXPECT_EQ(panel.model().heads(), heads);
    EXPECT_EQ(canvas().style_in_use().filter->dimmed, filter->dimmed);
    // Also on another text.
    type_text(QStringLiteral("The old nurse was late."));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(panel.finder_message().isVisible());
    ASSERT_TRUE(window.document().finder().filter());
    EXPECT_EQ(window.document().finder().query().measures(), std::vector<std::string>{"entropy"});
}

TEST_F(WindowTest, AttentionBetweenTokensIsAskedByTheirText) {
    HeadsPanel& panel = window.heads_panel();
    QTest::keyClicks(&panel.finder(), QStringLiteral("attention from `the` to `doctor` > 0.1"));
    ASSERT_TRUE(settle());
    EXPECT_FALSE(panel.finder_message().isVisible()) << panel.finder_message().text().toStdString();
    const auto& trace = *window.document().trace();
    const auto values = analyze::attention_between(trace, analyze::tokens_called(trace, "the"), analyze::tokens_called(trace, "doctor"), false);
    EXPECT_EQ(panel.model().rowCount(), int((values.array() > 0.1).count()));
    ASSERT_GT(panel.model().rowCount(), 0);
    EXPECT_EQ(panel.model().headerData(2, Qt::Horizontal, Qt::DisplayRole).toString(), QStringLiteral("the → doctor"));
    panel.list().sortByColumn(2, Qt::AscendingOrder);
    for (int row = 0; row < panel.model().rowCount(); ++row) {
        const HeadId head = panel.model().heads()[std::size_t(row)];
        EXPECT_NEAR(panel.model().index(row, 2).data(HeadListModel::value_role).toDouble(), values(head.layer.value, head.head.value), 1e-6);
    }
    // The tokens are gone: the mistake is told, nothing is dimmed by what was found on the other text.
    type_text(QStringLiteral("Rain fell all night."));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(panel.finder_message().isVisible());
    EXPECT_FALSE(window.document().finder().filter());
    EXPECT_TRUE(window.document().finder().query().empty());
    EXPECT_EQ(std::int64_t(panel.model().rowCount()), window.document().finder().all());
}

TEST_F(WindowTest, LongMeasuringOfAttentionIsAJobThatCanBeOvertaken) {
    QString text;
    for (int i = 0; i < 60; ++i) text += QStringLiteral("The old doctor asked the nurse to wait. ");
    PromptText prompt = window.document().prompt();
    prompt.text = text;
    window.document().set_prompt(prompt);
    ASSERT_TRUE(settle());
    ViewOptions options = window.document().options();
    options.finder = QStringLiteral("weighted attention from `nurse` to `doctor` > 0.01");
    window.document().set_options(options);
    EXPECT_TRUE(window.document().finder().working());
    options.finder = QStringLiteral("attention from `nurse` to `doctor` > 0.01");
    window.document().set_options(options);
    ASSERT_TRUE(settle());
    EXPECT_FALSE(window.document().finder().working());
    ASSERT_EQ(window.document().finder().query().terms().size(), 1u);
    EXPECT_FALSE(window.document().finder().query().terms()[0].weighted);
    EXPECT_TRUE(window.document().finder().query().measured());
    EXPECT_EQ(window.heads_panel().model().rowCount(), int(window.document().finder().matching()));
}

TEST_F(WindowTest, FiltersGetNamesAreSavedAppliedRenamedAndDeleted) {
    QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("filters.headlight"));
    HeadsPanel& panel = window.heads_panel();
    FilterMenu& filters = panel.filters();
    const auto choose = [](FilterMenu& menu, const char* what) {
        QAction* entry = menu.entry(QString::fromUtf8(what));
        ASSERT_TRUE(entry) << what;
        ASSERT_TRUE(entry->isEnabled()) << what;
        entry->trigger();
    };
    const auto type_name = [&](const char* name) {
        ASSERT_TRUE(filters.name().isVisible());
        QTest::keyClicks(&filters.name(), QString::fromUtf8(name));
        QTest::keyClick(&filters.name(), Qt::Key_Return);
    };
    EXPECT_FALSE(filters.entry(QStringLiteral("save"))->isEnabled()) << "nothing to name";
    QTest::keyClicks(&panel.finder(), QStringLiteral("entropy < 1"));
    choose(filters, "save");
    type_name("sharp");
    EXPECT_FALSE(filters.name().isVisible());
    panel.finder().selectAll();
    QTest::keyClicks(&panel.finder(), QStringLiteral("induction > 0.3"));
    choose(filters, "save");
    QTest::keyClicks(&filters.name(), QStringLiteral("nothing"));
    QTest::keyClick(&filters.name(), Qt::Key_Escape);
    EXPECT_FALSE(filters.name().isVisible()) << "Esc names nothing";
    choose(filters, "save");
    type_name("copies");
    const std::vector<NamedFilter> both{{QStringLiteral("copies"), QStringLiteral("induction > 0.3")}, {QStringLiteral("sharp"), QStringLiteral("entropy < 1")}};
    EXPECT_EQ(window.document().options().filters, both);
    ASSERT_TRUE(window.save_to(file));

    choose(filters, "apply:sharp");
    EXPECT_EQ(panel.finder().text(), QStringLiteral("entropy < 1"));
    EXPECT_EQ(window.document().finder().filter()->expression, "entropy < 1");
    EXPECT_TRUE(filters.entry(QStringLiteral("apply:sharp"))->isChecked());
    choose(filters, "rename:sharp");
    type_name("Copies");
    EXPECT_EQ(window.document().options().filters, both) << "the name is taken";
    filters.name().selectAll();
    type_name("narrow");
    EXPECT_FALSE(filters.entry(QStringLiteral("apply:sharp")));
    choose(filters, "apply:copies");
    choose(filters, "delete:copies");
    EXPECT_EQ(window.document().options().filters, (std::vector<NamedFilter>{{QStringLiteral("narrow"), QStringLiteral("entropy < 1")}}));
    QTest::qWait(1);
    while (window.document().options().filters != both && window.history().stack().canUndo()) window.history().stack().undo();
    EXPECT_EQ(window.document().options().filters, both) << "undo brings filters back";

    MainWindow other;
    other.show();
    other.open(file);
    ASSERT_TRUE(QTest::qWaitFor([&] { return other.jobs().idle() && other.document().up_to_date(); }, 60'000));
    EXPECT_EQ(other.document().options().filters, both);
    choose(other.heads_panel().filters(), "apply:sharp");
    EXPECT_EQ(other.heads_panel().finder().text(), QStringLiteral("entropy < 1"));
    ASSERT_TRUE(other.document().finder().filter());
    EXPECT_EQ(other.left_pane().canvas().style_in_use().filter, other.document().finder().filter());
    other.document().set_modified(false);
}

TEST_F(WindowTest, MatchingHeadsOfTheLayerBecomeActive) {
    window.document().selection().focus_head({Layer(2), Head(0)});
    QTest::keyClicks(&window.heads_panel().finder(), QStringLiteral("head >= 3 and head < 6"));
    window.action(QStringLiteral("activate-matching"))->trigger();
    EXPECT_EQ(selected().layer, Layer(2));
    EXPECT_EQ(selected().heads, (std::vector{Head(3), Head(4), Head(5)}));
    window.heads_panel().finder().selectAll();
    QTest::keyClicks(&window.heads_panel().finder(), QStringLiteral("layer = 0"));
    window.action(QStringLiteral("activate-matching"))->trigger();
    EXPECT_EQ(selected().heads, (std::vector{Head(3), Head(4), Head(5)})) << "no head of layer 2 matches";
}

TEST_F(WindowTest, TheCommandOfAFilteredViewSaysTheFilter) {
    QTest::keyClicks(&window.heads_panel().finder(), QStringLiteral("entropy < 1"));
    EXPECT_TRUE(window.command_for_shown().contains(QStringLiteral("--where 'entropy < 1'"))) << window.command_for_shown().toStdString();
    window.show_view("matrix");
    ASSERT_TRUE(settle());
    EXPECT_FALSE(window.command_for_shown().contains(QStringLiteral("--where"))) << "it paints no other heads";
}

TEST(SessionFilters, TwoOfOneNameAreAMistakeThatIsNamed) {
    const std::string text = R"({"format": "headlight-session", "version": 1, "options": {"filters": [
        {"name": "a", "expression": "layer = 1"}, {"name": "A", "expression": "layer = 2"}]}})";
    try {
        session_from_json(text, "x.headlight");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.facts().item, "filters");
    }
}

TEST_F(WindowTest, ExportWritesTheFileAndSaysWhatFails) {
    QTemporaryDir folder;
    ExportDialog dialog(window.document(), window.jobs(), *window.left_pane().shown(), QSize(800, 600));
    const QString file = folder.filePath(QStringLiteral("figure.png"));
    dialog.file().setText(file);
    dialog.write();
    ASSERT_TRUE(QTest::qWaitFor([&] { return window.jobs().idle(); }, 60'000));
    const QImage image(file);
    EXPECT_EQ(image.width(), 1600) << "800 px at 2x";
    dialog.file().setText(folder.filePath(QStringLiteral("no/such/folder/figure.png")));
    QSignalSpy failures(&window.jobs(), &Jobs::failed);
    dialog.write();
    ASSERT_TRUE(QTest::qWaitFor([&] { return window.jobs().idle(); }, 60'000));
    EXPECT_EQ(failures.size(), 1);
}

TEST_F(WindowTest, EveryViewPaintsAndTheCommandNamesIt) {
    for (const figure::ViewSpec& spec : figure::view_specs()) {
        const View view = spec.id;
        window.show_view(view);
        ASSERT_TRUE(settle());
        const QString command = window.command_for_shown();
        EXPECT_TRUE(command.contains(QStringLiteral("--view ") + QString::fromStdString(view))) << command.toStdString();
    }
}

TEST_F(WindowTest, LostSessionsAreFoundOnceAndOnlyThen) {
    QTemporaryDir folder;
    {
        Autosave running(folder.path(), [&] { return window.session(); });
        running.save_now();
        Autosave second(folder.path(), [&] { return window.session(); });
        EXPECT_FALSE(second.take_lost()) << "that window still runs";
        QFile::copy(running.file(), folder.filePath(QStringLiteral("crashed.headlight")));
        const auto lost = second.take_lost();
        ASSERT_TRUE(lost);
        EXPECT_EQ(*lost, window.session());
        EXPECT_FALSE(second.take_lost());
    }
    EXPECT_TRUE(QDir(folder.path()).entryList({QStringLiteral("*.headlight")}).isEmpty()) << "a clean end leaves nothing";
}

TEST(CommandPaletteMatch, LettersInOrderAndWholeWordsFirst) {
    EXPECT_EQ(match_score(QStringLiteral("xyz"), QStringLiteral("Export figure")), -1);
    EXPECT_GE(match_score(QStringLiteral("efig"), QStringLiteral("Export figure")), 0);
    EXPECT_LT(match_score(QStringLiteral("fig"), QStringLiteral("Export figure")), match_score(QStringLiteral("efg"), QStringLiteral("Export figure")));
}

}  // namespace
}  // namespace headlight::ui
