// SPDX-License-Identifier: GPL-3.0-or-later
// A text of thousands of tokens: the ruler below the strip, search, and a window that stays awake.
#include "tests/ui/watchdog.h"
#include "tests/ui/window_fixture.h"
#include "ui/window/command_palette.h"

#include <QTextBlock>
#include <QTextLayout>

namespace headlight::ui {
namespace long_text_test {

/// Forty paragraphs of about a hundred tokens, one of which has words that no other has.
QString paragraphs() {
    QString text;
    for (int p = 0; p < 40; ++p) {
        if (p > 0) text += QStringLiteral("\n\n");
        for (int s = 0; s < 6; ++s) text += QString::fromUtf8(example_sentence) + u' ';
        if (p == 27) text += QStringLiteral("The needle lies under the haystack.");
    }
    return text;
}

class LongText : public WindowTest {
protected:
    void SetUp() override {
        set_text(paragraphs());
        ASSERT_NO_FATAL_FAILURE(WindowTest::SetUp());
        ASSERT_GT(window.document().trace()->tokens(), 3000);
    }
    bool settle() override {
        return wait_for([&] { return window.jobs().idle() && window.document().up_to_date(); });
    }
    TextRuler& ruler() { return window.prompt_bar().ruler(); }
    TokenStrip& strip() { return window.prompt_bar().tokens(); }
};

// At words Qt would take an hour for the narrow field: it goes through the rest of the word for each of a hundred thousand lines.
TEST(PromptField, BreaksAWordOfAMegabyteAnywhereAndOtherTextsAtWords) {
    const auto mode = [](const PromptEdit& field) { return field.document()->defaultTextOption().wrapMode(); };
    PromptEdit field;
    field.resize(400, 60);
    field.show();
    EXPECT_EQ(mode(field), QTextOption::WrapAtWordBoundaryOrAnywhere);
    field.insertPlainText(QString(1 << 20, u'a'));
    EXPECT_EQ(mode(field), QTextOption::WrapAnywhere);
    field.resize(30, 60);
    QApplication::processEvents();
    EXPECT_GT(field.document()->firstBlock().layout()->lineCount(), 100'000);
    for (const QString& text : {QStringLiteral("the old nurse "), QString::fromUtf8("\u4f60\u597d\u4e16\u754c\u3002")}) {
        field.setPlainText(text.repeated(1000));
        EXPECT_EQ(mode(field), QTextOption::WrapAtWordBoundaryOrAnywhere) << text.toStdString();
    }
    field.show_text(QStringLiteral("a b ") + QString(10'000, u'.'));
    EXPECT_EQ(mode(field), QTextOption::WrapAnywhere);
}

// Undo, a session and the sweep page replace the text: it must not be laid out before it is known how.
TEST(PromptField, AWordOfAMegabyteTakesThePlaceOfWords) {
    PromptEdit field;
    field.resize(30, 60);
    field.show();
    field.show_text(QStringLiteral("the old nurse"));
    ASSERT_EQ(field.document()->defaultTextOption().wrapMode(), QTextOption::WrapAtWordBoundaryOrAnywhere);
    field.show_text(QString(1 << 20, u'b'));
    QApplication::processEvents();
    EXPECT_EQ(field.toPlainText().size(), 1 << 20);
    EXPECT_GT(field.document()->firstBlock().layout()->lineCount(), 100'000);
    field.show_text(QStringLiteral("two\nlines"));
    EXPECT_EQ(field.toPlainText(), QStringLiteral("two\nlines"));
    EXPECT_EQ(field.document()->blockCount(), 2);
}

TEST_F(LongText, TheRulerShowsParagraphsAndMovesTheStrip) {
    ASSERT_TRUE(ruler().isVisible());
    ASSERT_EQ(ruler().sections().size(), 40u);
    const analyze::TextSection& section = ruler().sections()[27];
    QTest::mouseClick(&ruler(), Qt::LeftButton, {}, QPoint(int(ruler().x_of(section.first.value + 20)), 5));
    const auto seen = strip().in_sight();
    ASSERT_TRUE(seen);
    EXPECT_EQ(analyze::section_of(ruler().sections(), Position((seen->first.value + seen->second.value) / 2)), 27);
    QTest::keyClick(&ruler(), Qt::Key_Right);
    ASSERT_TRUE(strip().in_sight());
    EXPECT_GT(strip().in_sight()->first, seen->first);
    QTest::keyClick(&ruler(), Qt::Key_Home);
    EXPECT_EQ(strip().in_sight()->first, Position(0));

    EXPECT_FALSE(ruler().passage());
    QTest::mouseClick(&ruler(), Qt::LeftButton, Qt::ShiftModifier, QPoint(int(ruler().x_of(section.first.value + 20)), 5));
    ASSERT_TRUE(ruler().passage());
    EXPECT_EQ(*ruler().passage(), std::pair(section.first, section.last())) << "a click with Shift marks the paragraph";
    const auto& values = window.document().options().values;
    ASSERT_TRUE(values.contains("reach"));
    EXPECT_EQ(values.at("reach").at("passage"), std::to_string(section.first.value) + "-" + std::to_string(section.last().value));

    set_text(QStringLiteral("Two words"));
    ASSERT_TRUE(settle());
    EXPECT_FALSE(ruler().isVisible()) << "a short text needs none";
    EXPECT_FALSE(ruler().passage());
}

TEST_F(LongText, SearchFindsWordsPhrasesAndPositionsAndJumpsThere) {
    const auto choose = [&](const QString& typed) {
        window.action(Command::search_tokens).trigger();
        auto* palette = window.findChild<CommandPalette*>();
        palette->field().setText(typed);
        const int rows = palette->list().count();
        QTest::keyClick(&palette->field(), Qt::Key_Return);
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        return rows;
    };
    const auto pinned = [&] { return window.document().selection().get().pinned_queries.back(); };
    const std::int64_t first = ruler().sections()[27].first.value, last = ruler().sections()[27].last().value;
    EXPECT_EQ(choose(QStringLiteral("needle LIES under")), 1);
    EXPECT_GE(pinned().value, first);
    EXPECT_LE(pinned().value, last);
    EXPECT_TRUE(strip().chip_rect(pinned()).intersects(strip().viewport()->rect())) << "it is in sight";
    choose(QStringLiteral("1234"));
    EXPECT_EQ(pinned(), Position(1234));
    const int of_the = choose(QStringLiteral("the"));
    EXPECT_GT(of_the, 50);
    EXPECT_LE(of_the, 500) << "no more than one looks through";
    window.action(Command::search_tokens).trigger();
    auto* palette = window.findChild<CommandPalette*>();
    EXPECT_EQ(palette->list().count(), 40) << "the paragraphs, before anything is typed";
    palette->close();
}

TEST_F(LongText, ViewsAndTypingLeaveTheWindowAwake) {
    Watchdog watchdog;
    for (const char* view :
         {"reach", "sparsity", "predictions", "lens", "attribution", "mlp", "focus", "head-scatter", "matrix", "model", "head"}) {
        watchdog.begin(std::string("opening ") + view);
        EXPECT_TRUE(show_view(view)) << view;
        watchdog.expect_calm();
        watchdog.begin(std::string("a pin in ") + view);
        window.document().selection().pin_query(Position(3000), false);
        EXPECT_TRUE(settle()) << view;
        watchdog.expect_calm();
    }
    EXPECT_TRUE(show_view("matrix"));
    watchdog.begin("another transfer of a matrix");
    window.document().edit_options([&](ViewOptions& o) { o.transfer.curve = figure::Transfer::Curve::rank; });
    EXPECT_TRUE(settle());
    EXPECT_FALSE(window.left_pane().canvas().shown()->refining());
    watchdog.expect_calm();
    watchdog.begin("search");
    window.action(Command::search_tokens).trigger();
    window.findChild<CommandPalette*>()->field().setText(QStringLiteral("nurse"));
    watchdog.expect_calm();
    window.findChild<CommandPalette*>()->close();
    watchdog.begin("an edit");
    window.document().edit_prompt([&](PromptText& p) { p.text.insert(p.text.size() / 2, QStringLiteral(" more")); });
    EXPECT_TRUE(settle());
    watchdog.expect_calm();
}

}  // namespace long_text_test
}  // namespace headlight::ui
