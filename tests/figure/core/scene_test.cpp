// SPDX-License-Identifier: GPL-3.0-or-later
// What every figure that is a scene has in common, for all views of the list: the pointer finds each mark, a screen reader hears
// its name, a filter leaves the heads that it keeps alone, and nothing stands outside the page.
#include "figure/core/scene.h"
#include "headlight/figure/core/view_spec.h"
#include "tests/figure/novella.h"
#include "tests/figure/painting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ranges>
#include <set>

namespace headlight::figure {
namespace scene_test {

const QSizeF kCanvas(1000, 700);

/// Every view that a plain text has, in one of two runs where it compares.
std::vector<std::pair<std::string, std::unique_ptr<Figure>>> all_figures() {
    const trace::CapturePlan plan{.globs = {}, .overview = {.pooled = true, .numbers = true}};
    const TracePtr a = novella("The doctor asked the nurse a question. She asked the doctor why", plan),
                   b = novella("The farmer asked the teacher a question. He asked the farmer why", plan);
    std::vector<std::pair<std::string, std::unique_ptr<Figure>>> figures;
    for (const ViewSpec& spec : view_specs()) {
        ViewState state{.view = spec.id, .layer = Layer(2), .heads = {Head(1), Head(5)}, .query = Position(8)};
        if (spec.compares) state.beside = beside(a, b);
        if (why_missing(spec, *a, state).empty()) figures.emplace_back(spec.id, make_figure(a, state));
    }
    return figures;
}

struct Everywhere : testing::Test {
    static void SetUpTestSuite() { figures_ = new auto(all_figures()); }
    static void TearDownTestSuite() { delete figures_; }

    /// Of each figure that lists its marks, laid out and painted.
    template <class Check>
    static void each(Check check) {
        std::size_t count = 0;
        for (const auto& [id, figure] : *figures_) {
            SCOPED_TRACE(id);
            const Style style;
            const Selection selection;
            const QSizeF size = figure->layout(kCanvas, style, selection);
            const QImage image = painted_part(*figure, size, QRectF({}, size), style, selection);
            const auto marks = figure->marks(style, selection);
            if (!marks) continue;
            ++count;
            check(*figure, size, *marks, image);
        }
        EXPECT_GE(count, 15U) << "views that are scenes";
    }

    static std::vector<std::pair<std::string, std::unique_ptr<Figure>>>* figures_;
};
std::vector<std::pair<std::string, std::unique_ptr<Figure>>>* Everywhere::figures_ = nullptr;

TEST_F(Everywhere, ThePointerFindsEachMarkOrOneAboveIt) {
    each([](const Figure& figure, QSizeF, const std::vector<MarkPlace>& marks, const QImage&) {
        EXPECT_FALSE(marks.empty());
        std::size_t own = 0;
        for (const MarkPlace& mark : marks) {
            const Hit found = figure.hit_test(mark.point, {}, {});
            const bool same = found.kind == mark.hit.kind && found.tip == mark.hit.tip && found.options == mark.hit.options;
            const auto above = std::ranges::find_if(
                marks, [&](const MarkPlace& other) { return other.hit.kind == found.kind && other.hit.tip == found.tip; });
            EXPECT_TRUE(same || (above != marks.end() && &*above > &mark))
                << mark.hit.tip.toStdString() << " is under " << found.tip.toStdString();
            own += same || found.area == mark.hit.area;  // lines of several heads between the same tokens
        }
        EXPECT_GT(own, marks.size() / 3) << "most marks can be pointed at";
    });
}

TEST_F(Everywhere, EveryMarkHasANameAndStandsOnThePage) {
    each([](const Figure&, QSizeF size, const std::vector<MarkPlace>& marks, const QImage&) {
        const QRectF page = QRectF({}, size).adjusted(-1, -1, 1, 1);
        for (const MarkPlace& mark : marks) {
            EXPECT_TRUE(page.contains(mark.hit.area)) << mark.hit.tip.toStdString();
            EXPECT_TRUE(!mark.hit.tip.isEmpty() || mark.hit.kind == Hit::Kind::legend || mark.hit.kind == Hit::Kind::option);
        }
    });
}

TEST_F(Everywhere, AFilterDimsTheHeadsItLeavesOutAndNoOthers) {
    std::size_t dimmed = 0;
    each([&](Figure& figure, QSizeF size, const std::vector<MarkPlace>& marks, const QImage& before) {
        std::set<HeadId> heads;
        for (const MarkPlace& mark : marks)
            if (mark.hit.kind == Hit::Kind::head && mark.hit.head) heads.insert(*mark.hit.head);
        if (heads.size() < 2) return;
        EXPECT_TRUE(view_spec(figure.view()).filters) << "files have to say so";
        auto filter = std::make_shared<HeadFilter>();
        for (const HeadId head : heads | std::views::take(heads.size() / 2)) filter->dimmed.push_back(head);
        Style style;
        style.filter = filter;
        const QImage after = painted_part(figure, size, QRectF({}, size), style);
        for (const HeadId head : heads) {
            const auto place = figure.place_of_head(head);
            ASSERT_TRUE(place) << head_name(head).toStdString();
            const QRect inside = place->adjusted(1, 1, -1, -1).toAlignedRect();
            const bool same = before.copy(inside) == after.copy(inside);
            EXPECT_EQ(same, !style.dims(head)) << head_name(head).toStdString();
            dimmed += style.dims(head);
        }
        for (const MarkPlace& mark : marks) {
            const Hit hit = figure.hit_test(mark.point, style, {});
            if (hit.kind != Hit::Kind::head || !hit.head) continue;
            EXPECT_EQ(hit.tip.contains(QStringLiteral("not in the filter")), style.dims(*hit.head));
        }
    });
    EXPECT_GT(dimmed, 50U);
}

TEST_F(Everywhere, BrushingFindsTheHeadsInside) {
    each([](Figure& figure, QSizeF size, const std::vector<MarkPlace>&, const QImage&) {
        const std::vector<HeadId> all = figure.heads_in(QRectF({}, size));
        if (all.empty()) return;
        EXPECT_TRUE(std::ranges::is_sorted(all));
        const QRectF first = *figure.place_of_head(all.front());
        EXPECT_THAT(figure.heads_in(first), testing::Contains(all.front()));
        EXPECT_LT(figure.heads_in(first).size(), all.size());
    });
}

// --- the scene itself
// -----------------------------------------------------------------------------------------------------------

Hit said(const char* tip, Hit::Kind kind = Hit::Kind::legend) { return {.kind = kind, .tip = QString::fromLatin1(tip)}; }

TEST(Scene, WhatComesLaterLiesAbove) {
    Scene scene;
    scene.means(QRectF(0, 0, 100, 100), said("below"));
    scene.means(QRectF(40, 40, 20, 20), said("above"));
    scene.means(QRectF(80, 80, 20, 20), {});
    EXPECT_EQ(scene.at({50, 50}).tip, "above");
    EXPECT_EQ(scene.at({10, 10}).tip, "below");
    EXPECT_EQ(scene.at({90, 90}).kind, Hit::Kind::none) << "hidden";
    EXPECT_EQ(scene.at({200, 10}).kind, Hit::Kind::none);
}

TEST(Scene, ClipsEndMarksAndMeaningsAndNest) {
    Scene scene;
    {
        const auto outer = scene.clip(QRectF(0, 0, 50, 100));
        scene.fill(QRectF(0, 0, 100, 10), Qt::red);
        {
            const auto inner = scene.clip(QRectF(20, 0, 80, 100));
            scene.means(QRectF(0, 0, 100, 100), said("cut"));
        }
        scene.means(QRectF(0, 90, 100, 10), said("wider"));
    }
    scene.means(QRectF(90, 0, 10, 10), said("free"));
    EXPECT_EQ(scene.at({10, 50}).kind, Hit::Kind::none);
    EXPECT_EQ(scene.at({30, 50}).tip, "cut");
    EXPECT_EQ(scene.at({30, 50}).area, QRectF(20, 0, 30, 100));
    EXPECT_EQ(scene.at({60, 50}).kind, Hit::Kind::none);
    EXPECT_EQ(scene.at({10, 95}).tip, "wider");
    EXPECT_EQ(scene.at({95, 5}).tip, "free");
    QImage image(100, 100, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    scene.paint(painter, QRectF(0, 0, 100, 100), {});
    EXPECT_EQ(image.pixelColor(45, 5), QColor(Qt::red));
    EXPECT_EQ(image.pixelColor(55, 5), QColor(Qt::white));
}

TEST(Scene, LinesHaveAReachAndShapesAnInside) {
    QPainterPath line(QPointF(0, 0));
    line.lineTo(100, 100);
    QPainterPath shape;
    shape.addEllipse(QPointF(200, 50), 40, 40);
    Scene scene;
    scene.means(line, 8, said("line"));
    scene.means(shape, 0, said("shape"));
    EXPECT_EQ(scene.at({50, 53}).tip, "line");
    EXPECT_EQ(scene.at({50, 60}).kind, Hit::Kind::none);
    EXPECT_EQ(scene.at({200, 85}).tip, "shape");
    EXPECT_EQ(scene.at({163, 14}).kind, Hit::Kind::none);
    ASSERT_EQ(scene.places().size(), 2U);
    EXPECT_EQ(scene.places()[0].point, QPointF(50, 50));
}

TEST(Scene, CellsOfAGridAreAskedOneByOne) {
    Scene scene;
    scene.means(QRectF(0, 0, 100, 100), said("ground"));
    scene.means(QRectF(10, 10, 40, 20), 2, 4, [](std::int64_t row, std::int64_t column) {
        return row == 1 && column == 3 ? Hit() : Hit{.kind = Hit::Kind::pair, .query = Position(row), .key = Position(column)};
    });
    const Hit hit = scene.at({25, 25});
    EXPECT_EQ(hit.query, Position(1));
    EXPECT_EQ(hit.key, Position(1));
    EXPECT_EQ(hit.area, QRectF(20, 20, 10, 10));
    EXPECT_EQ(scene.at({45, 25}).tip, "ground") << "a cell that means nothing";
    EXPECT_EQ(scene.places().size(), 8U);
}

TEST(Scene, AFileGetsTheSameMarksWithoutMeanings) {
    Scene scene(false);
    scene.text({10, 20}, QStringLiteral("words"), small_font(), Qt::black);
    scene.means(QRectF(0, 0, 100, 100), said("words"));
    EXPECT_EQ(scene.at({10, 10}).kind, Hit::Kind::none);
    TextBoxes device({100, 100});
    QPainter painter(&device);
    scene.paint(painter, QRectF(0, 0, 100, 100), {});
    painter.end();
    ASSERT_EQ(device.boxes.size(), 1U);
    EXPECT_EQ(device.boxes[0].first, "words");
}

}  // namespace scene_test
}  // namespace headlight::figure
