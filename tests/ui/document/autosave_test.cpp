// SPDX-License-Identifier: GPL-3.0-or-later
// Sessions of windows that ended unexpectedly: each is offered, and none goes before a window shows it.
#include "tests/ui/window_fixture.h"
#include "ui/app.h"

#include <QDir>

namespace headlight::ui {
namespace autosave_test {

const auto kUnmoved = [](const QString& file, const ErrorFacts& why) {
    ADD_FAILURE() << file.toStdString() << ": " << Error(why).what();
};

QStringList sessions_in(const QString& folder) { return QDir(folder).entryList({QStringLiteral("*.headlight")}, QDir::Files); }

TEST_F(WindowTest, LostSessionsStayUntilTheyAreShown) {
    QTemporaryDir folder;
    {
        Autosave running(folder.path(), [&] { return window.session(); });
        running.save_now();
        Autosave second(folder.path(), [&] { return window.session(); });
        EXPECT_TRUE(second.lost(kUnmoved).empty()) << "that window still runs";
        const QString crashed = folder.filePath(QStringLiteral("crashed.headlight"));
        ASSERT_TRUE(QFile::copy(running.file(), crashed));
        for (int i = 0; i < 2; ++i) {
            const auto lost = second.lost(kUnmoved);
            ASSERT_EQ(lost.size(), 1U);
            EXPECT_EQ(lost.front().session, window.session());
        }
        ASSERT_TRUE(second.take(crashed));
        EXPECT_FALSE(running.take(crashed)) << "another window has it";
        EXPECT_TRUE(running.lost(kUnmoved).empty());
        EXPECT_TRUE(QFile::exists(crashed));
        second.give_back();
        ASSERT_TRUE(running.take(crashed));
        running.settle();
        EXPECT_FALSE(QFile::exists(crashed));
        EXPECT_EQ(load_session(running.file().toStdString()), window.session());
    }
    EXPECT_TRUE(sessions_in(folder.path()).isEmpty()) << "a clean end leaves nothing";
}

class Recovery : public WindowTest {
protected:
    void TearDown() override {
        for (const QString& name : sessions_in(folder)) QFile::remove(folder + '/' + name);
        QDir(folder + QStringLiteral("/broken")).removeRecursively();
    }
    /// A window with this text ended without its destructors.
    void lose(const QString& name, const QString& text) {
        Session session = window.session();
        session.state.prompt.text = text;
        save_session(session, (folder + '/' + name).toStdString());
        stamp(name);
    }
    /// Later than the ones before.
    void stamp(const QString& name) {
        QFile file(folder + '/' + name);
        ASSERT_TRUE(file.open(QIODevice::ReadWrite));
        ASSERT_TRUE(file.setFileTime(time = time.addSecs(60), QFileDevice::FileModificationTime));
    }
    static bool shows(MainWindow& of, const QString& text) {
        return wait_for([&] { return of.jobs().idle() && of.document().up_to_date() && of.document().prompt().text == text; });
    }
    static QStringList offered(MainWindow& in) {
        QStringList texts;
        for (const QAction* action : in.lost_menu().actions())
            if (!action->isSeparator()) texts << action->text();
        return texts;
    }
    const QString folder = Autosave::default_folder();
    QDateTime time = QDateTime::currentDateTime().addDays(-1);
};

TEST_F(Recovery, AStartWithArgumentsLeavesTheLostSessionAndOffersIt) {
    lose(QStringLiteral("lost.headlight"), QStringLiteral("The lost text"));
    MainWindow next;
    next.show();
    start_document(next, {.model = "novella-7m", .text = "Another one"});
    ASSERT_TRUE(shows(next, QStringLiteral("Another one")));
    EXPECT_TRUE(sessions_in(folder).contains(QStringLiteral("lost.headlight")));
    ASSERT_TRUE(next.notice_bar().isVisible());
    EXPECT_TRUE(next.notice_bar().text().contains(QStringLiteral("The lost text"))) << next.notice_bar().text().toStdString();
    next.notice_bar().action().click();
    ASSERT_TRUE(shows(next, QStringLiteral("The lost text")));
    EXPECT_FALSE(sessions_in(folder).contains(QStringLiteral("lost.headlight"))) << "it is this window's now";
    EXPECT_FALSE(next.notice_bar().isVisible());
}

TEST_F(Recovery, SeveralLostSessionsAreAllOfferedAndNoneGoes) {
    lose(QStringLiteral("a.headlight"), QStringLiteral("The first text"));
    lose(QStringLiteral("b.headlight"), QStringLiteral("The second text"));
    lose(QStringLiteral("c.headlight"), QStringLiteral("The third text"));
    {
        MainWindow next;
        next.show();
        start_document(next, {});
        ASSERT_TRUE(shows(next, QStringLiteral("The third text"))) << "the newest";
        EXPECT_TRUE(next.status_strip().notes().join(' ').contains(QStringLiteral("ended unexpectedly")));
        ASSERT_EQ(offered(next).size(), 3) << "two, and an end of them: " << offered(next).join('|').toStdString();
        EXPECT_TRUE(offered(next)[0].contains(QStringLiteral("The second text")));
        EXPECT_TRUE(offered(next)[1].contains(QStringLiteral("The first text")));
        EXPECT_TRUE(next.notice_bar().text().startsWith(QStringLiteral("2 sessions")));
        next.lost_menu().actions()[1]->trigger();
        ASSERT_TRUE(shows(next, QStringLiteral("The first text")));
        ASSERT_EQ(offered(next).size(), 3);
        EXPECT_TRUE(offered(next).join('|').contains(QStringLiteral("The third text")))
            << "what the window showed is one of them";
    }
    EXPECT_EQ(Autosave(folder, [&] { return window.session(); }).lost(kUnmoved).size(), 2U) << "left for the next start";
    MainWindow last;
    last.show();
    start_document(last, {.text = "Another one"});
    ASSERT_EQ(offered(last).size(), 3);
    last.lost_menu().actions().back()->trigger();
    EXPECT_TRUE(offered(last).isEmpty());
    EXPECT_FALSE(last.notice_bar().isVisible());
    ASSERT_TRUE(shows(last, QStringLiteral("Another one")));
}

TEST_F(Recovery, ASessionThatCannotBeReadIsMovedAsideAndSaidSo) {
    lose(QStringLiteral("good.headlight"), QStringLiteral("The lost text"));
    ASSERT_TRUE(write_file(folder + QStringLiteral("/bad.headlight"), "{\"format\": \"headlight-session\", \"version\": 99}"));
    stamp(QStringLiteral("bad.headlight"));
    MainWindow next;
    next.show();
    start_document(next, {});
    ASSERT_TRUE(shows(next, QStringLiteral("The lost text")));
    EXPECT_EQ(sessions_in(folder + QStringLiteral("/broken")), QStringList{QStringLiteral("bad.headlight")});
    EXPECT_FALSE(QFile::exists(folder + QStringLiteral("/bad.headlight")));
    const QString notes = next.status_strip().notes().join(' ');
    for (const char* part : {"broken/bad.headlight", "version", "99"})
        EXPECT_TRUE(notes.contains(QLatin1String(part))) << part << ": " << notes.toStdString();
}

TEST_F(Recovery, ALostSessionWhoseModelDoesNotOpenStays) {
    Session session = window.session();
    session.model = folder + QStringLiteral("/nowhere");
    session.state.prompt.text = QStringLiteral("The lost text");
    const QString file = folder + QStringLiteral("/lost.headlight");
    save_session(session, file.toStdString());
    const Session lost = load_session(file.toStdString());
    {
        MainWindow next;
        next.show();
        start_document(next, {});
        ASSERT_TRUE(wait_for([&] { return next.error_panel().isVisible(); }));
        ASSERT_TRUE(opened_in(next, QStringLiteral("novella-7m")));
        EXPECT_TRUE(QFile::exists(file));
    }
    EXPECT_TRUE(load_session(file.toStdString()) == lost) << "for the next start";
}

}  // namespace autosave_test
}  // namespace headlight::ui
