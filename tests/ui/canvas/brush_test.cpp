// SPDX-License-Identifier: GPL-3.0-or-later
// Rectangles around heads, batches of texts and example sentences in the real window.
#include "tests/ui/window_fixture.h"
#include "ui/document/examples.h"
#include "ui/document/heads/head_list.h"

#include <map>
#include <set>

namespace headlight::ui {
namespace brush_test {

TEST(HeadList, NamesWholeLayersAloneAndIsToldFromAQuestion) {
    const auto id = [](int l, int h) { return HeadId{Layer(l), Head(h)}; };
    EXPECT_EQ(head_list({id(0, 1), id(1, 0), id(1, 1), id(3, 0)}, 2), QStringLiteral("L0H1 or L1 or L3H0"));
    EXPECT_TRUE(is_head_list(QStringLiteral("L0H1 or L1 or L3H0")));
    EXPECT_FALSE(is_head_list(QStringLiteral("entropy < 1 or L3H0")));
    EXPECT_FALSE(is_head_list(QString()));
}

class BrushTest : public WindowTest {
protected:
    /// Draws a rectangle from corner to corner with real events.
    void drag(QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = {}) {
        QWidget* at = canvas().viewport();
        QTest::mousePress(at, Qt::LeftButton, modifiers, from);
        for (int step = 1; step <= 4; ++step) {
            const QPointF p = QPointF(from) + QPointF(to - from) * step / 4.0;
            QMouseEvent move(QEvent::MouseMove, p, at->mapToGlobal(p), Qt::NoButton, Qt::LeftButton, modifiers);
            QCoreApplication::sendEvent(at, &move);
        }
        QTest::mouseRelease(at, Qt::LeftButton, modifiers, to);
    }
    /// Points of all heads in the viewport.
    std::map<HeadId, QPointF> points() {
        std::map<HeadId, QPointF> found;
        const QSize room = canvas().viewport()->size();
        for (int y = 0; y < room.height(); y += 2)
            for (int x = 0; x < room.width(); x += 2) {
                const auto hit =
                    canvas().shown()->hit_test(canvas().to_figure(QPointF(x, y)), canvas().style_in_use(), selected());
                if (hit.head && hit.kind == figure::Hit::Kind::head) found[*hit.head] = canvas().to_viewport(hit.area.center());
            }
        return found;
    }
    std::set<HeadId> chosen() {
        std::set<HeadId> heads;
        for (std::int64_t l = 0; l < window.document().selection().layers(); ++l)
            for (std::int64_t h = 0; h < window.document().selection().heads(); ++h)
                if (!canvas().style_in_use().dims({Layer(l), Head(h)})) heads.insert({Layer(l), Head(h)});
        return heads;
    }
};

TEST_F(BrushTest, ARectangleChoosesItsHeadsInAllViewsAndShiftAdds) {
    ASSERT_TRUE(show_view("head-scatter"));
    const auto places = points();
    ASSERT_GT(places.size(), 20u);
    const auto area = canvas().shown()->brush_area(canvas().to_figure(places.begin()->second));
    ASSERT_TRUE(area);
    const QRectF plot(canvas().to_viewport(area->topLeft()), area->size());
    const auto inside = [&](const QRectF& r) {
        std::set<HeadId> heads;
        for (const auto& [head, at] : places)
            if (r.contains(at)) heads.insert(head);
        return heads;
    };
    const QRectF left(plot.left() + 1, plot.top() + 1, plot.width() * 0.3, plot.height() - 2);
    const QRectF right(plot.right() - plot.width() * 0.2, plot.top() + 1, plot.width() * 0.2 - 1, plot.height() - 2);
    const auto before = window.document().options().finder;
    const auto selection = selected();
    drag(left.topLeft().toPoint(), left.bottomRight().toPoint());
    const std::set<HeadId> first = chosen();
    ASSERT_FALSE(first.empty());
    ASSERT_LT(first.size(), places.size());
    for (const HeadId head : inside(left)) EXPECT_TRUE(first.contains(head));
    EXPECT_EQ(window.heads_panel().finder().text(), head_list({first.begin(), first.end()}, 8));
    EXPECT_EQ(window.heads_panel().model().rowCount(), int(first.size()));
    for (const Head head : selected().heads) EXPECT_TRUE(first.contains({selected().layer, head}));

    window.history().set_merging(0);  // what follows is a step of its own
    drag(right.topLeft().toPoint(), right.bottomRight().toPoint(), Qt::ShiftModifier);
    const std::set<HeadId> both = chosen();
    EXPECT_GT(both.size(), first.size());
    for (const HeadId head : first) EXPECT_TRUE(both.contains(head));
    for (const HeadId head : inside(right)) EXPECT_TRUE(both.contains(head));
    ASSERT_TRUE(show_view("model"));
    EXPECT_EQ(chosen(), both) << "in another view";

    ASSERT_TRUE(show_view("head-scatter"));
    window.history().stack().undo();
    EXPECT_EQ(chosen(), first);
    window.history().stack().undo();
    EXPECT_EQ(window.document().options().finder, before) << "a rectangle is one step";
    EXPECT_EQ(selected().heads, selection.heads);
}

TEST_F(BrushTest, AnEmptyRectangleTakesAListAwayAndAClickStaysAClick) {
    ASSERT_TRUE(show_view("head-scatter"));
    const auto places = points();
    const auto [head, at] = *places.rbegin();
    QTest::mouseClick(canvas().viewport(), Qt::LeftButton, {}, at.toPoint());
    EXPECT_EQ(selected().focus, head);
    EXPECT_TRUE(window.document().options().finder.isEmpty());
    drag(at.toPoint() - QPoint(12, 12), at.toPoint() + QPoint(12, 12));
    EXPECT_FALSE(window.document().options().finder.isEmpty());
    // Somewhere in the plot without a point.
    const QRectF plot = *canvas().shown()->brush_area(canvas().to_figure(at));
    for (double y = plot.top() + 2; y < plot.bottom() - 14; y += 9) {
        const QRectF empty(plot.right() - 14, y, 12, 12);
        if (!canvas().shown()->heads_in(empty).empty()) continue;
        drag(canvas().to_viewport(empty.topLeft()).toPoint() + QPoint(1, 1),
             canvas().to_viewport(empty.bottomRight()).toPoint() - QPoint(1, 1));
        break;
    }
    EXPECT_TRUE(window.document().options().finder.isEmpty());
}

TEST_F(WindowTest, BatchesOfTextsReachTheViewsThatTakeThemAndAMissingFileSaysSo) {
    QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("texts.txt"));
    ASSERT_TRUE(write_file(path, "Rain fell all night.\n\nShe was late, and he was not.\n"));
    window.show_view("clark-kinds");
    const auto take_texts = [&](const QString& name) { document().edit_options([&](ViewOptions& o) { o.batch_file = name; }); };
    take_texts(path);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(window.document().batch());
    EXPECT_EQ(window.document().batch()->traces.size(), 2u);
    ASSERT_TRUE(window.left_pane().shown());
    EXPECT_EQ(window.left_pane().shown()->state.batch, window.document().batch());
    EXPECT_TRUE(window.command_for_shown().contains(QStringLiteral("--texts ") + path));
    ASSERT_TRUE(show_view("head"));
    EXPECT_FALSE(window.left_pane().shown()->state.batch);
    const QString session = folder.filePath(QStringLiteral("batch.headlight"));
    ASSERT_TRUE(window.save_to(session));

    take_texts({});
    EXPECT_FALSE(window.document().batch());
    ASSERT_TRUE(opened(session));
    ASSERT_TRUE(window.document().batch());
    take_texts(folder.filePath(QStringLiteral("nothing.txt")));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(window.error_panel().isVisible());
    EXPECT_FALSE(window.document().batch());
    EXPECT_TRUE(window.document().options().batch_file.isEmpty()) << "it is not kept";
}

TEST_F(WindowTest, ThreeExamplesStartTheFocusView) {
    ASSERT_EQ(example_sentences().size(), 3);
    EXPECT_EQ(example_sentences()[0], QString::fromUtf8(example_sentence));
    ASSERT_TRUE(show_view("focus"));
    EXPECT_TRUE(window.tool_row().examples().isVisible());
    window.tool_row().examples().menu()->actions().at(1)->trigger();
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.document().trace()->text_a(), example_sentences()[1].toStdString());
    window.show_view("head");
    EXPECT_FALSE(window.tool_row().examples().isVisible());
}

TEST_F(WindowTest, RolloutGoesUpToTheLastLayerUnlessTheChosenOneIsAskedFor) {
    window.document().selection().focus_head({Layer(2), Head(0)});
    ASSERT_TRUE(show_view("rollout"));
    EXPECT_EQ(window.left_pane().shown()->state.layer, Layer(5));
    window.document().edit_options([&](ViewOptions& o) { o.values["rollout"]["up-to"] = "chosen"; });
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.left_pane().shown()->state.layer, Layer(2));
    EXPECT_TRUE(window.command_for_shown().contains(QStringLiteral("--layer 2")));
}

}  // namespace brush_test
}  // namespace headlight::ui
