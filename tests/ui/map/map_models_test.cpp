// SPDX-License-Identifier: GPL-3.0-or-later
// The page of the map with encoders, encoder-decoder models and pictures.
#include "headlight/analyze/pattern/pattern_view.h"
#include "tests/ui/window_fixture.h"
#include "ui/map/map_window.h"
#include "ui/style/widgets.h"

namespace headlight::ui {
namespace map_models_test {

using model::Stack;

const QString fixtures = QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/");

class MapModels : public WindowTest {
protected:
    void open(const QString& name) {
        window.open(fixtures + name);
        ASSERT_TRUE(
            wait_for([&] { return !window.document().opening() && window.document().model().reference == fixtures + name; }));
    }
    MapWindow& page() { return *window.map(); }
    bool drawn() {
        return wait_for([&] {
            return window.jobs().idle() && page().canvas().figure() && !page().settling() &&
                   page().texts()->opened().model == window.document().model().model;
        });
    }
    const map::QueryKeyMap& shown() { return page().canvas().figure()->map(); }
    void show_map() {
        window.action(Command::map).trigger();
        ASSERT_TRUE(drawn()) << page().message().text().toStdString();
        EXPECT_FALSE(page().message().isVisible()) << page().message().text().toStdString();
    }
    /// The attention of a query is a row of the model's, and of a key a column.
    void check_attention(std::int32_t point) {
        const HeadId head{Layer(1), Head(0)};
        page().show_head(head);
        Q_EMIT page().canvas().point_clicked({*page().canvas().figure()->index_of(head), point});
        ASSERT_TRUE(drawn());
        const figure::MapToken token = figure::map_token(shown(), point);
        const auto& weights = page().token_panel().sentence().content().weights;
        const analyze::Matrix pattern = analyze::pattern(*window.document().trace(), head, {});
        ASSERT_EQ(std::ssize(weights), token.key ? pattern.rows() : pattern.cols());
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const auto other = static_cast<Eigen::Index>(i), own = static_cast<Eigen::Index>(token.position().value);
            EXPECT_NEAR(weights[i], token.key ? pattern(other, own) : pattern(own, other), 1e-6);
        }
    }
};

TEST_F(MapModels, TheAttentionOfAnEncoderDecoderModelIsTheWindows) {
    set_texts(QStringLiteral("the cat, the hat: the cat"), QStringLiteral("die Katze, die"));
    open(QStringLiteral("encoder_decoders/t5"));
    ASSERT_TRUE(settle());
    show_map();
    EXPECT_TRUE(shown().source.tokens.empty());
    window.tool_row().attention().button(Stack::cross).click();
    ASSERT_TRUE(drawn());
    ASSERT_FALSE(shown().source.tokens.empty()) << "queries of the target, keys of the source";
    const auto target = static_cast<std::int32_t>(map::query_count(shown()));
    EXPECT_EQ(target, window.document().trace()->tokens());
    check_attention(1);
    check_attention(target + 2);
    EXPECT_FALSE(page().typed_field().isEnabled());
    // Chosen on the page, the window follows.
    MapOrder order = page().order();
    order.gather.stack = Stack::encoder;
    page().draw(order);
    ASSERT_TRUE(drawn());
    EXPECT_EQ(window.document().attention(), Stack::encoder);
    EXPECT_TRUE(shown().source.tokens.empty());
    EXPECT_EQ(std::ssize(shown().tokens.tokens), window.document().trace()->tokens());
}

TEST_F(MapModels, AMapOfAFilesTextsSaysWhoseItIsWhenAnotherModelOpens) {
    show_map();
    QTemporaryDir folder;
    MapOrder order = page().order();
    order.texts = folder.filePath(QStringLiteral("texts.txt"));
    ASSERT_TRUE(write_file(order.texts, "The cat and the hat.\nThe dog and the log.\n"));
    page().draw(order);
    ASSERT_TRUE(wait_for([&] { return drawn() && shown().tokens.names.size() == 2; }));
    const auto before = page().canvas().figure();
    open(QStringLiteral("models/gpt2"));
    ASSERT_TRUE(settle());
    EXPECT_EQ(page().canvas().figure(), before);
    EXPECT_TRUE(page().message().text().startsWith(
        QStringLiteral("This map of novella-7m was made before the window opened gpt2: choose its texts again")))
        << page().message().text().toStdString();
    page().draw(page().order());
    ASSERT_TRUE(drawn());
    EXPECT_TRUE(page().message().text().isEmpty()) << page().message().text().toStdString();
}

TEST_F(MapModels, AnEncodersSpecialTokensStandApart) {
    type_text(QStringLiteral("the cat and the hat"));
    open(QStringLiteral("models/bert-mlm"));
    ASSERT_TRUE(settle());
    ASSERT_TRUE(window.document().up_to_date()) << window.error_panel().message().toStdString();
    show_map();
    const auto apart = std::ranges::count(shown().tokens.apart, 1);
    EXPECT_GE(apart, 2) << "[CLS] and [SEP]";
    check_attention(2);
    check_attention(static_cast<std::int32_t>(map::query_count(shown())) + 1);
}

TEST_F(MapModels, APicturesPatchesArePoints) {
    open(QStringLiteral("models/vit"));
    ASSERT_TRUE(opened(fixtures + QStringLiteral("pictures/shapes.png")));
    show_map();
    EXPECT_EQ(std::ssize(shown().tokens.tokens), window.document().trace()->tokens());
    check_attention(3);
    EXPECT_FALSE(page().typed_field().isEnabled());
    choose_value(page().search_kind(), map::SearchKind::positions);
    page().search_field().setText(QStringLiteral("1-3"));
    ASSERT_TRUE(wait_for([&] { return page().canvas().look().marked != nullptr; }));
    EXPECT_EQ(std::ranges::count(*page().canvas().look().marked, 1), 6);
    // Beside the map the picture itself, and the command names it.
    const SentenceView::Content& content = page().token_panel().sentence().content();
    ASSERT_EQ(std::ssize(content.patches), window.document().trace()->tokens());
    EXPECT_TRUE(content.patches[0].isNull()) << "[CLS]";
    EXPECT_FALSE(content.patches[1].isNull());
    EXPECT_EQ(page().token_panel().sentence().place(2).top(), page().token_panel().sentence().place(1).top());
    const Exportable what = page().exportable();
    const auto provenance = what.provenance(*what.figure({}), {}, "png");
    EXPECT_NE(provenance.command.find("--image " HEADLIGHT_SOURCE_DIR "/tests/fixtures/pictures/shapes.png"), std::string::npos)
        << provenance.command;
}

TEST_F(MapModels, AFolderOfPicturesIsOneMapAndEachOpensInTheWindow) {
    open(QStringLiteral("models/vit"));
    ASSERT_TRUE(opened(fixtures + QStringLiteral("pictures/shapes.png")));
    show_map();
    MapOrder order = page().order();
    order.texts = fixtures + QStringLiteral("pictures");
    page().draw(order);
    ASSERT_TRUE(drawn()) << page().message().text().toStdString();
    ASSERT_EQ(shown().tokens.names, (std::vector<std::string>{"scene.png", "shapes.png", "turned.jpg"}));
    const auto each = static_cast<std::int32_t>(map::query_count(shown()) / 3);
    Q_EMIT page().canvas().point_clicked({0, 3});  // of the scene
    ASSERT_TRUE(drawn());
    page().token_panel().open_button().click();
    ASSERT_TRUE(wait_for([&] { return window.document().prompt().image.endsWith(QStringLiteral("scene.png")); }));
    ASSERT_TRUE(settle());
    EXPECT_EQ(selected().pinned_queries, std::vector<Position>{Position(3)});
    EXPECT_EQ(window.document().trace()->tokens(), each);
}

}  // namespace map_models_test
}  // namespace headlight::ui
