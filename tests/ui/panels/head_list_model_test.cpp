// SPDX-License-Identifier: GPL-3.0-or-later
// The list of heads obeys Qt's rules of models while filters, order, measures and texts change.
#include "tests/ui/window_fixture.h"

#include <QAbstractItemModelTester>

namespace headlight::ui {
namespace head_list_model_test {

TEST_F(WindowTest, TheListOfHeadsIsASoundModel) {
    HeadListModel& model = window.heads_panel().model();
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    const int all = model.rowCount();
    ASSERT_EQ(all, 48);
    std::set<int> rows;
    for (const char* filter : {"entropy < 1", "induction > 0.3", "entropy < 0", ""}) {
        set_finder(QLatin1String(filter));
        ASSERT_TRUE(settle());
        rows.insert(model.rowCount());
        for (const auto order : {Qt::AscendingOrder, Qt::DescendingOrder})
            for (int column = 0; column < model.columnCount(); ++column) model.sort(column, order);
    }
    EXPECT_GE(rows.size(), 3u) << "the filters list different heads";
    EXPECT_EQ(model.rowCount(), all);
    document().edit_options([](ViewOptions& o) { o.measure = "entropy"; });
    ASSERT_TRUE(retype(QStringLiteral("Another text")));
    window.open(QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/models/gpt2"));
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && model.rowCount() < all; }));
    EXPECT_GT(model.rowCount(), 0);
}

}  // namespace head_list_model_test
}  // namespace headlight::ui
