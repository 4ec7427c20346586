// SPDX-License-Identifier: GPL-3.0-or-later
// The line beside the prompt: length, time and memory of the run.
#include "tests/ui/window_fixture.h"

namespace headlight::ui {

TEST_F(WindowTest, WhatAViewKeepsCountsAsMemoryOfTheRun) {
    PromptText prompt = window.document().prompt();
    for (int i = 0; i < 4; ++i) prompt.text += QStringLiteral(" ") + prompt.text;
    window.document().set_prompt(prompt);
    ASSERT_TRUE(settle());
    const auto* facts = window.findChild<QLabel*>(QStringLiteral("RunFacts"));
    ASSERT_TRUE(facts);
    const QString before = facts->text();
    const std::int64_t bytes = window.document().run_trace()->bytes();
    window.show_view("lens");
    ASSERT_TRUE(settle());
    EXPECT_GT(window.document().run_trace()->bytes(), bytes + 200'000);
    EXPECT_NE(facts->text(), before);
}

}  // namespace headlight::ui
