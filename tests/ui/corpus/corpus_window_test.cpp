// SPDX-License-Identifier: GPL-3.0-or-later
// The page of a corpus: texts are run beside the window, the store is shown, an example opens with its pair pinned.
#include "tests/ui/corpus/corpus_fixture.h"

#include <QFile>
#include <QPointer>

#include <algorithm>

namespace headlight::ui {
namespace corpus_window_test {

class CorpusPage : public CorpusTest {
protected:
    CorpusOrder order_of(int count) {
        QString texts;
        for (int i = 0; i < count; ++i)
            texts += QStringLiteral("The doctor asked the nurse %1 times, and the nurse answered the doctor %1 times.\n").arg(i);
        CorpusOrder order;
        order.texts = folder.filePath(QStringLiteral("texts.txt"));
        EXPECT_TRUE(write_file(order.texts, texts.toUtf8()));
        order.store = folder.filePath(QStringLiteral("store"));
        order.options.measures = {"heads", "neurons"};
        return order;
    }
    void run_some_texts() {
        page().run(order_of(12));
        ASSERT_TRUE(shown()) << page().message().text().toStdString();
    }
    void run_no_texts() {
        CorpusOrder order = order_of(1);
        order.texts = folder.filePath(QStringLiteral("none.txt"));
        page().run(order);
        ASSERT_TRUE(settle());
    }
    /// Chooses the examples of a head, and the place of one of them.
    std::optional<QPoint> an_example() {
        page().choose_view(QStringLiteral("corpus-examples"));
        page().layer().setValue(4);
        page().head().setValue(2);
        EXPECT_TRUE(shown());
        return find(page().canvas(), [](const figure::Hit& hit) { return hit.options.size() == 3; });
    }
};

TEST_F(CorpusPage, RunsTextsAndShowsWhatTheyGave) {
    run_some_texts();
    EXPECT_EQ(page().facts().text(), QStringLiteral("novella-7m over 12 texts"));
    EXPECT_FALSE(page().stop_button().isVisible());
    for (const figure::CorpusView& view : figure::corpus_views()) {
        if (view.gathered != "heads" && view.gathered != "neurons") continue;
        SCOPED_TRACE(view.id);
        ASSERT_TRUE(choose(view.id.c_str()));
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
    ASSERT_TRUE(shown()) << page().message().text().toStdString();
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
    window.show_page(Page::text);
    EXPECT_FALSE(first->isVisible());
    EXPECT_TRUE(window.jobs().busy(Jobs::Lane::corpus));
    ASSERT_TRUE(wait_for([&] { return window.status_strip().text().startsWith(QStringLiteral("Running the corpus")); }))
        << window.status_strip().text().toStdString();
    window.action(Command::corpus).trigger();
    EXPECT_EQ(window.corpus(), first);
    EXPECT_TRUE(first->isVisible());
    window.show_page(Page::text);
    window.status_strip().cancel_button().click();
    ASSERT_TRUE(settle());
    window.action(Command::corpus).trigger();
    EXPECT_TRUE(page().message().text().startsWith(QStringLiteral("Stopped")));
}

TEST_F(CorpusPage, ARunStopsOnceAMeasureIsKnown) {
    CorpusOrder order = order_of(kManyTexts);
    order.stop_at = corpus::StopAt{"entropy", 0.05};
    order.segment_minutes = 0;
    page().run(order);
    ASSERT_TRUE(shown());
    EXPECT_TRUE(page().message().text().startsWith(QStringLiteral("Stopped: the widest interval of entropy is ± ")))
        << page().message().text().toStdString();
    EXPECT_LT(page().stored()->merged.chunks, kManyTexts);
    EXPECT_GE(page().stored()->merged.chunks, corpus::kTextsToStop);
}

TEST_F(CorpusPage, WhyARunFailedStays) {
    run_no_texts();
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
    const auto at = an_example();
    ASSERT_TRUE(at);
    const auto example = open_example(*at);
    ASSERT_TRUE(example);
    EXPECT_TRUE(example->text.startsWith(QStringLiteral("The doctor asked the nurse")));
    EXPECT_EQ(window.document().shown_prompt().text, example->text);
    EXPECT_EQ(selected().pinned_queries, example->queries);
    EXPECT_EQ(selected().pinned_keys, example->keys);
    EXPECT_EQ(example->keys.size(), 1u);
    EXPECT_EQ(selected().focus, (HeadId{Layer(4), Head(2)})) << "the head that it is an example of";
}

/// A stretch of a text that is cut into chunks is tokenized by itself in the window.
TEST_F(CorpusPage, PinsOfAStretchStandOnItsWords) {
    CorpusOrder order = order_of(0);
    ASSERT_TRUE(write_file(order.texts, QByteArray("unbelievably extraordinary circumstances ").repeated(40)));
    order.options.context = 16;
    page().run(order);
    ASSERT_TRUE(shown());
    const auto at = an_example();
    ASSERT_TRUE(at);
    const auto place = places_of(page().canvas().hit_at(*at));
    corpus::TextStore store(page().stored()->folder, page().stored()->manifest, window.document().model().tokenizer.get());
    const text::Encoding then = store.chunk(place.at("chunk")).encoding;
    const auto example = open_example(*at);
    ASSERT_TRUE(example);
    const text::Encoding& now = window.document().trace()->encoding();
    const auto bytes = [&](const text::Encoding& of, std::int64_t p) { return of.offsets.at(static_cast<std::size_t>(p)); };
    ASSERT_FALSE(example->queries.empty());
    EXPECT_LE(bytes(now, example->queries.front().value).begin, bytes(then, place.at("query")).begin);
    EXPECT_GE(bytes(now, example->queries.back().value).end, bytes(then, place.at("query")).end);
    EXPECT_EQ(selected().pinned_keys, example->keys);
}

TEST_F(CorpusPage, AFailureStaysWhileFiguresAreDrawn) {
    run_some_texts();
    run_no_texts();
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
    const QString texts = folder.filePath(QStringLiteral("some.texts.txt"));
    ASSERT_TRUE(write_file(texts, {}));
    form.texts().setText(texts);
    EXPECT_TRUE(form.store().text().endsWith(QStringLiteral("/corpora/some.texts"))) << form.store().text().toStdString();
    EXPECT_TRUE(form.run_button().isEnabled());
    EXPECT_EQ(form.order().texts, texts);
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
