// SPDX-License-Identifier: GPL-3.0-or-later
// The text of a point, with the weights below its tokens.
#include "ui/map/sentence_view.h"

#include <gmock/gmock.h>

namespace headlight::ui {
namespace sentence_view_test {

TEST(SentenceView, NoWeightStandsOverAnother) {
    SentenceView view;
    view.resize(600, 60);
    // Short tokens side by side, whose numbers are wider than they are.
    view.set_content({.tokens = {QStringLiteral("."), QStringLiteral(","), QStringLiteral("somewhere"), QStringLiteral("'")},
                      .weights = {0.093F, 0.91F, 0.2F, 0.3F},
                      .lines = {0, 1, 2, 3},
                      .chosen = -1,
                      .keys = true});
    const std::vector<int> shown = view.numbered();
    EXPECT_THAT(shown, testing::Contains(1)) << "the strongest";
    EXPECT_THAT(shown, testing::Not(testing::Contains(0))) << "it would lie under it";
    EXPECT_THAT(shown, testing::Contains(2)) << "where there is room it stands";
}

}  // namespace sentence_view_test
}  // namespace headlight::ui
