// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/recipe.h"

#include "../window_fixture.h"

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

}  // namespace recipe_test
}  // namespace headlight::ui
