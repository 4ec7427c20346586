// SPDX-License-Identifier: GPL-3.0-or-later
// Probes and coreference on the page of a corpus: a probe is run there, a cell of its confusion matrix lists its words, a case of
// coreference opens with its pair pinned.
#include "tests/ui/corpus/corpus_fixture.h"

#include <QFile>

#include <algorithm>

namespace headlight::ui {
namespace corpus_probe_page_test {

class CorpusProbePage : public CorpusTest {
protected:
    void SetUp() override {
        ASSERT_NO_FATAL_FAILURE(CorpusTest::SetUp());
        window.resize(1440, 2500);  // all of a figure is in sight
    }
    /// Runs a file of the tests' fixtures through the window's model.
    void open(const char* texts, const char* measure, std::int64_t limit) {
        CorpusOrder order;
        order.texts = QString::fromUtf8(HEADLIGHT_SOURCE_DIR "/tests/fixtures/") + QString::fromUtf8(texts);
        order.store = folder.filePath(QStringLiteral("store"));
        order.options.measures = {measure};
        order.limit = limit;
        page().run(order);
        ASSERT_TRUE(wait_for([&] { return page().stored() && window.jobs().idle(); })) << page().message().text().toStdString();
    }
};

TEST_F(CorpusProbePage, AProbeIsRunHereAndItsConfusionsListTheirWords) {
    open("treebank/ewt-excerpt.conllu", "heads", 60);
    page().choose_view(QStringLiteral("corpus-probe"));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(page().labels().isVisible());
    EXPECT_GE(page().labels().findText(QStringLiteral("depth")), 0);
    EXPECT_TRUE(page().message().text().contains(QStringLiteral("no probe of these labels"))) << "nothing was probed yet";
    page().labels().setCurrentText(QStringLiteral("upos"));
    QTest::mouseClick(&page().probe_button(), Qt::LeftButton);
    EXPECT_FALSE(page().probe_button().isEnabled()) << "one at a time";
    EXPECT_TRUE(page().stop_button().isVisible());
    ASSERT_TRUE(shown()) << page().message().text().toStdString();
    EXPECT_FALSE(page().message().isVisible()) << page().message().text().toStdString();
    EXPECT_EQ(page().labels().currentText(), QStringLiteral("upos"));
    EXPECT_GT(ink(page().canvas()), 200);
    // A cell with examples, and then one of its words.
    const auto is_cell = [](const figure::Hit& hit) { return hit.tip.contains(QStringLiteral("NOUN predicted as NOUN")); };
    const auto cell = find(page().canvas(), is_cell);
    ASSERT_TRUE(cell);
    click_page(*cell);
    ASSERT_TRUE(shown());
    const auto is_word = [](const figure::Hit& hit) {
        return std::ranges::any_of(hit.options, [](const auto& each) { return each.first == "chunk"; });
    };
    const auto word = find(page().canvas(), is_word);
    ASSERT_TRUE(word);
    const auto example = open_example(*word);
    ASSERT_TRUE(example);
    EXPECT_FALSE(selected().pinned_queries.empty());
    EXPECT_EQ(window.document().shown_prompt().text, example->text);
    // The kept result is there for another page, and other labels are not.
    page().labels().setCurrentIndex(page().labels().findText(QStringLiteral("xpos")));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(page().message().text().contains(QStringLiteral("upos"))) << "names what there is";
}

TEST_F(CorpusProbePage, AStoppedProbeLeavesThePageAsItWas) {
    open("treebank/ewt-excerpt.conllu", "heads", 60);
    page().choose_view(QStringLiteral("corpus-structural"));
    ASSERT_TRUE(settle());
    QTest::mouseClick(&page().probe_button(), Qt::LeftButton);
    QTest::mouseClick(&page().stop_button(), Qt::LeftButton);
    ASSERT_TRUE(settle());
    EXPECT_TRUE(page().message().text().startsWith(QStringLiteral("Stopped"))) << page().message().text().toStdString();
    EXPECT_TRUE(page().probe_button().isEnabled());
    EXPECT_FALSE(QFile::exists(folder.filePath(QStringLiteral("store/probes/structural/trees.json"))));
}

/// Before a click the cases are the best head's, and no dot is ringed as if it were selected.
TEST_F(CorpusProbePage, CoreferenceRingsTheHeadWhoseCasesAreChosen) {
    open("coreference/documents.conllu", "mentions", 0);
    ASSERT_TRUE(choose("corpus-coreference"));
    EXPECT_EQ(page().canvas().selection().focus, (HeadId{Layer(-1), Head(-1)}));
    const auto dot = find(page().canvas(), [](const figure::Hit& hit) { return hit.kind == figure::Hit::Kind::head; });
    ASSERT_TRUE(dot);
    const HeadId head = page().canvas().hit_at(*dot).head.value();
    click_page(*dot);
    ASSERT_TRUE(shown());
    EXPECT_EQ(page().canvas().selection().focus, head);
}

TEST_F(CorpusProbePage, ACaseOfCoreferenceOpensWithItsPairPinned) {
    open("coreference/documents.conllu", "mentions", 0);
    ASSERT_TRUE(choose("corpus-coreference"));
    const auto is_case = [](const figure::Hit& hit) {
        return std::ranges::any_of(hit.options, [](const auto& each) { return each.first == "key"; });
    };
    const auto at = find(page().canvas(), is_case);
    ASSERT_TRUE(at);
    const auto place = places_of(page().canvas().hit_at(*at));
    const auto example = open_example(*at);
    ASSERT_TRUE(example);
    EXPECT_EQ(window.document().shown_prompt().text, example->text);
    EXPECT_EQ(selected().pinned_queries, example->queries);
    EXPECT_EQ(selected().pinned_keys, example->keys);
    ASSERT_FALSE(example->keys.empty());
    // The whole document is one chunk, so that tokens are the same in the window.
    EXPECT_EQ(example->queries.front().value, place.at("query"));
    EXPECT_EQ(example->keys.back().value, place.at("key_last"));
    EXPECT_EQ(selected().focus, (HeadId{Layer(place.at("layer")), Head(place.at("head"))}));
}

}  // namespace corpus_probe_page_test
}  // namespace headlight::ui
