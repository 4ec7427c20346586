// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/why/why_views.h"
#include "headlight/figure/core/view_spec.h"
#include "tests/figure/novella.h"
#include "tests/figure/painting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace headlight::figure {
namespace why_view_test {

using testing::HasSubstr;

constexpr const char* stones =
    "A ship of grey stones crossed the narrow garden while nine merchants counted silver buttons under a broken lamp and Martha "
    "whistled. A ship of grey";

std::unique_ptr<Figure> induction(const ViewValues& values = {}) {
    ViewState state{.view = "why", .layer = Layer(5), .heads = {Head(7)}, .query = Position(33), .key = Position(5)};
    state.values = values;
    return make_figure(novella(stones), state);
}

std::vector<MarkPlace> marks_of(Figure& figure, double width) {
    const Style style;
    const QSizeF size = figure.layout({width, 700}, style, {});
    painted_part(figure, size, QRectF({}, size), style, {});
    return figure.marks(style, {}).value();
}

TEST(WhyView, AClickOnAHeadGoesToWhereItAttended) {
    const auto figure = induction();
    EXPECT_THAT(figure->title().toStdString(), HasSubstr("L5H7"));
    int steps = 0;
    for (const MarkPlace& mark : marks_of(*figure, 1200)) {
        if (mark.hit.kind != Hit::Kind::pair || mark.hit.head != HeadId{Layer(3), Head(0)}) continue;
        ++steps;
        EXPECT_EQ(mark.hit.query, Position(5)) << "it wrote the key";
        EXPECT_EQ(mark.hit.key, Position(4)) << "the token before";
    }
    EXPECT_GT(steps, 2) << "its name, its cells, the step back";
}

TEST(WhyView, SplitsAHeadByTokenAndWalksToThem) {
    const auto figure = induction({{"group", "token"}, {"part", "L3H0"}});
    int columns = 0;
    for (const MarkPlace& mark : marks_of(*figure, 1400))
        columns += mark.hit.kind == Hit::Kind::pair && mark.hit.head == HeadId{Layer(3), Head(0)} &&
                   mark.hit.key == Position(4) && mark.hit.tip.contains(QStringLiteral("L3H0 ← ·grey (4)"));
    EXPECT_GT(columns, 0);
}

TEST(WhyView, HasThePathAsTextAndAsEdits) {
    const auto figure = induction();
    const std::vector<MarkPlace> marks = marks_of(*figure, 1200);
    const auto path = std::ranges::find_if(marks, [](const MarkPlace& mark) { return !mark.hit.options.empty(); });
    ASSERT_NE(path, marks.end());
    EXPECT_EQ(path->hit.options.front().first, hit_edits);
    EXPECT_THAT(path->hit.options.front().second, testing::StartsWith("mean L1H0 @5"));
    EXPECT_THAT(path->hit.tip.toStdString(), testing::StartsWith("L5H7 33<-5 (0.963) ⇐ key +1.79: L1H0 5<-4"));
}

TEST(WhyView, ShowsWhatTheTableHolds) {
    const auto figure = induction({{"top", "3"}});
    const Table table = figure->table();
    EXPECT_EQ(std::ranges::count_if(table.rows, [](const auto& row) { return std::get<std::string>(row[0]) == "pair"; }), 3);
    EXPECT_EQ(std::get<std::string>(table.rows[0][1]), "mlp");
    EXPECT_NEAR(std::get<double>(table.rows[0][10]), 1.559, 1e-3);
    EXPECT_NEAR(std::get<double>(table.rows.back()[10]), 5.4595, 1e-3) << "total";
    const std::vector<MarkPlace> marks = marks_of(*figure, 1200);
    const auto pair = std::ranges::find(marks, Hit::Kind::legend, [](const MarkPlace& mark) { return mark.hit.kind; });
    ASSERT_NE(pair, marks.end());
    EXPECT_NEAR(pair->hit.value.value(), 1.559, 1e-3) << "the strongest pair stands first";
}

TEST(WhyView, ListsTheStrongestOfAllPairs) {
    const auto figure = induction({{"top", "0"}});
    int pairs = 0;
    for (const MarkPlace& mark : marks_of(*figure, 1200)) pairs += mark.hit.kind == Hit::Kind::legend && mark.hit.value;
    EXPECT_EQ(pairs, 12);
    EXPECT_GT(figure->table().rows.size(), 2800U) << "files have all";
}

TEST(WhyView, FitsANarrowCanvasBelowTheMap) {
    const auto figure = induction({{"group", "layer"}});
    const double narrow = figure->layout({700, 700}, {}, {}).height(), wide = figure->layout({1400, 700}, {}, {}).height();
    EXPECT_GT(narrow, wide + 100);
    EXPECT_LE(figure->layout({1400, 700}, {}, {}).width(), 1400);
    for (const double width : {420.0, 700.0, 1000.0, 1400.0}) {
        const double page = figure->layout({width, 700}, {}, {}).width();
        for (const MarkPlace& mark : marks_of(*figure, width)) EXPECT_LE(mark.hit.area.right(), page) << width;
    }
}

TEST(WhyView, AskedWithoutAKeyTakesTheStrongestThatIsNoSink) {
    ViewState state{.view = "why", .layer = Layer(5), .heads = {Head(7)}};
    EXPECT_EQ(make_figure(novella(stones), state)->title(), induction()->title());
}

}  // namespace why_view_test
}  // namespace headlight::figure
