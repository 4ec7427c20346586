// SPDX-License-Identifier: GPL-3.0-or-later
// The document's recipe: B is the same text under its edits.
#include "tests/ui/window_fixture.h"
#include "ui/document/session.h"

#include "headlight/intervention/compare/comparison.h"
#include "headlight/trace/edits.h"

namespace headlight::ui {
namespace edits_test {

using figure::Side;

class EditsTest : public WindowTest {
protected:
    std::vector<std::string> words_of_b() {
        const auto beside = document().beside();
        return beside ? trace::edits_of(*beside->pair->b) : std::vector<std::string>();
    }
    void add(const char* words) {
        document().add_edit(QString::fromUtf8(words));
        EXPECT_TRUE(settle());
    }
};

TEST_F(EditsTest, AnEditRunsTheTextBesideItself) {
    add("zero L2H3");
    const auto beside = document().beside();
    ASSERT_TRUE(beside);
    EXPECT_EQ(beside->pair->a, document().trace());
    EXPECT_EQ(beside->words, "zero L2H3");
    EXPECT_EQ(document().options().side, Side::b) << "what was added is shown";
    EXPECT_TRUE(window.tool_row().side().isVisible());
    window.show_view("matrix");
    document().selection().focus_head({Layer(4), Head(1)});
    ASSERT_TRUE(settle());
    const auto edited = canvas().shown()->table().rows;
    EXPECT_TRUE(window.command_for_shown().contains(QStringLiteral("--edit 'zero L2H3' --side b")))
        << window.command_for_shown().toStdString();
    document().set_side(Side::a);
    ASSERT_TRUE(settle());
    EXPECT_NE(canvas().shown()->table().rows, edited);
    EXPECT_FALSE(window.command_for_shown().contains(QStringLiteral("--edit"))) << "A is the unedited run";
    // Off, it leaves the run as it is: there is nothing beside it.
    document().enable_edit(0, false);
    ASSERT_TRUE(settle());
    EXPECT_FALSE(document().beside());
    EXPECT_FALSE(window.tool_row().side().isVisible());
    document().enable_edit(0, true);
    ASSERT_TRUE(settle());
    EXPECT_EQ(words_of_b(), std::vector<std::string>{"zero L2H3"});
}

TEST_F(EditsTest, LinesAreAppliedInTheirOrderAndEachChangeIsAStep) {
    add("set L1H0 5<-2 0.5");
    add("scale L1H0 2");
    add("off zero L3.mlp");
    EXPECT_EQ(words_of_b(), (std::vector<std::string>{"set L1H0 5<-2 0.5", "scale L1H0 2"}));
    document().move_edit(1, 0);
    ASSERT_TRUE(settle());
    EXPECT_EQ(words_of_b(), (std::vector<std::string>{"scale L1H0 2", "set L1H0 5<-2 0.5"}));
    document().remove_edit(0);
    ASSERT_TRUE(settle());
    EXPECT_EQ(words_of_b(), std::vector<std::string>{"set L1H0 5<-2 0.5"});
    QUndoStack& stack = window.history().stack();
    EXPECT_EQ(stack.count(), 5);
    // A weight that is dragged is one step, however many values it takes.
    document().set_edit(0, QStringLiteral("set L1H0 5<-2 0.6"));
    document().set_edit(0, QStringLiteral("set L1H0 5<-2 0.7"));
    EXPECT_EQ(stack.count(), 6);
    stack.undo();
    stack.undo();
    ASSERT_TRUE(settle());
    EXPECT_EQ(words_of_b(), (std::vector<std::string>{"scale L1H0 2", "set L1H0 5<-2 0.5"}));
    for (int i = 0; i < 4; ++i) stack.undo();
    ASSERT_TRUE(settle());
    EXPECT_TRUE(document().edits().lines.empty());
    EXPECT_FALSE(document().beside());
    while (stack.canRedo()) stack.redo();
    ASSERT_TRUE(settle());
    EXPECT_EQ(words_of_b(), std::vector<std::string>{"set L1H0 5<-2 0.7"});
}

/// Steps come faster than runs: the one under way is seen, those between are left out, the latest stays.
TEST_F(EditsTest, OfAWeightThatIsDraggedTheLatestValueStays) {
    add("set L4H0 5<-2 0.1");
    std::vector<std::string> seen;
    const auto watch = QObject::connect(&document(), &Document::changed, &window, [&](Document::Change change) {
        if (change != Document::Change::other || words_of_b().empty()) return;
        if (seen.empty() || seen.back() != words_of_b().front()) seen.push_back(words_of_b().front());
    });
    for (int i = 2; i <= 9; ++i)
        document().put_edit(QStringLiteral("set L4H0 5<-2"), QStringLiteral("set L4H0 5<-2 0.%1").arg(i));
    ASSERT_TRUE(settle());
    EXPECT_EQ(words_of_b(), std::vector<std::string>{"set L4H0 5<-2 0.9"});
    EXPECT_EQ(seen.front(), "set L4H0 5<-2 0.1") << "it stays until the next is there";
    EXPECT_LE(seen.size(), 3u);
    QObject::disconnect(watch);
}

TEST_F(EditsTest, WhatDoesNotFitSaysSoAndTheOthersRun) {
    add("zero L2H3");
    add("zreo L2H4");
    ASSERT_TRUE(document().problem_of_edit(1));
    EXPECT_NE(document().problem_of_edit(1)->hint.find("zero"), std::string::npos);
    add("zero L99H0");
    ASSERT_TRUE(document().problem_of_edit(2));
    EXPECT_EQ(document().problem_of_edit(2)->found, "99");
    add("write L1H0 2<-5 0.2");
    EXPECT_FALSE(document().problem_of_edit(3));
    EXPECT_EQ(document().notes_of_edit(3).size(), 1) << "the key is later than the query";
    EXPECT_EQ(words_of_b(), (std::vector<std::string>{"zero L2H3", "write L1H0 2<-5 0.2"}));
    EXPECT_FALSE(window.error_panel().isVisible());
    // The text becomes too short for an edge, and long enough again: the line stays.
    document().set_edits({});
    add("knockout L1H0 12<-4");
    ASSERT_TRUE(document().beside());
    const PromptText before = document().prompt();
    set_text(QStringLiteral("The doctor."));
    ASSERT_TRUE(settle());
    EXPECT_FALSE(document().beside());
    ASSERT_TRUE(document().problem_of_edit(0));
    EXPECT_EQ(document().problem_of_edit(0)->found, "12");
    document().set_prompt(before);
    ASSERT_TRUE(settle());
    EXPECT_FALSE(document().problem_of_edit(0));
    EXPECT_TRUE(document().beside());
}

TEST_F(EditsTest, TheEditedRunStaysUntilTheNextIsThere) {
    add("scale L2H3 2");
    const auto before = document().beside();
    ASSERT_TRUE(before);
    document().set_edit(0, QStringLiteral("scale L2H3 3"));
    EXPECT_EQ(document().beside(), before);
    document().set_edit(0, QStringLiteral("scale L2H3 4"));
    ASSERT_TRUE(settle());
    EXPECT_EQ(words_of_b(), std::vector<std::string>{"scale L2H3 4"}) << "the latest wins";
}

TEST_F(EditsTest, ASecondTextRunsUnderTheEdits) {
    ASSERT_TRUE(trigger(Command::compare_bias));
    add("zero L2H3");
    ASSERT_TRUE(document().beside());
    EXPECT_NE(document().beside()->pair->b->text_a(), document().trace()->text_a());
    EXPECT_EQ(words_of_b(), std::vector<std::string>{"zero L2H3"});
    ASSERT_TRUE(trigger(Command::compare_stop));
    ASSERT_TRUE(document().beside()) << "the edits stay";
    EXPECT_EQ(document().beside()->pair->b->text_a(), document().trace()->text_a());
}

TEST_F(EditsTest, ASessionKeepsTheEdits) {
    EditList edits;
    edits.lines = {{QStringLiteral("zero L2H3")}, {QStringLiteral("knockout L1H0 S2<-4"), false}, {QStringLiteral("zreo")}};
    edits.names = {{"S2", 6}};
    edits.seed = 7;
    document().set_edits(edits);
    ASSERT_TRUE(settle());
    const Session session{document().model().reference, document().state(), document().views()};
    EXPECT_EQ(session_from_json(to_json(session), "a.headlight"), session);
    document().set_edits({});
    window.apply_session(session);
    ASSERT_TRUE(settle());
    EXPECT_EQ(document().edits(), edits);
    EXPECT_EQ(words_of_b(), std::vector<std::string>{"zero L2H3"});
    document().enable_edit(1, true);
    ASSERT_TRUE(settle());
    EXPECT_EQ(words_of_b(), (std::vector<std::string>{"zero L2H3", "knockout L1H0 6<-4"}));
}

}  // namespace edits_test
}  // namespace headlight::ui
