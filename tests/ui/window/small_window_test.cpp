// SPDX-License-Identifier: GPL-3.0-or-later
// Windows with little room: nothing lies over another, and nothing is beyond the screen.
#include "tests/ui/window_fixture.h"
#include "ui/style/fit_windows.h"

#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>

namespace headlight::ui {
namespace small_window_test {

class SmallWindowTest : public WindowTest {
protected:
    /// The parts of the window that are there, from top to bottom.
    void expect_apart(const char* when) {
        std::vector<std::pair<const char*, QRect>> parts;
        for (const auto& [name, widget] : {std::pair<const char*, QWidget*>{"prompt", &window.prompt_bar()},
                                           {"tools", &window.tool_row()},
                                           {"strip", &window.edit_strip()},
                                           {"message", &window.error_panel()},
                                           {"view", &window.left_pane()},
                                           {"edits", &window.edits_panel()},
                                           {"status", &window.status_strip()}})
            if (widget->isVisible()) parts.emplace_back(name, QRect(widget->mapTo(&window, QPoint()), widget->size()));
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const auto& [name, place] = parts[i];
            EXPECT_TRUE(window.rect().contains(place)) << when << ": " << name;
            EXPECT_GE(place.height(), 24) << when << ": " << name;
            for (std::size_t j = 0; j < i; ++j)
                EXPECT_FALSE(place.intersects(parts[j].second)) << when << ": " << name << " over " << parts[j].first;
        }
    }
    [[nodiscard]] bool laid_out(QSize size) {
        window.resize(size);
        if (!settle()) return false;
        QTest::qWait(0);
        QCoreApplication::processEvents();
        return window.size() == size;
    }
};

TEST_F(SmallWindowTest, EditsAndAMessageLeaveRoomForTheView) {
    ASSERT_TRUE(trigger(Command::edits));
    const int usual = window.edits_panel().sizeHint().height();
    for (const char* words : {"zero L1H2", "zero L3H4", "scale L5H7 0.5", "zero L2.mlp"})
        window.add_edit(QLatin1String(words), false);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(laid_out({900, 600}));
    expect_apart("edits");
    EXPECT_GE(window.left_pane().height(), 240) << "a title, a legend and some rows between them";
    window.show_failure({QStringLiteral("Opening /some/folder/with/a/rather/long/name"),
                         {.problem = "No such model",
                          .file = "/some/folder/with/a/rather/long/name",
                          .expected = "a folder with config.json, a .gguf file, a built-in name (novella-7m) or an id in the "
                                      "Hugging Face cache",
                          .hint = "Check the path"}});
    ASSERT_TRUE(settle());
    expect_apart("edits and a message");
    auto* scrolls = window.error_panel().findChild<QScrollArea*>();
    ASSERT_TRUE(laid_out(window.minimumSize()));
    expect_apart("the smallest window with a message");
    EXPECT_GT(scrolls->verticalScrollBar()->maximum(), 0);
    ASSERT_TRUE(laid_out({1440, 900}));
    EXPECT_EQ(scrolls->verticalScrollBar()->maximum(), 0) << "there is room for the whole message";
    window.error_panel().hide();
    ASSERT_TRUE(laid_out(window.minimumSize()));
    expect_apart("the smallest window");
    ASSERT_TRUE(laid_out({1440, 900}));
    EXPECT_EQ(window.edits_panel().height(), usual) << "it comes back with the room";
}

/// Of the example: what is wider than the canvas would be cut at its edge.
TEST_F(SmallWindowTest, NoViewIsWiderThanItsCanvas) {
    ASSERT_TRUE(laid_out({900, 600}));
    for (const figure::ViewSpec& spec : figure::view_specs()) {
        if (spec.compares || (spec.missing && !spec.missing(*window.document().trace()).empty())) continue;
        ASSERT_TRUE(show_view(spec.id)) << spec.id;
        EXPECT_EQ(canvas().horizontalScrollBar()->maximum(), 0) << spec.id;
    }
}

TEST(FitWindows, WindowsOpenInsideTheScreen) {
    EXPECT_EQ(placed_in({0, 24, 900, 576}, {-4, 10, 1188, 840}), QRect(0, 24, 900, 576));
    EXPECT_EQ(placed_in({0, 24, 900, 576}, {500, 300, 600, 400}), QRect(300, 200, 600, 400));
    EXPECT_EQ(placed_in({0, 0, 1440, 900}, {20, 30, 800, 600}), QRect(20, 30, 800, 600));
    const FitWindows fits(*qApp);
    QWidget large;
    const QSize room = large.screen()->availableGeometry().size();
    large.resize(room + QSize(400, 100));
    large.show();
    EXPECT_LE(large.width(), room.width());
    EXPECT_LE(large.height(), room.height());
}

}  // namespace small_window_test
}  // namespace headlight::ui
