// SPDX-License-Identifier: GPL-3.0-or-later
// The page of a corpus: texts are run beside the window, the store is shown, an example opens with its pair pinned.
#include "ui/corpus/corpus_window.h"
#include "tests/ui/window_fixture.h"
#include "ui/corpus/corpus_form.h"

#include <QFile>
#include <QSignalSpy>

namespace headlight::ui {
namespace corpus_window_test {

class CorpusPage : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        window.action(Command::corpus).trigger();
        ASSERT_TRUE(window.corpus());
        ASSERT_TRUE(QTest::qWaitForWindowExposed(window.corpus()));
    }
    CorpusWindow& page() { return *window.corpus(); }

    void run_some_texts() {
        QFile texts(folder.filePath(QStringLiteral("texts.txt")));
        ASSERT_TRUE(texts.open(QIODevice::WriteOnly));
        for (int i = 0; i < 12; ++i)
            texts.write(QStringLiteral("The doctor asked the nurse %1 times, and the nurse answered the doctor %1 times.\n")
                            .arg(i)
                            .toUtf8());
        texts.close();
        CorpusOrder order;
        order.texts = texts.fileName();
        order.store = folder.filePath(QStringLiteral("store"));
        order.options.measures = {"heads", "neurons"};
        page().run(order);
        ASSERT_TRUE(QTest::qWaitFor([&] { return page().stored() && window.jobs().idle() && page().canvas().shown(); }, 60'000))
            << page().message().text().toStdString();
    }
    QTemporaryDir folder;
};

TEST_F(CorpusPage, RunsTextsAndShowsWhatTheyGave) {
    run_some_texts();
    EXPECT_EQ(page().facts().text(), QStringLiteral("novella-7m over 12 texts"));
    EXPECT_FALSE(page().stop_button().isVisible());
    for (const figure::CorpusView& view : figure::corpus_views()) {
        if (view.gathered != "heads" && view.gathered != "neurons") continue;
        SCOPED_TRACE(view.id);
        page().choose_view(QString::fromStdString(view.id));
        ASSERT_TRUE(QTest::qWaitFor(
            [&] { return window.jobs().idle() && !page().canvas().outdated() && page().canvas().shown(); }, 20'000));
        EXPECT_GT(ink(page().canvas()), 200);
    }
    const QString file = folder.filePath(QStringLiteral("figure.csv"));
    EXPECT_TRUE(page().write(file));
    EXPECT_GT(QFile(file).size(), 100);
}

TEST_F(CorpusPage, WhatTheStoreLacksCannotBeChosen) {
    run_some_texts();
    bool seen = false;
    for (int g = 0; g < page().views().topLevelItemCount(); ++g)
        for (int i = 0; i < page().views().topLevelItem(g)->childCount(); ++i) {
            const QTreeWidgetItem* item = page().views().topLevelItem(g)->child(i);
            if (item->data(0, Qt::UserRole).toString() != QStringLiteral("corpus-relations")) continue;
            seen = true;
            EXPECT_FALSE(item->flags() & Qt::ItemIsSelectable);
            EXPECT_FALSE(item->toolTip(0).isEmpty());
        }
    EXPECT_TRUE(seen);
}

TEST_F(CorpusPage, AnExampleOpensInTheWindowWithItsPairPinned) {
    run_some_texts();
    page().choose_view(QStringLiteral("corpus-examples"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return window.jobs().idle() && page().canvas().shown(); }, 20'000));
    QSignalSpy chosen(&page(), &CorpusWindow::example_chosen);
    const auto at = find(page().canvas(), [](const figure::Hit& hit) { return hit.options.size() == 3; });
    ASSERT_TRUE(at);
    QTest::mouseClick(page().canvas().viewport(), Qt::LeftButton, {}, *at);
    ASSERT_TRUE(QTest::qWaitFor([&] { return chosen.count() == 1; }, 10'000));
    ASSERT_TRUE(settle());
    const QString text = chosen[0][0].toString();
    EXPECT_TRUE(text.startsWith(QStringLiteral("The doctor asked the nurse")));
    EXPECT_EQ(window.document().shown_prompt().text, text);
    EXPECT_EQ(selected().query(), Position(chosen[0][1].toLongLong()));
    EXPECT_EQ(selected().key(), Position(chosen[0][2].toLongLong()));
}

TEST_F(CorpusPage, AWrongFolderIsNamed) {
    page().open_store(folder.path());
    ASSERT_TRUE(QTest::qWaitFor([&] { return page().message().isVisible(); }, 10'000));
    EXPECT_TRUE(page().message().text().contains(folder.path()));
}

TEST(CorpusForm, ProposesAStoreAndSaysWhatIsMissing) {
    CorpusForm form(QStringLiteral("novella-7m"));
    EXPECT_FALSE(form.run_button().isEnabled());
    form.texts().setText(QStringLiteral("/no/such/file.txt"));
    EXPECT_FALSE(form.run_button().isEnabled());
    QTemporaryDir folder;
    QFile texts(folder.filePath(QStringLiteral("some.texts.txt")));
    ASSERT_TRUE(texts.open(QIODevice::WriteOnly));
    texts.close();
    form.texts().setText(texts.fileName());
    EXPECT_TRUE(form.store().text().endsWith(QStringLiteral("/corpora/some.texts"))) << form.store().text().toStdString();
    EXPECT_TRUE(form.run_button().isEnabled());
    EXPECT_EQ(form.order().texts, texts.fileName());
    EXPECT_FALSE(form.order().options.measures.empty());
}

}  // namespace corpus_window_test
}  // namespace headlight::ui
