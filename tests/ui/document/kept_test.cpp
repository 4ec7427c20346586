// SPDX-License-Identifier: GPL-3.0-or-later
// Nothing is lost and nothing stale is shown: what counts as a change, what undo covers, which messages and pictures stay.
#include "tests/ui/window_fixture.h"

#include <QSettings>
#include <QWheelEvent>

#include <atomic>
#include <thread>

namespace headlight::ui {
namespace kept_test {

const QString fixtures = QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/models/");

class Kept : public WindowTest {
protected:
    /// Until the model is open and its text has been run.
    bool open_model(const QString& name) {
        window.open(name);
        return wait_for([&] {
            return window.jobs().idle() && window.document().model().reference == name && window.document().up_to_date();
        });
    }
    /// When a run begins, before any of it.
    QMetaObject::Connection when_running(const std::function<void()>& work) {
        return QObject::connect(&window.jobs(), &Jobs::started, &window, [this, work](Jobs::Lane lane) {
            if (lane == Jobs::Lane::model && window.jobs().doing(lane).startsWith(QStringLiteral("Running"))) work();
        });
    }
    QTemporaryDir folder;
};

TEST_F(Kept, PinsHeadsLayersAndViewsAreChangesOfASession) {
    const std::vector<std::function<void()>> changes{
        [&] { document().selection().step_layer(-1); }, [&] { document().selection().step_head(1); },
        [&] { document().selection().pin_key(Position(2), false); }, [&] { window.show_view("matrix"); }};
    for (std::size_t i = 0; i < changes.size(); ++i) {
        ASSERT_TRUE(window.save_to(folder.filePath(QStringLiteral("s.headlight"))));
        EXPECT_FALSE(window.isWindowModified());
        changes[i]();
        EXPECT_TRUE(window.isWindowModified()) << i;
        ASSERT_TRUE(settle());
    }
    ASSERT_TRUE(window.save_to(folder.filePath(QStringLiteral("s.headlight"))));
    document().selection().hover_position(Position(1));
    EXPECT_FALSE(window.isWindowModified()) << "pointing changes nothing";
}

TEST_F(Kept, UndoAndRedoOpenTheModelsTheirStatesAreOf) {
    set_text(QStringLiteral("The cat"));
    ASSERT_TRUE(settle());
    document().selection().focus_head({Layer(3), Head(6)});
    const State before = document().state();
    const QString other = fixtures + QStringLiteral("gpt2");
    ASSERT_TRUE(open_model(other));
    const State after = document().state();
    EXPECT_EQ(after.model, other);
    QUndoStack& stack = window.history().stack();
    EXPECT_EQ(stack.undoText(), QStringLiteral("Open model"));
    stack.undo();
    ASSERT_TRUE(wait_for(
        [&] { return window.jobs().idle() && document().up_to_date() && document().model().reference == before.model; }));
    EXPECT_EQ(document().state(), before);
    EXPECT_EQ(document().trace()->config().n_layers, 6);
    ASSERT_TRUE(stack.canRedo());
    stack.redo();
    ASSERT_TRUE(
        wait_for([&] { return window.jobs().idle() && document().up_to_date() && document().model().reference == other; }));
    EXPECT_EQ(document().state(), after);
}

TEST_F(Kept, UndoBeforeTheOtherModelIsOpenKeepsThisOne) {
    document().selection().focus_head({Layer(3), Head(6)});
    const QString here = document().model().reference;
    window.open(fixtures + QStringLiteral("gpt2"));
    window.history().stack().undo();
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && document().up_to_date(); }));
    EXPECT_EQ(document().model().reference, here);
    EXPECT_TRUE(window.history().stack().canRedo());
}

TEST_F(Kept, AllHeadsStayAllInAnotherModel) {
    set_text(QStringLiteral("The cat"));
    ASSERT_TRUE(settle());
    document().selection().all_heads();
    ASSERT_TRUE(open_model(fixtures + QStringLiteral("gpt2")));
    EXPECT_EQ(std::ssize(selected().heads), document().trace()->config().n_heads);
    document().selection().focus_head({Layer(0), Head(1)});
    ASSERT_TRUE(open_model(QStringLiteral("novella-7m")));
    EXPECT_EQ(selected().heads.size(), 1U);
}

TEST_F(Kept, ASessionThatSelectsWhatIsNotThereSaysWhichField) {
    Session session = window.session();
    session.state.selection.layer = Layer(99);
    const QString file = folder.filePath(QStringLiteral("far.headlight"));
    save_session(session, file.toStdString());
    MainWindow other;
    ASSERT_TRUE(opened_in(other, file));
    ASSERT_TRUE(other.error_panel().isVisible());
    for (const char* part : {"far.headlight", "layer", "99", "0 to 5"})
        EXPECT_TRUE(other.error_panel().message().contains(QLatin1String(part))) << other.error_panel().message().toStdString();
    // The same file on the text that is open already.
    QTest::keyClick(&other.left_pane().canvas(), Qt::Key_Escape);
    EXPECT_FALSE(other.error_panel().isVisible());
    other.open(file);
    EXPECT_TRUE(other.error_panel().isVisible());
}

TEST_F(Kept, WhatWasOpenIsReopened) {
    set_text(QStringLiteral("When Mary and John went to the store"));
    ASSERT_TRUE(settle());
    document().selection().pin_query(Position(4), false);
    const Session left = window.session();
    window.close();
    MainWindow next;
    next.show();
    next.open(QStringLiteral("novella-7m"));
    next.offer_reopening();
    ASSERT_TRUE(wait_for([&] { return next.jobs().idle() && next.document().up_to_date(); }));
    ASSERT_TRUE(next.notice_bar().isVisible());
    EXPECT_TRUE(next.notice_bar().text().contains(QStringLiteral("When Mary"))) << next.notice_bar().text().toStdString();
    next.notice_bar().action().click();
    ASSERT_TRUE(wait_for([&] { return next.jobs().idle() && next.document().up_to_date(); }));
    EXPECT_EQ(next.session(), left);
    EXPECT_FALSE(next.notice_bar().isVisible());
    // A session with a file comes back with its file.
    const QString file = folder.filePath(QStringLiteral("s.headlight"));
    ASSERT_TRUE(next.save_to(file));
    next.close();
    MainWindow third;
    third.reopen_last();
    EXPECT_EQ(third.document().file(), file);
    ASSERT_TRUE(wait_for([&] { return third.jobs().idle() && third.document().up_to_date(); }));
    QSettings().remove(QStringLiteral("window/last"));
}

TEST_F(Kept, AFileThatIsNoModelOpensNone) {
    const QString notes = folder.filePath(QStringLiteral("notes.dat"));
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
        ASSERT_TRUE(QFile::copy(fixtures + QStringLiteral("gpt2/") + QLatin1String(name), folder.filePath(QLatin1String(name))));
    ASSERT_TRUE(write_file(notes, {}));
    set_text(QStringLiteral("The cat"));
    ASSERT_TRUE(settle());
    window.open(notes);
    ASSERT_TRUE(wait_for([&] { return window.error_panel().isVisible(); }));
    EXPECT_TRUE(window.error_panel().message().contains(QStringLiteral("notes.dat")))
        << window.error_panel().message().toStdString();
    EXPECT_EQ(document().model().reference, QStringLiteral("novella-7m"));
    EXPECT_TRUE(open_model(folder.filePath(QStringLiteral("config.json")))) << "this one stands for its folder";
}

TEST_F(Kept, AMessageOfAViewGoesWithItsView) {
    QString words;
    for (int i = 0; i < 220; ++i) words += QStringLiteral("word%1 ").arg(i);
    set_text(words);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(show_view("flow"));
    EXPECT_FALSE(canvas().shown());
    EXPECT_TRUE(canvas().accessibleDescription().contains(QStringLiteral("too long")))
        << canvas().accessibleDescription().toStdString();
    EXPECT_FALSE(canvas().accessibleDescription().contains(QStringLiteral("--")));
    EXPECT_FALSE(window.error_panel().isVisible());
    ASSERT_TRUE(show_view("head"));
    EXPECT_TRUE(canvas().shown());
    window.show_failure({QStringLiteral("Opening"), {.problem = "no such thing"}});
    window.show_view("matrix");
    EXPECT_FALSE(window.error_panel().isVisible());
    window.show_failure({QStringLiteral("Opening"), {.problem = "no such thing"}});
    document().selection().pin_query(Position(3), false);
    QTest::keyClick(&canvas(), Qt::Key_Escape);
    EXPECT_FALSE(window.error_panel().isVisible());
    EXPECT_FALSE(selected().pinned_queries.empty()) << "Esc takes one step";
}

TEST_F(Kept, ATipEndsWithWhatItDescribes) {
    ASSERT_TRUE(show_view("matrix"));
    const auto cell = find(canvas(), [](const figure::Hit& h) { return h.kind == figure::Hit::Kind::pair && h.query && h.key; });
    ASSERT_TRUE(cell);
    const auto said = [&] { return window.status_strip().text(); };
    const auto point = [&] {
        move(*cell + QPoint(1, 1));
        move(*cell);
        ASSERT_TRUE(selected().hover_query);
        ASSERT_TRUE(said().contains(QStringLiteral("weight"))) << said().toStdString();
    };
    point();
    QTest::keyClick(&canvas(), Qt::Key_Up);
    EXPECT_FALSE(said().contains(QStringLiteral("weight"))) << said().toStdString();
    EXPECT_FALSE(selected().hover_query);
    ASSERT_TRUE(settle());
    EXPECT_FALSE(said().contains(QStringLiteral("weight"))) << said().toStdString();
    point();
    window.history().stack().undo();
    ASSERT_TRUE(settle());
    EXPECT_FALSE(said().contains(QStringLiteral("weight"))) << said().toStdString();
    point();
    set_text(QStringLiteral("Another text without a doctor."));
    ASSERT_TRUE(settle());
    EXPECT_FALSE(said().contains(QStringLiteral("weight"))) << said().toStdString();
}

TEST_F(Kept, TheWheelPointsAtWhatLiesUnderThePointerNow) {
    ASSERT_TRUE(show_view("matrix"));
    const auto found = cell(6, 2);
    ASSERT_TRUE(found);
    const QPointF at = QPointF(*found) + QPointF(1, 1);
    move(at.toPoint());
    for (int i = 0; i < 6; ++i) {
        QWheelEvent wheel(at, canvas().viewport()->mapToGlobal(at), {}, {0, 240}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                          false);
        QApplication::sendEvent(canvas().viewport(), &wheel);
        const auto hit = canvas().shown()->hit_test(canvas().to_figure(at), canvas().style_in_use(), selected());
        EXPECT_EQ(selected().hover_query, hit.query) << i;
        EXPECT_EQ(selected().hover_key, hit.key) << i;
    }
}

TEST_F(Kept, TheOldPictureFadesUnderANewTab) {
    const auto old = canvas().shown();
    // Another job holds the lane's thread: the new picture waits until it ends.
    std::atomic<bool> begun = false, free = false;
    window.jobs().start(Jobs::Lane::picture, {}, [&](const CancelToken&, const Progress&) -> Jobs::Deliver {
        begun = true;
        while (!free) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return {};
    });
    ASSERT_TRUE(wait_for([&] { return begun.load(); })) << "a job that has not begun is dropped for the next";
    window.show_view("refinement");
    EXPECT_TRUE(wait_for([&] { return canvas().outdated(); }));
    EXPECT_EQ(canvas().shown(), old);
    free = true;
    ASSERT_TRUE(settle());
    EXPECT_FALSE(canvas().outdated());
    EXPECT_NE(canvas().shown(), old);
}

TEST_F(Kept, AStoppedTextSaysThatItWasStopped) {
    set_text({});
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && !document().trace(); }));
    EXPECT_TRUE(canvas().accessibleDescription().contains(QStringLiteral("Type a sentence")));
    set_text(QStringLiteral("A sentence."));
    document().stop();
    EXPECT_EQ(document().why_not_run(), Document::NotRun::stopped);
    EXPECT_TRUE(canvas().accessibleDescription().startsWith(QStringLiteral("Stopped")))
        << canvas().accessibleDescription().toStdString();
    document().run_now();
    ASSERT_TRUE(settle());
    EXPECT_TRUE(canvas().shown());
}

TEST_F(Kept, AHugeTextWaitsUntilItIsAskedFor) {
    const QString sentence = QStringLiteral("The old doctor asked the nurse to wait. ");
    set_text(sentence.repeated(7000));
    ASSERT_TRUE(wait_for([&] { return document().why_not_run() == Document::NotRun::long_text; }));
    ASSERT_TRUE(window.jobs().idle());
    ASSERT_TRUE(window.notice_bar().isVisible());
    EXPECT_TRUE(wait_for([&] { return canvas().outdated(); })) << "the picture is of another text";
    EXPECT_TRUE(window.status_strip().text().contains(QStringLiteral("not run"))) << window.status_strip().text().toStdString();
    for (const char* part : {"tokens", "2,048", "GB"})
        EXPECT_TRUE(window.notice_bar().text().contains(QLatin1String(part))) << window.notice_bar().text().toStdString();
    // By hand it is run, and the question goes; a stopped run asks nothing.
    document().run_now();
    EXPECT_FALSE(window.notice_bar().isVisible());
    document().stop();
    EXPECT_EQ(document().why_not_run(), Document::NotRun::stopped);
    set_text(sentence);
    ASSERT_TRUE(wait_for([&] { return document().up_to_date(); })) << "the stopped run holds up no other";
    EXPECT_FALSE(window.notice_bar().isVisible());
}

TEST_F(Kept, ASessionWhoseModelDoesNotOpenLeavesNothingBehindButItsText) {
    const State before = document().state();
    Session session = window.session();
    session.model = folder.filePath(QStringLiteral("nowhere"));
    session.state.prompt.text = QStringLiteral("The queen asked the clerk.");
    session.state.selection.layer = before.selection.layer == Layer(1) ? Layer(2) : Layer(1);
    const QString file = folder.filePath(QStringLiteral("s.headlight"));
    save_session(session, file.toStdString());
    const auto asked = [&](const auto& end) {
        window.open(file);
        EXPECT_EQ(document().file(), file);
        EXPECT_EQ(window.session().model, session.model) << "what is kept for a crash names the model that is being opened";
        end();
        EXPECT_TRUE(document().file().isEmpty()) << "saving would replace the session by one of another model";
        EXPECT_EQ(window.session().model, before.model);
        EXPECT_EQ(document().prompt().text, session.state.prompt.text);
        EXPECT_NE(document().why_not_run(), Document::NotRun::no);
        document().run_now();
        ASSERT_TRUE(settle());
        EXPECT_EQ(selected().layer, before.selection.layer);
    };
    asked([&] {
        ASSERT_TRUE(wait_for([&] { return window.error_panel().isVisible(); }));
        EXPECT_EQ(document().why_not_run(), Document::NotRun::refused);
    });
    set_text(QStringLiteral("Another text"));
    ASSERT_TRUE(settle());
    asked([&] { document().stop(); });
}

/// The text is the same, the picture is not: it would stand under the name of the model that is open.
TEST_F(Kept, ARunOfAnotherModelThatIsStoppedLeavesNoPicture) {
    set_text(QStringLiteral("The cat"));
    ASSERT_TRUE(settle());
    const auto stop = when_running([&] { document().stop(); });
    const QString other = fixtures + QStringLiteral("gpt2");
    window.open(other);
    ASSERT_TRUE(wait_for([&] { return document().model().reference == other && window.jobs().idle(); }));
    QObject::disconnect(stop);
    EXPECT_EQ(document().why_not_run(), Document::NotRun::stopped);
    EXPECT_FALSE(document().trace());
    EXPECT_FALSE(document().up_to_date());
    document().run_now();
    ASSERT_TRUE(settle());
    EXPECT_EQ(document().trace()->config().n_layers, 2);
}

}  // namespace kept_test
}  // namespace headlight::ui
