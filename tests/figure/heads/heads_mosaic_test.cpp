// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/heads/heads_mosaic.h"

#include "headlight/base/error.h"
#include "headlight/figure/export/export.h"
#include "tests/figure/painting.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>

#include <cmath>

namespace headlight::figure {
namespace heads_mosaic_test {

std::shared_ptr<analyze::HeadTable> head_values(std::int64_t layers, std::int64_t heads) {
    auto table = std::make_shared<analyze::HeadTable>();
    table->n_layers = layers;
    table->n_heads = heads;
    table->measures = {{"induction", "induction score", "weight on what followed the token last time", "share", 0, 1},
                       {"distance", "mean distance", "mean of |i - j|", "tokens", 0, NAN}};
    Eigen::MatrixXd values(layers, heads);
    for (std::int64_t l = 0; l < layers; ++l)
        for (std::int64_t h = 0; h < heads; ++h) values(l, h) = double(l * heads + h) / double(layers * heads);
    table->values = {values, values * 30};
    return table;
}

TEST(HeadsMosaic, GridsFillTheirRoomAndScrollOnlyOnceCellsAreSmall) {
    struct Case {
        int layers, heads;
        QSizeF room;
        bool fits;
    };
    for (const auto& [layers, heads, room, fits] :
         {Case{1, 1, {228, 400}, true}, Case{6, 8, {228, 240}, true}, Case{30, 9, {228, 400}, true},
          Case{48, 25, {228, 420}, true}, Case{80, 64, {228, 320}, true}, Case{96, 128, {228, 400}, false},
          Case{96, 128, {900, 700}, true}}) {
        const MosaicLayout at = mosaic_layout(layers, heads, room);
        EXPECT_EQ(at.width <= room.width() && at.height <= room.height(), fits) << layers << "x" << heads;
        EXPECT_GE(std::min(at.pitch.width(), at.pitch.height()), layers < 24 ? 6 : 3);
        EXPECT_LE(at.pitch.width(), 2 * at.pitch.height());
        if (fits) {
            EXPECT_EQ(mosaic_layout(layers, heads, {room.width(), std::ceil(at.height)}).pitch, at.pitch)
                << "in no more than it takes";
        }
        for (int l = 0; l < layers; ++l)
            for (int h = 0; h < heads; ++h) {
                const HeadId id{Layer{l}, Head{h}};
                ASSERT_TRUE(at.grid().contains(at.cell(id)));
            }
    }
    // A larger room has larger cells.
    EXPECT_GT(mosaic_layout(30, 9, {400, 900}).pitch.height(), mosaic_layout(30, 9, {228, 400}).pitch.height());
}

TEST(HeadsMosaic, StandingAloneItHasATitleAndNumbersWhereCellsHoldThem) {
    const auto text_of = [](HeadsMosaic figure, QSizeF room) {
        const QSizeF size = figure.layout(room, Style{}, {});
        EXPECT_LE(size.width(), room.width());
        EXPECT_LE(size.height(), room.height());
        const test::TempFolder folder;
        ExportOptions output;
        output.size_px = size;
        export_figure(figure, {}, {}, output, folder / "mosaic.svg");
        return test::slurp(folder / "mosaic.svg");
    };
    const auto table = head_values(6, 8);
    const std::string number = QString::number(table->values[0](5, 7), 'f', 2).toStdString();
    const std::string large = text_of(HeadsMosaic(table, "induction", {}, false, QStringLiteral("over 12 texts")), {900, 600});
    EXPECT_THAT(large, testing::AllOf(testing::HasSubstr("Induction score"), testing::HasSubstr("over 12 texts"),
                                      testing::HasSubstr(">" + number + "<")));
    const std::string small = text_of(HeadsMosaic(table, "induction", {}, false, QStringLiteral("over 12 texts")), {300, 400});
    EXPECT_THAT(small,
                testing::AllOf(testing::HasSubstr("Induction score"), testing::Not(testing::HasSubstr(">" + number + "<"))));
    EXPECT_THAT(text_of(HeadsMosaic(table, "induction", {}), {900, 600}), testing::Not(testing::HasSubstr("over 12 texts")));
}

TEST(HeadsMosaic, LegendAndNumbersStayInSightWhileItScrolls) {
    HeadsMosaic figure(head_values(96, 128), "induction", {});
    Style style;
    const QSizeF room(228, 300);
    figure.layout(room, style, {});
    const HeadId last{Layer{95}, Head{127}};
    const QRectF cell = *figure.place_of_head(last), seen(cell.bottomRight() - QPointF(224, 250), room);
    const QImage image = painted_part(figure, room, seen, style);
    EXPECT_EQ(figure.hit_test(cell.center(), style, {}).head, last);
    const Hit legend = figure.hit_test({seen.left() + 40, seen.bottom() - 25}, style, {});
    EXPECT_EQ(legend.kind, Hit::Kind::legend);
    const QColor bar = image.pixelColor(40, int(figure.place_of_head(last)->bottom() + 12 + 3 - seen.top())),
                 low = ramp_color(style.ramp, *style.theme, 0.08);
    EXPECT_LE(std::abs(bar.red() - low.red()), 12);
}

TEST(HeadsMosaic, OpenRangeEndsAreTheDatas) {
    const auto table = head_values(2, 5);
    EXPECT_EQ(mosaic_scale(table->measures[0], table->values[0]).high, 1);
    EXPECT_NEAR(mosaic_scale(table->measures[1], table->values[1]).high, 27, 1e-12);
    const MosaicScale flat{2, 2};
    EXPECT_EQ(flat.strength(2), 0);
    const Eigen::MatrixXd none = Eigen::MatrixXd::Constant(2, 2, NAN);
    EXPECT_EQ(mosaic_scale(table->measures[1], none).strength(0.5), 0.5);
}

TEST(HeadsMosaic, OnRequestTheColoursSpanTheData) {
    const auto table = head_values(2, 3);
    const Eigen::MatrixXd small = (Eigen::MatrixXd(1, 3) << 0.02, 0.11, 0.06).finished();
    EXPECT_NEAR(mosaic_scale(table->measures[0], small).strength(0.11), 0.11, 1e-12) << "the natural range of shares";
    const MosaicScale scale = mosaic_scale(table->measures[0], small, true);
    EXPECT_EQ(scale.strength(0.11), 1);
    EXPECT_EQ(scale.strength(0.02), 0);
    EXPECT_EQ(mosaic_scale(table->measures[0], Eigen::MatrixXd::Constant(2, 2, 0.3), true).high, 1) << "one value spans nothing";
}

TEST(HeadsMosaic, TipsTellTheValueOrThatThereIsNone) {
    auto table = head_values(2, 3);
    table->values[0](1, 2) = NAN;
    HeadsMosaic figure(table, "induction", {{Layer{0}, Head{1}}});
    Style style;
    figure.layout({228, 0}, style, {});
    const MosaicLayout at = mosaic_layout(2, 3, {228, 0});
    const Hit hit = figure.hit_test(at.cell({Layer{0}, Head{1}}).center(), style, {});
    EXPECT_EQ(hit.kind, Hit::Kind::head);
    EXPECT_EQ(hit.tip, QStringLiteral("L0H1  induction score 0.1667  (not in the filter)"));
    const Hit none = figure.hit_test(at.cell({Layer{1}, Head{2}}).center(), style, {});
    EXPECT_FALSE(none.value);
    EXPECT_TRUE(none.tip.contains(QStringLiteral("not defined")));
    EXPECT_TRUE(std::holds_alternative<std::monostate>(figure.table().rows[5][2]));
    EXPECT_TRUE(std::isnan(figure.arrays()[0].values[5]));
}

TEST(HeadsMosaic, TintIsTheRampOfTheMeasure) {
    const auto table = head_values(6, 8);
    HeadsMosaic figure(table, "induction", {});
    Style style;
    figure.layout({228, 0}, style, {});
    const QImage image = painted_part(figure, {228, 240}, {0, 0, 228, 240}, style);
    const MosaicLayout at = mosaic_layout(6, 8, {228, 0});
    for (const HeadId id : {HeadId{Layer{1}, Head{0}}, HeadId{Layer{5}, Head{7}}}) {
        const QColor wanted = ramp_color(style.ramp, *style.theme, table->values[0](id.layer.value, id.head.value));
        const QColor got = image.pixelColor(at.cell(id).center().toPoint());
        EXPECT_LE(std::abs(got.red() - wanted.red()) + std::abs(got.blue() - wanted.blue()), 2);
    }
}

TEST(HeadsMosaic, UnknownMeasureIsNamedWithTheKnownOnes) {
    EXPECT_THAT([] { HeadsMosaic(head_values(1, 1), "inductoin", {}); },
                testing::Throws<Error>(testing::Property(
                    &Error::facts, testing::AllOf(testing::Field(&ErrorFacts::item, "inductoin"),
                                                  testing::Field(&ErrorFacts::expected, "induction, distance")))));
}

}  // namespace heads_mosaic_test
}  // namespace headlight::figure
