// SPDX-License-Identifier: GPL-3.0-or-later
// The page of a corpus: texts are run beside the window, the store is shown, an example opens with its pair pinned.
#include "ui/corpus/corpus_window.h"
#include "tests/ui/window_fixture.h"
#include "ui/corpus/corpus_form.h"

#include <QFile>
#include <QPointer>
#include <QSignalSpy>

#include <algorithm>

namespace headlight::ui {
namespace corpus_window_test {

class CorpusPage : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        window.action(Command::corpus).trigger();
        ASSERT_TRUE(window.corpus());
        ASSERT_TRUE(QTest::qWaitForWindowExposed(window.corpus(), longest_wait_ms));
    }
    CorpusWindow& page() { return *window.corpus(); }

    CorpusOrder order_of(int count) {
        QFile texts(folder.filePath(QStringLiteral("texts.txt")));
        EXPECT_TRUE(texts.open(QIODevice::WriteOnly));
        for (int i = 0; i < count; ++i)
            texts.write(QStringLiteral("The doctor asked the nurse %1 times, and the nurse answered the doctor %1 times.\n")
                            .arg(i)
                            .toUtf8());
        texts.close();
        CorpusOrder order;
        order.texts = texts.fileName();
        order.store = folder.filePath(QStringLiteral("store"));
        order.options.measures = {"heads", "neurons"};
        return order;
    }
    void run_some_texts() {
        page().run(order_of(12));
        ASSERT_TRUE(wait_for([&] { return page().stored() && window.jobs().idle() && page().canvas().shown(); }))
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
        ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && !page().canvas().outdated() && page().canvas().shown(); }));
        EXPECT_GT(ink(page().canvas()), 200);
    }
    const QString file = folder.filePath(QStringLiteral("figure.csv"));
    page().write(file);
    EXPECT_TRUE(window.jobs().busy(Jobs::Lane::file)) << "beside the window";
    ASSERT_TRUE(settle());
    EXPECT_GT(QFile(file).size(), 100);
    EXPECT_TRUE(page().message().text().contains(file));
    page().write(folder.filePath(QStringLiteral("no/such/folder/figure.csv")));
    ASSERT_TRUE(settle());
    EXPECT_EQ(page().message().property("role").toString(), QStringLiteral("error"));
    EXPECT_FALSE(window.error_panel().isVisible()) << "said once, on the page";
}

TEST_F(CorpusPage, BoxesEndWhereTheModelDoes) {
    run_some_texts();
    EXPECT_EQ(page().layer().maximum(), 5);
    EXPECT_EQ(page().head().maximum(), 7);
    const std::int64_t width = window.document().model().model->config().d_mlp;
    EXPECT_EQ(page().neuron().maximum(), width - 1);
}

/// Long enough that a run of it is stopped in the middle.
constexpr int kManyTexts = 4000;

TEST_F(CorpusPage, AStoppedRunShowsWhatIsFinished) {
    page().run(order_of(kManyTexts));
    QSignalSpy progressed(&window.jobs(), &Jobs::progressed);
    const auto chunks = [&] {
        return std::ranges::any_of(progressed, [](const QList<QVariant>& step) {
            return step[0].value<Jobs::Lane>() == Jobs::Lane::corpus && step[1].value<ProgressStep>().done > 80;
        });
    };
    ASSERT_TRUE(wait_for(chunks));
    QTest::mouseClick(&page().stop_button(), Qt::LeftButton);
    EXPECT_TRUE(window.jobs().busy(Jobs::Lane::corpus)) << "until it has merged what is finished";
    EXPECT_FALSE(page().stop_button().isEnabled());
    ASSERT_TRUE(wait_for([&] { return page().stored() && window.jobs().idle() && page().canvas().shown(); }))
        << page().message().text().toStdString();
    EXPECT_GE(page().stored()->merged.chunks, 64);
    EXPECT_LT(page().stored()->merged.chunks, kManyTexts);
    EXPECT_TRUE(QFile::exists(folder.filePath(QStringLiteral("store/merged.safetensors"))));
    EXPECT_TRUE(page().message().text().startsWith(QStringLiteral("Stopped"))) << page().message().text().toStdString();
    EXPECT_FALSE(page().stop_button().isVisible());
}

TEST_F(CorpusPage, ARunOutlivesThePage) {
    page().run(order_of(kManyTexts));
    ASSERT_TRUE(wait_for([&] { return window.status_strip().bar().isVisible(); }));
    QPointer<CorpusWindow> first = window.corpus();
    page().close();
    QTest::qWait(10);
    ASSERT_TRUE(first);
    EXPECT_FALSE(first->isVisible());
    EXPECT_TRUE(window.jobs().busy(Jobs::Lane::corpus));
    ASSERT_TRUE(wait_for([&] { return window.status_strip().text().startsWith(QStringLiteral("Running the corpus")); }))
        << window.status_strip().text().toStdString();
    window.action(Command::corpus).trigger();
    EXPECT_EQ(window.corpus(), first);
    EXPECT_TRUE(first->isVisible());
    page().close();
    window.status_strip().cancel_button().click();
    ASSERT_TRUE(settle());
    window.action(Command::corpus).trigger();
    EXPECT_TRUE(page().message().text().startsWith(QStringLiteral("Stopped")));
    page().close();
    QTest::qWait(10);
    EXPECT_FALSE(first) << "nothing goes on";
}

TEST_F(CorpusPage, ARunStopsOnceAMeasureIsKnown) {
    CorpusOrder order = order_of(kManyTexts);
    order.stop_at = corpus::StopAt{"entropy", 0.05};
    order.segment_minutes = 0;
    page().run(order);
    ASSERT_TRUE(wait_for([&] { return page().stored() && window.jobs().idle() && page().canvas().shown(); }));
    EXPECT_TRUE(page().message().text().startsWith(QStringLiteral("Stopped: the widest interval of entropy is ± ")))
        << page().message().text().toStdString();
    EXPECT_LT(page().stored()->merged.chunks, kManyTexts);
    EXPECT_GE(page().stored()->merged.chunks, corpus::kTextsToStop);
}

TEST_F(CorpusPage, WhyARunFailedStays) {
    CorpusOrder order = order_of(1);
    order.texts = folder.filePath(QStringLiteral("none.txt"));
    page().run(order);
    ASSERT_TRUE(settle());
    EXPECT_TRUE(page().message().text().contains(QStringLiteral("none.txt"))) << page().message().text().toStdString();
    EXPECT_EQ(page().message().property("role").toString(), QStringLiteral("error"));
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
    page().layer().setValue(4);
    page().head().setValue(2);
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && page().canvas().shown(); }));
    QSignalSpy chosen(&page(), &CorpusWindow::example_chosen);
    const auto at = find(page().canvas(), [](const figure::Hit& hit) { return hit.options.size() == 3; });
    ASSERT_TRUE(at);
    QTest::mouseClick(page().canvas().viewport(), Qt::LeftButton, {}, *at);
    ASSERT_TRUE(wait_for([&] { return chosen.count() == 1; }));
    ASSERT_TRUE(settle());
    const auto example = chosen[0][0].value<TextExample>();
    const QString text = example.text;
    EXPECT_TRUE(text.startsWith(QStringLiteral("The doctor asked the nurse")));
    EXPECT_EQ(window.document().shown_prompt().text, text);
    EXPECT_EQ(selected().pinned_queries, example.queries);
    EXPECT_EQ(selected().pinned_keys, example.keys);
    EXPECT_EQ(example.keys.size(), 1u);
    EXPECT_EQ(selected().focus, (HeadId{Layer(4), Head(2)})) << "the head that it is an example of";
}

/// A stretch of a text that is cut into chunks is tokenized by itself in the window.
TEST_F(CorpusPage, PinsOfAStretchStandOnItsWords) {
    CorpusOrder order = order_of(0);
    QFile texts(order.texts);
    ASSERT_TRUE(texts.open(QIODevice::WriteOnly));
    for (int i = 0; i < 40; ++i) texts.write("unbelievably extraordinary circumstances ");
    texts.close();
    order.options.context = 16;
    page().run(order);
    ASSERT_TRUE(wait_for([&] { return page().stored() && window.jobs().idle() && page().canvas().shown(); }));
    page().choose_view(QStringLiteral("corpus-examples"));
    page().layer().setValue(4);
    page().head().setValue(2);
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && page().canvas().shown(); }));
    const auto at = find(page().canvas(), [](const figure::Hit& hit) { return hit.options.size() == 3; });
    ASSERT_TRUE(at);
    const figure::Hit hit = page().canvas().hit_at(*at);
    std::map<std::string, std::int64_t> place;
    for (const auto& [name, value] : hit.options) place[name] = std::stoll(value);
    corpus::TextStore store(page().stored()->folder, page().stored()->manifest, window.document().model().tokenizer.get());
    const text::Encoding then = store.chunk(place.at("chunk")).encoding;
    QSignalSpy chosen(&page(), &CorpusWindow::example_chosen);
    QTest::mouseClick(page().canvas().viewport(), Qt::LeftButton, {}, *at);
    ASSERT_TRUE(wait_for([&] { return chosen.count() == 1; }));
    ASSERT_TRUE(settle());
    const auto example = chosen[0][0].value<TextExample>();
    const text::Encoding& now = window.document().trace()->encoding();
    const auto bytes = [&](const text::Encoding& of, std::int64_t p) { return of.offsets.at(static_cast<std::size_t>(p)); };
    ASSERT_FALSE(example.queries.empty());
    EXPECT_LE(bytes(now, example.queries.front().value).begin, bytes(then, place.at("query")).begin);
    EXPECT_GE(bytes(now, example.queries.back().value).end, bytes(then, place.at("query")).end);
    EXPECT_EQ(selected().pinned_keys, example.keys);
}

TEST_F(CorpusPage, AFailureStaysWhileFiguresAreDrawn) {
    run_some_texts();
    CorpusOrder order = order_of(1);
    order.texts = folder.filePath(QStringLiteral("none.txt"));
    page().run(order);
    ASSERT_TRUE(settle());
    page().choose_view(QStringLiteral("corpus-entropy"));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(page().message().text().contains(QStringLiteral("none.txt"))) << page().message().text().toStdString();
    page().open_store(folder.filePath(QStringLiteral("no-store")));
    ASSERT_TRUE(wait_for([&] { return page().message().text().contains(QStringLiteral("no-store")); }));
    EXPECT_TRUE(page().canvas().shown()) << "the store before it";
}

TEST_F(CorpusPage, AWrongFolderIsNamed) {
    page().open_store(folder.path());
    ASSERT_TRUE(wait_for([&] { return page().message().isVisible(); }));
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
    EXPECT_TRUE(form.order().options.measures.empty()) << "the usual ones, which depend on the texts";
    EXPECT_FALSE(form.order().stop_at);
    EXPECT_TRUE(form.stop_width().isHidden());
    form.stop_measure().setCurrentIndex(form.stop_measure().findData(QStringLiteral("entropy")));
    form.stop_width().setValue(0.02);
    EXPECT_FALSE(form.stop_width().isHidden());
    ASSERT_TRUE(form.order().stop_at);
    EXPECT_EQ(form.order().stop_at->measure, "entropy");
    EXPECT_DOUBLE_EQ(form.order().stop_at->half_width, 0.02);
    for (std::size_t i = 0; i < corpus::accumulator_kinds().size(); ++i)
        form.measure(i).setChecked(std::string_view(corpus::accumulator_kinds()[i].id) == "neurons");
    EXPECT_FALSE(form.run_button().isEnabled()) << "nothing to stop at";
}

}  // namespace corpus_window_test
}  // namespace headlight::ui
