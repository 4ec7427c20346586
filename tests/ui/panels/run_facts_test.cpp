// SPDX-License-Identifier: GPL-3.0-or-later
// The line beside the prompt: length, time and memory of the run.
#include "headlight/base/memory.h"
#include "headlight/trace/remade.h"
#include "tests/support/memory_budget.h"
#include "tests/ui/window_fixture.h"

#include <QSettings>

namespace headlight::ui {

TEST_F(WindowTest, WhatAViewKeepsCountsAsMemoryOfTheRun) {
    PromptText prompt = window.document().prompt();
    for (int i = 0; i < 4; ++i) prompt.text += QStringLiteral(" ") + prompt.text;
    window.document().set_prompt(prompt);
    ASSERT_TRUE(settle());
    const auto* facts = window.findChild<QToolButton*>(QStringLiteral("RunFacts"));
    ASSERT_TRUE(facts);
    const QString before = facts->text();
    const std::int64_t bytes = window.document().run_trace()->bytes();
    window.show_view("lens");
    ASSERT_TRUE(settle());
    EXPECT_GT(window.document().run_trace()->bytes(), bytes + 200'000);
    EXPECT_NE(facts->text(), before);
}

TEST_F(WindowTest, TheMemoryBudgetIsASettingThatStays) {
    const test::Budget before(0);
    MemoryPopover& memory = window.prompt_bar().memory();
    window.action(Command::memory).trigger();
    ASSERT_TRUE(memory.isVisible());
    const std::int64_t half = memory_budget();
    EXPECT_EQ(memory.budget().value(), 0);
    memory.budget().setValue(2.5);
    EXPECT_EQ(memory_budget(), 2'500'000'000);
    set_memory_budget(0);  // another window, later
    take_stored_memory_budget();
    EXPECT_EQ(memory_budget(), 2'500'000'000);
    set_memory_budget(7);
    take_stored_memory_budget();
    EXPECT_EQ(memory_budget(), 7) << "that of the command line counts";
    memory.budget().setValue(0);
    EXPECT_EQ(memory_budget(), half);
    take_stored_memory_budget();
    EXPECT_FALSE(memory_budget_given());
}

TEST_F(WindowTest, LayersNextToTheSelectedOneAreMadeAhead) {
    const std::shared_ptr<const trace::Trace> kept = window.document().run_trace();
    EXPECT_FALSE(trace::remade_now(*kept).any);
    // A run that keeps no layers, with room for the patterns' parts of all of them.
    const model::ModelConfig& config = kept->config();
    const std::int64_t layers = [&] {
        const test::Budget none;
        return trace::remade_bytes(config, kept->tokens(), {});
    }();
    const test::Budget budget(layers * 9 / 5);
    window.document().selection().focus_head({Layer(2), Head(0)});
    window.show_view("head");
    window.document().run_now();
    ASSERT_TRUE(settle());
    const auto bytes = [&] { return trace::remade_now(*window.document().trace()).bytes; };
    ASSERT_TRUE(trace::remade_now(*window.document().trace()).any);
    window.document().selection().focus_head({Layer(4), Head(0)});
    ASSERT_TRUE(settle());
    const std::int64_t before = bytes();
    ASSERT_GT(before, 0);
    for (const std::int64_t layer : {5, 3}) {
        window.document().selection().focus_head({Layer(layer), Head(0)});
        ASSERT_TRUE(settle());
        EXPECT_EQ(bytes(), before) << "layer " << layer << " was there";
    }
}

}  // namespace headlight::ui
