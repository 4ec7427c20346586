// SPDX-License-Identifier: GPL-3.0-or-later
// Keys, menus and the size of the window.
#include "tests/ui/window_fixture.h"
#include "ui/window/command_palette.h"

#include <QApplication>
#include <QHelpEvent>
#include <QToolTip>

namespace headlight::ui {
namespace menu_test {

TEST_F(WindowTest, TheFirstKeysAreForTheView) {
    window.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window, longest_wait_ms));
    ASSERT_EQ(QApplication::focusWidget(), &canvas());
    const std::int64_t layer = selected().layer.value;
    QTest::keyClick(QApplication::focusWidget(), layer > 0 ? Qt::Key_Up : Qt::Key_Down);
    EXPECT_NE(selected().layer.value, layer);
    const QString text = window.document().prompt().text;
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_3);
    EXPECT_EQ(window.document().views().left, "model");
    EXPECT_EQ(window.document().prompt().text, text);
}

TEST_F(WindowTest, F10OpensTheMenusWhichFoldAgain) {
    window.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window, longest_wait_ms));
    EXPECT_FALSE(window.menus().isVisible());
    QTest::keyClick(&canvas(), Qt::Key_F10);
    const HeadId head = selected().focus;
    QTest::keyClick(&canvas(), Qt::Key_Right);
    EXPECT_EQ(selected().focus, head) << "keys are the menu's";
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_TRUE(menu);
    EXPECT_TRUE(window.menus().isVisible());
    EXPECT_TRUE(menu->actions().contains(&window.action(Command::open_model)));
    QTest::keyClick(menu, Qt::Key_Escape);
    EXPECT_TRUE(wait_for([&] { return !window.menus().isVisible(); }));
    EXPECT_EQ(window.focusWidget(), &canvas());
}

TEST_F(WindowTest, ATapOnAltOpensTheMenus) {
    window.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window, longest_wait_ms));
    ASSERT_EQ(QApplication::activeWindow(), &window);
    for (const Qt::Key key : {Qt::Key_Q, Qt::Key_2}) {  // nothing, and the shortcut of a question
        QTest::keyPress(&canvas(), Qt::Key_Alt);
        QTest::keyClick(&canvas(), key, Qt::AltModifier);
        QTest::keyRelease(&canvas(), Qt::Key_Alt);
        EXPECT_FALSE(QApplication::activePopupWidget()) << "Alt with another key";
    }
    QTest::keyClick(&canvas(), Qt::Key_Alt);
    ASSERT_TRUE(qobject_cast<QMenu*>(QApplication::activePopupWidget()));
    EXPECT_TRUE(window.menus().isVisible());
    QTest::keyClick(QApplication::activePopupWidget(), Qt::Key_Escape);
    EXPECT_TRUE(wait_for([&] { return !window.menus().isVisible(); }));
}

TEST_F(WindowTest, TheMenusFoldUnderWhatACommandOpens) {
    window.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window, longest_wait_ms));
    window.menus().open();
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_TRUE(menu);
    QTest::keyClick(menu, Qt::Key_Right);
    menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_TRUE(menu && menu->actions().contains(&window.action(Command::palette)));
    menu->setActiveAction(&window.action(Command::palette));
    QTest::keyClick(menu, Qt::Key_Return);
    auto* palette = window.findChild<CommandPalette*>();
    ASSERT_TRUE(palette && palette->isVisible());
    EXPECT_TRUE(wait_for([&] { return !window.menus().isVisible(); }));
    EXPECT_TRUE(palette->isVisible());
    palette->close();
}

TEST_F(WindowTest, EntriesOfAMenuHaveATipOnlyWhereItSaysMore) {
    QMenu menu;
    menu.setToolTipsVisible(true);
    const auto tip_of = [&](QAction& action) {
        menu.addAction(&action);
        menu.popup({});
        QHelpEvent help(QEvent::ToolTip, menu.actionGeometry(&action).center(),
                        menu.mapToGlobal(menu.actionGeometry(&action).center()));
        QApplication::sendEvent(&menu, &help);
        const QString shown = QToolTip::isVisible() ? QToolTip::text() : QString();
        QToolTip::hideText();
        menu.close();
        return shown;
    };
    EXPECT_EQ(tip_of(window.action(Command::open_model)), QString());
    EXPECT_EQ(tip_of(window.view_action("lens")), QString());
    EXPECT_EQ(tip_of(window.action(Command::stop)), QStringLiteral("Nothing is running"));
}

TEST_F(WindowTest, EveryCommandWithAShortcutStandsInAMenu) {
    std::vector<const QAction*> in_menus;
    const std::function<void(const QMenu&)> collect = [&](const QMenu& menu) {
        for (const QAction* action : menu.actions()) {
            in_menus.push_back(action);
            if (action->menu()) collect(*action->menu());
        }
    };
    for (const QAction* title : window.menus().actions()) collect(*title->menu());
    for (int i = 0; i <= int(Command::about); ++i) {
        const auto command = static_cast<Command>(i);
        if (command == Command::menu || command == Command::other_tower || command == Command::to_view) continue;
        EXPECT_NE(std::find(in_menus.begin(), in_menus.end(), &window.action(command)), in_menus.end())
            << window.action(command).text().toStdString();
    }
}

TEST_F(WindowTest, MenusSayWhatIsOn) {
    const auto on = [&](Command command) { return window.action(command).isChecked(); };
    EXPECT_FALSE(on(Command::predictions));
    window.action(Command::predictions).trigger();
    EXPECT_TRUE(on(Command::predictions));
    window.action(Command::ramp_viridis).trigger();
    EXPECT_TRUE(on(Command::ramp_viridis));
    EXPECT_FALSE(on(Command::ramp_ink));
    window.action(Command::ramp_viridis).trigger();
    EXPECT_TRUE(on(Command::ramp_viridis)) << "choosing it again changes nothing";
    EXPECT_TRUE(on(Command::inspector));
    window.action(Command::inspector).trigger();
    EXPECT_FALSE(on(Command::inspector));
    EXPECT_TRUE(window.inspector().isHidden());
    EXPECT_TRUE(window.view_action("head").isChecked());
    window.show_view("matrix");
    EXPECT_TRUE(window.view_action("matrix").isChecked());
    EXPECT_FALSE(window.view_action("head").isChecked());
    EXPECT_FALSE(window.action(Command::quit).isCheckable());
    ASSERT_TRUE(settle());
}

TEST_F(WindowTest, WhatCannotWorkIsOffAndSaysWhy) {
    EXPECT_FALSE(window.action(Command::open_picture).isEnabled());
    EXPECT_TRUE(window.action(Command::open_picture).toolTip().contains(QStringLiteral("reads text")));
    EXPECT_FALSE(window.view_action("picture").isVisible());
    EXPECT_FALSE(window.view_action("experts").isEnabled());
    EXPECT_FALSE(window.view_action("experts").toolTip().isEmpty());
    EXPECT_TRUE(window.view_action("lens").isEnabled());
    EXPECT_TRUE(window.action(Command::transfer).isEnabled());
    ASSERT_TRUE(show_view("lens"));
    EXPECT_FALSE(window.action(Command::transfer).isEnabled());
    window.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window, longest_wait_ms));
    QTest::keyClick(&canvas(), Qt::Key_T, Qt::ControlModifier);
    EXPECT_TRUE(window.status_strip().text().contains(QStringLiteral("has no weight scale")))
        << window.status_strip().text().toStdString();
}

TEST_F(WindowTest, PanelsFoldInANarrowWindowAndComeBack) {
    EXPECT_FALSE(window.inspector().isHidden());
    window.resize(900, 600);
    EXPECT_LE(window.width(), 900);
    EXPECT_TRUE(window.inspector().isHidden());
    EXPECT_FALSE(window.heads_panel().isHidden());
    window.action(Command::inspector).trigger();
    EXPECT_FALSE(window.inspector().isHidden()) << "by hand it comes all the same";
    window.action(Command::inspector).trigger();
    window.resize(1440, 900);
    EXPECT_TRUE(window.inspector().isHidden()) << "and what was closed by hand stays closed";
    window.action(Command::inspector).trigger();
    window.resize(900, 600);
    EXPECT_TRUE(window.inspector().isHidden());
    window.resize(1440, 900);
    EXPECT_FALSE(window.inspector().isHidden());
    ASSERT_TRUE(settle());
}

TEST_F(WindowTest, EveryViewCanBeMadeSmallerAndLarger) {
    ASSERT_TRUE(show_view("lens"));
    // Its columns share the width that is there; its rows grow.
    const double before = canvas().content_size().height() * canvas().zoom();
    window.action(Command::zoom_in).trigger();
    EXPECT_GT(canvas().zoom(), 1.3);
    EXPECT_GT(canvas().content_size().height() * canvas().zoom(), before * 1.2);
    const auto cell = find(canvas(), [](const figure::Hit& hit) { return hit.kind != figure::Hit::Kind::none; });
    EXPECT_TRUE(cell);
    window.action(Command::zoom_fit).trigger();
    EXPECT_EQ(canvas().zoom(), 1);
    for (int i = 0; i < 5; ++i) window.action(Command::zoom_out).trigger();
    EXPECT_EQ(canvas().zoom(), 0.5);
    EXPECT_FALSE(window.action(Command::zoom_out).isEnabled());
}

TEST_F(WindowTest, ATextFileBecomesTheText) {
    QTemporaryDir folder;
    const QString name = folder.filePath(QStringLiteral("note.txt"));
    ASSERT_TRUE(write_file(name, "The queen asked the clerk.\n"));
    window.open(name);
    EXPECT_EQ(window.document().prompt().text, QStringLiteral("The queen asked the clerk."));
    ASSERT_TRUE(settle());
    ASSERT_TRUE(write_file(name, "\xff\xfe\x00zz"));
    window.open(name);
    EXPECT_TRUE(window.error_panel().isVisible());
    EXPECT_EQ(window.document().prompt().text, QStringLiteral("The queen asked the clerk."));
}

TEST_F(WindowTest, ALongTextTakesLessRoomWhileItIsNotEdited) {
    PromptEdit& edit = window.prompt_bar().text();
    const int one = edit.height();
    edit.setFocus();
    set_text(QStringLiteral("a\nb\nc\nd"));
    const int four = edit.height();
    EXPECT_GT(four, one + 30);
    canvas().setFocus();
    EXPECT_LT(edit.height(), four);
    EXPECT_GT(edit.height(), one);
    edit.setFocus();
    EXPECT_EQ(edit.height(), four);
    // What is pasted or typed wraps.
    edit.selectAll();
    edit.insertPlainText(QStringLiteral("He checked the car suddenly. ").repeated(40));
    EXPECT_GT(edit.height(), four);
    const double lines = std::floor(edit.viewport()->height() / QFontMetricsF(edit.font()).lineSpacing());
    EXPECT_LT(edit.viewport()->height() - lines * QFontMetricsF(edit.font()).lineSpacing(), 1) << "no slice of a line above";
    ASSERT_TRUE(settle());
}

TEST_F(WindowTest, NumbersStayWhereTheyAreWhenTheInspectorScrolls) {
    const auto right = [&] {
        for (NumberRow* row : window.inspector().findChildren<NumberRow*>())
            if (row->isVisible()) return row->mapTo(&window.inspector(), row->rect().topRight()).x();
        return -1;
    };
    window.document().selection().clear_pins();
    window.resize(1440, 1400);
    ASSERT_TRUE(wait_for([&] { return right() > 0; }));
    const int before = right();
    window.resize(1440, 500);
    ASSERT_TRUE(settle());
    EXPECT_TRUE(wait_for([&] { return right() == before; })) << right() << " was " << before;
}

TEST_F(WindowTest, TheActiveOneOfTwoViewsIsFramed) {
    ASSERT_TRUE(trigger(Command::split));
    window.right_pane().canvas().setFocus();
    EXPECT_TRUE(window.right_pane().canvas().property("active").toBool());
    EXPECT_FALSE(window.left_pane().canvas().property("active").toBool());
    window.action(Command::split).trigger();
    EXPECT_FALSE(window.left_pane().canvas().property("active").toBool()) << "one view needs no frame";
    ASSERT_TRUE(settle());
}

}  // namespace menu_test
}  // namespace headlight::ui
