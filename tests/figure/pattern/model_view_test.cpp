// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/model/model_view_figure.h"

#include "headlight/base/memory.h"
#include "headlight/base/memory_account.h"
#include "tests/figure/painting.h"
#include "tests/figure/pattern/model_sample.h"
#include "tests/support/memory_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>
#include <utility>

namespace headlight::figure {
namespace model_view_test {

std::shared_ptr<ModelViewStore> store(std::int64_t layers, std::int64_t heads, std::int64_t tokens) {
    return std::make_shared<ModelViewStore>(sample::model(layers, heads, tokens));
}

/// Paints what is `seen`, and makes what is coarse, until nothing is.
QImage settled(Figure& figure, const QRectF& seen, const Style& style, int most_frames = 500) {
    QImage image;
    for (int i = 0; i < most_frames && (i == 0 || figure.refining()); ++i) {
        image = painted_part(figure, {900, 700}, seen, style);
        if (const Sharpening work = figure.sharpening()) work({})();
    }
    EXPECT_FALSE(figure.refining());
    return image;
}

/// First and last layer, first and last head in sight where only the inside of a cell is.
std::vector<std::int64_t> heads_inside(const ModelLayout& at, HeadId id) {
    const auto range = at.touching(at.cell_rect(id).adjusted(1, 1, -1, -1));
    return {range.first_layer, range.last_layer, range.first_head, range.last_head};
}

TEST(ModelView, GridsOfEverySizeFitTheirWidthAndHitTheirCells) {
    for (const auto& [layers, heads] : {std::pair<int, int>{1, 1}, {6, 8}, {12, 12}, {24, 16}, {48, 64}, {64, 48}})
        for (const bool lines : {true, false}) {
            const ModelShape shape{layers, heads, heads, 30, 30, lines};
            const ModelLayout at = model_layout(shape, {1200, 760});
            EXPECT_LE(at.grid().right(), 1200) << layers << "x" << heads;
            EXPECT_GT(at.cell.width(), layers < 24 ? 10 : 6);
            EXPECT_GT(at.cell.height(), layers < 24 ? 10 : 6);
            EXPECT_TRUE(layers < 24 || at.height <= 760) << "all heads of a deep model are in sight";
            for (int l = 0; l < layers; ++l)
                for (int h = 0; h < heads; ++h) {
                    const HeadId id{Layer{l}, Head{h}};
                    ASSERT_EQ(at.head_at(at.cell_rect(id).center()), id);
                }
            EXPECT_FALSE(at.head_at(at.grid().topLeft() - QPointF(1, 1)));
            EXPECT_FALSE(at.head_at(at.grid().bottomRight() + QPointF(1, 1)));
        }
    EXPECT_LE(model_layout({12, 12, 12, 1024, 1024, false}, {900, 700}).height, 700);
}

TEST(ModelView, BandsHoldTenLayersEach) {
    for (const bool wide : {false, true}) {
        const ModelLayout at = model_layout({80, 8, 8, 995, 995, false}, wide ? QSizeF(1400, 500) : QSizeF(500, 1400));
        EXPECT_EQ(at.across, wide);
        EXPECT_LE(at.width, wide ? 1400 : 500);
        EXPECT_LE(at.height, wide ? 500 : 1400);
        std::int64_t bands = 0;
        for (; !layer_band(at, bands).isEmpty(); ++bands)
            for (std::int64_t l = 0; l < 80; ++l)
                EXPECT_EQ(layer_band(at, bands).contains(at.cell_rect({Layer{l}, Head{7}}).center()), l / 10 == bands) << l;
        EXPECT_EQ(bands, 8);
    }
}

TEST(ModelView, AMiniatureSaysWhereOneIs) {
    ModelFigure figure(store(40, 16, 60), {});
    Style style;
    const QSizeF size = figure.layout({900, 700}, style, {});
    style.zoom = 4;
    const QRectF part(size.width() / 4, size.height() / 4, size.width() / 4, size.height() / 4);
    Selection selection;
    selection.focus = {Layer(39), Head(0)};
    const QImage zoomed = painted_part(figure, size, part, style, selection);
    std::int64_t accents = 0;
    for (int y = zoomed.height() / 2; y < zoomed.height(); ++y)
        for (int x = zoomed.width() / 2; x < zoomed.width(); ++x) accents += zoomed.pixelColor(x, y) == style.theme->accent;
    EXPECT_GT(accents, 20) << "the frame of what is seen";
}

TEST(ModelView, DeepModelsPutLayersAcrossWhereThatMakesLargerCells) {
    const ModelShape deep{30, 9, 3, 995, 995, false};
    const ModelLayout at = model_layout(deep, {850, 617});
    EXPECT_TRUE(at.across);
    EXPECT_LE(at.width, 850);
    EXPECT_LE(at.height, 617);
    EXPECT_GT(at.grid().width(), 0.85 * 850) << "the canvas is used";
    EXPECT_FALSE(model_layout(deep, {850, 0}).across) << "a page may be as tall as it needs";
    EXPECT_FALSE(model_layout({12, 12, 12, 995, 995, false}, {850, 617}).across);
    EXPECT_FALSE(model_layout({6, 8, 8, 11, 11, true}, {850, 617}).across);
    const ModelLayout lines = model_layout({30, 9, 3, 11, 11, true}, {850, 617});
    EXPECT_TRUE(lines.across) << "30 rows of lines are taller than the canvas";
    EXPECT_LE(lines.height, 617);
    for (int l = 0; l < 30; ++l)
        for (int h = 0; h < 9; ++h) {
            const HeadId id{Layer{l}, Head{h}};
            ASSERT_EQ(at.head_at(at.cell_rect(id).center()), id);
            ASSERT_EQ(heads_inside(at, id), (std::vector<std::int64_t>{l, l, h, h}));
        }
}

TEST(ModelView, FilesMarkNoHeadButTheOneThatIsOpen) {
    const auto shared = store(2, 3, 12);
    Style style;
    style.exporting = true;
    const auto picture = [&](HeadId focus, std::optional<HeadId> open) {
        ModelFigure figure(shared, {.detail = open, .together = {}});
        Selection selection;
        selection.focus = focus;
        return painted(figure, {700, 500}, style, selection);
    };
    const HeadId first{Layer{0}, Head{0}}, other{Layer{1}, Head{2}};
    EXPECT_EQ(picture(first, {}), picture(other, {})) << "the focus is no part of the command that makes the file again";
    EXPECT_NE(picture(first, {}), picture(first, other));
    EXPECT_EQ(picture(first, other), picture(other, other));
}

TEST(ModelView, OnlyCellsInSightAreAsked) {
    const ModelLayout at = model_layout({12, 12, 12, 60, 60, false}, {900, 700});
    EXPECT_EQ(heads_inside(at, {Layer{3}, Head{7}}), (std::vector<std::int64_t>{3, 3, 7, 7}));
    const auto none = at.touching({0, 0, 10, 10});
    EXPECT_LT(none.last_layer, none.first_layer);
}

TEST(ModelView, DetailPaneStaysInsideTheCanvasAndOffItsCell) {
    for (const bool lines : {true, false}) {
        const ModelShape shape{12, 12, 12, 17, 17, lines};
        const ModelLayout at = model_layout(shape, {900, 700});
        const QRectF canvas(0, 0, 900, at.height - 40);
        const QSizeF size = detail_size(shape, canvas.height());
        for (const HeadId id : {HeadId{Layer{0}, Head{0}},
                                {Layer{0}, Head{11}},
                                {Layer{11}, Head{0}},
                                {Layer{11}, Head{11}},
                                {Layer{5}, Head{5}}}) {
            const QRectF cell = at.cell_rect(id), pane = detail_rect(cell, size, canvas, 8);
            EXPECT_TRUE(canvas.contains(pane)) << id.layer.value << " " << id.head.value;
            EXPECT_FALSE(pane.intersects(cell));
            EXPECT_EQ(pane.left() > cell.right(), id.head.value < 11 && cell.right() + 16 + size.width() <= 900);
        }
    }
}

TEST(ModelView, PaneStaysInTheVisiblePartWhenZoomedAndPanned) {
    const ModelViewOptions options{.detail = HeadId{Layer{4}, Head{5}}, .together = {}};
    ModelFigure figure(store(6, 8, 17), options);
    Style style;
    style.zoom = 3;
    figure.layout({900, 700}, style, {});
    const QRectF cell = figure.places().cell_rect(*options.detail);
    for (const QPointF corner : {cell.topLeft() - QPointF(10, 10), cell.center(), cell.bottomRight() - QPointF(250, 200)}) {
        const QRectF seen(corner, QSizeF(300, 700 / 3.0));
        painted_part(figure, {900, 700}, seen, style, {});
        EXPECT_TRUE(seen.contains(figure.pane(3))) << corner.x() << " " << corner.y();
        EXPECT_NEAR(figure.pane(3).width() * 3, 348, 1e-6);
    }
}

TEST(ModelView, PaneAnswersOnBothSidesAndItsHeadingCloses) {
    const ModelViewOptions options{.detail = HeadId{Layer{0}, Head{0}}, .together = {}};
    ModelFigure figure(store(6, 8, 17), options);
    const Style style;
    figure.layout({900, 700}, style, {});
    const QRectF pane = figure.pane(1);
    const QRectF area = detail_area({6, 8, 8, 17, 17, true}, pane.size());
    const double y = pane.top() + row_middle(area, 6, 17);
    const Hit left = figure.hit_test({pane.left() + 30, y}, style, {});
    EXPECT_EQ(left.kind, Hit::Kind::query);
    EXPECT_EQ(left.query, Position{6});
    const Hit right = figure.hit_test({pane.right() - 30, y}, style, {});
    EXPECT_EQ(right.kind, Hit::Kind::key);
    EXPECT_EQ(right.key, Position{6});
    EXPECT_EQ(right.head, options.detail);
    const Hit heading = figure.hit_test(pane.topLeft() + QPointF(20, 20), style, {});
    EXPECT_EQ(heading.kind, Hit::Kind::head);
    EXPECT_EQ(heading.head, options.detail);
}

TEST(ModelView, LinesAreAsOpaqueAsTheirStrengthAndGoWhereTheyPoint) {
    analyze::Matrix strength = analyze::Matrix::Zero(4, 4);
    strength(1, 1) = 0.5F;
    strength(3, 0) = 1;
    const QImage image = lines_image(strength, {80, 80}, 2, QColor(200, 100, 0));
    EXPECT_NEAR(qAlpha(image.pixel(40, 30)), 128, 2);  // middle of row 1, all along it
    EXPECT_NEAR(qAlpha(image.pixel(2, 30)), 128, 2);
    EXPECT_EQ(qAlpha(image.pixel(40, 20)), 0);
    // The slanted one starts at row 3 and ends at row 0.
    EXPECT_GT(qAlpha(image.pixel(1, 69)), 150);
    EXPECT_GT(qAlpha(image.pixel(78, 11)), 150);
    EXPECT_EQ(qAlpha(image.pixel(1, 11)), 0);
    strength.setConstant(1.0F / 300);
    EXPECT_EQ(qAlpha(lines_image(strength, {80, 80}, 2, Qt::black).pixel(40, 30)), 0);
}

TEST(ModelView, PoolingKeepsTheLargestOrTheMeanAndMaskedCellsStayEmpty) {
    analyze::Matrix m(3, 3);
    m << 1, 0, 0, .5F, .5F, 0, .2F, .3F, .5F;
    EXPECT_FLOAT_EQ(halved(m, false)(0, 0), 1);
    EXPECT_FLOAT_EQ(halved(m, true)(0, 0), 0.5F);
    EXPECT_FLOAT_EQ(halved(m, false)(1, 1), 0.5F);
    EXPECT_FLOAT_EQ(halved(m, true)(1, 0), 0.25F);

    analyze::PatternAxes axes;
    axes.queries = axes.keys = sample::axis_items(8);
    EXPECT_EQ(legal_columns(axes, true, 8, 8), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(legal_columns(axes, true, 4, 4), (std::vector<std::int64_t>{1, 2, 3, 4}));
    EXPECT_EQ(legal_columns(axes, false, 2, 4), (std::vector<std::int64_t>{4, 4}));
    axes.queries.erase(axes.queries.begin());  // first row hidden: row 0 is query 1, which sees two keys
    EXPECT_EQ(legal_columns(axes, true, 7, 8).front(), 2);
    std::array<QRgb, 256> ramp{};
    ramp.fill(0xff102030);
    const QImage image = map_image(m, ramp, {1, 2, 3});
    EXPECT_EQ(image.pixel(0, 0), 0xff102030);
    EXPECT_EQ(qAlpha(image.pixel(1, 0)), 0);
}

TEST(ModelView, ZoomBringsTheRealPatternItsNumbersAndItsPairs) {
    const auto shared = store(2, 2, 300);
    ModelFigure figure(shared, {});
    Style style;
    const QSizeF canvas(900, 700);
    figure.layout(canvas, style, {});
    style.zoom = figure.max_zoom();
    const HeadId head{Layer{1}, Head{1}};
    const CellParts parts = cell_parts(shared->data().shape, figure.places().cell_rect(head), style.zoom);
    ASSERT_TRUE(parts.labelled);
    EXPECT_GT(parts.row_px, 60);
    const QPointF spot(parts.area.left() + 100.5 / 300 * parts.area.width(), row_middle(parts.area, 200, 300));
    const QRectF seen(spot - QPointF(450, 350) / style.zoom, canvas / style.zoom);
    settled(figure, seen, style);
    const Hit hit = figure.hit_test(spot, style, {});
    EXPECT_EQ(hit.kind, Hit::Kind::pair);
    EXPECT_EQ(hit.head, head);
    EXPECT_EQ(hit.query, Position{200});
    EXPECT_EQ(hit.key, Position{100});
    EXPECT_FLOAT_EQ(float(*hit.value), sample::made_up_pattern(head, 300)(200, 100));
}

TEST(ModelView, ManyLargeMapsInSightSettle) {
    // Twelve patterns of 3,000 tokens would not fit what is kept; the pooled maps stay, and nothing is fetched for
    // ever.
    auto data = sample::model(3, 4, 60);
    const auto labels = sample::axis_items(3000);
    data.axes.queries = data.axes.keys = labels;
    data.shape.rows = data.shape.columns = 3000;
    std::atomic<int> fetched = 0;
    data.pattern = [&](HeadId) {
        ++fetched;
        return analyze::Matrix(analyze::Matrix::Constant(3000, 3000, 1.0F / 3000));
    };
    ModelFigure figure(std::make_shared<ModelViewStore>(std::move(data)), {});
    Style style;
    figure.layout({900, 700}, style, {});
    style.zoom = 1.5;
    for (int i = 0; i < 50 && (i == 0 || figure.refining()); ++i) painted_part(figure, {900, 700}, {0, 0, 600, 466}, style, {});
    EXPECT_FALSE(figure.refining());
    EXPECT_EQ(fetched, 0);
}

TEST(ModelView, APatternTooLargeForTheBudgetIsShownInCells) {
    const test::Budget small(128 << 20);
    auto data = sample::model(2, 2, 60);
    data.axes.queries = data.axes.keys = sample::axis_items(3000);
    data.shape.rows = data.shape.columns = 3000;
    int whole = 0;
    std::int64_t side = 0;
    data.pattern = [&](HeadId) { return ++whole, analyze::Matrix(analyze::Matrix::Zero(3000, 3000)); };
    data.finer = [&](HeadId head, std::int64_t most) {
        side = most;
        const analyze::Matrix cells = analyze::Matrix::Constant(1000, 1000, 0.5F);
        return analyze::PooledMap{head, cells, cells};
    };
    ModelFigure figure(std::make_shared<ModelViewStore>(std::move(data)), {});
    Style style;
    figure.layout({900, 700}, style, {});
    style.zoom = figure.max_zoom();
    const QRectF seen(QPointF(100, 100), QSizeF(900, 700) / style.zoom);
    settled(figure, seen, style, 20);
    EXPECT_GT(side, 1000);
    EXPECT_EQ(whole, 0);
}

TEST(ModelView, PicturesAreGivenUpBeyondTheBudgetAndMadeAgain) {
    ModelFigure figure(store(4, 4, 300), {});
    Style style;
    figure.layout({900, 700}, style, {});
    const auto settled_at = [&](double zoom) {
        style.zoom = zoom;
        return settled(figure, QRectF({}, QSizeF(900, 700) / zoom), style);
    };
    const std::int64_t before = memory_in_use(MemoryUse::pictures);
    const QImage first = settled_at(1);
    const std::int64_t of_first = memory_in_use(MemoryUse::pictures) - before;
    EXPECT_GT(of_first, 0);
    settled_at(8);
    EXPECT_GT(memory_in_use(MemoryUse::pictures) - before, of_first);
    keep_to_budget(memory_budget());
    EXPECT_EQ(settled_at(1), first);
    EXPECT_EQ(memory_in_use(MemoryUse::pictures) - before, of_first);
}

TEST(ModelView, PaintingComputesNothingThatTakesLong) {
    auto data = sample::model(2, 2, 300);
    data.pooled_at_hand = false;
    std::set<std::thread::id> threads;
    const auto watched = [&threads](auto one) {
        return [&threads, one](HeadId head) {
            threads.insert(std::this_thread::get_id());
            return one(head);
        };
    };
    data.pattern = watched(data.pattern);
    data.pooled = watched(data.pooled);
    ModelFigure figure(std::make_shared<ModelViewStore>(std::move(data)), {});
    Style style;
    figure.layout({900, 700}, style, {});
    const auto blank = painted_part(figure, {900, 700}, {0, 0, 900, 700}, style, {});
    EXPECT_TRUE(figure.refining());
    EXPECT_TRUE(threads.empty());
    for (int i = 0; i < 50 && figure.refining(); ++i) {
        std::function<void()> keep;
        const Sharpening work = figure.sharpening();
        ASSERT_TRUE(work);
        EXPECT_FALSE(figure.sharpening()) << "one at a time";
        std::thread([&] { keep = work({}); }).join();
        keep();
        painted_part(figure, {900, 700}, {0, 0, 900, 700}, style, {});
    }
    EXPECT_FALSE(figure.refining());
    EXPECT_NE(painted_part(figure, {900, 700}, {0, 0, 900, 700}, style, {}), blank);
    EXPECT_FALSE(threads.empty());
    EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST(ModelView, AFigureThatIsDroppedWaitsForNoPattern) {
    auto data = sample::model(2, 2, 300);
    std::promise<void> begun, release;
    std::shared_future<void> released = release.get_future();
    data.pattern = [&begun, released](HeadId) {
        begun.set_value();
        released.wait();
        return analyze::Matrix(analyze::Matrix::Constant(300, 300, 1.0F / 300));
    };
    auto figure = std::make_unique<ModelFigure>(std::make_shared<ModelViewStore>(std::move(data)), ModelViewOptions{});
    Style style;
    figure->layout({900, 700}, style, {});
    style.zoom = figure->max_zoom();
    painted_part(*figure, {900, 700}, figure->places().cell_rect({Layer{0}, Head{0}}), style, {});
    Sharpening work = figure->sharpening();
    ASSERT_TRUE(work);
    const CancelToken cancel;
    std::thread worker([work = std::exchange(work, {}), cancel] { EXPECT_THROW(work(cancel), Cancelled); });
    begun.get_future().wait();
    figure.reset();  // hangs here if it waits
    cancel.cancel();
    release.set_value();
    worker.join();
}

TEST(ModelView, ExportNeedsNoSecondFrameAndIsTheSameEveryTime) {
    Style style;
    style.exporting = true;
    const auto once = [&] {
        ModelFigure figure(store(3, 4, 150), {});
        const QSizeF size = figure.layout({800, 600}, style, {});
        const QImage image = painted_part(figure, {800, 600}, QRectF(QPointF(0, 0), size), style, {});
        EXPECT_FALSE(figure.refining());
        return image;
    };
    EXPECT_EQ(once(), once());
}

TEST(ModelView, TableAndArrayAreTheWeightsThatAreDrawn) {
    ModelFigure lines(store(2, 3, 5), {});
    const auto array = lines.arrays().front();
    EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3, 5, 5}));
    for (const auto& row : lines.table().rows) {
        const auto at = [&](int i) { return std::get<std::int64_t>(row[static_cast<std::size_t>(i)]); };
        const auto index = ((at(0) * 3 + at(1)) * 5 + at(2)) * 5 + at(3);
        EXPECT_FLOAT_EQ(float(std::get<double>(row.back())), array.values[static_cast<std::size_t>(index)]);
        EXPECT_GE(std::get<double>(row.back()), 1.0 / 255);
    }
    ModelFigure maps(store(2, 2, 260), {.mean = true, .detail = {}, .together = {}});
    EXPECT_EQ(maps.arrays().front().shape, (std::vector<std::int64_t>{2, 2, 128, 128}));
    EXPECT_EQ(maps.table().columns.back(), "mean_weight");
}

TEST(ModelView, OneTokenAndNoTokenArePainted) {
    for (const std::int64_t tokens : {1, 0}) {
        ModelFigure figure(store(2, 2, tokens), {});
        const Style style;
        figure.layout({600, 400}, style, {});
        EXPECT_NO_THROW(painted_part(figure, {600, 400}, {0, 0, 600, 400}, style, {}));
        const Hit hit = figure.hit_test(figure.places().cell_rect({Layer{1}, Head{1}}).center(), style, {});
        EXPECT_EQ(hit.kind, tokens == 1 ? Hit::Kind::head : Hit::Kind::none);
    }
}

}  // namespace model_view_test
}  // namespace headlight::figure
