// SPDX-License-Identifier: GPL-3.0-or-later
// The model continues the text in the window: what arrives, what undo and Stop do, and who is refused.
#include "tests/ui/window_fixture.h"

#include <QScrollBar>
#include <QSignalSpy>

namespace headlight::ui {
namespace generate_test {

model::GenerateOptions greedy(std::int64_t tokens) { return {.tokens = tokens}; }

TEST(FollowEdit, WhatTheModelWroteStaysItsOwn) {
    const QString text = QStringLiteral("abcdefgh");
    const TextRange range{3, 6};
    EXPECT_EQ(follow_edit(range, text, QStringLiteral("Xabcdefgh")), (TextRange{4, 7}));
    EXPECT_EQ(follow_edit(range, text, QStringLiteral("cdefgh")), (TextRange{1, 4}));
    EXPECT_EQ(follow_edit(range, text, QStringLiteral("abcXdefgh")), (TextRange{4, 7})) << "in front of it";
    EXPECT_EQ(follow_edit(range, text, QStringLiteral("abcdefXgh")), range) << "behind it";
    EXPECT_EQ(follow_edit(range, text, QStringLiteral("abcdeXfgh")), (TextRange{3, 5})) << "inside: up to there";
    EXPECT_TRUE(follow_edit(range, text, QStringLiteral("another text")).empty());
    EXPECT_TRUE(follow_edit(range, text, QStringLiteral("abc")).empty());
    EXPECT_TRUE(follow_edit({}, text, QStringLiteral("abc")).empty());
}

TEST_F(WindowTest, GenerateAppendsWhatTheCommandLineWrites) {
    Document& document = window.document();
    const PromptText before = document.prompt();
    const auto ids = document.model().tokenizer->encode(before.text.toStdString()).ids;
    const model::Generated expected = model::generate(*document.model().model, ids, {.tokens = 6});
    QSignalSpy changes(&document, &Document::changed), said(&document, &Document::continued);
    window.prompt_bar().generate_settings().tokens().setValue(6);
    window.prompt_bar().generate_button().click();
    EXPECT_TRUE(document.continuing());
    ASSERT_TRUE(settle());
    EXPECT_FALSE(document.continuing());
    std::string added;
    for (const std::int64_t id : expected.ids) added += document.model().tokenizer->bytes_of(id);
    EXPECT_EQ(document.prompt().text.toStdString(), before.text.toStdString() + added);
    EXPECT_EQ(window.prompt_bar().text().toPlainText(), document.prompt().text);
    int pieces = 0;
    for (const auto& arguments : changes) pieces += arguments[0].value<Document::Change>() == Document::Change::prompt;
    EXPECT_GE(pieces, 3) << "the text grows while the model writes";
    // The trace is of the whole, and its new tokens are marked.
    ASSERT_EQ(document.trace()->text_a(), document.prompt().text.toStdString());
    auto whole = ids;
    whole.insert(whole.end(), expected.ids.begin(), expected.ids.end());
    EXPECT_EQ(document.trace()->encoding().ids, whole);
    for (std::int64_t p = 0; p < document.trace()->tokens(); ++p)
        EXPECT_EQ(window.prompt_bar().tokens().written(Position(p)), p >= std::ssize(ids)) << p;
    ASSERT_EQ(said.size(), 1);
    EXPECT_TRUE(said[0][0].toString().startsWith(QStringLiteral("6 tokens generated"))) << said[0][0].toString().toStdString();

    // Further tokens join those that are there; undo takes one step after the other back.
    const PromptText once = document.prompt();
    ASSERT_TRUE(trigger(Command::generate));
    EXPECT_EQ(document.prompt().written.begin, once.written.begin);
    EXPECT_GT(document.prompt().written.end, once.written.end);
    ASSERT_TRUE(trigger(Command::undo));
    EXPECT_EQ(document.prompt(), once);
    ASSERT_TRUE(trigger(Command::undo));
    EXPECT_EQ(document.prompt(), before);
    EXPECT_EQ(document.trace()->text_a(), before.text.toStdString());
    ASSERT_TRUE(trigger(Command::redo));
    EXPECT_EQ(document.prompt(), once);
}

TEST_F(WindowTest, LettersTypedBeforeAreAnotherStepThanTheContinuation) {
    type_text(QStringLiteral("The nurse"));
    const QString typed = window.document().prompt().text;
    ASSERT_FALSE(window.document().generate(greedy(3)));
    ASSERT_TRUE(settle());
    EXPECT_GT(window.document().prompt().text.size(), typed.size());
    ASSERT_TRUE(trigger(Command::undo));
    EXPECT_EQ(window.document().prompt().text, typed);
}

TEST_F(WindowTest, TheTextStaysInSightWhenItIsContinued) {
    ASSERT_FALSE(window.document().generate(greedy(3)));
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.prompt_bar().text().verticalScrollBar()->value(), 0) << "one line, which is not scrolled away";
}

TEST_F(WindowTest, AStoppedContinuationKeepsWhatIsThere) {
    Document& document = window.document();
    const QString before = document.prompt().text;
    model::GenerateOptions many = greedy(4000);
    many.ignore_end = true;
    ASSERT_FALSE(document.generate(many));
    ASSERT_TRUE(wait_for([&] { return document.prompt().text.size() > before.size() + 10; }));
    document.stop();
    const QString stopped = document.prompt().text;
    ASSERT_TRUE(settle());
    EXPECT_EQ(document.prompt().text, stopped) << "nothing arrives late";
    EXPECT_EQ(document.trace()->text_a(), stopped.toStdString());
    EXPECT_TRUE(window.prompt_bar().tokens().written(Position(document.trace()->tokens() - 1)));
    // Undo while it writes ends it and brings the text before back.
    ASSERT_FALSE(document.generate(many));
    ASSERT_TRUE(wait_for([&] { return document.prompt().text.size() > stopped.size() + 10; }));
    ASSERT_TRUE(trigger(Command::undo));
    EXPECT_EQ(document.prompt().text, stopped);
    // So does typing, which goes on from what is there.
    ASSERT_FALSE(document.generate(many));
    ASSERT_TRUE(wait_for([&] { return document.prompt().text.size() > stopped.size() + 10; }));
    window.prompt_bar().text().moveCursor(QTextCursor::End);
    QTest::keyClicks(&window.prompt_bar().text(), QStringLiteral("!"));
    EXPECT_FALSE(document.continuing());
    EXPECT_TRUE(document.prompt().text.endsWith('!'));
    ASSERT_TRUE(settle());
    EXPECT_EQ(document.trace()->text_a(), document.prompt().text.toStdString());
}

TEST_F(WindowTest, AnEncoderDoesNotContinueTexts) {
    const auto refused = [&](const QString& why) {
        const PromptText before = window.document().prompt();
        window.prompt_bar().generate_button().click();
        EXPECT_TRUE(window.error_panel().isVisible());
        EXPECT_TRUE(window.error_panel().message().contains(why)) << window.error_panel().message().toStdString();
        EXPECT_EQ(window.document().prompt(), before);
        window.error_panel().hide();
    };
    PromptText pair = window.document().prompt();
    pair.has_pair = true;
    pair.pair = QStringLiteral("And another");
    window.document().set_prompt(pair);
    ASSERT_TRUE(settle());
    refused(QStringLiteral("Only a single text can be continued"));
    pair.has_pair = false;
    window.document().set_prompt(pair);
    window.open(QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/models/bert-mlm"));
    ASSERT_TRUE(wait_for(
        [&] { return window.jobs().idle() && window.document().model().reference.endsWith(QStringLiteral("bert-mlm")); }));
    ASSERT_TRUE(settle());
    refused(QStringLiteral("cannot continue texts"));
}

TEST_F(WindowTest, SessionsKeepWhatTheModelWrote) {
    ASSERT_FALSE(window.document().generate(greedy(4)));
    ASSERT_TRUE(settle());
    const Session saved = window.session();
    ASSERT_FALSE(saved.state.prompt.written.empty());
    EXPECT_EQ(session_from_json(to_json(saved), "a"), saved);
    std::string wrong = to_json(saved);
    const auto at = wrong.find("\"written\"");
    wrong.insert(wrong.find('[', at) + 1, "99999, ");
    EXPECT_THROW(session_from_json(wrong, "a"), Error);
}

/// The box is two lines high then.
TEST_F(WindowTest, TheLastLinesOfAGeneratedTextAreInSight) {
    PromptEdit& edit = window.prompt_bar().text();
    canvas().setFocus();
    const QString text = document().prompt().text;
    set_text(text + QStringLiteral("\nfirst\nsecond\nthird"));
    EXPECT_TRUE(wait_for([&] {
        QTextCursor end(edit.document());
        end.movePosition(QTextCursor::End);
        const QRect last = edit.cursorRect(end);
        return last.top() >= last.height() - 2 && last.bottom() <= edit.viewport()->height() + 2;
    })) << "the last line stands below the one before it, not at the top over an empty one";
    ASSERT_TRUE(settle());
}

}  // namespace generate_test
}  // namespace headlight::ui
