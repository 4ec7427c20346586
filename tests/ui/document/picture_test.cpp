// SPDX-License-Identifier: GPL-3.0-or-later
// Models that read pictures in the window: a picture in place of the text.
#include "tests/ui/window_fixture.h"

namespace headlight::ui {
namespace picture_test {

const QString fixtures = QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/");
const QString shapes = fixtures + QStringLiteral("pictures/shapes.png");

class PictureWindow : public WindowTest {
protected:
    /// Opens a model and waits for it, not for a run: a model of pictures has nothing to run at first.
    void open_model(const QString& name) {
        window.open(name);
        ASSERT_TRUE(wait_for([&] {
            return window.jobs().idle() && !window.document().opening() && window.document().model().reference == name;
        })) << window.error_panel().message().toStdString();
    }
    void open_vit() {
        open_model(fixtures + QStringLiteral("models/vit"));
        ASSERT_TRUE(opened(shapes));
        ASSERT_TRUE(window.document().trace());
        ASSERT_TRUE(window.document().trace()->picture().pixels);
    }
    std::string view() { return window.left_pane().view(); }
};

TEST_F(PictureWindow, APictureStandsInPlaceOfTheText) {
    EXPECT_FALSE(window.prompt_bar().image_button().isVisible());
    EXPECT_FALSE(window.tool_row().views().pill("picture").isVisible());
    open_model(fixtures + QStringLiteral("models/vit"));
    EXPECT_FALSE(window.prompt_bar().text().isVisible());
    ASSERT_TRUE(window.prompt_bar().image_button().isVisible());
    EXPECT_TRUE(window.prompt_bar().image_button().text().startsWith(QStringLiteral("Open picture")));
    EXPECT_TRUE(window.tool_row().views().pill("picture").isVisible());
    EXPECT_EQ(view(), "picture");
    EXPECT_TRUE(canvas().hasFocus());
    EXPECT_FALSE(window.document().trace());
    EXPECT_FALSE(window.error_panel().isVisible());
    ASSERT_TRUE(opened(shapes));
    EXPECT_EQ(window.prompt_bar().image_button().text(), QStringLiteral("shapes.png"));
    ASSERT_TRUE(canvas().shown());
    EXPECT_EQ(canvas().shown()->view(), "picture");
    EXPECT_EQ(window.heads_panel().measure(), "entropy");
    EXPECT_TRUE(window.heads_panel().measure_note().isHidden()) << "nobody has asked for another one";
    EXPECT_EQ(window.document().trace()->tokens(), 13);
    // A text and its views come back.
    open_model(QStringLiteral("novella-7m"));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(window.prompt_bar().text().isVisible());
    EXPECT_FALSE(window.prompt_bar().image_button().isVisible());
    EXPECT_EQ(view(), "head");
}

TEST_F(PictureWindow, AClickedPatchIsTheQueryOfEveryView) {
    open_vit();
    const auto patch = token(figure::Hit::Kind::query, 8);
    ASSERT_TRUE(patch);
    click(*patch);
    EXPECT_EQ(selected().pinned_queries, std::vector<Position>{Position(8)});
    ASSERT_TRUE(settle());
    const figure::Table table = canvas().shown()->table();
    EXPECT_EQ(std::get<std::int64_t>(table.rows.front().at(2)), 8);
    window.document().selection().all_heads();
    ASSERT_TRUE(settle());
    EXPECT_EQ(canvas().shown()->table().rows.size(), 4u * 13u);
    EXPECT_TRUE(window.command_for_shown().contains(QStringLiteral("--image"))) << window.command_for_shown().toStdString();
    EXPECT_FALSE(window.command_for_shown().contains(QStringLiteral("--text")));
    for (const figure::ViewSpec& spec : figure::view_specs()) {
        ASSERT_TRUE(show_view(spec.id));
        EXPECT_FALSE(window.error_panel().isVisible()) << spec.id << ": " << window.error_panel().message().toStdString();
        const bool has = !spec.missing || spec.missing(*window.document().trace()).empty();
        EXPECT_EQ(window.active_pane().canvas().shown() != nullptr, has) << spec.id;
    }
}

TEST_F(PictureWindow, ASessionKeepsThePictureAndTheView) {
    open_vit();
    window.show_view("matrix");
    window.document().selection().pin_query(Position(5), false);
    const QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("s.headlight"));
    ASSERT_TRUE(window.save_to(file));
    open_model(QStringLiteral("novella-7m"));
    ASSERT_TRUE(settle());
    window.open(file);
    ASSERT_TRUE(
        wait_for([&] { return window.jobs().idle() && window.document().model().reference.endsWith(QStringLiteral("vit")); }));
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.document().prompt().image, shapes);
    ASSERT_TRUE(window.document().trace());
    EXPECT_EQ(window.document().trace()->tokens(), 13);
    EXPECT_EQ(view(), "matrix");
    EXPECT_EQ(selected().pinned_queries, std::vector<Position>{Position(5)});
}

TEST_F(PictureWindow, WhatIsNoPictureIsToldAndTheLastOneStays) {
    open_vit();
    const QTemporaryDir folder;
    const QString broken = folder.filePath(QStringLiteral("broken.png"));
    ASSERT_TRUE(write_file(broken, "no picture"));
    ASSERT_TRUE(opened(broken));
    ASSERT_TRUE(window.error_panel().isVisible());
    EXPECT_TRUE(window.error_panel().message().contains(QStringLiteral("broken.png")))
        << window.error_panel().message().toStdString();
    window.open(shapes);
    // The message stands until the run begins that replaces it: settle() would end at once.
    EXPECT_TRUE(wait_for([&] { return !window.error_panel().isVisible(); }));
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.document().trace()->tokens(), 13);
}

TEST_F(PictureWindow, WhatIsAboutTextsSaysSo) {
    open_model(fixtures + QStringLiteral("models/vit"));
    for (QAction* action : {&window.action(Command::pair), &window.action(Command::add_texts)}) {
        EXPECT_FALSE(action->isEnabled());
        EXPECT_TRUE(action->toolTip().contains(QStringLiteral("reads a picture"))) << action->toolTip().toStdString();
    }
    window.example(0).trigger();
    EXPECT_TRUE(window.status_strip().text().contains(QStringLiteral("reads a picture")));
    EXPECT_FALSE(window.document().prompt().has_pair);
    window.action(Command::edit_text).trigger();
    EXPECT_TRUE(window.prompt_bar().image_button().hasFocus());
    EXPECT_FALSE(window.action(Command::generate).isEnabled());
    window.prompt_bar().generate_button().click();
    EXPECT_TRUE(window.error_panel().isVisible());
}

TEST_F(PictureWindow, AModelOfTextsTakesNone) {
    window.open(shapes);
    ASSERT_TRUE(window.error_panel().isVisible());
    EXPECT_TRUE(window.error_panel().message().contains(QStringLiteral("reads text")))
        << window.error_panel().message().toStdString();
    EXPECT_TRUE(window.document().prompt().image.isEmpty());
    EXPECT_TRUE(window.document().up_to_date());
}

TEST_F(PictureWindow, TheTowersOfClipAreOneActionApart) {
    const QString clip = fixtures + QStringLiteral("models/clip");
    open_model(clip);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(window.document().trace()) << "the text tower reads the example sentence";
    EXPECT_TRUE(window.action(Command::other_tower).isVisible());
    window.open(shapes);
    EXPECT_TRUE(window.error_panel().message().contains(QStringLiteral("text tower")))
        << window.error_panel().message().toStdString();
    window.action(Command::other_tower).trigger();
    ASSERT_TRUE(wait_for(
        [&] { return window.jobs().idle() && window.document().model().reference == clip + QStringLiteral("#vision"); }));
    EXPECT_EQ(view(), "picture");
    ASSERT_TRUE(opened(shapes));
    EXPECT_EQ(window.document().trace()->tokens(), 10);
    window.action(Command::other_tower).trigger();
    ASSERT_TRUE(
        wait_for([&] { return window.jobs().idle() && window.document().model().reference == clip + QStringLiteral("#text"); }));
    EXPECT_EQ(window.document().model().model->config().family, "clip-text");
}

}  // namespace picture_test
}  // namespace headlight::ui
