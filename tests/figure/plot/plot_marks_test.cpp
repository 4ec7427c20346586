// SPDX-License-Identifier: GPL-3.0-or-later
// Plots of very many marks: what is drawn of them, which jobs paint them, and which pixels are kept.
#include "figure/plot/plot_figure.h"

#include "headlight/base/error.h"
#include "tests/figure/plot/plot_sample.h"

#include <gtest/gtest.h>

#include <random>

namespace headlight::figure {
namespace plot_marks_test {

using plot::PlotFigure;

const Style style;

/// A line up and down through 100,000 marks of a head, with a gap.
plot::PlotData long_line() {
    plot::PlotData data = sample::named("long", "Long");
    plot::Series s;
    s.kind = plot::Series::Kind::line;
    s.head = HeadId{Layer(1), Head(2)};
    std::mt19937 random(3);
    for (int i = 0; i < 100'000; ++i) {
        s.x.push_back(i);
        s.y.push_back(i == 50'000 ? std::nan("") : std::sin(i * 1e-4) + static_cast<double>(random() % 1000) / 2000);
    }
    data.panels.emplace_back().series.push_back(s);
    return data;
}

TEST(PlotFigure, ALongLineHasNoMoreCornersThanCanBeSeen) {
    PlotFigure figure(long_line());
    figure.layout({900, 500}, style, {});
    const plot::PanelFrame& frame = figure.frame().panels[0];
    const plot::Series& line = figure.data().panels[0].series[0];
    const QPainterPath all = plot::line_path(frame, line), seen = plot::line_path(frame, line, 1);
    EXPECT_GE(all.elementCount(), 99'999) << "files have all";
    EXPECT_LE(seen.elementCount(), 4 * 900);
    EXPECT_EQ(seen.boundingRect(), all.boundingRect());
    const auto drawn = [](const QPainterPath& path) {
        QImage image(900, 500, QImage::Format_Grayscale8);
        image.fill(Qt::white);
        QPainter painter(&image);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(Qt::black, 1.5));
        painter.drawPath(path);
        return image;
    };
    const QImage a = drawn(all), b = drawn(seen);
    int inked = 0, different = 0;
    for (int y = 0; y < 500; ++y)
        for (int x = 0; x < 900; ++x) {
            inked += a.constScanLine(y)[x] < 128;
            different += std::abs(a.constScanLine(y)[x] - b.constScanLine(y)[x]) > 64;
        }
    EXPECT_GT(inked, 10'000);
    EXPECT_LT(different, inked / 50);
}

/// On screen a long line is drawn in pieces and its dots are stamped, in files neither: both show the same.
TEST(PlotFigure, LongLinesAndTheirDotsLookOnScreenAsInFiles) {
    plot::PlotData data = long_line();
    plot::Series& s = data.panels[0].series[0];
    s.x.resize(900), s.y.resize(900);
    for (const bool marked : {false, true}) {
        s.marked = marked;
        PlotFigure figure(data);
        const QSizeF size = figure.layout({1800, 600}, style, {});
        const auto painted = [&](bool exporting) {
            QImage image(size.toSize(), QImage::Format_RGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            Style of = style;
            of.exporting = exporting;
            figure.paint(painter, QRectF(QPointF(0, 0), size), of, {});
            return image.convertToFormat(QImage::Format_Grayscale8);
        };
        const QImage screen = painted(false), file = painted(true);
        const QRect area = figure.frame().panels[0].area.toAlignedRect().adjusted(2, 2, -2, -2);
        int inked = 0, different = 0;
        for (int y = area.top(); y < area.bottom(); ++y)
            for (int x = area.left(); x < area.right(); ++x) {
                const int a = screen.constScanLine(y)[x], b = file.constScanLine(y)[x];
                inked += b < 200;
                different += std::abs(a - b) > 64;
            }
        EXPECT_GT(inked, 10'000);
        EXPECT_LT(different, inked / 50) << (marked ? "with dots" : "without");
    }
}

TEST(PlotFigure, AJobPaintsManyMarks) {
    plot::PlotData few = long_line();
    few.panels[0].series[0].x.resize(900), few.panels[0].series[0].y.resize(900);
    plot::PlotData many = few;
    plot::Series without_place;
    without_place.kind = plot::Series::Kind::line;
    without_place.x.assign(20'000, 1);
    without_place.y.assign(20'000, std::nan(""));
    many.panels[0].series.push_back(without_place);
    const auto painted = [&](PlotFigure& figure, const Theme& theme = Theme::light(), QSizeF in = {1800, 600}) {
        const QSizeF size = figure.layout(in, style, {});
        QImage image(size.toSize(), QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        Style themed = style;
        themed.theme = &theme;
        figure.paint(painter, QRectF(QPointF(0, 0), size), themed, {});
        return image;
    };
    PlotFigure at_once(few), beside(many);
    const QImage whole = painted(at_once), frame = painted(beside);
    EXPECT_FALSE(at_once.refining());
    EXPECT_TRUE(beside.refining());
    EXPECT_NE(frame, whole);

    Sharpening work = beside.sharpening();
    ASSERT_TRUE(work);
    EXPECT_FALSE(beside.sharpening()) << "it is under way";
    std::function<void()> keep = work({});
    keep();
    EXPECT_FALSE(beside.refining());
    EXPECT_FALSE(beside.sharpening());
    EXPECT_EQ(painted(beside), whole);
    EXPECT_FALSE(beside.refining());

    painted(beside, Theme::dark_theme());
    EXPECT_TRUE(beside.refining()) << "another style";
    work = {}, keep = {};
    keep = beside.sharpening()({});
    painted(beside, Theme::dark_theme(), {1500, 500});
    keep();
    EXPECT_TRUE(beside.refining()) << "those marks were of another layout";
    keep = {};
    const CancelToken cancelled;
    cancelled.cancel();
    EXPECT_THROW(beside.sharpening()(cancelled), Cancelled);
    EXPECT_TRUE(beside.sharpening()) << "asked for again";
}

TEST(PlotFigure, AnotherPinOrHoverLaysNothingOutAndKeepsTheLine) {
    PlotFigure figure(long_line());
    const QSizeF size = figure.layout({900, 500}, style, {});
    const plot::Word* const words = figure.frame().words.data();
    Selection of_head, pinned;
    of_head.focus = pinned.focus = HeadId{Layer(1), Head(2)};
    pinned.pinned_queries = {Position(7)};
    const auto painted = [&](const Selection& selection) {
        QImage image(size.toSize(), QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        figure.paint(painter, QRectF(QPointF(0, 0), size), style, selection);
        return image;
    };
    painted({});
    figure.sharpening()({})();
    const QImage without = painted({}), first = painted(of_head);
    EXPECT_NE(first, without);
    EXPECT_EQ(figure.layout({900, 500}, style, pinned), size);
    EXPECT_EQ(figure.frame().words.data(), words);
    EXPECT_EQ(painted(of_head), first);
    EXPECT_EQ(painted({}), without) << "without the head its line is as before";
    EXPECT_NE(figure.layout({700, 500}, style, {}), size);
}

/// The pixels of a head's many points are kept: those of another head, style or layout are others. A job paints very many.
class ManyPoints : public testing::TestWithParam<int> {};

TEST_P(ManyPoints, OfAHeadAreItsOwn) {
    const int points = GetParam();
    const auto cloud = [points] {
        plot::PlotData data = sample::named("two", "Two");
        std::mt19937 random(5);
        for (std::int64_t h = 0; h < 2; ++h) {
            plot::Series s;
            s.head = HeadId{Layer(1), Head(h)};
            for (int i = 0; i < points; ++i) {
                s.x.push_back(static_cast<double>(h) + static_cast<double>(random() % 1000) / 1000);
                s.y.push_back(static_cast<double>(random() % 1000) / 1000);
            }
            data.panels.resize(1);
            data.panels[0].series.push_back(s);
        }
        return data;
    };
    const auto paint = [&](PlotFigure& figure, std::int64_t head, QSizeF size, const Theme& theme) {
        QImage image(size.toSize(), QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        Style themed = style;
        themed.theme = &theme;
        Selection selection;
        selection.hover_head = HeadId{Layer(1), Head(head)};
        figure.paint(painter, QRectF(QPointF(0, 0), size), themed, selection);
        return image;
    };
    const auto painted = [&](PlotFigure& figure, std::int64_t head, QSizeF in, const Theme& theme = Theme::light()) {
        const QSizeF size = figure.layout(in, style, {});
        QImage image = paint(figure, head, size, theme);
        for (; figure.refining(); image = paint(figure, head, size, theme)) figure.sharpening()({})();
        return image;
    };
    const QSizeF wide(900, 500), narrow(700, 500);
    PlotFigure used(cloud());
    const auto as_fresh = [&](std::int64_t head, QSizeF in, const Theme& theme = Theme::light()) {
        PlotFigure fresh(cloud());
        return painted(used, head, in, theme) == painted(fresh, head, in, theme);
    };
    EXPECT_NE(painted(used, 0, wide), painted(used, 1, wide));
    EXPECT_TRUE(as_fresh(0, wide));
    EXPECT_TRUE(as_fresh(0, wide, Theme::dark_theme()));
    EXPECT_TRUE(as_fresh(0, narrow));
    EXPECT_TRUE(as_fresh(1, narrow));
    const QImage second = painted(used, 1, narrow), first = paint(used, 0, narrow, Theme::light());
    EXPECT_EQ(used.refining(), points > 10'000);
    EXPECT_NE(first, second) << "never the points of the head before";
    if (points > 10'000) {
        EXPECT_NE(first, painted(used, 0, narrow));
    }
}

INSTANTIATE_TEST_SUITE_P(PlotFigure, ManyPoints, testing::Values(1'500, 12'000));

}  // namespace plot_marks_test
}  // namespace headlight::figure
