// SPDX-License-Identifier: GPL-3.0-or-later
// The window that `headlight open MODEL --view … --layer … --head … --query … --key …` asks for.
#include "tests/ui/window_fixture.h"
#include "ui/app.h"

namespace headlight::ui {
namespace first_look_test {

class FirstLookWindow : public testing::Test {
protected:
    /// Until the text has been run, and a pair that is looked for was found.
    [[nodiscard]] bool started(const WindowOptions& options) {
        window.resize(1440, 900);
        window.show();
        start_document(window, options);
        return wait_for([&] { return window.jobs().idle() && !document().probe().pending() && document().up_to_date(); });
    }
    Document& document() { return window.document(); }
    const figure::Selection& selected() { return document().selection().get(); }
    MainWindow window;
};

TEST_F(FirstLookWindow, HasTheViewTheHeadAndThePairOfTheCommandLine) {
    ASSERT_TRUE(started({.model = "novella-7m",
                         .text = "The doctor asked the nurse.",
                         .view = "matrix",
                         .look = {.layer = Layer(2), .heads = {Head(3)}, .query = Position(4), .key = Position(1)}}));
    EXPECT_EQ(document().views().left, "matrix");
    EXPECT_EQ(selected().focus, (HeadId{Layer(2), Head(3)}));
    EXPECT_EQ(selected().heads, std::vector{Head(3)});
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(4)});
    EXPECT_EQ(selected().pinned_keys, std::vector{Position(1)});
    EXPECT_FALSE(window.error_panel().isVisible()) << window.error_panel().message().toStdString();
    EXPECT_FALSE(window.history().stack().canUndo()) << "it is how the window starts";
    // The next model starts with its own interesting head.
    window.open(QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/attention/bert.npz"));
    ASSERT_TRUE(
        wait_for([&] { return window.jobs().idle() && document().model().reference.endsWith(QStringLiteral("bert.npz")); }));
    EXPECT_EQ(selected().focus, analyze::interesting_head(*document().head_table()));
}

TEST_F(FirstLookWindow, FindsThePairOfAHeadThatIsNamedAlone) {
    ASSERT_TRUE(
        started({.model = "novella-7m", .text = "The doctor asked the nurse.", .look = {.layer = Layer(4), .heads = {Head(5)}}}));
    const auto pair = analyze::interesting_pair(*document().trace(), {Layer(4), Head(5)});
    EXPECT_EQ(selected().focus, (HeadId{Layer(4), Head(5)})) << "also after the probe has run";
    EXPECT_EQ(selected().pinned_queries, std::vector{pair.query});
    EXPECT_EQ(selected().pinned_keys, std::vector{pair.key});
}

TEST_F(FirstLookWindow, SaysWhatTheTextDoesNotHaveAndSelectsTheNearest) {
    ASSERT_TRUE(started({.model = "novella-7m", .text = "The doctor.", .look = {.layer = Layer(9), .query = Position(99)}}));
    ASSERT_TRUE(wait_for([&] { return window.error_panel().isVisible(); }));
    const QString message = window.error_panel().message();
    for (const char* part : {"The command line selects", "--layer", "0 to 5", "9", "nearest"})
        EXPECT_TRUE(message.contains(QLatin1String(part))) << part << ": " << message.toStdString();
    EXPECT_EQ(selected().layer, Layer(5));
}

TEST_F(FirstLookWindow, OpensAPageOfTheModelAndTheAttentionOfADecoder) {
    ASSERT_TRUE(
        started({.model = HEADLIGHT_SOURCE_DIR "/tests/fixtures/encoder_decoders/t5",
                 .text = "the cat, the hat: the cat",
                 .pair = "die Katze, die",
                 .view = "architecture",
                 .look = {.attention = model::Stack::cross, .layer = Layer(1), .query = Position(2), .key = Position(3)}}));
    ASSERT_TRUE(wait_for([&] { return window.page() == Page::model; }));
    EXPECT_EQ(document().attention(), model::Stack::cross);
    EXPECT_EQ(document().trace(), document().run_trace()->part(model::Stack::cross));
    EXPECT_EQ(selected().focus, (HeadId{Layer(1), Head(0)}));
    EXPECT_EQ(selected().pinned_keys, std::vector{Position(3)});
}

}  // namespace first_look_test
}  // namespace headlight::ui
