// SPDX-License-Identifier: GPL-3.0-or-later
// Heads outside a filter are painted at a quarter of their strength; everything else stays as it is.
#include "figure/pattern/head/head_figure.h"
#include "figure/pattern/model/model_view_figure.h"
#include "figure/plot/plot_figure.h"
#include "headlight/figure/core/request.h"
#include "tests/figure/painting.h"
#include "tests/figure/pattern/model_sample.h"
#include "tests/figure/plot/plot_sample.h"
#include "tests/figure/synthetic.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headlight::figure {
namespace head_filter_test {

std::shared_ptr<const HeadFilter> without(std::vector<HeadId> dimmed) {
    auto filter = std::make_shared<HeadFilter>();
    filter->expression = "entropy < 1";
    filter->dimmed = std::move(dimmed);
    return filter;
}

/// Painted until nothing coarse is left.
QImage settled(Figure& figure, QSizeF canvas, const Style& style, const Selection& selection) {
    const QSizeF size = figure.layout(canvas, style, selection);
    const auto paint = [&] { return painted_part(figure, size, QRectF({}, size), style, selection); };
    QImage image = paint();
    for (int i = 0; i < 200 && figure.refining(); ++i) image = paint();
    return image;
}

/// Sum over a rectangle of how far each pixel is from the colour under it.
double ink(const QImage& image, const QRect& rect, const QColor& ground) {
    double sum = 0;
    for (int y = rect.top(); y <= rect.bottom(); ++y)
        for (int x = rect.left(); x <= rect.right(); ++x) {
            const QColor c = image.pixelColor(x, y);
            sum += std::abs(c.red() - ground.red()) + std::abs(c.green() - ground.green()) + std::abs(c.blue() - ground.blue());
        }
    return sum;
}

QRect inside(const QRectF& rect) { return rect.adjusted(3, 3, -3, -3).toAlignedRect(); }

class FilteredModel : public testing::TestWithParam<std::int64_t> {};

TEST_P(FilteredModel, DimmedThumbnailsHaveAQuarterOfTheirInk) {
    for (const Theme* theme : {&Theme::light(), &Theme::dark_theme()}) {
        ModelFigure figure(std::make_shared<ModelViewStore>(sample::model(3, 4, GetParam())), {});
        Style style;
        style.theme = theme;
        Selection selection;
        selection.focus = {Layer(0), Head(0)};
        const HeadId faint{Layer(1), Head(2)}, full{Layer(2), Head(1)};
        const QImage before = settled(figure, {800, 600}, style, selection);
        style.filter = without({faint});
        EXPECT_TRUE(style.dims(faint));
        EXPECT_FALSE(style.dims(full));
        const QImage after = settled(figure, {800, 600}, style, selection);
        const auto cell = [&](HeadId head) { return inside(figure.places().cell_rect(head)); };
        const double whole = ink(before, cell(faint), theme->panel);
        ASSERT_GT(whole, 1000);
        EXPECT_NEAR(ink(after, cell(faint), theme->panel) / whole, dimmed_strength, 0.06);
        EXPECT_EQ(before.copy(cell(full)), after.copy(cell(full)));
    }
}

INSTANTIATE_TEST_SUITE_P(LinesAndMaps, FilteredModel, testing::Values(12, 60));

TEST(FilteredHeadView, SquaresOfOtherHeadsAreFaint) {
    HeadFigure figure(synthetic::heads(6, 4, [](int, int i, int j) { return j <= i ? 1.0F / float(i + 1) : 0.0F; }));
    Style style;
    Selection selection;
    selection.layer = Layer(4);
    selection.heads = {Head(0), Head(1), Head(2), Head(3)};
    const QSizeF canvas(900, 400);
    const QImage before = settled(figure, canvas, style, selection);
    style.filter = without({{Layer(4), Head(2)}, {Layer(5), Head(1)}});
    const QImage after = settled(figure, canvas, style, selection);
    const auto square = [&](std::int64_t head) -> QRect {
        for (int y = 2; y < 60; ++y)
            for (int x = 2; x < 900; ++x) {
                const Hit hit = figure.hit_test(QPointF(x, y), style, selection);
                if (hit.kind == Hit::Kind::head_square && hit.head->head == Head(head)) return hit.area.toAlignedRect();
            }
        return {};
    };
    const QColor ground = style.theme->canvas;
    const double share = ink(after, square(2), ground) / ink(before, square(2), ground);
    EXPECT_NEAR(share, dimmed_strength, 0.06);
    EXPECT_EQ(before.copy(square(1)), after.copy(square(1))) << "a head of another layer is meant";
    const Hit hit = figure.hit_test(QRectF(square(2)).center(), style, selection);
    EXPECT_TRUE(hit.tip.contains(QStringLiteral("not in the filter")));
    EXPECT_EQ(before.copy(0, 80, 900, 300), after.copy(0, 80, 900, 300)) << "lines and tokens are as before";
}

TEST(FilteredPlot, DotsAndLinesOfOtherHeadsAreFaint) {
    plot::PlotData data = sample::named("few", "Few");
    plot::Series dots;
    for (int i = 0; i < 4; ++i) {
        dots.heads.push_back({Layer(1), Head(i)});
        // off the grid lines, which a faint dot lets through
        dots.x.push_back(i), dots.y.push_back(0.03 + 0.9 * (i % 2));
    }
    data.focus_fades = false;
    data.panels.emplace_back().series.push_back(dots);
    plot::PlotFigure figure(data);
    Style style;
    style.exporting = true;
    Selection elsewhere;
    elsewhere.focus = {Layer(0), Head(0)};
    const QImage before = settled(figure, {600, 400}, style, elsewhere);
    style.filter = without({{Layer(1), Head(2)}});
    const QImage after = settled(figure, {600, 400}, style, elsewhere);
    const auto around = [&](std::int64_t head) {
        for (int y = 0; y < before.height(); ++y)
            for (int x = 0; x < before.width(); ++x) {
                const Hit hit = figure.hit_test(QPointF(x, y), style, elsewhere);
                if (hit.head == HeadId{Layer(1), Head(head)} && hit.area.contains(QPointF(x, y)))
                    return QRectF(hit.area.center() - QPointF(2, 2), QSizeF(3, 3)).toAlignedRect();
            }
        return QRect();
    };
    const QColor ground = style.theme->canvas;
    ASSERT_GT(ink(before, around(2), ground), 100);
    EXPECT_NEAR(ink(after, around(2), ground) / ink(before, around(2), ground), dimmed_strength, 0.1);  // a disc has soft edges
    EXPECT_EQ(before.copy(around(1)), after.copy(around(1)));

    plot::Series line;
    line.head = HeadId{Layer(1), Head(2)};
    style.filter = nullptr;
    const double full = plot::line_pen(line, style).color().alphaF();
    style.filter = without({{Layer(1), Head(2)}});
    EXPECT_NEAR(plot::line_pen(line, style).color().alphaF(), full * dimmed_strength, 0.01);
}

TEST(FilteredRequest, OnlyViewsThatPaintItNameTheFilter) {
    Request request;
    request.output.style.filter = without({{Layer(0), Head(0)}});
    const auto names_it = [&](const char* view) {
        request.view = view;
        for (const auto& [name, value] : options_of(request))
            if (name == "where") return value == "entropy < 1";
        return false;
    };
    EXPECT_TRUE(names_it("head"));
    EXPECT_TRUE(names_it("model"));
    EXPECT_TRUE(names_it("head-scatter"));
    EXPECT_FALSE(names_it("matrix"));
    EXPECT_FALSE(names_it("neuron"));
}

}  // namespace head_filter_test
}  // namespace headlight::figure
