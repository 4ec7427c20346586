// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/matrix/matrix_view.h"

#include "figure/core/own_scale.h"
#include "figure/pattern/matrix/matrix_layout.h"
#include "figure/pattern/matrix/mip_pyramid.h"
#include "figure/pattern/model/model_view_raster.h"
#include "headlight/base/error.h"
#include "headlight/base/memory.h"
#include "headlight/base/memory_account.h"
#include "tests/figure/painting.h"
#include "tests/figure/synthetic.h"

#include <gmock/gmock.h>

namespace headlight::figure {
namespace matrix_view_test {

constexpr QSizeF canvas(900, 700);

float causal_weight(int, int i, int j) { return j > i ? 0.F : j == i ? 0.75F : 0.25F / static_cast<float>(std::max(i, 1)); }

QImage painted(const Figure& figure, const QRectF& seen, const Style& style) {
    return painted_part(figure, seen.size() * style.zoom, seen, style);
}

/// Where a cell is, found by asking: the middle of its area.
std::optional<QPointF> find_cell(const Figure& figure, const QSizeF& size, std::int64_t query, std::int64_t key,
                                 const Style& style) {
    for (double y = 2; y < size.height(); y += 4)
        for (double x = 2; x < size.width(); x += 4) {
            const Hit hit = figure.hit_test({x, y}, style, {});
            if (hit.kind == Hit::Kind::pair && hit.query == Position(query) && hit.key == Position(key)) return hit.area.center();
        }
    return std::nullopt;
}

TEST(MatrixView, ItsMapsAreInTheAccountAndItsTilesGivenUp) {
    const std::int64_t before = memory_in_use(MemoryUse::pictures);
    {
        constexpr int kTokens = 600;
        const auto figure = matrix_figure(synthetic::matrices(synthetic::heads(kTokens, 1, causal_weight)));
        const std::int64_t maps = memory_in_use(MemoryUse::pictures) - before;
        EXPECT_GT(maps, kTokens * kTokens * std::int64_t{sizeof(float) + 1}) << "the weights and the pyramid above them";
        const Style style;
        const QRectF all(QPointF(0, 0), figure->layout(canvas, style, {}));
        const QImage first = painted(*figure, all, style);
        const std::int64_t with_tiles = memory_in_use(MemoryUse::pictures) - before;
        EXPECT_GT(with_tiles, maps);
        Style other = style;
        other.ramp = Ramp::viridis;
        painted(*figure, all, other);
        EXPECT_EQ(memory_in_use(MemoryUse::pictures) - before, with_tiles) << "tiles of other colours are gone";
        keep_to_budget(memory_budget());
        Style zoomed = style;
        zoomed.zoom = 8;
        painted(*figure, QRectF(100, 100, 60, 60), zoomed);
        keep_to_budget(memory_budget());
        EXPECT_EQ(painted(*figure, all, style), first);
        EXPECT_EQ(memory_in_use(MemoryUse::pictures) - before, with_tiles) << "those of the other zoom are gone";
    }
    EXPECT_EQ(memory_in_use(MemoryUse::pictures), before);
}

TEST(MatrixView, AnotherTransferOfALongTextIsAppliedBesideThePainting) {
    const MatrixViewData data = synthetic::matrices(synthetic::heads(800, 1, causal_weight));
    Style style, other;
    other.transfer.curve = Transfer::Curve::gamma;
    Style file = other;
    file.exporting = true;
    const auto figure = matrix_figure(data), expected = matrix_figure(data);
    const QRectF all(QPointF(0, 0), figure->layout(canvas, style, {}));
    const QImage before = painted(*figure, all, style);
    expected->layout(canvas, other, {});
    EXPECT_FALSE(expected->refining());
    figure->layout(canvas, other, {});
    const QRect cells = all.toRect().adjusted(0, 0, 0, -100);
    EXPECT_EQ(painted(*figure, all, other).copy(cells), before.copy(cells)) << "not while it paints";
    ASSERT_TRUE(figure->refining());
    Sharpening work = figure->sharpening();
    ASSERT_TRUE(work);
    EXPECT_FALSE(figure->sharpening()) << "it is under way";
    work({})();
    work = {};
    const QImage last = painted(*figure, all, other);
    EXPECT_FALSE(figure->refining());
    EXPECT_NE(last.copy(cells), before.copy(cells));
    EXPECT_EQ(last.copy(cells), painted(*expected, all, file).copy(cells));
}

TEST(MatrixView, SignedMapsStayAsTheyAreAtAnotherTransfer) {
    MatrixViewData data = synthetic::matrices(synthetic::heads(800, 2, causal_weight));
    data.diverging = MatrixViewData::Diverging{Eigen::VectorXf::Constant(800, 0.25F), 0.5F};
    Style style, other;
    other.transfer.curve = Transfer::Curve::gamma;
    const auto all_signed = matrix_figure(data);
    const QRectF all(QPointF(0, 0), all_signed->layout(canvas, style, {}));
    const QImage before = painted(*all_signed, all, style);
    EXPECT_EQ(painted(*all_signed, all, other), before);
    EXPECT_FALSE(all_signed->refining()) << "there is nothing to make again";

    data.signed_from = 1;  // weights, which follow the transfer, beside signed numbers
    const auto both = matrix_figure(data), expected = matrix_figure(data);
    both->layout(canvas, style, {});
    painted(*both, all, style);
    both->layout(canvas, other, {});
    painted(*both, all, other);
    ASSERT_TRUE(both->refining());
    both->sharpening()({})();
    Style file = other;
    file.exporting = true;
    expected->layout(canvas, other, {});
    const QRect cells = all.toRect().adjusted(0, 0, 0, -100);
    const QImage last = painted(*both, all, other);
    EXPECT_EQ(last.copy(cells), painted(*expected, all, file).copy(cells));
    EXPECT_NE(last.copy(cells), before.copy(cells));
}

TEST(MatrixView, ColoursFollowAScaleThatIsWidened) {
    MatrixViewData data = synthetic::matrices(synthetic::heads(20, 1, causal_weight));
    data.full = 0.5;
    const auto figure = matrix_figure(data);
    const Style style;
    const QRectF all(QPointF(0, 0), figure->layout(canvas, style, {}));
    const QImage narrow = painted(*figure, all, style);
    dynamic_cast<OwnScale&>(*figure).widen({{0, 2}});
    const QImage wide = painted(*figure, all, style);
    data.full = 2;
    const auto fresh = matrix_figure(data);
    fresh->layout(canvas, style, {});
    EXPECT_NE(wide, narrow);
    EXPECT_EQ(wide, painted(*fresh, all, style));
}

// A query of a layer with a window sees the keys nearer than that, on both sides where the model looks both ways.
TEST(Mask, FollowsPositionsAndWindow) {
    const auto axes = synthetic::axes(6);
    const auto seen = [&](const Mask& mask, std::size_t query) {
        std::vector<std::size_t> keys;
        for (std::size_t k = 0; k < axes.keys.size(); ++k)
            if (is_legal(mask, axes.queries[query], axes.keys[k])) keys.push_back(k);
        return keys;
    };
    EXPECT_EQ(seen({true, 0}, 3), (std::vector<std::size_t>{0, 1, 2, 3}));
    EXPECT_EQ(seen({true, 2}, 3), (std::vector<std::size_t>{2, 3}));
    EXPECT_EQ(seen({false, 2}, 3), (std::vector<std::size_t>{2, 3, 4}));
    EXPECT_EQ(seen({false, 0}, 3).size(), 6U);
    for (const bool causal : {true, false})
        for (const std::int64_t window : {0, 1, 3}) {
            const auto first = first_columns(axes, window, 6, 6), end = legal_columns(axes, {causal, window}, 6, 6);
            for (std::size_t q = 0; q < 6; ++q) {
                const auto keys = seen({causal, window}, q);
                EXPECT_EQ(first.empty() ? 0 : first[q], static_cast<std::int64_t>(keys.front()));
                EXPECT_EQ(end[q], static_cast<std::int64_t>(keys.back()) + 1);
            }
        }
    EXPECT_TRUE(mask_note(false, {0, 0}).isEmpty());
    EXPECT_TRUE(mask_note(true, {128}).contains("128"));
    EXPECT_TRUE(mask_note(true, {128, 0}).contains("layer's window"));
}

TEST(MatrixView, CellsHaveTheRampsColourAndTheFutureIsBlank) {
    const auto figure = matrix_figure(synthetic::matrices(synthetic::heads(8, 1, causal_weight)));
    const Style style;
    const QSizeF size = figure->layout(canvas, style, {});
    const QImage image = painted(*figure, QRectF(QPointF(0, 0), size), style);
    auto color_at = [&](std::int64_t q, std::int64_t k) {
        const auto at = find_cell(*figure, size, q, k, style);
        // beside the number in the middle
        return at ? image.pixelColor((*at + QPointF(0, -14)).toPoint()) : QColor();
    };
    const QColor diagonal = color_at(5, 5), expected = ramp_color(Ramp::ink, *style.theme, 0.75);
    EXPECT_NEAR(diagonal.red(), expected.red(), 2);
    EXPECT_NEAR(diagonal.blue(), expected.blue(), 2);
    EXPECT_EQ(color_at(2, 6), style.theme->canvas) << "masked";
    EXPECT_NE(color_at(6, 2), style.theme->canvas) << "small, but not masked";
}

TEST(MatrixView, HitsTellPairsTokensAndMaskedCells) {
    const auto figure = matrix_figure(synthetic::matrices(synthetic::heads(8, 1, causal_weight)));
    const Style style;
    const QSizeF size = figure->layout(canvas, style, {});
    const auto at = find_cell(*figure, size, 5, 5, style);
    ASSERT_TRUE(at);
    const Hit pair = figure->hit_test(*at, style, {});
    EXPECT_EQ(pair.tip, QStringLiteral("L4H0  t5 (5) → t5 (5)  weight 0.7500"));
    EXPECT_FLOAT_EQ(static_cast<float>(*pair.value), 0.75F);
    const auto masked = find_cell(*figure, size, 1, 6, style);
    ASSERT_TRUE(masked);
    EXPECT_FALSE(figure->hit_test(*masked, style, {}).value);
    const Hit row = figure->hit_test({40, at->y()}, style, {});
    EXPECT_EQ(row.kind, Hit::Kind::query);
    EXPECT_EQ(row.query, Position(5));
}

TEST(MatrixView, LabelsStayInSightWhenZoomedIn) {
    const auto figure = matrix_figure(synthetic::matrices(synthetic::heads(300, 1, causal_weight)));
    Style style;
    const QSizeF size = figure->layout(canvas, style, {});
    style.zoom = figure->max_zoom();
    EXPECT_GT(style.zoom, 10);
    const QSizeF window(canvas.width() / style.zoom, canvas.height() / style.zoom);
    const QRectF exposed(QPointF(size.width() * 0.3, size.height() * 0.5), window);
    painted(*figure, exposed, style);
    // in the middle of the window a cell, at its left edge on the same height that cell's query
    const Hit pair = figure->hit_test(exposed.center(), style, {});
    ASSERT_EQ(pair.kind, Hit::Kind::pair);
    const Hit label = figure->hit_test({exposed.left() + 40 / style.zoom, exposed.center().y()}, style, {});
    EXPECT_EQ(label.kind, Hit::Kind::query);
    EXPECT_EQ(label.query, pair.query);
    EXPECT_NEAR(pair.area.width() * style.zoom, 80, 1) << "a cell at the largest zoom";
}

TEST(MatrixView, TableEqualsTheMatrix) {
    const HeadViewData source =
        synthetic::heads(6, 2, [](int h, int i, int j) { return j > i ? 0.F : static_cast<float>(h + 10 * i + j) / 100; });
    const auto figure = matrix_figure(synthetic::matrices(source));
    const Table table = figure->table();
    ASSERT_EQ(table.rows.size(), 2U * 21);
    for (const auto& row : table.rows) {
        const auto h = std::get<std::int64_t>(row[1]), i = std::get<std::int64_t>(row[2]), j = std::get<std::int64_t>(row[4]);
        EXPECT_EQ(std::get<double>(row[6]), source.weights[static_cast<std::size_t>(h)](i, j));
        EXPECT_EQ(std::get<std::string>(row[3]), "t" + std::to_string(i));
    }
    const auto arrays = figure->arrays();
    EXPECT_EQ(arrays[0].shape, (std::vector<std::int64_t>{2, 6, 6}));
    EXPECT_EQ(arrays[0].values[36 + 5 * 6 + 3], source.weights[1](5, 3));
}

TEST(MatrixView, TablesThatNoProgramCouldReadAreRefused) {
    const auto figure = matrix_figure(synthetic::matrices(synthetic::heads(3000, 1, [](int, int, int) { return 0.F; })));
    EXPECT_THROW(figure->table(), Error);
}

TEST(MatrixLayout, PanelsNeverOverlapAndStayInside) {
    for (std::int64_t panels : {1, 2, 5, 12, 32})
        for (std::int64_t n : {1, 8, 60, 4000})
            for (QSizeF room : {QSizeF(400, 0), QSizeF(900, 700), QSizeF(2400, 1200)}) {
                const MatrixLayout l = matrix_layout(n, n, panels, 70, 50, room);
                ASSERT_EQ(l.panels.size(), static_cast<std::size_t>(panels));
                for (std::size_t a = 0; a < l.panels.size(); ++a) {
                    EXPECT_TRUE(QRectF(QPointF(0, 0), l.size).contains(l.panels[a]));
                    for (std::size_t b = 0; b < a; ++b)
                        EXPECT_FALSE(l.panels[a].adjusted(-70, -50, 0, 0).intersects(l.panels[b]));
                }
            }
}

TEST(MipPyramid, KeepsTheLargestAndWhatIsMasked) {
    analyze::Matrix map = analyze::Matrix::Zero(5, 5);
    map(4, 1) = 1;
    map(2, 2) = 0.5F;
    const MipPyramid p = mip_pyramid(map, synthetic::axes(5), true, {});
    ASSERT_EQ(p.levels.size(), 4U);  // 5, 3, 2, 1
    EXPECT_EQ(p.levels[0].at(4, 1), 255);
    EXPECT_EQ(p.levels[0].at(0, 4), 0) << "masked";
    EXPECT_EQ(p.levels[0].at(4, 0), 1) << "zero, but legal";
    EXPECT_EQ(p.levels[1].at(2, 0), 255);
    EXPECT_EQ(p.levels[1].at(1, 1), 128);
    EXPECT_EQ(p.levels[1].at(0, 2), 0);
    EXPECT_EQ(p.levels[3].at(0, 0), 255);
    EXPECT_EQ(p.level_for(1), 0U);
    EXPECT_EQ(p.level_for(0.5), 1U);
    EXPECT_EQ(p.level_for(0.3), 2U);
    EXPECT_EQ(p.level_for(0.001), 3U);
}

}  // namespace matrix_view_test
}  // namespace headlight::figure
