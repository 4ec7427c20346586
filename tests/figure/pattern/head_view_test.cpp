// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/head/head_view.h"

#include "figure/pattern/head/head_layout.h"
#include "figure/pattern/head/head_lines.h"
#include "headlight/base/error.h"
#include "headlight/base/memory.h"
#include "headlight/base/memory_account.h"
#include "tests/figure/painting.h"
#include "tests/figure/synthetic.h"

#include <gmock/gmock.h>

namespace headlight::figure {
namespace head_view_test {

using testing::ElementsAre;

constexpr QSizeF canvas(884, 732);

Selection of_heads(std::vector<Head> heads) {
    Selection selection;
    selection.layer = Layer(4);
    selection.heads = std::move(heads);
    return selection;
}

HeadLayout layout_of(const HeadViewData& data) {
    // Widths do not matter for where the rows and the lines are: every label is narrower than the column.
    const std::vector<double> widths(data.axes.queries.size(), 20);
    const Style style;
    const auto figure = head_figure(data);
    return head_layout(widths, widths, data.n_heads, draw::text_width(figure->title(), ui_font(15, QFont::DemiBold)), canvas);
}

/// y (in px) of every coloured run in a column of pixels.
std::vector<double> marks_at(const QImage& image, double x, const HeadLayout& l) {
    std::vector<double> marks;
    int begin = -1;
    for (int y = static_cast<int>(l.header_height); y <= static_cast<int>(l.rows_bottom()); ++y) {
        const bool marked = image.pixelColor(static_cast<int>(x), y) != QColor(Qt::white);
        if (marked && begin < 0) begin = y;
        if (!marked && begin >= 0) marks.push_back((begin + y) / 2.0), begin = -1;
    }
    return marks;
}

TEST(HeadView, BoxesOfThoseWhoLookAreAsStrongAsTheirLines) {
    // Each query's largest weight is that on key 0: relative to the row's largest, both look at it with all strength.
    const auto figure = head_figure(synthetic::heads(3, 1, [](int, int i, int j) { return j ? 0.F : i == 2 ? 0.2F : 0.9F; }));
    Style style;
    style.transfer.curve = Transfer::Curve::per_row;
    Selection selection = of_heads({Head(0)});
    selection.pinned_keys = {Position(0)};
    const QImage image = painted(*figure, canvas, style, selection);
    const QColor hue = head_color(*style.theme, style.palette, 0);
    for (const std::int64_t query : {1, 2}) {
        const auto box = figure->row_of_query(Position(query));
        ASSERT_TRUE(box);
        EXPECT_EQ(image.pixelColor((box->topLeft() + QPointF(box->width() / 2, 3)).toPoint()), hue) << query;
    }
}

TEST(HeadView, APinnedKeyBeyondTheEdgeIsNamedThere) {
    const auto figure = head_figure(synthetic::heads(200, 1, [](int, int i, int j) { return j == 6 && i > 6 ? 0.75F : 0.F; }));
    const Style style;
    Selection selection = of_heads({Head(0)});
    selection.pinned_queries = {Position(150)};
    selection.pinned_keys = {Position(6)};
    const QSizeF size = figure->layout(canvas, style, selection);
    ASSERT_GT(size.height(), 2000);
    const auto tips_at = [&](double top) {
        const QRectF seen(QPointF(0, top), canvas);
        painted_part(*figure, canvas, seen, style, selection);
        return tips_in(*figure, seen, 12, 4, selection);
    };
    const QString key = QStringLiteral("↑ t6 (6) 0.750  (beyond the edge: scroll to it)");
    EXPECT_TRUE(tips_at(figure->row_of_query(Position(150))->top() - 300).contains(key));
    const auto top = tips_at(0);
    EXPECT_FALSE(top.contains(key)) << "it is in sight";
    EXPECT_TRUE(top.contains(QStringLiteral("↓ t150 (150)  (beyond the edge: scroll to it)")));
}

TEST(HeadLines, OpacityIsTheWeightOverTheActiveHeads) {
    const HeadViewData data = synthetic::heads(3, 3, [](int, int i, int j) { return i == j ? 0.9F : 0.F; });
    const auto three = head_lines(data.weights, {0, 1, 2}, data.axes, true, {});
    ASSERT_EQ(three.lines.size(), 9U);
    EXPECT_FLOAT_EQ(three.lines.front().opacity, 0.3F);
    const auto sole = head_lines(data.weights, {1}, data.axes, true, {});
    EXPECT_FLOAT_EQ(sole.lines.front().opacity, 0.9F);
    EXPECT_EQ(sole.lines.front().head, 1);
}

TEST(HeadLines, CountWhatIsTooFaintAmongTheLegalPairs) {
    const HeadViewData data = synthetic::heads(4, 2, [](int, int i, int j) { return j > i ? 0.F : j == i ? 0.993F : 0.0039F; });
    const auto one = head_lines(data.weights, {0}, data.axes, true, {});
    EXPECT_EQ(one.pairs, 10);
    EXPECT_EQ(one.too_faint, 6) << "0.0039 is under 1/255";
    const auto both = head_lines(data.weights, {0, 1}, data.axes, false, {});
    EXPECT_EQ(both.pairs, 2 * 16);
}

TEST(HeadView, AttentionToTheTokenSoFarBackGivesParallelLines) {
    const std::vector<double> along_level{0.1, 0.37, 0.5, 0.9}, along_slanted{0.25, 0.5, 0.75};
    for (const int back : {0, 1}) {
        const HeadViewData data = synthetic::heads(6, 1, [back](int, int i, int j) { return i - back == j ? 1.F : 0.F; });
        const HeadLayout l = layout_of(data);
        const QImage image = painted(*head_figure(data), canvas);
        for (const double u : back == 0 ? along_level : along_slanted) {
            SCOPED_TRACE(testing::Message() << back << " back, at " << u);
            const auto marks = marks_at(image, l.line_x0 + u * (l.line_x1 - l.line_x0), l);
            ASSERT_EQ(marks.size(), static_cast<std::size_t>(6 - back));
            for (std::size_t i = 0; i < marks.size(); ++i)
                EXPECT_NEAR(marks[i], l.row_y(static_cast<int>(i) + back) - u * back * l.row_height, back == 0 ? 1 : 1.5);
        }
    }
}

TEST(HeadView, TheColourAtALineIsTheHeadsAtItsOpacity) {
    const HeadViewData data = synthetic::heads(4, 2, [](int h, int i, int j) { return h == 1 && i == j ? 0.6F : 0.F; });
    const HeadLayout l = layout_of(data);
    const Style style;
    const Selection selection = of_heads({Head(1)});
    const QImage image = painted(*head_figure(data), canvas, style, selection, 2);
    const auto x = static_cast<int>((l.line_x0 + l.line_x1)), y = static_cast<int>(2 * l.row_y(2));
    const QColor expected = draw::blended(style.theme->canvas, head_color(*style.theme, style.palette, 1), 0.6);
    const QColor found = image.pixelColor(x, y);
    EXPECT_NEAR(found.red(), expected.red(), 2);
    EXPECT_NEAR(found.green(), expected.green(), 2);
    EXPECT_NEAR(found.blue(), expected.blue(), 2);
}

TEST(HeadView, OthersFadeToAQuarterBesideAPinnedQuery) {
    const HeadViewData data = synthetic::heads(5, 1, [](int, int i, int j) { return i == j ? 1.F : 0.F; });
    const HeadLayout l = layout_of(data);
    const Style style;
    Selection selection = of_heads({Head(0)});
    selection.pinned_queries = {Position(3)};
    const QImage image = painted(*head_figure(data), canvas, style, selection, 2);
    const QColor hue = head_color(*style.theme, style.palette, 0);
    const auto x = static_cast<int>((l.line_x0 + l.line_x1));
    EXPECT_NEAR(image.pixelColor(x, static_cast<int>(2 * l.row_y(3))).red(), hue.red(), 2);
    EXPECT_NEAR(image.pixelColor(x, static_cast<int>(2 * l.row_y(1))).red(), draw::blended(style.theme->canvas, hue, 0.28).red(),
                3);
}

TEST(HeadView, HoverIsNotExported) {
    const HeadViewData data = synthetic::heads(5, 1, [](int, int i, int j) { return i >= j ? 1.F / (i + 1) : 0.F; });
    const auto figure = head_figure(data);
    Selection hovering;
    hovering.hover_query = Position(3);
    Style style;
    style.exporting = true;
    EXPECT_EQ(painted(*figure, canvas, style, hovering), painted(*figure, canvas, style));
    style.exporting = false;
    EXPECT_NE(painted(*figure, canvas, style, hovering), painted(*figure, canvas, style));
}

TEST(HeadView, HitsWhatIsUnderThePointer) {
    const HeadViewData data = synthetic::heads(6, 4, [](int h, int i, int j) {
        return h == 2 && j == 0 ? 0.75F : i == j ? 0.25F : 0.F;
    });
    const HeadLayout l = layout_of(data);
    const auto figure = head_figure(data);
    const Style style;
    const Selection selection = of_heads({Head(2)});
    figure->layout(canvas, style, selection);

    const Hit square = figure->hit_test(l.square(3).center(), style, selection);
    EXPECT_EQ(square.kind, Hit::Kind::head_square);
    EXPECT_EQ(square.head, (HeadId{data.layer, Head(3)}));

    const Hit query = figure->hit_test(l.query_box(4).center(), style, selection);
    EXPECT_EQ(query.kind, Hit::Kind::query);
    EXPECT_EQ(query.query, Position(4));
    EXPECT_EQ(query.tip, QStringLiteral("L4H2  t4 (4) → t0 (0)  weight 0.7500"));

    const Hit key = figure->hit_test(l.key_box(0).center(), style, selection);
    EXPECT_EQ(key.kind, Hit::Kind::key);
    EXPECT_EQ(key.key, Position(0));

    // a quarter of the way along the line from 4 to 0
    const QPointF on_line(l.line_x0 + 0.25 * (l.line_x1 - l.line_x0), l.row_y(4) - 0.25 * 4 * l.row_height);
    const Hit pair = figure->hit_test(on_line, style, selection);
    EXPECT_EQ(pair.kind, Hit::Kind::pair);
    EXPECT_EQ(pair.query, Position(4));
    EXPECT_EQ(pair.key, Position(0));
    EXPECT_FLOAT_EQ(static_cast<float>(*pair.value), 0.75F);

    // A pair that the mask leaves out has no weight, be it 0.
    Selection pinned = selection;
    pinned.pinned_keys = {Position(4)};
    const Hit masked = figure->hit_test(l.query_box(1).center(), style, pinned);
    EXPECT_EQ(masked.tip, QStringLiteral("L4H2  t1 (1) → t4 (4)  masked: a later token"));
    EXPECT_FALSE(masked.value);

    EXPECT_EQ(figure->hit_test({5, l.rows_bottom() + 3}, style, selection).kind, Hit::Kind::none);
    EXPECT_EQ(figure->hit_test({300, 731}, style, selection).kind, Hit::Kind::legend);
}

TEST(HeadView, HeaderKeepsToTheVisiblePart) {
    const HeadViewData data = synthetic::heads(200, 4, [](int, int i, int j) { return i == j ? 1.F : 0.F; });
    const auto figure = head_figure(data);
    const Style style;
    const QSizeF size = figure->layout(canvas, style, {});
    EXPECT_GT(size.height(), 200 * 20);
    painted_part(*figure, canvas, QRectF(QPointF(0, 1000), canvas), style);
    const Hit hit = figure->hit_test(layout_of(data).square(1).center() + QPointF(0, 1000), style, {});
    EXPECT_EQ(hit.kind, Hit::Kind::head_square);
}

/// 3,000 tokens that attend to the first ones, themselves and those before them: 150,000 lines, most of them long.
std::unique_ptr<Figure> long_head() {
    constexpr float kShare = 1.F / 50;
    return head_figure(synthetic::heads(3000, 1, [](int, int i, int j) {
        return j <= i && (j < 25 || i - j < 25) ? kShare * (1 + float((i * 7 + j * 13) % 10) / 10) : 0.F;
    }));
}

struct Screen {
    Figure& figure;
    Style style{};
    Selection selection{};

    QImage at(double top, bool exporting = false) {
        style.exporting = exporting;
        return painted_part(figure, canvas, QRectF(QPointF(0, top), canvas), style, selection);
    }
    /// What the canvas does until nothing is coarse; counts the frames that were.
    QImage settled(double top, int* coarse = nullptr) {
        QImage image = at(top);
        for (; figure.refining(); image = at(top)) {
            if (coarse) ++*coarse;
            const Sharpening work = figure.sharpening();
            if (!work) ADD_FAILURE() << "something is coarse and nothing makes it better";
            if (!work || (coarse && *coarse > 100)) break;
            work({})();
        }
        return image;
    }
};

TEST(HeadView, LinesOfALongTextAreRefinedToWhatFilesShow) {
    const auto figure = long_head(), file = long_head();
    Screen screen{*figure}, exported{*file};
    screen.selection.pinned_keys = exported.selection.pinned_keys = {Position(2)};
    figure->layout(canvas, screen.style, screen.selection);
    exported.style.exporting = true;
    file->layout(canvas, exported.style, exported.selection);
    for (const double top : {0.0, 30'000.0, 1'000.0}) {
        const QImage first = screen.at(top);
        EXPECT_TRUE(figure->refining()) << top;
        int coarse = 0;
        const QImage last = screen.settled(top, &coarse);
        EXPECT_GT(coarse, 0);
        EXPECT_NE(first, last);
        // All but the column of keys, at whose edge the screen names the pinned one.
        const QRect lines(0, 0, int(figure->row_of_key(Position(0))->left()) - 2, last.height());
        EXPECT_EQ(last.copy(lines), exported.at(top, true).copy(lines)) << top;
        // At once there are the strongest lines, not nothing.
        QImage without = first;
        without.fill(screen.style.theme->canvas);
        EXPECT_NE(first.copy(300, 300, 200, 100), without.copy(300, 300, 200, 100)) << top;
    }
}

TEST(HeadView, AnotherPinKeepsThePicturesOfTheLines) {
    const auto figure = long_head();
    Screen screen{*figure};
    figure->layout(canvas, screen.style, screen.selection);
    screen.settled(30'000);
    screen.selection.pinned_queries = {Position(1500)};
    figure->layout(canvas, screen.style, screen.selection);
    screen.at(30'000);
    EXPECT_FALSE(figure->refining()) << "a query has few lines, and the others are as they were";
}

TEST(HeadView, AnotherTransferOfALongTextIsAppliedBesideThePainting) {
    const auto figure = long_head(), file = long_head();
    Screen screen{*figure}, exported{*file};
    figure->layout(canvas, screen.style, screen.selection);
    const std::size_t before = figure->table().rows.size();
    const QImage old = screen.settled(30'000);
    screen.style.transfer.threshold = exported.style.transfer.threshold = 0.03;
    exported.style.exporting = true;
    file->layout(canvas, exported.style, exported.selection);
    figure->layout(canvas, screen.style, screen.selection);
    EXPECT_EQ(figure->table().rows.size(), before) << "laid out without making the lines";
    EXPECT_EQ(screen.at(30'000), old) << "lines and legend change together";
    const QImage last = screen.settled(30'000);
    EXPECT_LT(figure->table().rows.size(), before);
    EXPECT_EQ(last, exported.at(30'000, true));
}

TEST(HeadView, TheHeaderOfALongTextChangesWithItsLines) {
    const HeadViewData data = synthetic::heads(800, 2, [](int h, int i, int j) { return j == (h == 0 ? i : 0) ? 1.F : 0.F; });
    const auto figure = head_figure(data);
    Screen screen{*figure};
    screen.selection = of_heads({Head(0)});
    figure->layout(canvas, screen.style, screen.selection);
    screen.settled(0);
    const QImage old = screen.settled(0);
    screen.selection.heads = {Head(1)};
    figure->layout(canvas, screen.style, screen.selection);
    EXPECT_EQ(screen.at(0), old) << "squares and lines";
    const QImage last = screen.settled(0);
    const QRect square = layout_of(data).square(1).toRect();
    EXPECT_NE(last.copy(square), old.copy(square));
    EXPECT_NE(last.copy(300, 300, 200, 100), old.copy(300, 300, 200, 100));
}

TEST(HeadView, ItsMapsAreInTheAccountAndItsPicturesGivenUp) {
    const std::int64_t before = memory_in_use(MemoryUse::pictures);
    {
        const auto figure = long_head();
        const std::int64_t made = memory_in_use(MemoryUse::pictures) - before;
        EXPECT_GT(made, 3000 * 3000 * std::int64_t{sizeof(float)}) << "its map and the lines";
        Screen screen{*figure};
        figure->layout(canvas, screen.style, screen.selection);
        const QImage first = screen.settled(0);
        const std::int64_t shown = memory_in_use(MemoryUse::pictures) - before;
        EXPECT_GT(shown, made);
        screen.settled(2'000);
        EXPECT_GT(memory_in_use(MemoryUse::pictures) - before, shown);
        keep_to_budget(memory_budget());
        EXPECT_EQ(screen.settled(0), first);
        EXPECT_EQ(memory_in_use(MemoryUse::pictures) - before, shown);
    }
    EXPECT_EQ(memory_in_use(MemoryUse::pictures), before);
}

TEST(HeadLines, OfAQueryOrAKeyAreInTheOrderOfPainting) {
    const HeadViewData data =
        synthetic::heads(4, 2, [](int h, int i, int j) { return j > i ? 0.F : 0.1F + 0.2F * float((i + j + h) % 4); });
    const auto all = head_lines(data.weights, {0, 1}, data.axes, true, {});
    for (const std::vector<std::int64_t>& queries : {std::vector<std::int64_t>{3, 1, 3}, {}})
        for (std::int64_t key = -1; key < 4; ++key) {
            std::vector<std::uint32_t> expected;
            for (const std::uint32_t i : all.faint_first)
                if (std::ranges::count(queries, all.lines[i].query) > 0 || all.lines[i].key == key) expected.push_back(i);
            EXPECT_EQ(lines_of(all, queries, key), expected) << "key " << key;
        }
}

TEST(HeadView, TableHoldsEveryLineAndArraysEveryWeight) {
    const HeadViewData data =
        synthetic::heads(5, 2, [](int h, int i, int j) { return j > i ? 0.F : (h + 1.F) / (2.F * (i + 1)); });
    const auto figure = head_figure(data);
    figure->layout(canvas, {}, {});
    const Table table = figure->table();
    ASSERT_EQ(table.rows.size(), 2U * 15);
    EXPECT_THAT(table.columns, ElementsAre("layer", "head", "query", "query_token", "key", "key_token", "weight", "opacity"));
    for (const auto& row : table.rows) {
        const auto h = std::get<std::int64_t>(row[1]), i = std::get<std::int64_t>(row[2]), j = std::get<std::int64_t>(row[4]);
        const float weight = data.weights[static_cast<std::size_t>(h)](i, j);
        EXPECT_FLOAT_EQ(static_cast<float>(std::get<double>(row[6])), weight);
        EXPECT_FLOAT_EQ(static_cast<float>(std::get<double>(row[7])), weight / 2);
    }
    const auto arrays = figure->arrays();
    EXPECT_THAT(arrays.front().shape, ElementsAre(2, 5, 5));
    EXPECT_EQ(arrays.front().values[25 + 5 * 3 + 2], data.weights[1](3, 2));
}

TEST(HeadView, OneTokenIsAPicture) {
    const HeadViewData data = synthetic::heads(1, 1, [](int, int, int) { return 1.F; });
    Selection selection;
    selection.pinned_queries = {Position(0)};
    const QImage image = painted(*head_figure(data), canvas, {}, selection);
    EXPECT_FALSE(image.isNull());
}

TEST(HeadView, MapsThatDoNotFitTheTokensAreRefused) {
    HeadViewData data = synthetic::heads(4, 2, [](int, int, int) { return 0.F; });
    data.weights[1].resize(4, 3);
    EXPECT_THROW(head_figure(data), Error);
}

TEST(HeadLayout, RowsStayReadableAndColumnsApart) {
    for (std::int64_t n : {1, 8, 60, 2000})
        for (double width : {300.0, 884.0, 2400.0}) {
            const std::vector<double> widths(static_cast<std::size_t>(n), 400);  // absurdly long tokens
            const HeadLayout l = head_layout(widths, widths, 16, 50, {width, 700});
            EXPECT_GE(l.row_height, 20);
            EXPECT_LE(l.row_height, 33);
            EXPECT_LT(l.box_height, l.row_height);
            EXPECT_LT(l.query_box(0).right(), l.line_x0);
            EXPECT_GE(l.line_x1 - l.line_x0, 115);
            EXPECT_LT(l.line_x1, l.key_box(0).left());
            EXPECT_GE(l.size.width(), l.number_right);
            EXPECT_GE(l.size.height(), l.rows_bottom() + l.legend_height);
            for (std::int64_t h = 1; h < 16; ++h) EXPECT_FALSE(l.square(h).intersects(l.square(h - 1)));
        }
}

TEST(HeadLayout, SquaresOfHeadsStandInLinesOfAboutOneLength) {
    const std::vector<double> widths(9, 60);
    const auto in_lines = [&](std::int64_t heads, double width) {
        std::map<double, int> lines;
        const HeadLayout l = head_layout(widths, widths, heads, 52, {width, 0});
        for (std::int64_t h = 0; h < heads; ++h) ++lines[l.square(h).top()];
        std::vector<int> counts;
        for (const auto& [top, count] : lines) counts.push_back(count);
        return counts;
    };
    const double column = 85 / 25.4 * 96;  // a journal's
    EXPECT_EQ(in_lines(8, column), std::vector{8});
    EXPECT_EQ(in_lines(12, column), (std::vector{6, 6})) << "not nine and three";
    EXPECT_EQ(in_lines(12, 884), std::vector{12});
    for (const std::int64_t heads : {1, 5, 9, 16, 25, 32, 64})
        for (const double width : {200.0, column, 480.0, 884.0}) {
            const auto lines = in_lines(heads, width);
            const auto [least, most] = std::ranges::minmax(lines);
            EXPECT_LE(most - least, int(lines.size()) - 1) << heads << " in " << width;
        }
}

TEST(HeadLayout, WeightsOfSeveralHeadsStandUnderTheLetters) {
    const std::vector<double> widths(40, 60);
    for (const double height : {300.0, 1000.0, 1100.0, 2000.0}) {
        const HeadLayout l = head_layout(widths, widths, 12, 52, {884, height});
        const QRectF box = l.key_box(3), strip = l.strip(box);
        const double baseline = draw::centred_baseline(box.center().y(), ui_font(l.token_size));
        EXPECT_GE(strip.top(), baseline + 1.5) << l.row_height << ": only the tails of letters may touch it";
        EXPECT_GE(strip.height(), 3);
        EXPECT_LE(strip.bottom(), l.key_box(4).top()) << l.row_height;
    }
}

TEST(HeadView, TheLegendOfManyHeadsFitsAJournalsColumn) {
    const HeadViewData data = synthetic::heads(6, 12, [](int, int, int j) { return j == 0 ? 1.F : 0.F; });
    const auto figure = head_figure(data);
    Style style;
    style.exporting = true;
    Selection selection;
    selection.heads.clear();
    for (std::int64_t h = 0; h < 12; ++h) selection.heads.emplace_back(h);
    const QSizeF size = figure->layout({85 / 25.4 * 96, 0}, style, selection);
    TextBoxes seen(size.toSize());
    QPainter painter(&seen);
    figure->paint(painter, QRectF(QPointF(), size), style, selection);
    painter.end();
    ASSERT_FALSE(seen.boxes.empty());
    for (const auto& [text, box] : seen.boxes) EXPECT_LE(box.right(), size.width()) << text.toStdString();
}

/// The colour says which head a block is of, and nothing hides the text.
TEST(HeadView, APinWithSeveralHeadsLeavesTheTextAlone) {
    const HeadViewData data = synthetic::heads(6, 12, [](int, int, int j) { return j == 0 ? 1.F : 0.F; });
    const auto figure = head_figure(data);
    Style style;
    Selection selection;
    selection.heads.clear();
    for (std::int64_t h = 0; h < 12; ++h) selection.heads.emplace_back(h);
    const QSizeF size = figure->layout({884, 600}, style, selection);
    const auto key = [&] {
        const QImage image = painted_part(*figure, size, QRectF(QPointF(), size), style, selection);
        const QRect box = figure->row_of_key(Position(0))->toRect();
        return image.copy(box.adjusted(9, 4, -4, -8));
    };
    const QImage before = key();
    selection.pinned_queries = {Position(4)};
    EXPECT_EQ(key(), before);
}

}  // namespace head_view_test
}  // namespace headlight::figure
