// SPDX-License-Identifier: GPL-3.0-or-later
// Where keys go: fields, dialogs and the palette.
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/file_dialogs.h"
#include "ui/window/command_palette.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QCompleter>
#include <QFileDialog>
#include <QLineEdit>

namespace headlight::ui {
namespace keys_test {

TEST_F(WindowTest, CompareAndEscapeGoIntoTheLineOfBAndOutOfIt) {
    window.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window, longest_wait_ms));
    QTest::keyClick(&canvas(), Qt::Key_D, Qt::ControlModifier | Qt::ShiftModifier);
    PromptEdit& text = window.prompt_bar().b_line().text();
    EXPECT_EQ(window.focusWidget(), &text);
    QTest::keyClick(&text, Qt::Key_Return, Qt::ShiftModifier);
    EXPECT_TRUE(text.toPlainText().contains(u'\n'));
    QTest::keyClick(&text, Qt::Key_Escape);
    EXPECT_EQ(window.focusWidget(), &canvas());
    ASSERT_TRUE(settle());
    EXPECT_TRUE(document().options().other.on) << "leaving the line ends nothing";
}

TEST_F(WindowTest, EscapeLeavesEveryFieldAndNothingElse) {
    document().selection().pin_query(Position(6), false);
    const figure::Selection before = selected();
    for (QWidget* field : std::initializer_list<QWidget*>{&window.prompt_bar().text(), &window.heads_panel().finder()}) {
        field->setFocus();
        QTest::keyClick(field, Qt::Key_Escape);
        EXPECT_EQ(window.focusWidget(), &canvas());
        EXPECT_EQ(selected(), before);
    }
}

TEST_F(WindowTest, AfterACommandOfThePaletteKeysAreTheViews) {
    window.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window, longest_wait_ms));
    const auto choose = [&](const QString& typed) {
        window.action(Command::palette).trigger();
        auto* palette = qobject_cast<CommandPalette*>(QApplication::activePopupWidget());
        ASSERT_TRUE(palette);
        QTest::keyClicks(&palette->field(), typed);
        QTest::keyClick(&palette->field(), Qt::Key_Return);
    };
    window.heads_panel().finder().setFocus();
    choose(QStringLiteral("Predictions under"));
    EXPECT_EQ(window.focusWidget(), &canvas());
    choose(QStringLiteral("Find heads"));
    EXPECT_EQ(window.focusWidget(), &window.heads_panel().finder()) << "that command is about a field";
    window.action(Command::palette).trigger();
    auto* palette = qobject_cast<CommandPalette*>(QApplication::activePopupWidget());
    ASSERT_TRUE(palette);
    QTest::keyClick(&palette->field(), Qt::Key_K, Qt::ControlModifier);
    EXPECT_FALSE(QApplication::activePopupWidget());
    ASSERT_TRUE(settle());
}

/// The first one is as wide as the row.
TEST(CommandPalette, ALongNoteLeavesRoomForTheName) {
    QWidget over;
    over.resize(800, 600);
    const QString why =
        QStringLiteral("This model has no unembedding: it gives no logits, and nothing else that could be explained here");
    const auto row = [&](const QString& name) {
        auto* palette =
            new CommandPalette(QStringLiteral("hint"), {{.text = name, .note = why, .enabled = false, .chosen = {}}}, &over);
        palette->open();
        const QRect place = palette->list().visualItemRect(palette->list().item(0));
        const QImage image = palette->list().viewport()->grab(place).toImage();
        EXPECT_EQ(palette->list().item(0)->toolTip(), why);
        palette->close();
        return image;
    };
    EXPECT_NE(row(QStringLiteral("Attribution view")), row(QStringLiteral("Refinement view"))) << "it shows its name";
}

class FileDialogTest : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_TRUE(write_file(folder.filePath(QStringLiteral("notes.txt")), "a"));
        repair_file_dialogs(owner);
        dialog.setOption(QFileDialog::DontUseNativeDialog);
        dialog.setFileMode(QFileDialog::ExistingFile);
        dialog.setDirectory(folder.path());
        dialog.show();
        field = dialog.findChild<QLineEdit*>(QStringLiteral("fileNameEdit"));
        ASSERT_TRUE(field && field->completer());
        popup = field->completer()->popup();
        field->setText(folder.filePath(QStringLiteral("notes.txt")));
        field->completer()->complete();
    }
    QTemporaryDir folder;
    QObject owner;
    QFileDialog dialog;
    QLineEdit* field = nullptr;
    QAbstractItemView* popup = nullptr;
};

TEST_F(FileDialogTest, ReturnOpensWhatIsTypedThoughCompletionsAreShown) {
    popup->show();
    popup->setCurrentIndex({});
    EXPECT_EQ(popup->objectName(), QStringLiteral("Completions")) << "which has a ground and a colour of its own";
    QTest::keyClick(popup, Qt::Key_Return);
    EXPECT_TRUE(wait_for([&] { return !dialog.isVisible(); }));
    EXPECT_EQ(dialog.result(), QDialog::Accepted);
    EXPECT_EQ(dialog.selectedFiles(), QStringList{folder.filePath(QStringLiteral("notes.txt"))});
}

}  // namespace keys_test
}  // namespace headlight::ui
