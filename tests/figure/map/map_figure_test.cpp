// SPDX-License-Identifier: GPL-3.0-or-later
// The picture of a map: places of cells and points, what the pointer finds, zoom, colours.
#include "headlight/figure/map/map_figure.h"

#include "figure/map/map_colors.h"
#include "headlight/base/error.h"
#include "headlight/map/pictures.h"
#include "tests/figure/map/synthetic_map.h"
#include "tests/figure/painting.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <set>

namespace headlight::figure {
namespace map_figure_test {

const Style style;
const Selection selection;

QImage painted(MapFigure& figure) {
    figure.layout({900, 700}, style, selection);
    return painted_part(figure, {900, 700}, {0, 0, 900, 700}, style, selection);
}

void show(MapFigure& figure, const MapLook& look) {
    figure.set_look(look);
    figure.layout({900, 700}, style, selection);
}

MapLook single(std::int64_t layer, std::int64_t head) {
    MapLook look;
    look.single = HeadId{Layer(layer), Head(head)};
    return look;
}

TEST(MapFigure, CellsStandInRowsOfLayersAndDoNotOverlap) {
    for (const auto& [layers, heads] : {std::pair(3, 4), std::pair(12, 12), std::pair(18, 15)}) {
        MapFigure figure(synthetic_map(layers, heads, 1, 6));
        figure.layout({1100, 800}, style, selection);
        std::vector<QRectF> cells;
        for (const map::HeadMap& head : figure.map().heads) {
            const auto cell = figure.place_of_head({head.layer, head.head});
            ASSERT_TRUE(cell);
            EXPECT_TRUE(figure.room().contains(*cell));
            for (const QRectF& other : cells) EXPECT_FALSE(other.intersects(*cell));
            cells.push_back(*cell);
        }
        EXPECT_LT(cells[0].left(), cells[1].left());
        EXPECT_EQ(cells[0].top(), cells[1].top());
        EXPECT_LT(cells[0].top(), cells[static_cast<std::size_t>(heads)].top());
    }
}

TEST(MapFigure, ThePointerFindsPointsInTheMatrixAndInTheSingleView) {
    MapFigure figure(synthetic_map(2, 2, 2, 5));
    for (const MapLook& look : {MapLook(), single(1, 0)}) {
        show(figure, look);
        const auto at = figure.place_of({2, 13});  // a key
        ASSERT_TRUE(at);
        const auto found = figure.point_at(*at);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->head, 2U);
        EXPECT_EQ(figure.place_of(*found), at);  // or another in the same place
        const Hit hit = figure.hit_test(*at, style, selection);
        EXPECT_EQ(hit.head, (HeadId{Layer(1), Head(0)}));
        EXPECT_TRUE(hit.tip.startsWith(QStringLiteral("L1H0")));
    }
    EXPECT_FALSE(figure.place_of({0, 3}));  // another head than the one shown
    EXPECT_FALSE(figure.point_at({-50, -50}));
}

TEST(MapFigure, TheTipHasTheExactNumbers) {
    map::QueryKeyMap map = synthetic_map(1, 1, 2, 5);
    map.heads[0].norms[12] = 1.2344F;
    map.heads[0].trust[12] = 0.8F;
    const QString words = map_point_words(map, map.heads[0], 12);
    EXPECT_TRUE(words.contains(QStringLiteral("key ") + map_token_text(map.tokens.tokens[2]) + QStringLiteral(" (2)")))
        << words.toStdString();
    EXPECT_TRUE(words.contains(QStringLiteral("length 1.2344"))) << words.toStdString();
    EXPECT_TRUE(words.contains(QStringLiteral("80 % of its neighbours kept")));
    EXPECT_TRUE(words.contains(QStringLiteral("text 0, “text 0”")));
}

TEST(MapFigure, ALassoHoldsWhatLiesInIt) {
    MapFigure figure(synthetic_map(1, 1, 10, 40));
    show(figure, single(0, 0));
    const QPointF middle = figure.room().center();
    QPolygonF star;
    for (const QPointF& corner :
         {QPointF(0, 0), QPointF(380, -180), QPointF(60, 40), QPointF(200, 280), QPointF(-40, 90), QPointF(-350, 230)})
        star << middle + corner;
    std::set<std::int32_t> wanted;
    for (std::int32_t p = 0; p < 800; ++p) {
        const auto at = figure.place_of({0, p});
        if (!at) continue;
        // How many sides a ray to the right crosses.
        int crossings = 0;
        for (qsizetype i = 0; i < star.size(); ++i) {
            const QPointF a = star[i], b = star[(i + 1) % star.size()];
            if ((a.y() > at->y()) != (b.y() > at->y()))
                crossings += at->x() < a.x() + (at->y() - a.y()) / (b.y() - a.y()) * (b.x() - a.x());
        }
        if (crossings % 2 == 1) wanted.insert(p);
    }
    EXPECT_GT(wanted.size(), 5U);
    EXPECT_TRUE(std::ranges::equal(figure.points_in(star), wanted));
    EXPECT_TRUE(figure.points_in({}).empty());
    EXPECT_TRUE(figure.points_in(QPolygonF(QList<QPointF>{{1, 1}, {2, 1}, {2, 2}})).empty());
}

TEST(MapFigure, ZoomKeepsWhatIsUnderThePointer) {
    MapFigure figure(synthetic_map(6, 8, 2, 20));
    for (const MapLook& look : {MapLook(), single(2, 3)}) {
        show(figure, look);
        // In the middle, where no edge of the matrix holds it.
        const MapPoint point{look.single ? 19U : 28U, 7};
        const QPointF before = *figure.place_of(point);
        show(figure, figure.zoomed(3, before));
        const auto after = figure.place_of(point);
        ASSERT_TRUE(after);
        EXPECT_EQ(figure.head_at(before), point.head);
        EXPECT_LT(QLineF(before, *after).length(), look.single ? 1e-3 : 40);  // headings of cells do not grow
        show(figure, figure.moved({-13, 9}));
        EXPECT_LT(QLineF(*after + QPointF(-13, 9), *figure.place_of(point)).length(), 1e-3);
    }
}

TEST(MapFigure, ANewerHeadChangesItsCellAlone) {
    map::QueryKeyMap map = synthetic_map(3, 3, 3, 30);
    MapFigure figure(map);
    const QImage before = painted(figure);
    map::HeadMap newer = map.heads[4];
    for (float& v : newer.points) v = -v;
    figure.set_head(newer);
    const QImage after = painted(figure);
    map.heads[4] = newer;
    MapFigure fresh(map);
    EXPECT_EQ(after, painted(fresh));
    const QRect cell = figure.place_of_head({Layer(1), Head(1)})->toAlignedRect();
    int beside = 0, inside = 0;
    for (int y = 0; y < before.height(); ++y)
        for (int x = 0; x < before.width(); ++x)
            if (before.pixel(x, y) != after.pixel(x, y)) ++(cell.contains(x, y) ? inside : beside);
    EXPECT_GT(inside, 20);
    EXPECT_EQ(beside, 0);
}

TEST(MapFigure, MarkedPointsStandOutAndTheOthersAreGrey) {
    MapFigure figure(synthetic_map(1, 1, 4, 30));
    MapLook look = single(0, 0);
    look.token_labels = look.region_labels = false;
    const auto colored = [&] {
        figure.set_look(look);
        const QImage image = painted(figure);
        int count = 0;
        const QRect room = figure.room().toRect().adjusted(3, 3, -3, -3);
        for (int y = room.top(); y < room.bottom(); ++y)
            for (int x = room.left(); x < room.right(); ++x) count += QColor::fromRgb(image.pixel(x, y)).saturation() > 60;
        return count;
    };
    const int all = colored();
    auto marked = std::make_shared<std::vector<std::uint8_t>>(240);
    for (std::size_t i = 10; i < 20; ++i) (*marked)[i] = 1;
    look.marked = marked;
    const int some = colored();
    EXPECT_GT(some, 20);
    EXPECT_LT(some, all / 4);
}

TEST(MapFigure, EveryColourPaintsSomethingElse) {
    map::QueryKeyMap map = synthetic_map(2, 2, 4, 30);
    for (map::HeadMap& head : map.heads)
        for (std::size_t i = 0; i < head.trust.size(); ++i) head.trust[i] = static_cast<float>(i % 7) / 7;
    MapFigure figure(map);
    std::vector<QImage> images;
    for (const auto& row : map_colors) {
        MapLook look;
        look.color = row.value;
        figure.set_look(look);
        const QImage image = painted(figure);
        const QImage room = image.copy(figure.room().toRect());
        for (const QImage& other : images) EXPECT_NE(other, room) << row.word;
        images.push_back(room);
    }
}

TEST(MapFigure, AHeadThatTheMapLacksLeavesItsZoomBehind) {
    MapLook look = single(3, 3);
    look.zoom = 7;
    look.middle = {0.25, -0.5};
    const MapFigure kept(synthetic_map(4, 4, 2, 10), look);
    EXPECT_EQ(kept.look().zoom, 7);
    const MapFigure matrix(synthetic_map(2, 2, 2, 10), look);
    EXPECT_FALSE(matrix.look().single);
    EXPECT_EQ(matrix.look().zoom, 1);
    EXPECT_EQ(matrix.look().middle, QPointF(0.5, 0.5));
    look = {};
    look.zoom = 5;
    look.middle = {0.9, 0.9};
    const MapFigure one(synthetic_map(1, 1, 2, 10), look);
    EXPECT_EQ(one.look().zoom, 1);
    EXPECT_EQ(one.look().middle, QPointF(0, 0));
}

TEST(MapFigure, SharesFindWhatASetHoldsMoreOf) {
    const map::QueryKeyMap map = synthetic_map(1, 1, 10, 40);
    std::vector<std::int32_t> nurses;
    for (std::int32_t i = 0; i < 400; ++i)
        if (map.tokens.token_ids[static_cast<std::size_t>(i)] == 2) nurses.push_back(i);
    const auto shares = over_represented(map, nurses);
    ASSERT_GE(shares.size(), 2U);
    EXPECT_EQ(shares[0].kind, QStringLiteral("token"));
    EXPECT_EQ(shares[0].value, QStringLiteral("·nurse"));
    EXPECT_EQ(shares[0].inside, static_cast<std::int64_t>(nurses.size()));
    EXPECT_EQ(shares[0].share, 1);
    EXPECT_TRUE(std::ranges::any_of(shares, [](const MapShare& s) { return s.value == QStringLiteral("queries"); }));
    EXPECT_TRUE(over_represented(map, {}).empty());
    // Without the keys there is nothing but queries, and the shares elsewhere are those of queries.
    std::vector<std::uint8_t> queries(map::point_count(map));
    std::fill_n(queries.begin(), map::query_count(map), 1);
    const auto among = over_represented(map, nurses, queries);
    EXPECT_FALSE(std::ranges::any_of(among, [](const MapShare& s) { return s.kind == QStringLiteral("role"); }));
    ASSERT_FALSE(among.empty());
    EXPECT_EQ(among[0].value, QStringLiteral("·nurse"));
    EXPECT_EQ(among[0].elsewhere, 0) << "the keys of the token are hidden";
    EXPECT_GT(shares[0].elsewhere, 0);
}

TEST(MapFigure, LogOddsAreThoseOfThePaper) {
    // 4 tokens a, 4 tokens b, a query and a key of each; the set holds three queries of a and one of b.
    map::QueryKeyMap map;
    map.tokens.names = {"one"};
    for (int i = 0; i < 8; ++i) {
        map.tokens.tokens.emplace_back(i < 4 ? "a" : "b");
        map.tokens.token_ids.push_back(i < 4);
        map.tokens.text.push_back(0);
        map.tokens.position.push_back(0);
        map.tokens.apart.push_back(0);
    }
    const auto shares = over_represented(map, {0, 1, 2, 4}, {}, -100);
    const auto a = std::ranges::find(shares, QStringLiteral("a"), &MapShare::value);
    ASSERT_NE(a, shares.end());
    // y = 3 of 4 inside, 5 of 12 elsewhere; prior of 50 points, half of them a.
    const double odds = std::log(28.0 / (4 + 50 - 28)) - std::log(30.0 / (12 + 50 - 30));
    EXPECT_NEAR(a->z, odds / std::sqrt(1 / 28.0 + 1 / 30.0), 1e-12);
    EXPECT_NEAR(a->share, 0.75, 1e-12);
    EXPECT_NEAR(a->elsewhere, 5 / 12.0, 1e-12);
}

TEST(MapFigure, TokensReadAsTheTextDoes) {
    for (const auto& [token, text] :
         {std::pair("Ġthe", "·the"), std::pair("▁the", "·the"), std::pair("Ċ", "⏎"), std::pair("Ã©t", "ét"),  // byte-level
          std::pair("été", "été"), std::pair("##ing", "##ing"), std::pair("", "∅")})
        EXPECT_EQ(map_token_text(token).toStdString(), text);
}

/// A picture of 3 x 2 patches of 10 px, each of one colour, and a class token before them.
map::QueryKeyMap picture_map(std::vector<QRgb>& colors) {
    map::QueryKeyMap map = synthetic_map(1, 2, 1, 7);
    auto pictures = std::make_shared<map::MapPictures>();
    *pictures = {2, 3, 1};
    auto pixels = std::make_shared<model::Picture>();
    pixels->width = 34, pixels->height = 20;  // 2 px at each side are cut off
    pixels->rgb.resize(static_cast<std::size_t>(34 * 20 * 3));
    for (int patch = 0; patch < 6; ++patch) colors.push_back(qRgb(40 * patch, 200 - 30 * patch, 60 + 20 * patch));
    for (int y = 0; y < 20; ++y)
        for (int x = 2; x < 32; ++x) {
            const QRgb color = colors[static_cast<std::size_t>(y / 10 * 3 + (x - 2) / 10)];
            const auto at = static_cast<std::size_t>((y * 34 + x) * 3);
            pixels->rgb[at] = static_cast<std::uint8_t>(qRed(color));
            pixels->rgb[at + 1] = static_cast<std::uint8_t>(qGreen(color));
            pixels->rgb[at + 2] = static_cast<std::uint8_t>(qBlue(color));
        }
    pictures->shown.push_back({"six.png", pixels, {2, 0, 30, 20}});
    map.pictures = pictures;
    // Apart from each other, so that no patch covers another.
    for (map::HeadMap& head : map.heads)
        for (int i = 0; i < 14; ++i)
            head.points[static_cast<std::size_t>(2 * i)] = static_cast<float>(i % 7),
                                                     head.points[static_cast<std::size_t>(2 * i + 1)] =
                                                         static_cast<float>(i / 7 * 3);
    return map;
}

TEST(MapFigure, PatchesStandInPlaceOfTheirPoints) {
    std::vector<QRgb> colors;
    MapFigure figure(picture_map(colors), single(0, 1));
    const QImage image = painted(figure);
    for (std::int32_t point = 0; point < 14; ++point) {
        const auto at = figure.place_of({1, point});
        ASSERT_TRUE(at);
        const QImage patch = figure.thumbnail(point);
        if (point % 7 == 0) {
            EXPECT_TRUE(patch.isNull()) << "a class token is a point";
            continue;
        }
        const QRgb color = colors[static_cast<std::size_t>(point % 7 - 1)];
        EXPECT_EQ(patch.pixel(patch.width() / 2, patch.height() / 2), color);
        // Also beside the middle, where a disc would not reach.
        for (const QPoint by : {QPoint(0, 0), QPoint(7, 7), QPoint(-7, 7)})
            EXPECT_EQ(image.pixel(at->toPoint() + by), color) << point;
        EXPECT_EQ(figure.point_at(*at + QPointF(9, 0)), (MapPoint{1, point})) << "the patch answers the pointer";
    }
    MapLook look = single(0, 1);
    look.thumbnails = false;
    figure.set_look(look);
    const QImage discs = painted(figure);
    for (std::int32_t point = 1; point < 7; ++point)
        EXPECT_NE(discs.pixel(figure.place_of({1, point})->toPoint()), colors[static_cast<std::size_t>(point - 1)]);
    // Unmarked patches are faint.
    look.thumbnails = true;
    auto marked = std::make_shared<std::vector<std::uint8_t>>(14);
    (*marked)[3] = 1;
    look.marked = marked;
    figure.set_look(look);
    const QImage search = painted(figure);
    EXPECT_EQ(search.pixel(figure.place_of({1, 3})->toPoint()), colors[2]);
    EXPECT_NE(search.pixel(figure.place_of({1, 4})->toPoint()), colors[3]);
    EXPECT_TRUE(map_caption(figure.map()).contains(QStringLiteral("7 tokens of 1 picture")));
}

TEST(MapFigure, TheMatrixAroundAHeadHasItsCellInTheMiddle) {
    MapFigure figure(synthetic_map(6, 8, 1, 20));
    show(figure, {});
    const HeadId head{Layer(3), Head(4)};
    show(figure, figure.around(head));
    const QRectF cell = *figure.place_of_head(head);
    EXPECT_LT(QLineF(cell.center(), figure.room().center()).length(), 4);
    EXPECT_NEAR(figure.cell_side() / std::min(figure.room().width(), figure.room().height()), 0.75, 0.01);
}

TEST(MapFigure, WrongMapsAreRefused) {
    map::QueryKeyMap map = synthetic_map(1, 2, 1, 6);
    map.heads[1].points.pop_back();
    EXPECT_THAT([&] { MapFigure figure(map); },
                testing::Throws<Error>(testing::Property(&Error::facts, testing::Field(&ErrorFacts::item, "L0H1"))));
    EXPECT_THROW(MapFigure(map::QueryKeyMap()), Error);
}

TEST(MapFigure, TakesPointsThatAreNoNumbers) {
    map::QueryKeyMap map = synthetic_map(1, 2, 1, 6);
    for (float& v : map.heads[0].points) v = std::numeric_limits<float>::quiet_NaN();
    for (float& v : map.heads[1].points) v = 1;
    MapFigure figure(map);
    painted(figure);
    EXPECT_FALSE(figure.place_of({0, 3}));
    EXPECT_TRUE(figure.place_of({1, 3}));
    figure.set_look(single(0, 0));
    painted(figure);
    EXPECT_TRUE(figure.points_in(QPolygonF(figure.room())).empty());
}

TEST(MapFigure, PartsOfSpeechHaveColoursTipsAndShares) {
    map::QueryKeyMap map = synthetic_map(1, 1, 2, 8);
    const std::vector<std::uint8_t> plain = [&] {
        MapLook look;
        look.color = MapColor::part_of_speech;
        return map_classes(map_point_facts(map), map.heads[0], look);
    }();
    EXPECT_EQ(std::set(plain.begin() + 1, plain.begin() + 8).size(), 1U) << "not known: one colour";
    for (const std::string& token : map.tokens.tokens)
        map.tokens.tags.push_back(token == "Ġnurse" || token == "Ġdoctor" ? "NOUN" : token == "Ġasked" ? "VERB" : "");
    map.tokens.tokens[1] = "Ġnurse", map.tokens.tags[1] = "NOUN";
    map.tokens.tokens[2] = "Ġlawyer", map.tokens.tags[2] = "PROPN";
    map.tokens.tokens[3] = "Ġasked", map.tokens.tags[3] = "VERB";
    MapLook look = single(0, 0);
    look.color = MapColor::part_of_speech;
    const std::vector<std::uint8_t> classes = map_classes(map_point_facts(map), map.heads[0], look);
    EXPECT_EQ(classes[1], classes[2]) << "nouns and names";
    EXPECT_NE(classes[1], classes[3]);
    EXPECT_NE(classes[1], classes[16 + 1]) << "keys are paler";
    EXPECT_TRUE(map_point_words(map, map.heads[0], 1).contains(QStringLiteral("NOUN")));
    std::vector<std::int32_t> nouns;
    for (std::int32_t i = 0; i < 32; ++i)
        if (map.tokens.tags[static_cast<std::size_t>(i % 16)] == "NOUN") nouns.push_back(i);
    const std::vector<MapShare> shares = over_represented(map, nouns, {}, 0);
    const auto found = std::ranges::find(shares, QStringLiteral("part of speech"), &MapShare::kind);
    ASSERT_NE(found, shares.end());
    EXPECT_EQ(found->value, QStringLiteral("NOUN"));
    EXPECT_DOUBLE_EQ(found->share, 1);
    // A narrow picture has its legend in rows, above the points.
    MapFigure figure(map, look);
    figure.layout({1400, 900}, style, selection);
    const double wide = figure.room().top();
    figure.layout({540, 900}, style, selection);
    EXPECT_GE(figure.room().top(), wide + 18);
}

}  // namespace map_figure_test
}  // namespace headlight::figure
