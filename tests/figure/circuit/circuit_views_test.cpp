// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/circuit/circuit_views.h"

#include "figure/circuit/composition_graph.h"
#include "figure/table/table_figure.h"
#include "figure/table/table_layout.h"
#include "headlight/analyze/circuit/importance.h"
#include "headlight/base/error.h"
#include "headlight/figure/core/view_spec.h"
#include "tests/figure/novella.h"
#include "tests/figure/painting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace headlight::figure {
namespace circuit_views_test {

using analyze::Composition;

HeadId head(std::int64_t l, std::int64_t h) { return {Layer(l), Head(h)}; }

std::shared_ptr<analyze::CompositionScores> some_scores() {
    auto scores = std::make_shared<analyze::CompositionScores>();
    scores->n_layers = 3;
    scores->n_heads = 4;
    for (auto& kind : scores->values) kind.assign(144, 0.0);
    const auto put = [&](Composition kind, HeadId from, HeadId to, double score) {
        const std::int64_t row = (from.layer.value * 4 + from.head.value) * 12;
        scores->values[static_cast<std::size_t>(kind)][static_cast<std::size_t>(row + to.layer.value * 4 + to.head.value)] =
            score;
    };
    put(Composition::k, head(0, 1), head(1, 2), 0.5);
    put(Composition::v, head(0, 1), head(2, 3), 0.2);
    put(Composition::q, head(1, 0), head(2, 0), 0.4);
    put(Composition::q, head(0, 3), head(1, 3), 0.1);
    return scores;
}

TEST(TableFigure, ANarrowFileStacksItsColumnsInReadableType) {
    TableSection section;
    section.title = QStringLiteral("Many columns");
    section.columns = {{.kind = ColumnKind::token, .id = "token", .title = QStringLiteral("token")}};
    for (int bar = 0; bar < 5; ++bar)
        section.columns.push_back({.kind = ColumnKind::bar, .id = "bar", .title = QStringLiteral("measure %1").arg(bar)});
    for (int layer = 0; layer < 30; ++layer)
        section.columns.push_back({.kind = ColumnKind::tint,
                                   .id = "layer",
                                   .title = QString::number(layer),
                                   .group = 1,
                                   .over = QStringLiteral("attention by layer")});
    for (int r = 0; r < 7; ++r) {
        TableRow& row = section.rows.emplace_back();
        row.key = Position(r);
        row.cells.push_back(TableCell::of(draw::Label{{}, QStringLiteral("handkerchief"), false}));
        for (std::size_t c = 1; c < section.columns.size(); ++c) row.cells.push_back(TableCell::of(0.01 * double(c) + r));
    }
    TableData data;
    data.sections = {section};
    const auto figure = table_figure(std::move(data));
    Style style;
    const QSizeF wide = figure->layout({1400, 0}, style, {});
    EXPECT_LE(wide.width(), 1400);
    style.exporting = true;
    constexpr double column = 85 / 25.4 * 96;
    const QSizeF narrow = figure->layout({column, 0}, style, {});
    const double points = 11 * 0.75 * column / narrow.width();  // of the smallest type
    EXPECT_GE(points, 4.99);
    EXPECT_GT(narrow.height(), 1.6 * wide.height()) << "the columns that do not fit stand below";
    painted_part(*figure, narrow, QRectF({}, narrow), style);
    const auto is_layer = [](const QString& tip) { return tip.contains(u"attention by layer"); };
    EXPECT_EQ(std::ranges::count_if(tips_in(*figure, QRectF({}, narrow), 5, 5), is_layer), 30 * 7) << "every cell is still there";
}

TEST(CompositionGraph, StrongestArcsInOrderByKindThresholdAndHead) {
    const auto scores = some_scores();
    const auto all = strongest_arcs(*scores, {});
    ASSERT_EQ(all.size(), 4u) << "pairs with score 0 are no arcs";
    EXPECT_EQ(all[0].kind, Composition::k);
    EXPECT_EQ(all[0].from, head(0, 1));
    EXPECT_EQ(all[0].to, head(1, 2));
    EXPECT_EQ(all[3].score, 0.1);
    EXPECT_EQ(strongest_arcs(*scores, {.threshold = 0.2}).size(), 3u);
    EXPECT_EQ(strongest_arcs(*scores, {.most = 2}).size(), 2u);
    EXPECT_EQ(strongest_arcs(*scores, {.kinds = ComposedKinds::q}).size(), 2u);
    const auto own = strongest_arcs(*scores, {}, head(0, 1));
    ASSERT_EQ(own.size(), 2u);
    EXPECT_EQ(own[1].to, head(2, 3));
}

TEST(CompositionGraph, EveryNodeAndArcIsItsOwnHit) {
    for (const auto& [layers, heads] : {std::pair<int, int>{1, 1}, {6, 8}, {12, 12}, {32, 32}})
        for (const QSizeF size : {QSizeF(400, 300), QSizeF(1200, 800)}) {
            const CompositionLayout at = composition_layout(layers, heads, size);
            for (int l = 0; l < layers; ++l)
                for (int h = 0; h < heads; ++h) {
                    ASSERT_LT(at.node(head(l, h)).x() + at.radius, at.width);
                    ASSERT_LT(at.node(head(l, h)).y() + at.radius, at.height);
                }
        }
    CompositionGraph graph(some_scores(), {});
    const Style style;
    graph.layout({800, 600}, style, {});
    const CompositionLayout at = composition_layout(3, 4, {800, 600});
    const Hit node = graph.hit_test(at.node(head(0, 1)), style, {});
    EXPECT_EQ(node.head, head(0, 1));
    EXPECT_TRUE(node.tip.contains(QStringLiteral("K → L1H2 0.500"))) << node.tip.toStdString();
    // K lies straight between its ends.
    const Hit arc = graph.hit_test((at.node(head(0, 1)) + at.node(head(1, 2))) / 2, style, {});
    EXPECT_EQ(arc.head, head(1, 2));
    EXPECT_EQ(arc.value, 0.5);
    EXPECT_EQ(arc.tip, QStringLiteral("L0H1 → L1H2  K composition 0.5000"));
    EXPECT_EQ(graph.table().rows.size(), 4u);
    EXPECT_EQ(graph.arrays()[1].values[1 * 12 + 6], 0.5F);
}

TEST(CompositionGraph, ArcsOfTheLastColumnStayOnTheCanvas) {
    const auto scores = some_scores();
    scores->values[static_cast<std::size_t>(Composition::q)][3 * 12 + 11] = 0.9F;  // L0H3 → L2H3, past L1H3
    CompositionGraph graph(scores, {});
    const Style style;
    const QSizeF size = graph.layout({800, 600}, style, {});
    const auto marks = *graph.marks(style, {});
    const auto arc =
        std::ranges::find_if(marks, [](const MarkPlace& mark) { return mark.hit.tip.startsWith(QStringLiteral("L0H3 → L2H3")); });
    ASSERT_NE(arc, marks.end());
    EXPECT_LT(arc->hit.area.right(), size.width());
}

TEST(CompositionGraph, DeepModelsFitTheCanvasAndLayersWithoutArcsStandCloser) {
    std::vector<bool> used(30, false);
    for (const std::size_t l : {3, 4, 5, 20, 21, 22}) used[l] = true;
    const CompositionLayout at = composition_layout(30, 9, {850, 617}, used);
    EXPECT_LE(at.height, 617);
    EXPECT_GT(at.y[21] - at.y[20], 1.5 * (at.y[11] - at.y[10]));
    EXPECT_GT(at.y[11] - at.y[10], 3);
    for (const std::int64_t l : {0, 10, 21, 29}) EXPECT_LE(2 * at.radius_of(l), std::max(4.0, at.room_at(l))) << l;
    EXPECT_EQ(composition_layout(6, 8, {850, 617}, std::vector<bool>(6, false)).y, composition_layout(6, 8, {850, 617}).y);
}

TEST(CompositionGraph, WidthSaysTheScore) {
    CompositionGraph graph(some_scores(), {});
    Style style;
    style.exporting = true;
    const QImage image = painted(graph, {800, 600}, style);
    const CompositionLayout at = composition_layout(3, 4, {800, 600});
    // Pixels across the middle of two arcs that run straight down; Q lies 7 px left of the middle.
    const auto across = [&](HeadId from, HeadId to, double aside) {
        const QPointF middle = (at.node(from) + at.node(to)) / 2 + QPointF(aside, 0);
        int painted = 0;
        for (int dx = -8; dx <= 8; ++dx)
            painted += image.pixelColor(int(middle.x()) + dx, int(middle.y())) != style.theme->canvas;
        return painted;
    };
    const int strong = across(head(1, 0), head(2, 0), -5.25), weak = across(head(0, 3), head(1, 3), -5.25);
    EXPECT_GT(weak, 0);
    EXPECT_GT(strong, weak + 1);
}

TableData some_table() {
    TableSection section;
    section.title = QStringLiteral("Numbers");
    section.columns = {
        {.kind = ColumnKind::token, .id = "token", .title = QStringLiteral("token")},
        {.kind = ColumnKind::bar, .id = "bar", .title = QStringLiteral("bar")},
        {.kind = ColumnKind::tint, .id = "a", .title = QStringLiteral("0"), .group = 1, .over = QStringLiteral("layers")},
        {.kind = ColumnKind::tint, .id = "b", .title = QStringLiteral("1"), .group = 1, .over = QStringLiteral("layers")}};
    for (std::int64_t i = 0; i < 1000; ++i) {
        TableRow row;
        row.key = Position(i);
        row.cells = {TableCell::of(draw::Label{{}, QStringLiteral("word"), false}), TableCell::of(i % 2 ? -1.0 : 0.5),
                     TableCell::of(i == 3 ? NAN : 0.25), TableCell::of(1.0)};
        section.rows.push_back(std::move(row));
    }
    return {
        .view = "sample", .title = QStringLiteral("Sample"), .description = {}, .sections = {section}, .table = {}, .arrays = {}};
}

TEST(TableFigure, RowsAreHitsAndExportsAreWhatIsShown) {
    const auto figure = table_figure(some_table());
    const Style style;
    const QSizeF size = figure->layout({700, 500}, style, {});
    EXPECT_GT(size.height(), 20000) << "a thousand rows scroll";
    EXPECT_LE(size.width(), 700.01);
    std::set<std::int64_t> seen;
    for (double y = 0; y < size.height(); y += 5) {
        const Hit hit = figure->hit_test({60, y}, style, {});
        if (hit.key) seen.insert(hit.key->value);
    }
    EXPECT_EQ(seen.size(), 1000u);
    const auto row = figure->row_of_key(Position(700));
    ASSERT_TRUE(row);
    EXPECT_EQ(figure->hit_test({60, row->center().y()}, style, {}).key, Position(700));
    EXPECT_FALSE(figure->row_of_query(Position(700))) << "the rows are about keys";
    EXPECT_FALSE(figure->row_of_key(Position(1000)));
    const Table table = figure->table();
    EXPECT_EQ(table.columns, (std::vector<std::string>{"token", "bar", "a", "b"}));
    EXPECT_EQ(std::get<double>(table.rows[1][1]), -1.0);
    EXPECT_TRUE(std::isnan(std::get<double>(table.rows[3][2])));
    EXPECT_EQ(figure->arrays().size(), 4u);
    EXPECT_EQ(figure->arrays()[0].texts.front(), "word");
}

TEST(TableFigure, ColumnsOfAllLayersFitTheWidth) {
    TableData data = some_table();
    TableSection& section = data.sections[0];
    for (std::int64_t l = 2; l < 48; ++l) {
        section.columns.push_back({.kind = ColumnKind::tint,
                                   .id = "l" + std::to_string(l),
                                   .title = QString::number(l),
                                   .group = 1,
                                   .over = QStringLiteral("layers")});
        for (TableRow& row : section.rows) row.cells.push_back(TableCell::of(0.5));
    }
    for (TableRow& row : section.rows) row.cells[0].label.text = QStringLiteral("·suspicion");
    const SectionLayout at = lay_out(section, 0, 850, false);
    EXPECT_GE(at.width[0], position_room + draw::text_width(QStringLiteral("·suspicion"), table_cell_font()))
        << "the strip of layers gives way before the tokens";
    const auto figure = table_figure(std::move(data));
    for (const double width : {850.0, 480.0}) EXPECT_LE(figure->layout({width, 500}, {}, {}).width(), width);
}

/// Widths of the headings of a table that has no title, by the texts of their tips.
std::map<QString, double> widths_of(const Figure& figure, const QSizeF& size) {
    std::map<QString, double> widths;
    for (double x = 0; x < size.width(); x += 1)
        for (double y = 0; y < 60; y += 3)
            if (const Hit hit = figure.hit_test({x, y}, {}, {}); hit.kind == Hit::Kind::legend && !hit.key)
                widths[hit.tip] = hit.area.width();
    return widths;
}

TEST(TableFigure, CellsOfAStripAreEquallyWideWhateverTheirNumbers) {
    TableData data = some_table();
    TableSection& section = data.sections[0];
    section.title.clear();
    section.rows.resize(3);
    for (std::size_t c = 2; c < 4; ++c) section.columns[c].tip = section.columns[c].id.c_str(), section.columns[c].decimals = 2;
    section.rows[0].cells[2] = TableCell::of(0.000194);
    section.rows[0].cells[3] = TableCell::of(0.02);
    const auto figure = table_figure(std::move(data));
    const auto widths = widths_of(*figure, figure->layout({700, 500}, {}, {}));
    ASSERT_TRUE(widths.contains(QStringLiteral("a")) && widths.contains(QStringLiteral("b")));
    EXPECT_NEAR(widths.at(QStringLiteral("a")), widths.at(QStringLiteral("b")), 0.01);
}

TEST(TableFigure, WhatAClickDoesStandsOnTheScreenAlone) {
    TableData data = some_table(), plain = some_table();
    data.sections[0].hint = QStringLiteral("Click a row.");
    const auto figure = table_figure(std::move(data)), without = table_figure(std::move(plain));
    Style file;
    file.exporting = true;
    EXPECT_GT(figure->layout({700, 500}, {}, {}).height(), without->layout({700, 500}, {}, {}).height());
    EXPECT_EQ(figure->layout({700, 500}, file, {}), without->layout({700, 500}, file, {}));
}

TEST(TableFigure, BarsGoToTheirSideAndTintsShareAScale) {
    const auto figure = table_figure(some_table());
    Style style;
    style.exporting = true;
    style.ramp = Ramp::viridis;  // none of whose colours is that of a bar
    figure->layout({700, 500}, style, {});
    const QImage image = painted_part(*figure, {700, 200}, {0, 0, 700, 200}, style);
    const QColor full = ramp_color(style.ramp, *style.theme, 1);
    // Along the middles of the first two rows: where they are, the hits say.
    const auto along = [&](std::int64_t row, const QColor& color) {
        double y = 0;
        while (figure->hit_test({60, y}, style, {}).key != Position(row)) y += 1;
        int count = 0;
        for (int x = 0; x < image.width(); ++x) count += image.pixelColor(x, int(y) + 11) == color;
        return count;
    };
    const int positive = along(0, style.theme->positive), negative = along(1, style.theme->negative);
    const int strong = along(0, full);
    EXPECT_GT(positive, 10);
    EXPECT_EQ(along(1, style.theme->positive), 0);
    EXPECT_NEAR(negative, 2 * positive, 3) << "-1 is drawn twice as long as 0.5";
    EXPECT_GT(strong, 10) << "1 is the strongest of the group";
}

constexpr const char* doctor = "The old doctor asked the nurse to wait, because the old doctor was late.";

TEST(CircuitViews, HeadCircuitShowsEigenvaluesAboveTokens) {
    const TracePtr trace = novella(doctor);
    const auto figure = head_circuit_view(trace, head(5, 7), {}, {});
    const Style style;
    const QSizeF size = figure->layout({1000, 700}, style, {});
    EXPECT_EQ(figure->table().rows.size(), 64u) << "OV and QK, one a dimension of the head";
    EXPECT_EQ(figure->arrays()[0].shape, (std::vector<std::int64_t>{32, 2}));
    std::set<std::int64_t> keys, queries;
    for (double y = 400; y < size.height(); y += 6) {
        const Hit hit = figure->hit_test({60, y}, style, {});
        if (hit.key) keys.insert(hit.key->value);
        if (hit.query) queries.insert(hit.query->value);
        EXPECT_TRUE(hit.area.isEmpty() || hit.area.adjusted(-60, -1, 60, 1).contains(60, y)) << "moved with its part";
    }
    EXPECT_EQ(keys.size(), std::set<std::int64_t>(trace->encoding().ids.begin(), trace->encoding().ids.end()).size());
    EXPECT_EQ(keys, queries);
}

TEST(CircuitViews, ImportanceShowsTheAnalysis) {
    const TracePtr trace = novella(doctor);
    const auto figure = importance_view(trace, Position(10), {.asked = {.target = "next", .permutations = 0}}, {});
    const analyze::Importance r = analyze::importance(*trace->model(), *trace->tokenizer(), trace->encoding(), Position(10),
                                                      {.target = trace->encoding().ids[11], .permutations = 0});
    const Table table = figure->table();
    ASSERT_EQ(table.rows.size(), 11u);
    ASSERT_EQ(table.columns.size(), 8u + 6u);
    for (std::size_t j = 0; j < table.rows.size(); ++j) {
        EXPECT_EQ(std::get<double>(table.rows[j][3]), r.gradient_x_input[j]);
        EXPECT_EQ(std::get<double>(table.rows[j][5]), r.blank_out[j]);
        EXPECT_EQ(std::get<double>(table.rows[j][10]), r.attention(2, static_cast<Eigen::Index>(j)));
    }
    std::string long_text = doctor;
    while (long_text.size() < 1200) long_text += " " + std::string(doctor);
    const TracePtr longer = novella(long_text);
    const Position last(longer->tokens() - 1);
    const auto shortened = importance_view(longer, last, {.asked = {.permutations = 0}}, {});
    ASSERT_GT(last.value, 200);
    EXPECT_EQ(shortened->table().rows.size(), static_cast<std::size_t>(longer->tokens())) << "files have every token";
    EXPECT_EQ(shortened->table().columns.size(), 8u + 6u);
    EXPECT_LT(shortened->layout({900, 600}, {}, {}).height(), 40 * 30 + 600) << "the listed ones can be read";
    for (const auto& [position, target] : {std::pair<std::int64_t, const char*>{16, "next"}, {3, "two words"}}) try {
            importance_view(trace, Position(position), {.asked = {.target = target}}, {});
            ADD_FAILURE() << target;
        } catch (const Error& error) {
            EXPECT_EQ(error.facts().item, "--target");
        }
}

TEST(CircuitViews, AreInTheListAndPaintEveryText) {
    for (const char* text : {"a", doctor}) {
        const TracePtr trace = novella(text);
        for (const char* id : {"head-circuit", "composition", "copy-suppression", "importance"}) {
            const ViewSpec& spec = view_spec(id);
            EXPECT_EQ(why_missing(spec, *trace, {}), "");
            ViewState state;
            state.view = id;
            state.layer = Layer(3);
            state.heads = {Head(0)};
            if (spec.option("permutations")) state.values["permutations"] = "2";
            const auto figure = make_figure(trace, state);
            for (const QSizeF room : {QSizeF(360, 260), QSizeF(1100, 800)}) {
                Style style;
                style.theme = &Theme::dark_theme();
                const QSizeF size = figure->layout(room, style, selection_of(state));
                EXPECT_GE(size.width(), 320) << id;
                const QImage image = painted_part(*figure, room, QRectF({}, room), style, selection_of(state));
                QImage canvas(image.size(), image.format());
                canvas.fill(style.theme->canvas);
                EXPECT_NE(image, canvas) << id;
            }
        }
    }
}

TEST(CircuitViews, ModelsWithoutAnUnembeddingAreToldWhy) {
    const std::string folder = std::string(HEADLIGHT_SOURCE_DIR) + "/tests/fixtures/models/bert";
    const TracePtr trace = trace::run(model::Model::load(folder), text::Tokenizer::load(folder), {.text = "The cats asked."});
    EXPECT_NE(view_spec("importance").missing(*trace), "");
    EXPECT_NE(view_spec("copy-suppression").missing(*trace), "");
    ViewState state;
    state.heads = {Head(0)};
    for (const char* id : {"head-circuit", "composition"}) {
        state.view = id;
        EXPECT_GT(make_figure(trace, state)->layout({800, 600}, {}, selection_of(state)).height(), 100) << id;
    }
}

}  // namespace circuit_views_test
}  // namespace headlight::figure
