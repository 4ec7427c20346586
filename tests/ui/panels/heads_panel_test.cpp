// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/heads/heads_panel.h"

#include "../window_fixture.h"

#include <QDir>
#include <QMenu>
#include <QScrollBar>
#include <QSettings>

namespace headlight::ui {
namespace heads_panel_test {

QRectF in_sight(FigureCanvas& mosaic, HeadId head) {
    const QRectF cell = *mosaic.shown()->place_of_head(head);
    return {mosaic.to_viewport(cell.topLeft()), cell.size()};
}

TEST_F(WindowTest, TheMosaicKeepsTheHeightItWasGivenAndTheSelectedHeadInSight) {
    HeadsPanel& panel = window.heads_panel();
    FigureCanvas& mosaic = panel.mosaic();
    EXPECT_EQ(mosaic.verticalScrollBar()->maximum(), 0) << "a small model fits";
    window.resize(1440, 560);
    panel.splitter().setSizes({130, 600});
    Q_EMIT panel.splitter().splitterMoved(130, 1);
    ASSERT_TRUE(wait_for([&] { return mosaic.verticalScrollBar()->maximum() > 0; }));
    for (const HeadId head : {HeadId{Layer(5), Head(7)}, HeadId{Layer(0), Head(0)}}) {
        window.document().selection().focus_head(head);
        const QRectF cell = in_sight(mosaic, head);
        EXPECT_GE(cell.top(), 0) << head.layer.value;
        EXPECT_LE(cell.bottom(), mosaic.viewport()->height() - 30) << "not under the legend";
    }
    const double share = QSettings().value(QStringLiteral("heads/mosaic_share")).toDouble();
    EXPECT_GT(share, 0.1);
    EXPECT_LT(share, 0.5);
    window.resize(1440, 900);  // of more the cells of six layers have no use
    EXPECT_TRUE(
        wait_for([&] { return std::abs(double(panel.splitter().sizes()[0]) / panel.splitter().height() - share) < 0.02; }));
    QSettings().remove(QStringLiteral("heads/mosaic_share"));
}

TEST_F(WindowTest, TheLineBetweenMosaicAndFinderCanBeDraggedAsFarAsTheCellsGo) {
    HeadsPanel& panel = window.heads_panel();
    QSplitter& splitter = panel.splitter();
    QWidget* handle = splitter.handle(1);
    const auto* rule = handle->findChild<QFrame*>();
    ASSERT_TRUE(rule);
    const QPoint line = rule->geometry().center();
    ASSERT_TRUE(handle->rect().contains(line));
    const int before = splitter.sizes()[0];
    const auto drag = [&](int by) {  // from the line that is seen
        QWidget* pressed = handle->childAt(line) ? handle->childAt(line) : handle;
        ASSERT_EQ(pressed->testAttribute(Qt::WA_TransparentForMouseEvents) ? handle : pressed, handle);
        QTest::mousePress(handle, Qt::LeftButton, {}, line);
        QTest::mouseMove(handle, line + QPoint(0, by / 2));
        QTest::mouseMove(handle, line + QPoint(0, by - by / 2));
        QTest::mouseRelease(handle, Qt::LeftButton, {}, line + QPoint(0, by));
    };
    drag(-60);
    EXPECT_LT(splitter.sizes()[0], before - 20);
    drag(2000);
    FigureCanvas& mosaic = panel.mosaic();
    ASSERT_TRUE(wait_for([&] { return splitter.sizes()[0] >= before - 2; }));
    const QRectF last = *mosaic.shown()->place_of_head({Layer(5), Head(0)});
    EXPECT_LT(mosaic.viewport()->height() - last.bottom(), 70) << "the legend, and no hole below it";
    EXPECT_GT(panel.splitter().sizes()[1], 200) << "the list has the rest";
    ASSERT_TRUE(trigger(Command::reset_panels));
    EXPECT_NEAR(splitter.sizes()[0], before, 1);
    EXPECT_FALSE(QSettings().contains(QStringLiteral("heads/mosaic_share")));
}

TEST_F(WindowTest, AStoppedProbeCanBeStartedFromTheMenuOfMeasures) {
    QDir(qEnvironmentVariable("XDG_CACHE_HOME") + QStringLiteral("/headlight/models")).removeRecursively();  // the kept probe
    HeadsPanel& panel = window.heads_panel();
    window.document().edit_options([&](ViewOptions& o) { o.measure = "probe_induction"; });
    const auto stop = QObject::connect(&window.jobs(), &Jobs::started, &window, [&](Jobs::Lane lane) {
        if (lane == Jobs::Lane::probe && !window.jobs().doing(lane).isEmpty()) window.jobs().cancel(lane);
    });
    window.open(QStringLiteral("novella-7m"));
    ASSERT_TRUE(wait_for([&] { return !window.document().probe().note().isEmpty(); }));
    QObject::disconnect(stop);
    ASSERT_TRUE(settle());
    EXPECT_NE(panel.model().measures().front(), "probe_induction");
    QAction* again = nullptr;
    Q_EMIT panel.measure_menu().aboutToShow();
    for (const QMenu* group : panel.measure_menu().findChildren<QMenu*>(QString(), Qt::FindDirectChildrenOnly))
        for (QAction* action : group->actions())
            if (action->text() == QStringLiteral("induction on random tokens")) again = action;
    ASSERT_TRUE(again);
    ASSERT_TRUE(again->isEnabled());
    again->trigger();
    EXPECT_TRUE(window.document().probe().pending());
    EXPECT_EQ(panel.model().measures().front(), "probe_induction") << "it is on its way";
    ASSERT_TRUE(settle());
    EXPECT_TRUE(window.document().probe().found());
}

TEST_F(WindowTest, ANoteOnTheMeasureGoesWithTheText) {
    window.document().edit_options([](ViewOptions& o) { o.measure = "induction"; });
    ASSERT_TRUE(retype(QStringLiteral("No word twice")));
    ASSERT_TRUE(window.heads_panel().measure_note().isVisible());
    window.prompt_bar().text().clear();
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && !window.document().trace(); }));
    EXPECT_FALSE(window.heads_panel().measure_note().isVisible());
}

}  // namespace heads_panel_test
}  // namespace headlight::ui
