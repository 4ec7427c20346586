// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/recipe.h"

#include "../window_fixture.h"
#include "tests/support/memory_budget.h"

namespace headlight::ui {
namespace recipe_test {

TEST_F(WindowTest, CombinedHeadsBeginWithTheWholeLayer) {
    figure::Selection selection = selected();
    selection.heads = {Head(3)};
    EXPECT_EQ(recipe_for(window.document(), "aggregate", selection).state.heads.size(), 8U);
    EXPECT_EQ(recipe_for(window.document(), "head", selection).state.heads, selection.heads);
    selection.heads = {Head(3), Head(5)};
    EXPECT_EQ(recipe_for(window.document(), "aggregate", selection).state.heads, selection.heads);
}

TEST_F(WindowTest, NothingIsDrawnAtOnceWhereLayersAreMadeAgain) {
    EXPECT_TRUE(is_quick(recipe_for(window.document(), "head", selected())));
    const test::Budget none;
    window.document().run_now();
    ASSERT_TRUE(settle());
    for (const char* view : {"head", "matrix", "neuron", "model"})
        EXPECT_FALSE(is_quick(recipe_for(window.document(), view, selected()))) << view;
}

}  // namespace recipe_test
}  // namespace headlight::ui
