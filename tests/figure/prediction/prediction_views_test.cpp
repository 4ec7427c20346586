// SPDX-License-Identifier: GPL-3.0-or-later
// Lens, MLP and attribution view: pictures, tips and tables agree with the analyses.
#include "figure/prediction/prediction_views.h"
#include "figure/prediction/attribution_view.h"
#include "figure/prediction/lens_view.h"
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/base/error.h"
#include "headlight/figure/core/opened_part.h"
#include "headlight/figure/core/view_spec.h"
#include "tests/figure/novella.h"
#include "tests/figure/painting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

namespace headlight::figure {
namespace prediction_views_test {

class PredictionViews : public testing::Test {
protected:
    static void SetUpTestSuite() { trace_ = novella("The old doctor asked the nurse to wait, because the old doctor was late."); }
    static void TearDownTestSuite() { trace_.reset(); }

    static void paint(Figure& figure, const Theme& theme) {
        Style style;
        style.theme = &theme;
        painted(figure, {1180, 760}, style);
    }

    static inline TracePtr trace_;
};

TEST_F(PredictionViews, LensCellsAgreeWithTheAnalysis) {
    const auto figure = lens_view(trace_, std::nullopt, Layer(0), {});
    paint(*figure, Theme::light());
    const auto* lens = dynamic_cast<const LensFigure*>(figure.get());
    ASSERT_NE(lens, nullptr);
    const LensLayout& at = lens->places();
    const analyze::LogitLens expected = analyze::logit_lens(*trace_, {.top = 1});
    const QPointF cell(at.cell_x(3) + 5, at.row_top(7) + 5), output(at.cell_x(6) + 5, at.row_top(7) + 5);
    const Hit hit = figure->hit_test(cell, {}, {});
    EXPECT_EQ(hit.kind, Hit::Kind::pair);
    EXPECT_EQ(hit.query, Position(7));
    EXPECT_EQ(hit.head->layer, Layer(3));
    EXPECT_NEAR(*hit.value, static_cast<double>(expected.state(3, Position(7)).top[0].probability), 1e-6);
    EXPECT_NEAR(*figure->hit_test(output, {}, {}).value, static_cast<double>(expected.state(-1, Position(7)).top[0].probability),
                1e-6);
    EXPECT_EQ(figure->table().rows.size(), static_cast<std::size_t>(7 * 10 * trace_->tokens()));
}

TEST_F(PredictionViews, OpenedRowListsTwentyCandidatesAndPushesTheRestDown) {
    const auto closed = lens_view(trace_, std::nullopt, Layer(2), {}), open = lens_view(trace_, Position(4), Layer(2), {});
    for (Figure* figure : {closed.get(), open.get()}) paint(*figure, Theme::dark_theme());
    const LensLayout &a = dynamic_cast<LensFigure&>(*closed).places(), &b = dynamic_cast<LensFigure&>(*open).places();
    EXPECT_EQ(b.candidates, 20);
    EXPECT_EQ(a.row_top(4), b.row_top(4));
    EXPECT_GT(b.row_top(5), a.row_top(5) + 20 * LensLayout::candidate_height);
    EXPECT_EQ(open->hit_test({b.cell_x(2) + 3, b.row_top(5) + 3}, {}, {}).query, Position(5));
    // In the layer that was clicked the candidates are ranked 0, 1, 2 …
    const Hit hit = open->hit_test({b.cell_x(2) + 3, b.candidate_top(3) + 3}, {}, {});
    EXPECT_TRUE(hit.tip.contains(QStringLiteral("rank 3 "))) << hit.tip.toStdString();
}

TEST_F(PredictionViews, LensKeepsTokensAndOutputInSightWhileLayersScroll) {
    const auto figure = lens_view(trace_, Position(4), Layer(2), {});
    const Style style;
    const QSizeF size = figure->layout({420, 500}, style, {});
    ASSERT_GT(size.width(), 421) << "too narrow for six layers";
    EXPECT_TRUE(figure->begins_at_right());
    const LensLayout& at = dynamic_cast<LensFigure&>(*figure).places();
    const auto look = [&](double left) { painted_part(*figure, {420, 500}, {left, 0, 420, 500}, style); };
    for (const double left : {0.0, size.width() - 420}) {
        look(left);
        const double y = at.row_top(2) + 5;
        const double output = left + 420 - (size.width() - at.cell_x(at.layers));
        EXPECT_TRUE(figure->hit_test({output + 5, y}, style, {}).tip.startsWith(QStringLiteral("output"))) << left;
        EXPECT_EQ(figure->hit_test({left + at.token_x + 5, y}, style, {}).kind, Hit::Kind::query)
            << "the token, no layer under it";
    }
    look(size.width() - 420);
    EXPECT_TRUE(figure->hit_test({at.cell_x(5) + 20, at.row_top(2) + 5}, style, {}).tip.startsWith(QStringLiteral("layer 5")));
}

TEST_F(PredictionViews, AttributionMapsOfDeepModelsLeaveTheTokensInSight) {
    for (const auto& [layers, heads] : {std::pair<std::int64_t, std::int64_t>{30, 9}, {48, 25}, {96, 128}}) {
        const AttributionLayout at = attribution_layout(layers, heads, 15, 850, false, 420);
        EXPECT_LE(at.map_bottom - at.map_top, std::max(420.0, 5.0 * static_cast<double>(layers)) + 0.1) << layers;
        EXPECT_LE(at.width, 880) << heads;
        EXPECT_EQ(at.bar_row(0).left(), at.bars_x);
        EXPECT_GE(at.row, 4.3);
    }
    EXPECT_EQ(attribution_layout(30, 9, 15, 850).row, attribution_layout(30, 9, 15, 850).cell) << "a page is as tall as it needs";
}

TEST_F(PredictionViews, AttributionStandsInAColumnOfAJournal) {
    const AttributionLayout at = attribution_layout(6, 8, 15, 320);
    EXPECT_LE(at.width, 340);
    EXPECT_GT(at.bars_top, at.map_bottom) << "the bars stand below the map";
    EXPECT_LE(at.mlp_cell(0).right(), at.width - AttributionLayout::margin + 0.5);
    EXPECT_GT(at.sources_top, at.bar_row(15).bottom());
    const auto figure = attribution_figure(trace_, {Layer(1), Head(2)}, Position(4), {});
    ExportOptions options;
    options.width_mm = 85;
    EXPECT_GE(smallest_type(*figure, {}, {}, options), least_points);
}

TEST_F(PredictionViews, LensTipsKeepTokensThatLookLikePlaceholders) {
    LensViewData data;
    data.lens = std::make_shared<analyze::LogitLens>(analyze::logit_lens(*trace_, {.top = 1, .watch_text = true}));
    data.labels = analyze::pattern_axes(*trace_, {}).keys;
    data.next.assign(data.labels.size(), -1);
    for (const analyze::LensState& state : data.lens->states) data.words[state.watched.id] = QStringLiteral("%2%3");
    LensFigure figure(std::move(data));
    paint(figure, Theme::light());
    const QString tip = figure.hit_test({figure.places().cell_x(3) + 5, figure.places().row_top(7) + 5}, {}, {}).tip;
    EXPECT_TRUE(tip.contains(QStringLiteral("  %2%3: rank "))) << tip.toStdString();
}

TEST_F(PredictionViews, LensColoursGrowWithTheirNumbers) {
    const std::int64_t watched = trace_->encoding().ids[1];
    const auto by_rank =
        lens_view(trace_, std::nullopt, Layer(0), {.asked = {.watch = std::to_string(watched)}, .color = LensColor::rank});
    const auto& figure = dynamic_cast<LensFigure&>(*by_rank);
    analyze::LensState likely, unlikely, unknown;
    likely.watched_rank = 0;
    unlikely.watched_rank = 8000;
    EXPECT_EQ(figure.strength(likely), 1);
    EXPECT_LT(figure.strength(unlikely), 0.05);
    EXPECT_TRUE(std::isnan(figure.strength(unknown))) << "a gap, not the lowest colour";
}

TEST_F(PredictionViews, AttributionBarsEndInTheLogit) {
    const auto figure = attribution_figure(trace_, {Layer(4), Head(5)}, Position(12), {});
    paint(*figure, Theme::light());
    const auto& view = dynamic_cast<AttributionFigure&>(*figure);
    double sum = 0;
    for (const NamedPart& part : view.bars()) sum += part.value;
    const Table table = figure->table();
    double total = 0, parts = 0, sources = 0, head = 0;
    for (const auto& row : table.rows) {
        const auto& component = std::get<std::string>(row[0]);
        const double value = std::get<double>(row[3]);
        if (component == "total")
            total = value;
        else if (component == "head_source")
            sources += value;
        else
            parts += value;
        if (component == "head" && row[1] == Table::Cell(std::int64_t{4}) && row[2] == Table::Cell(std::int64_t{5})) head = value;
    }
    EXPECT_NEAR(sum, total, 1e-4 * std::abs(total));
    EXPECT_NEAR(parts, total, 1e-4 * std::abs(total));
    EXPECT_NEAR(sources, head, 1e-5 * std::abs(total));
    const QRectF cell = view.places().head_cell(4, 5);
    const Hit hit = figure->hit_test(cell.center(), {}, {});
    EXPECT_EQ(hit.head, (HeadId{Layer(4), Head(5)}));
    EXPECT_NEAR(*hit.value, head, 1e-9);
}

TEST_F(PredictionViews, AClickOnAnMlpListsItsNeuronsByWhatTheyAdd) {
    const auto split = attribution_figure(trace_, {Layer(4), Head(5)}, Position(12), {});
    paint(*split, Theme::light());
    const Hit click = split->hit_test(split->places().mlp_cell(3).center(), {}, {});
    EXPECT_EQ(click.kind, Hit::Kind::option);
    ASSERT_EQ(click.options.size(), 1U);
    EXPECT_EQ(click.options[0], std::pair(std::string("mlp"), std::string("3")));
    for (const std::optional<Layer> layer : {std::optional<Layer>(), std::optional(Layer(3))}) {
        const auto figure = attribution_view(trace_, {Layer(4), Head(5)}, Position(12), {.mlp = layer ? layer->value : -1});
        paint(*figure, Theme::dark_theme());
        std::vector<analyze::NeuronId> listed;
        double last = std::numeric_limits<double>::infinity();
        for (const auto& row : figure->table().rows)
            if (std::get<std::string>(row[0]) == "neuron") {
                listed.push_back({Layer(std::get<std::int64_t>(row[1])), Neuron(std::get<std::int64_t>(row[2]))});
                if (layer) {
                    EXPECT_EQ(listed.back().layer, *layer);
                }
                EXPECT_LE(std::abs(std::get<double>(row[3])), last);
                last = std::abs(std::get<double>(row[3]));
            }
        ASSERT_GE(listed.size(), 10U);
        const QSizeF size = figure->layout({1180, 0}, {}, {});
        std::vector<analyze::NeuronId> clickable;
        for (double y = 0; y < size.height(); y += 4)
            if (const Hit hit = figure->hit_test({40, y}, {}, {}); hit.neuron && hit.kind == Hit::Kind::dimension)
                if (clickable.empty() || clickable.back() != *hit.neuron) clickable.push_back(*hit.neuron);
        EXPECT_EQ(clickable, listed);
        const auto opened = dynamic_cast<const OpensPart&>(*figure).opened_part();
        ASSERT_EQ(opened.has_value(), layer.has_value()) << "the list of all neurons was not asked for by a click";
        if (opened) {
            EXPECT_GT(opened->top(), split->places().sources_top);
            EXPECT_EQ(opened->bottom(), size.height());
        }
    }
    EXPECT_THROW(attribution_view(trace_, {Layer(4), Head(5)}, Position(12), {.mlp = 6}), Error);
}

TEST_F(PredictionViews, MemoriesCanBeSortedByWhatTheyAddToTheLogit) {
    const auto figure = mlp_view(trace_, Layer(3), Position(5), {}, {.order = analyze::MemoryOrder::logit});
    const Table table = figure->table();
    ASSERT_EQ(table.columns.back(), "logit_contribution");
    const std::int64_t likeliest = analyze::next_tokens(*trace_, Position(5), 1).front().id;
    const auto largest = analyze::largest_neurons(*trace_, Position(5), {.token = likeliest}, Layer(3), 20);
    ASSERT_EQ(table.rows.size(), largest.size());
    for (std::size_t i = 0; i < largest.size(); ++i) {
        EXPECT_EQ(table.rows[i][0], Table::Cell(largest[i].index));
        EXPECT_EQ(std::get<double>(table.rows[i].back()), largest[i].value);
    }
    const QSizeF size = figure->layout({1180, 0}, {}, {});
    std::set<std::string> orders;
    each_hit(*figure, {0, 0, size.width(), 120}, 4, 4, [&](const Hit& hit) {
        if (hit.kind == Hit::Kind::option) orders.insert(hit.options.front().second);
    });
    EXPECT_EQ(orders, (std::set<std::string>{"logit", "strength"})) << "by a click on the heads of the columns";
}

TEST_F(PredictionViews, MemoriesRaiseTheOtherEndWhenTheirCoefficientIsNegative) {
    const auto figure = mlp_view(trace_, Layer(3), Position(5), {}, {});
    paint(*figure, Theme::dark_theme());
    const Table table = figure->table();
    ASSERT_EQ(table.rows.size(), 20U);
    for (const auto& row : table.rows) {
        const Neuron neuron(std::get<std::int64_t>(row[0]));
        const analyze::Promoted value = analyze::promoted_tokens(*trace_->model(), Layer(3), {neuron}, {.top = 1})[0];
        const bool turned = std::get<double>(row[1]) < 0;
        const std::string raised = text::token_label(*trace_->tokenizer(), turned ? value.bottom[0].id : value.top[0].id);
        EXPECT_EQ(std::get<std::string>(row[13]).substr(0, raised.size()), raised);
    }
    std::vector<std::int64_t> from_above;  // neurons of the rows under a vertical line, then the text below the table
    std::optional<Position> token;
    for (double y = 0; y < 1'000 && !token; y += 4) {
        const Hit hit = figure->hit_test({40, y}, {}, {});
        if (hit.neuron && (from_above.empty() || from_above.back() != hit.dimension)) {
            from_above.push_back(hit.dimension);
            EXPECT_TRUE(hit.tip.contains(QStringLiteral("neuron %1  m ").arg(hit.dimension)) && hit.tip.contains(u"value alone"))
                << hit.tip.toStdString();
        }
        token = hit.query;
    }
    ASSERT_EQ(from_above.size(), table.rows.size());
    for (std::size_t i = 0; i < from_above.size(); ++i) EXPECT_EQ(Table::Cell(from_above[i]), table.rows[i][0]);
    EXPECT_EQ(token, Position(0));
}

TEST_F(PredictionViews, AreInTheListAndSayWhatAModelLacks) {
    const std::filesystem::path models = std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/models";
    const auto bert =
        trace::run(model::Model::load(models / "bert"), text::Tokenizer::load(models / "bert"), {.text = "the cat", .pair = {}});
    for (const char* id : {"lens", "attribution"}) {
        EXPECT_FALSE(view_spec(id).missing(*bert).empty()) << id;
        EXPECT_TRUE(view_spec(id).missing(*trace_).empty()) << id;
    }
    ViewState state;
    state.view = "mlp";
    EXPECT_EQ(make_figure(bert, state)->table().rows.size(), 20U) << "coefficients need no unembedding";
}

}  // namespace prediction_views_test
}  // namespace headlight::figure
