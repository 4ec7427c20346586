// SPDX-License-Identifier: GPL-3.0-or-later
// The line beside the prompt: length, time and memory of the run.
#include "headlight/base/memory.h"
#include "headlight/trace/remade.h"
#include "headlight/trace/shared_rows.h"
#include "tests/support/memory_budget.h"
#include "tests/ui/window_fixture.h"

namespace headlight::ui {

TEST_F(WindowTest, WhatAViewKeepsCountsAsMemoryOfTheRun) {
    QString text = document().prompt().text;
    for (int i = 0; i < 4; ++i) text += QStringLiteral(" ") + text;
    set_text(text);
    ASSERT_TRUE(settle());
    const auto* facts = window.findChild<QToolButton*>(QStringLiteral("RunFacts"));
    ASSERT_TRUE(facts);
    const QString before = facts->text();
    const std::int64_t bytes = window.document().run_trace()->bytes();
    ASSERT_TRUE(show_view("lens"));
    EXPECT_GT(window.document().run_trace()->bytes(), bytes + 200'000);
    EXPECT_NE(facts->text(), before);
}

/// Only the word at the end runs, and the measures are those of the whole text.
TEST_F(WindowTest, AWordTypedAtTheEndRunsAlone) {
    Document& document = window.document();
    QString text = document.prompt().text;
    text += QStringLiteral(" ") + text + QStringLiteral(" ") + text;
    set_text(text);
    ASSERT_TRUE(settle());
    const std::int64_t tokens = document.run_trace()->tokens();
    EXPECT_LT(trace::shared_rows_of(*document.run_trace()), tokens / 2) << "most of it is new";
    text += QStringLiteral(" again");
    set_text(text);
    ASSERT_TRUE(settle());
    const std::int64_t shared = trace::shared_rows_of(*document.run_trace());
    EXPECT_EQ(shared, tokens);
    const auto* facts = window.findChild<QToolButton*>(QStringLiteral("RunFacts"));
    EXPECT_TRUE(facts->toolTip().contains(QStringLiteral("The first %1 tokens").arg(shared))) << facts->toolTip().toStdString();

    const OpenModel& opened = document.model();
    const auto whole = trace::run(opened.model, opened.tokenizer, {.text = text.toStdString()});
    const analyze::HeadTable expected = analyze::head_table(*whole), &table = *document.head_table();
    for (std::size_t m = 0; m < expected.measures.size(); ++m)
        for (std::int64_t l = 0; l < expected.n_layers; ++l)
            for (std::int64_t h = 0; h < expected.n_heads; ++h) {
                const double value = expected.values[m](l, h);
                if (std::isfinite(value)) {
                    EXPECT_NEAR(table.values[m](l, h), value, 1e-4 * std::max(1.0, std::abs(value))) << expected.measures[m].id;
                }
            }
    document.run_now();
    ASSERT_TRUE(settle());
    EXPECT_EQ(trace::shared_rows_of(*document.run_trace()), 0) << "Run runs all of it";
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
