// SPDX-License-Identifier: GPL-3.0-or-later
// A store that the views of the text take measures and words from, and what its page chooses in the window.
#include "headlight/base/numbers.h"
#include "headlight/corpus/heads/head_means.h"
#include "headlight/corpus/syntax/word_query.h"
#include "tests/support/checksums.h"
#include "tests/ui/corpus/corpus_fixture.h"
#include "ui/document/heads/head_list.h"
#include "ui/document/session.h"

#include <QDir>
#include <QFile>
#include <QMenu>

#include <algorithm>
#include <set>

namespace headlight::ui {
namespace corpus_in_use_test {

const QString question = QStringLiteral("heads where VERB attends to its nsubj > 20 %");

/// The page with a store of forty sentences of a treebank.
class CorpusInUse : public CorpusTest {
protected:
    void SetUp() override {
        ASSERT_NO_FATAL_FAILURE(CorpusTest::SetUp());
        CorpusOrder order;
        order.texts = QString::fromUtf8(HEADLIGHT_SOURCE_DIR) + QStringLiteral("/tests/fixtures/treebank/ewt-excerpt.conllu");
        order.store = folder.filePath(QStringLiteral("excerpt"));
        order.options.measures = {"heads", "words", "distances"};
        order.limit = 40;
        page().run(order);
        ASSERT_TRUE(shown()) << page().message().text().toStdString();
    }
    bool use() {
        QTest::mouseClick(&page().use_button(), Qt::LeftButton);
        return settle() && document().corpus().found();
    }
    /// By hand, of the table that mosaic, list and finder share.
    double value(const std::string& measure, HeadId head) {
        const Eigen::MatrixXd* values = document().finder().table()->find(measure);
        return values ? (*values)(head.layer.value, head.head.value) : kNaN;
    }
    QMenu* submenu(QMenu& menu, const QString& title) {
        for (QAction* action : menu.actions())
            if (action->text() == title) return action->menu();
        return nullptr;
    }
};

TEST_F(CorpusInUse, ItsMeasuresTintTheMosaicUntilItIsLeft) {
    HeadsPanel& heads = window.heads_panel();
    EXPECT_TRUE(heads.corpus_note().isHidden());
    ASSERT_TRUE(choose("corpus-heads"));
    ASSERT_TRUE(use());
    EXPECT_EQ(document().options().corpus, folder.filePath(QStringLiteral("excerpt")));
    EXPECT_EQ(document().options().measure, "corpus_induction");
    EXPECT_FALSE(heads.corpus_note().isHidden());
    EXPECT_TRUE(heads.corpus_note().text().contains(QStringLiteral("excerpt")));
    EXPECT_TRUE(heads.measure_note().isHidden()) << heads.measure_note().text().toStdString();
    // The values are the store's.
    const auto means = corpus::head_means(page().stored()->merged.arrays, page().stored()->text_of_chunk);
    const auto m = std::size_t(std::ranges::find(means.measures, "entropy") - means.measures.begin());
    const HeadId some{Layer(4), Head(3)};
    EXPECT_DOUBLE_EQ(value("corpus_entropy", some), means.by_text[means.index(m, 4, 3)].mean);
    EXPECT_NE(value("corpus_entropy", some), value("entropy", some));
    // They stand in the list of measures under the store's name.
    Q_EMIT heads.measure_menu().aboutToShow();
    QMenu* of_store = submenu(heads.measure_menu(), QStringLiteral("Corpus excerpt"));
    ASSERT_TRUE(of_store);
    std::set<QString> titles;
    for (QAction* group : of_store->actions())
        for (QAction* action : group->menu()->actions()) titles.insert(action->text());
    EXPECT_TRUE(titles.contains(QStringLiteral("corpus entropy")));
    // Another text changes the text's measures and not the corpus'.
    const double before = value("corpus_entropy", some);
    document().edit_prompt(
        [&](PromptText& p) { p.text = QStringLiteral("It rained for a week, and then it rained for another week."); });
    ASSERT_TRUE(settle());
    EXPECT_EQ(value("corpus_entropy", some), before);

    QTest::mouseClick(&heads.leave_corpus_button(), Qt::LeftButton);
    ASSERT_TRUE(settle());
    EXPECT_EQ(document().options().measure, "induction");
    EXPECT_TRUE(std::isnan(value("corpus_entropy", some)));
    EXPECT_TRUE(heads.corpus_note().isHidden());
    window.history().stack().undo();
    ASSERT_TRUE(settle());
    EXPECT_EQ(value("corpus_entropy", some), before) << "one step brings it back";
}

TEST_F(CorpusInUse, TheFinderKnowsItsMeasuresAndKeepsTheTextsOwn) {
    ASSERT_TRUE(use());
    const auto matching = [&](const char* expression) {
        set_finder(QString::fromUtf8(expression));
        EXPECT_TRUE(settle());
        EXPECT_FALSE(document().finder().mistake()) << document().finder().mistake()->problem;
        std::set<HeadId> heads;
        for (int l = 0; l < 6; ++l)
            for (int h = 0; h < 8; ++h)
                if (document().finder().matches({Layer(l), Head(h)})) heads.insert({Layer(l), Head(h)});
        return heads;
    };
    const auto below = [&](const char* measure, double least) {
        std::set<HeadId> heads;
        for (int l = 0; l < 6; ++l)
            for (int h = 0; h < 8; ++h)
                if (const HeadId id{Layer(l), Head(h)}; value(measure, id) < least) heads.insert(id);
        return heads;
    };
    const auto of_corpus = matching("corpus entropy < 1.2"), of_text = matching("entropy < 1.2");
    EXPECT_EQ(of_corpus, below("corpus_entropy", 1.2));
    EXPECT_EQ(of_text, below("entropy", 1.2));
    EXPECT_NE(of_corpus, of_text);
    EXPECT_FALSE(of_corpus.empty());
    ASSERT_FALSE(document().finder().asks_corpus());
    matching("corpus_max_weight > 0.5");
    EXPECT_TRUE(document().finder().asks_corpus());
    document().leave_corpus();
    ASSERT_TRUE(settle());
    EXPECT_TRUE(document().options().finder.isEmpty());
    set_finder(QStringLiteral("corpus entropy < 1.2"));
    ASSERT_TRUE(document().finder().mistake());
    EXPECT_EQ(document().finder().mistake()->problem, "No corpus is in use");
}

TEST_F(CorpusInUse, AQuestionAboutItsWordsIsAFilterOfEveryView) {
    ASSERT_TRUE(choose("corpus-question"));
    page().question().setText(question);
    ASSERT_TRUE(use());
    EXPECT_EQ(window.heads_panel().finder().text(), question);
    const corpus::WordIndex index = corpus::WordIndex::read(page().stored()->merged.arrays);
    const std::vector<HeadId> found = corpus::WordQuery(question.toStdString(), index).heads();
    ASSERT_FALSE(found.empty());
    ASSERT_LT(found.size(), 48u);
    const auto filter = document().finder().filter();
    ASSERT_TRUE(filter);
    EXPECT_EQ(filter->matching, std::ssize(found));
    for (const HeadId head : found) EXPECT_TRUE(document().finder().matches(head));
    EXPECT_EQ(window.heads_panel().model().rowCount(), int(found.size()));
    EXPECT_EQ(canvas().style_in_use().filter, filter);

    // Kept under a name, and with another text.
    ViewOptions options = document().options();
    options.filters = with_filter(options.filters, {QStringLiteral("subjects"), options.finder});
    options.finder.clear();
    document().set_options(options);
    ASSERT_TRUE(settle());
    EXPECT_FALSE(document().finder().filter());
    window.heads_panel().filters().entry(QStringLiteral("apply:subjects"))->trigger();
    set_text(QStringLiteral("She said that he knew."));
    ASSERT_TRUE(settle());
    ASSERT_TRUE(document().finder().filter());
    EXPECT_EQ(document().finder().matching(), std::ssize(found));
    // Conditions on the text and on the corpus go together.
    set_finder(question + QStringLiteral(" and layer = %1").arg(found.front().layer.value));
    ASSERT_TRUE(settle());
    EXPECT_EQ(document().finder().matching(), std::ranges::count(found, found.front().layer, &HeadId::layer));
    // A mistake in a name of the treebank is found where it is looked up.
    set_finder(QStringLiteral("VREB attends to its nsubj > 20 %"));
    ASSERT_TRUE(settle());
    ASSERT_TRUE(document().finder().mistake());
    EXPECT_NE(document().finder().mistake()->hint.find("VERB"), std::string::npos) << document().finder().mistake()->hint;
    document().leave_corpus();
    set_finder(question);
    ASSERT_TRUE(document().finder().mistake());
    EXPECT_NE(document().finder().mistake()->problem.find("treebank"), std::string::npos);
}

TEST_F(CorpusInUse, TheScatterTakesItsMeasuresAndTheCommandNamesTheStore) {
    ASSERT_TRUE(choose("corpus-scatter"));
    ASSERT_TRUE(use());
    ASSERT_TRUE(show_view("head-scatter"));
    ASSERT_TRUE(canvas().shown());
    EXPECT_TRUE(canvas().shown()->title().contains(QStringLiteral("corpus mean distance")))
        << canvas().shown()->title().toStdString();
    const QString command = window.command_for_shown();
    EXPECT_TRUE(command.contains(QStringLiteral("--x corpus_mean_distance"))) << command.toStdString();
    EXPECT_TRUE(command.contains(QStringLiteral("--corpus ") + folder.filePath(QStringLiteral("excerpt"))));
    document().leave_corpus();
    ASSERT_TRUE(settle());
    EXPECT_FALSE(canvas().shown()->title().contains(QStringLiteral("corpus")));
    EXPECT_FALSE(window.command_for_shown().contains(QStringLiteral("corpus")));
}

TEST_F(CorpusInUse, AStoreOfAnotherModelSaysWhyItIsNotUsed) {
    const QString copy = folder.filePath(QStringLiteral("other"));
    QDir().mkpath(copy + QStringLiteral("/texts"));
    const QString part = QStringLiteral("/texts/0000.safetensors");
    ASSERT_TRUE(QFile::copy(folder.filePath(QStringLiteral("excerpt")) + part, copy + part));
    const auto hash = QByteArray::fromStdString(document().model().model->hash());
    for (const char* name : {"manifest.json", "merged.safetensors"}) {
        QFile from(folder.filePath(QStringLiteral("excerpt/")) + QString::fromUtf8(name)),
            to(copy + u'/' + QString::fromUtf8(name));
        ASSERT_TRUE(from.open(QIODevice::ReadOnly) && to.open(QIODevice::WriteOnly));
        QByteArray bytes = from.readAll();
        bytes.replace(hash, QByteArray(64, '0'));
        if (name[1] == 'a') bytes.replace("novella-7m", "another");
        to.write(bytes);
        to.close();
        test::renew_checksum(to.fileName().toStdString());
    }
    page().open_store(copy);
    ASSERT_TRUE(wait_for([&] { return page().facts().text().startsWith(QStringLiteral("another")); }));
    ASSERT_TRUE(shown());
    EXPECT_FALSE(use());
    EXPECT_TRUE(document().options().corpus.isEmpty());
    EXPECT_TRUE(page().message().text().contains(QStringLiteral("was run with another")))
        << page().message().text().toStdString();
    // From a session, say.
    ViewOptions options = document().options();
    options.corpus = copy;
    options.measure = "corpus_entropy";
    document().set_options(options);
    ASSERT_TRUE(settle());
    EXPECT_FALSE(document().corpus().found());
    EXPECT_TRUE(window.heads_panel().corpus_note().text().contains(QStringLiteral("was run with another")));
    EXPECT_FALSE(window.heads_panel().measure_note().isHidden());
    ASSERT_TRUE(window.heads_panel().mosaic().shown());
}

TEST_F(CorpusInUse, ASentenceOpensWithItsHeadSelectedAndItsWordsPinned) {
    ASSERT_TRUE(choose("corpus-question"));
    page().question().setText(QStringLiteral("heads where VERB attends to its nsubj > 60 %"));  // few heads: cases in sight
    QTest::keyClick(&page().question(), Qt::Key_Return);
    ASSERT_TRUE(shown());
    const auto at = find(page().canvas(), [](const figure::Hit& hit) { return places_of(hit).contains("word"); });
    ASSERT_TRUE(at);
    const auto places = places_of(page().canvas().hit_at(*at));
    ASSERT_TRUE(open_example(*at));
    const corpus::WordIndex index = corpus::WordIndex::read(page().stored()->merged.arrays);
    const corpus::IndexedSentence& sentence = index.sentences().at(places.at("chunk"));
    const auto& trace = *document().trace();
    const auto pinned_text = [&](const std::vector<Position>& pins) {
        const auto& offsets = trace.encoding().offsets;
        const auto first = std::size_t(pins.front().value), last = std::size_t(pins.back().value);
        return QString::fromStdString(trace.text_a().substr(std::size_t(offsets[first].begin),
                                                            std::size_t(offsets[last].end - offsets[first].begin)))
            .trimmed();
    };
    const auto form = [&](const char* of) { return QString::fromStdString(sentence.words[std::size_t(places.at(of))].form); };
    ASSERT_FALSE(selected().pinned_queries.empty());
    ASSERT_FALSE(selected().pinned_keys.empty());
    EXPECT_EQ(pinned_text(selected().pinned_queries), form("word"));
    EXPECT_EQ(pinned_text(selected().pinned_keys), form("target"));
    EXPECT_EQ(selected().focus, (HeadId{Layer(places.at("layer")), Head(places.at("head"))}));
}

TEST_F(CorpusInUse, ALassoOnTheMapChoosesHeadsEverywhere) {
    ASSERT_TRUE(choose("corpus-map"));
    FigureCanvas& map = page().canvas();
    const auto middle = map.to_figure(QPointF(map.viewport()->width() / 2.0, map.viewport()->height() / 2.0));
    const auto area = map.shown()->brush_area(middle);
    ASSERT_TRUE(area);
    const QRectF plot(map.to_viewport(area->topLeft()), area->size() * map.zoom());
    const auto at = [&](double x, double y) { return QPointF(plot.left() + x * plot.width(), plot.top() + y * plot.height()); };
    // A triangle: the upper left half.
    const QPointF corners[] = {at(0.01, 0.01), at(0.99, 0.01), at(0.01, 0.99)};
    QWidget* viewport = map.viewport();
    QTest::mousePress(viewport, Qt::LeftButton, {}, corners[0].toPoint());
    for (const QPointF& to : {corners[0] + QPointF(20, 0), corners[1], corners[2]}) {
        QMouseEvent move(QEvent::MouseMove, to, viewport->mapToGlobal(to), Qt::NoButton, Qt::LeftButton, {});
        QCoreApplication::sendEvent(viewport, &move);
    }
    QTest::mouseRelease(viewport, Qt::LeftButton, {}, corners[2].toPoint());
    ASSERT_TRUE(settle());
    const auto filter = document().finder().filter();
    ASSERT_TRUE(filter);
    EXPECT_GT(filter->matching, 0);
    EXPECT_GT(filter->dimmed.size(), 0u);
    EXPECT_TRUE(is_head_list(document().options().finder));
    EXPECT_EQ(map.style_in_use().filter, filter) << "the page paints the others faintly too";
    EXPECT_EQ(canvas().style_in_use().filter, filter);
    // What lies in the lower right half stays out.
    int seen = 0;
    for (int y = 0; y < viewport->height(); y += 2)
        for (int x = 0; x < viewport->width(); x += 2) {
            const auto hit = map.shown()->hit_test(map.to_figure(QPointF(x, y)), map.style_in_use(), selected());
            if (!hit.head || hit.kind != figure::Hit::Kind::head) continue;
            const QPointF mark = map.to_viewport(hit.area.center());
            const double below = (mark.x() - plot.left()) / plot.width() + (mark.y() - plot.top()) / plot.height();
            if (below < 0.95 || below > 1.05) {
                ++seen;
                EXPECT_EQ(document().finder().matches(*hit.head), below < 1) << figure::head_name(*hit.head).toStdString();
            }
        }
    EXPECT_GT(seen, 20);
}

TEST(CorpusSession, KeepsWhichStoreIsUsed) {
    Session session;
    session.state.options.corpus = QStringLiteral("/texts/ewt-dev");
    session.state.options.measure = "corpus_entropy";
    session.state.options.values["head-scatter"]["x"] = "corpus_entropy";
    const Session again = session_from_json(to_json(session), "a.headlight");
    EXPECT_EQ(again.state.options, session.state.options);
    const ViewOptions left = without_corpus(again.state.options);
    EXPECT_TRUE(left.corpus.isEmpty());
    EXPECT_EQ(left.measure, "entropy");
    EXPECT_EQ(left.values.at("head-scatter").at("x"), "entropy");
}

}  // namespace corpus_in_use_test
}  // namespace headlight::ui
