// SPDX-License-Identifier: GPL-3.0-or-later
// A model with encoder and decoder in the window: which of its three attentions everything shows.
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/figure/core/view_places.h"
#include "tests/ui/window_fixture.h"
#include "ui/canvas/recipe.h"
#include "ui/window/command_palette.h"

#include <QApplication>
#include <QClipboard>

namespace headlight::ui {
namespace encoder_decoder_test {

using model::Stack;

class EncoderDecoderWindow : public WindowTest {
protected:
    void SetUp() override {
        window.resize(1440, 900);
        window.show();
        set_texts(QStringLiteral("the cat, the hat: the cat"), QStringLiteral("die Katze, die"));
        open("t5");
        ASSERT_TRUE(trace().part(Stack::cross));
    }
    void open(const char* name) {
        ASSERT_TRUE(opened(QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/encoder_decoders/") + QLatin1String(name)));
    }
    void choose(Stack stack) {
        window.tool_row().attention().button(stack).click();
        ASSERT_TRUE(settle());
        ASSERT_EQ(window.document().attention(), stack);
    }
    /// The whole run, whatever is shown.
    const trace::Trace& trace() { return *window.document().run_trace(); }
    const std::shared_ptr<const trace::Trace>& shown() { return window.document().trace(); }
    TokenStrip& strip() { return window.prompt_bar().tokens(); }
};

TEST_F(EncoderDecoderWindow, TheSwitchChoosesWhatEverythingShows) {
    ASSERT_TRUE(window.tool_row().attention().isVisible());
    EXPECT_TRUE(window.tool_row().attention().button(Stack::decoder).isChecked());
    EXPECT_EQ(shown(), window.document().run_trace());
    for (const Stack stack : {Stack::encoder, Stack::cross, Stack::decoder}) {
        choose(stack);
        for (const Stack each : {Stack::encoder, Stack::cross, Stack::decoder})
            EXPECT_EQ(window.tool_row().attention().button(each).isChecked(), each == stack);
        const auto part = trace::part_of(window.document().run_trace(), stack);
        EXPECT_EQ(shown(), part);
        for (const View view : {"head", "matrix", "model", "neuron"}) {
            ASSERT_TRUE(show_view(view));
            ASSERT_TRUE(window.left_pane().shown()) << view;
            EXPECT_EQ(window.left_pane().shown()->trace, part) << view;
        }
        // Mosaic and finder are of these heads.
        const double entropy = analyze::head_measure(*part, {Layer(1), Head(0)}, "entropy");
        EXPECT_EQ((*window.document().head_table()->find("entropy"))(1, 0), entropy);
        const figure::Table mosaic = window.heads_panel().mosaic().shown()->table();
        EXPECT_EQ(mosaic.rows.size(), std::size_t(part->config().n_layers * part->config().n_heads));
        EXPECT_EQ(window.heads_panel().model().rowCount(), int(part->config().n_layers * part->config().n_heads));
        EXPECT_FALSE(window.error_panel().isVisible());
    }
    ASSERT_TRUE(opened(QStringLiteral("novella-7m")));
    EXPECT_FALSE(window.tool_row().attention().isVisible());
    EXPECT_FALSE(window.action(Command::attention_cross).isEnabled());
}

TEST_F(EncoderDecoderWindow, CrossAttentionGoesFromTargetToSourceEverywhere) {
    choose(Stack::cross);
    ASSERT_TRUE(show_view("matrix"));
    const auto& figure = *window.left_pane().canvas().shown();
    const figure::Table table = figure.table();
    for (const char* column : {"target", "target_token", "source", "source_token"})
        EXPECT_NE(std::find(table.columns.begin(), table.columns.end(), column), table.columns.end()) << column;
    // The strip has both texts: a click on the source pins a key, on the target a query.
    const auto click = [&](QRect chip) { QTest::mouseClick(strip().viewport(), Qt::LeftButton, {}, chip.center()); };
    const std::int64_t last_source = trace().part(Stack::encoder)->tokens() - 1;
    ASSERT_GT(last_source, trace().tokens()) << "proves nothing: keys within the target";
    ASSERT_TRUE(strip().source_rect(Position(last_source)).isValid());
    window.document().selection().clear_pins();
    click(strip().source_rect(Position(last_source)));
    click(strip().chip_rect(Position(2)));
    EXPECT_EQ(selected().pinned_keys, std::vector{Position(last_source)});
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(2)});
    ASSERT_TRUE(settle());
    EXPECT_EQ(strip().role(Position(2)), QStringLiteral("target"));
    // The inspector has the weight of that pair.
    const double weight = double(analyze::pattern_row(*shown(), {selected().focus}, 2, {})(0, last_source));
    ASSERT_TRUE(window.inspector().chain());
    EXPECT_NEAR(window.inspector().chain()->weight, weight, 1e-6);
    // Words of the finder: from the target, to the source.
    window.heads_panel().finder().setText(QString());
    QTest::keyClicks(&window.heads_panel().finder(), QStringLiteral("attention from 2 to %1 > 0").arg(last_source));
    ASSERT_TRUE(settle());
    EXPECT_FALSE(window.document().finder().mistake());
    ASSERT_EQ(window.document().finder().query().terms().size(), 1u);
    EXPECT_NEAR(window.document().finder().query().terms()[0].values(selected().focus.layer.value, selected().focus.head.value),
                weight, 1e-6);
}

TEST_F(EncoderDecoderWindow, PinsStayWithTheTextThatBothAttentionsHave) {
    window.document().selection().pin_pair({Layer(1), Head(1)}, Position(3), Position(1));
    choose(Stack::cross);
    EXPECT_EQ(selected().focus, (HeadId{Layer(1), Head(1)}));
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(3)});
    EXPECT_TRUE(selected().pinned_keys.empty()) << "a token of the target is none of the source";
    window.document().selection().pin_key(Position(4), false);
    choose(Stack::encoder);
    EXPECT_EQ(selected().pinned_keys, std::vector{Position(4)});
    choose(Stack::decoder);
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(3)});
    EXPECT_EQ(selected().pinned_keys, std::vector{Position(1)});
}

TEST_F(EncoderDecoderWindow, UndoSessionsAndCommandsHaveTheChoice) {
    const State before = window.document().state();
    window.history().clear();
    choose(Stack::cross);
    const State after = window.document().state();
    QUndoStack& stack = window.history().stack();
    ASSERT_EQ(stack.count(), 1) << "one step";
    stack.undo();
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.document().state(), before);
    EXPECT_EQ(window.document().attention(), Stack::decoder);
    stack.redo();
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.document().state(), after);
    EXPECT_EQ(window.left_pane().shown()->trace, shown());
    EXPECT_TRUE(window.command_for_shown().contains(QStringLiteral(" --attention cross ")));

    QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("a.headlight"));
    window.document().selection().pin_pair({Layer(1), Head(0)}, Position(2),
                                           Position(trace().part(Stack::encoder)->tokens() - 1));
    ASSERT_TRUE(settle());
    ASSERT_TRUE(window.save_to(file));
    MainWindow other;
    ASSERT_TRUE(opened_in(other, file));
    EXPECT_EQ(other.document().attention(), Stack::cross);
    EXPECT_EQ(other.session(), window.session());
}

TEST_F(EncoderDecoderWindow, KeysAndPaletteChooseToo) {
    for (const Stack stack : {Stack::encoder, Stack::cross, Stack::decoder}) {
        QTest::keyClick(&window.left_pane().canvas(), Qt::Key_X);
        ASSERT_TRUE(settle());
        EXPECT_EQ(window.document().attention(), stack);
    }
    ASSERT_TRUE(trigger(Command::attention_encoder));
    EXPECT_EQ(window.document().attention(), Stack::encoder);
    window.action(Command::copy_command).trigger();
    EXPECT_TRUE(QApplication::clipboard()->text().contains(QStringLiteral("--attention encoder")));
}

TEST_F(EncoderDecoderWindow, EveryViewShowsEachAttentionOrSaysWhy) {
    // An encoder is what every encoder is; BART has a norm behind every sub-layer.
    for (const auto& [name, stack] : {std::pair("t5", Stack::cross), std::pair("bart", Stack::decoder)}) {
        open(name);
        window.document().set_attention(stack);
        int drawn = 0;
        for (const figure::ViewSpec& spec : figure::view_specs()) {
            if (!figure::seat_of(spec.id)) continue;  // on the page of the model
            ASSERT_TRUE(show_view(spec.id)) << spec.id;
            EXPECT_FALSE(window.error_panel().isVisible())
                << name << " " << spec.id << ": " << window.error_panel().message().toStdString();
            const bool missing = spec.missing && !spec.missing(*shown()).empty();
            EXPECT_EQ(!window.left_pane().shown(), missing) << name << " " << spec.id;
            if (missing) continue;
            EXPECT_GT(ink(window.left_pane().canvas()), 1000) << name << " " << spec.id;
            ++drawn;
        }
        EXPECT_GT(drawn, 10) << name;
    }
}

TEST_F(EncoderDecoderWindow, EditingKeepsTheChoiceAndThePins) {
    choose(Stack::cross);
    window.document().selection().pin_pair({Layer(1), Head(1)}, Position(2), Position(3));
    const std::string pinned = shown()->key_encoding().tokens[3];
    set_text(QStringLiteral("oh, the cat, the hat: the cat"));
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.document().attention(), Stack::cross);
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(2)});
    ASSERT_EQ(selected().pinned_keys.size(), 1u);
    EXPECT_GT(selected().pinned_keys[0], Position(3));
    EXPECT_EQ(shown()->key_encoding().tokens[std::size_t(selected().pinned_keys[0].value)], pinned);
}

TEST_F(EncoderDecoderWindow, PredictionsStayUnderTheTarget) {
    window.document().edit_options([&](ViewOptions& o) { o.predictions = true; });
    ASSERT_TRUE(settle());
    const QString third = strip().prediction_text(Position(2));
    EXPECT_FALSE(third.isEmpty());
    choose(Stack::cross);
    EXPECT_EQ(strip().prediction_text(Position(2)), third);
    choose(Stack::encoder);
    EXPECT_TRUE(strip().prediction_text(Position(2)).isEmpty());
}

}  // namespace encoder_decoder_test
}  // namespace headlight::ui
