// SPDX-License-Identifier: GPL-3.0-or-later
// Files of a map: one bitmap for the crowd, shapes and text for the rest; a row for every point.
#include "headlight/figure/export/export.h"
#include "headlight/figure/map/map_figure.h"
#include "headlight/figure/map/map_request.h"
#include "tests/figure/map/synthetic_map.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

namespace headlight::figure {
namespace map_files_test {

class MapFiles : public testing::Test {
protected:
    std::string written(MapFigure& figure, const char* name, std::optional<double> mm = {}) {
        ExportOptions options;
        options.width_mm = mm;
        export_figure(figure, {}, {}, options, folder / name);
        return test::slurp(folder / name);
    }
    static MapLook single() {
        MapLook look;
        look.single = HeadId{Layer(1), Head(1)};
        return look;
    }
    test::TempFolder folder;
};

TEST_F(MapFiles, VectorFilesHaveOneBitmapAndMarkedPointsAsShapes) {
    MapFigure figure(synthetic_map(2, 2, 4, 30));
    MapLook look = single();
    auto marked = std::make_shared<std::vector<std::uint8_t>>(240);
    for (std::size_t i = 10; i < 20; ++i) (*marked)[i] = 1;
    look.marked = marked;
    figure.set_look(look);
    const std::string svg = written(figure, "map.svg", 85);
    const auto count = [&](const std::string& what) {
        int n = 0;
        for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++n;
        return n;
    };
    EXPECT_EQ(count("<image"), 1);
    EXPECT_GE(count("<circle") + count("<ellipse"), 10);
    EXPECT_NE(svg.find("Queries and keys of L1H1"), std::string::npos);
    EXPECT_EQ(svg, written(figure, "again.svg", 85));
    EXPECT_GT(written(figure, "map.pdf", 178).size(), 2'000U);
    EXPECT_GT(written(figure, "map.png", 85).size(), 2'000U);
}

TEST_F(MapFiles, TheTableHasARowForEveryPointShown) {
    MapFigure figure(synthetic_map(2, 2, 2, 5, 3));
    EXPECT_EQ(figure.table().rows.size(), 4U * 20);
    EXPECT_EQ(figure.table().columns[8], "z");
    figure.set_look(single());
    const Table table = figure.table();
    ASSERT_EQ(table.rows.size(), 20U);
    EXPECT_EQ(std::get<std::string>(table.rows[10][2]), "key");
    EXPECT_EQ(std::get<std::int64_t>(table.rows[10][0]), 1);
}

TEST_F(MapFiles, ArraysAreThoseOfTheHeadsShown) {
    MapFigure figure(synthetic_map(2, 3, 2, 5));
    const auto shape = [&](const std::string& name) {
        for (const NamedArray& array : figure.arrays())
            if (array.name == name) return array.shape;
        return std::vector<std::int64_t>{};
    };
    EXPECT_EQ(shape("queries"), (std::vector<std::int64_t>{2, 3, 10, 2}));
    figure.set_look(single());
    EXPECT_EQ(shape("keys"), (std::vector<std::int64_t>{1, 1, 10, 2}));
    EXPECT_EQ(shape("faithfulness"), (std::vector<std::int64_t>{1, 1}));
    // A head that settles still has no quality.
    map::HeadMap fresh = figure.map().heads[4];
    fresh.trust.clear();
    figure.set_head(fresh);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(figure.table().rows[0].back()));
    EXPECT_EQ(shape("trust"), (std::vector<std::int64_t>{1, 1, 20}));
}

TEST_F(MapFiles, MarksCountTokensAndTheirQueriesAndKeys) {
    const map::QueryKeyMap map = synthetic_map(1, 1, 2, 8);
    MapLook look;
    const auto hits = map::find_points(map, map::SearchKind::positions, "1-2");
    mark_points(look, map, hits, map::heads_by_tightness(map, hits), QStringLiteral("1-2"));
    EXPECT_EQ(look.marked_words, QStringLiteral("4 hits of “1-2”"));
    EXPECT_EQ(std::ranges::count(*look.marked, 1), 8);
    EXPECT_EQ((*look.marked)[16 + 1], 1);
    // Cells show how tightly they stand.
    ASSERT_TRUE(look.spreads);
    EXPECT_EQ(look.spreads->size(), 1u);
    EXPECT_GT(look.spreads->at(0), 0);
}

TEST_F(MapFiles, FilesKeepTheAnglesOfThreeDimensions) {
    MapFigure figure(synthetic_map(1, 1, 2, 20, 3));
    MapLook look;
    const auto picture = [&](double yaw) {
        look.yaw = yaw;
        figure.set_look(look);
        return written(figure, "map.png");
    };
    const std::string front = picture(0), side = picture(70);
    EXPECT_NE(front, side);
    EXPECT_EQ(front, picture(0));
}

}  // namespace map_files_test
}  // namespace headlight::figure
