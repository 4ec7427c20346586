// SPDX-License-Identifier: GPL-3.0-or-later
// Contribution graph, drivers, neuron map and predictions: what is drawn is what the analyses say, where it is looked for.
#include "figure/contribution/contribution_views.h"

#include "figure/contribution/contribution_graph.h"
#include "figure/contribution/neuron_map_figure.h"
#include "headlight/analyze/contribution/drivers.h"
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/base/error.h"
#include "headlight/figure/core/view_spec.h"
#include "tests/figure/novella.h"
#include "tests/figure/painting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>

namespace headlight::figure {
namespace contribution_views_test {

const std::filesystem::path source = HEADLIGHT_SOURCE_DIR;

TracePtr run(const std::filesystem::path& folder, const std::string& text) {
    return trace::run(model::Model::load(folder), text::Tokenizer::load(folder), {.text = text, .pair = {}});
}

class FlowViews : public testing::Test {
protected:
    static void SetUpTestSuite() { trace_ = novella("The old doctor asked the nurse to wait, because the old doctor was late."); }
    static void TearDownTestSuite() { trace_.reset(); }

    /// Pixels that are not the canvas, after a layout for a width.
    static std::int64_t painted(Figure& figure, const Theme& theme, double width = 1180) {
        Style style;
        style.theme = &theme;
        const QImage image = headlight::figure::painted(figure, {width, 0}, style);
        std::int64_t count = 0;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x) count += image.pixel(x, y) != theme.canvas.rgb();
        return count;
    }

    static inline TracePtr trace_;
};

TEST_F(FlowViews, PartsOfEachStateOfTheGraphSumToOne) {
    const auto figure = contribution_graph_view(trace_, Position(13), {}, {});
    for (const double width : {330.0, 1180.0}) EXPECT_GT(painted(*figure, Theme::light(), width), 2000);
    const Table table = figure->table();
    std::map<std::pair<std::int64_t, std::int64_t>, double> into;
    for (const auto& row : table.rows) {
        const auto kind = std::get<std::string>(row[1]);
        if (std::holds_alternative<std::monostate>(row[4]) && (kind == "attention" || kind == "residual"))
            into[{std::get<std::int64_t>(row[0]), std::get<std::int64_t>(row[3])}] += std::get<double>(row[5]);
    }
    for (const auto& [state, sum] : into) EXPECT_NEAR(sum, 1, 1e-9);
}

TEST_F(FlowViews, AClickOnALineOpensItsHeadsAndASecondOneClosesThem) {
    const auto closed = contribution_graph_view(trace_, Position(13), {}, {});
    auto& view = dynamic_cast<ContributionFigure&>(*closed);
    painted(*closed, Theme::dark_theme());
    const analyze::ContributionGraph graph = analyze::contribution_graph(*trace_, Position(13), {});
    Hit hit;
    for (const analyze::ContributionEdge& edge : graph.edges) {
        if (edge.kind != analyze::EdgeKind::attention || edge.from == edge.to) continue;
        hit = closed->hit_test(view.path(edge).pointAtPercent(0.4), {}, {});
        if (hit.kind == Hit::Kind::option) break;
    }
    ASSERT_EQ(hit.kind, Hit::Kind::option);
    ASSERT_EQ(hit.options.size(), 1U);
    const auto name = edge_name(hit.options.front().second);
    ASSERT_TRUE(name);
    ASSERT_TRUE(hit.head);
    EXPECT_EQ(hit.head->layer, Layer(name->layer));
    // By the list of views, as a click and the command line do it.
    ViewState state{.view = "contribution-graph",
                    .layer = hit.head->layer,
                    .heads = {hit.head->head},
                    .query = Position(13),
                    .values = {{"edge", hit.options.front().second}}};
    const auto open = make_figure(trace_, state);
    Style style;
    const QSizeF small = closed->layout({1180, 0}, style, {}), large = open->layout({1180, 0}, style, {});
    EXPECT_GT(large.height(), small.height() + 200) << "heads and maps stand below";
    EXPECT_GT(painted(*open, Theme::light()), painted(*closed, Theme::light()));
    EXPECT_EQ(open->table().rows.size(), closed->table().rows.size());
    bool closes = false, heads = false;
    for (double y = 0; y < large.height() && !(closes && heads); y += 4)
        for (double x = 0; x < large.width(); x += 4) {
            const Hit there = open->hit_test({x, y}, style, {});
            closes |= there.kind == Hit::Kind::option && there.options.front().second.empty();
            heads |= there.kind == Hit::Kind::head && there.head == hit.head;
        }
    EXPECT_TRUE(closes);
    EXPECT_TRUE(heads);
    state.values["edge"] = "3:4";
    EXPECT_THROW(make_figure(trace_, state), Error);
    state.values["edge"] = "5:0:0:0";
    EXPECT_THROW(make_figure(trace_, state), Error);
}

TEST_F(FlowViews, LongTextsHaveColumnsForTheTokensThatAreReached) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "The doctor asked the nurse to wait. ";
    const TracePtr longer = novella(text);
    const auto figure = contribution_graph_view(longer, Position(longer->tokens() - 1), {}, {});
    auto& view = dynamic_cast<ContributionFigure&>(*figure);
    EXPECT_GT(painted(*figure, Theme::light()), 2000);
    EXPECT_LT(std::ssize(view.places().columns), longer->tokens());
    const auto graph = analyze::contribution_graph(*longer, Position(longer->tokens() - 1), {});
    for (const auto& edge : graph.edges) EXPECT_TRUE(view.places().has(from_token(edge)) && view.places().has(to_token(edge)));
}

/// The target on the right above the source: every line where it is looked for, the source's names where its columns end.
TEST_F(FlowViews, ADecodersGraphHasBothTexts) {
    const auto folder = source / "tests/fixtures/encoder_decoders/bart";
    const TracePtr decoder = trace::run(model::Model::load(folder), text::Tokenizer::load(folder),
                                        {.text = "the cat, the hat: the cat", .pair = "die Katze, die"});
    const TracePtr cross = trace::part_of(decoder, model::Stack::cross);
    const ContributionViewOptions options{.asked = {.least_share = 0.02}};
    const analyze::ContributionGraph graph = analyze::contribution_graph(*decoder, Position(3), {.threshold = 0.02});
    for (const TracePtr& shown : {decoder, cross}) {
        const auto figure = contribution_graph_view(shown, Position(3), options, {});
        auto& view = dynamic_cast<ContributionFigure&>(*figure);
        EXPECT_GT(painted(*figure, Theme::light()), 2000);
        const ContributionLayout& at = view.places();
        ASSERT_TRUE(at.two());
        EXPECT_LT(at.x({true, at.source_columns.back()}), at.left);
        std::set<analyze::EdgeKind> kinds;
        for (const analyze::ContributionEdge& edge : graph.edges) {
            kinds.insert(edge.kind);
            const QPainterPath line = view.path(edge);
            EXPECT_NEAR(line.elementAt(0).x, at.x(from_token(edge)), 1e-9);
            EXPECT_NEAR(line.currentPosition().x(), at.x(to_token(edge)), 1e-9);
            EXPECT_LT(line.currentPosition().y(), line.elementAt(0).y) << "up";
            const Hit hit = figure->hit_test(line.pointAtPercent(0.5), {}, {});
            ASSERT_TRUE(hit.value) << edge.layer << ": " << edge.from << " to " << edge.to;
            EXPECT_GE(*hit.value, edge.weight - 1e-12) << "of lines that lie close together the strongest";
            if (const auto name = hit.options.empty() || hit.options.front().second.empty()
                                      ? std::nullopt
                                      : edge_name(hit.options.front().second)) {
                // The head in focus is one of the attention shown.
                EXPECT_EQ(hit.head.has_value(),
                          name->attention == (shown == cross ? EdgeName::Attention::cross : EdgeName::Attention::own));
            }
        }
        EXPECT_EQ(kinds.size(), 6U);
        const Hit named = figure->hit_test({at.x({true, at.source_columns.front()}), at.source_bottom + 12}, {}, {});
        EXPECT_EQ(named.kind, shown == cross ? Hit::Kind::key : Hit::Kind::legend);
        EXPECT_EQ(figure->hit_test({at.x({false, at.columns.front()}), at.bottom + 12}, {}, {}).kind, Hit::Kind::query);
        const Table table = figure->table();
        EXPECT_EQ(table.columns.front(), "stack");
        for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
        EXPECT_EQ(figure->arrays().front().shape, (std::vector<std::int64_t>{std::ssize(graph.edges), 6}));
    }
    EXPECT_EQ(edge_name("cross:1:2:3"), (EdgeName{EdgeName::Attention::cross, 1, 2, 3}));
    EXPECT_EQ(text_of({EdgeName::Attention::encoder, 0, 4, 5}), "encoder:0:4:5");
    // Opened, a line to the source has the maps of that attention below.
    const auto widest = std::max_element(graph.edges.begin(), graph.edges.end(), [](const auto& a, const auto& b) {
        return (a.kind == analyze::EdgeKind::cross ? a.weight : 0) < (b.kind == analyze::EdgeKind::cross ? b.weight : 0);
    });
    ContributionViewOptions open = options;
    open.edge = text_of(*name_of_edge(*widest));
    open.head = {Layer(widest->layer), Head(widest->heads.front().first)};
    Style style;
    const auto closed = contribution_graph_view(decoder, Position(3), options, {}),
               opened = contribution_graph_view(decoder, Position(3), open, {});
    EXPECT_GT(opened->layout({1180, 0}, style, {}).height(), closed->layout({1180, 0}, style, {}).height() + 200);
    EXPECT_GT(painted(*opened, Theme::dark_theme()), painted(*closed, Theme::dark_theme()));
}

TEST_F(FlowViews, DriversEndInThePreActivationOfTheFollowedNeuron) {
    ViewState state{.view = "drivers",
                    .layer = Layer(1),
                    .heads = {Head(2)},
                    .query = Position(12),
                    .neuron = analyze::NeuronId{Layer(4), Neuron(77)}};
    const auto figure = make_figure(trace_, state);
    EXPECT_GT(painted(*figure, Theme::light()), 2000);
    EXPECT_GT(painted(*figure, Theme::dark_theme(), 330), 2000);
    const Eigen::VectorXd sources = analyze::neuron_sources(*trace_, *state.neuron, {Layer(1), Head(2)}, Position(12));
    double total = std::nan(""), parts = 0, from_head = 0, from_sources = 0;
    for (const auto& row : figure->table().rows) {
        const auto& component = std::get<std::string>(row[0]);
        const double value = std::get<double>(row[3]);
        if (component == "total")
            total = value;
        else if (component == "head_source")
            from_sources += value;
        else
            parts += value;
        if (component == "head" && row[1] == Table::Cell(std::int64_t{1}) && row[2] == Table::Cell(std::int64_t{2}))
            from_head = value;
    }
    EXPECT_NEAR(parts, total, 1e-4 * std::max(1.0, std::abs(total)));
    EXPECT_NEAR(from_sources, from_head, 1e-6);
    EXPECT_NEAR(from_sources, sources.sum(), 1e-9);
    const auto all = analyze::memories(*trace_, Layer(4), Position(12), 0);
    const auto mine = std::find_if(all.begin(), all.end(), [](const analyze::Memory& m) { return m.neuron == Neuron(77); });
    EXPECT_NEAR(total, mine->pre, 1e-6);
    // A head keeps the neuron; a neuron of the list below is followed.
    const auto number = [](analyze::NeuronId n) { return n.layer.value * 100000 + n.neuron.value; };
    std::set<std::int64_t> listed, expected;
    bool head = false;
    each_hit(*figure, QRectF({}, figure->layout({1180, 0}, {}, {})), 8, 4, [&](const Hit& hit) {
        if (hit.kind == Hit::Kind::dimension && hit.neuron) listed.insert(number(*hit.neuron));
        if (hit.kind == Hit::Kind::head) head |= hit.neuron == state.neuron;
    });
    EXPECT_TRUE(head);
    for (const auto& n : analyze::downstream_neurons(*trace_, {Layer(1), Head(2)}, Position(12), 15))
        expected.insert(number(n.id));
    const std::int64_t likeliest = analyze::next_tokens(*trace_, Position(12), 1).front().id;
    int promoting = 10;
    for (const auto& n : analyze::largest_neurons(*trace_, Position(12), {.token = likeliest}, std::nullopt, 1'000'000))
        if (n.value > 0 && promoting-- > 0) expected.insert(number({Layer(n.layer), Neuron(n.index)}));
    EXPECT_EQ(listed, expected) << "what the head drives, and the neurons that add most to the likeliest token";
    state.values["promotes"] = "doctor handkerchief";
    EXPECT_THROW(make_figure(trace_, state), Error);
}

TEST_F(FlowViews, WithoutAFollowedNeuronTheStrongestMemoryIsSplit) {
    const auto figure = drivers_view(trace_, Layer(3), Position(5), {});
    const Neuron strongest = analyze::memories(*trace_, Layer(3), Position(5), 1).front().neuron;
    EXPECT_TRUE(figure->title().endsWith(QStringLiteral("neuron %1").arg(strongest.value))) << figure->title().toStdString();
}

TEST_F(FlowViews, CellsOfTheNeuronMapAreCoefficients) {
    for (const analyze::NeuronOrder order : {analyze::NeuronOrder::strength, analyze::NeuronOrder::peak,
                                             analyze::NeuronOrder::clustered, analyze::NeuronOrder::index}) {
        const auto figure = neuron_map_view(trace_, Layer(2), {.order = order, .rows = 30}, {});
        auto& view = dynamic_cast<NeuronMapFigure&>(*figure);
        EXPECT_GT(painted(*figure, Theme::dark_theme()), 2000);
        const NeuronMapLayout& at = view.places();
        for (const std::int64_t row : {0, 13, 29}) {
            const Hit hit = figure->hit_test(at.cell(row, 6).center(), {}, {});
            ASSERT_TRUE(hit.neuron);
            EXPECT_EQ(hit.neuron->layer, Layer(2));
            EXPECT_EQ(hit.query, Position(6));
            EXPECT_NEAR(*hit.value, static_cast<double>(analyze::neuron_activations(*trace_, Layer(2), hit.neuron->neuron)[6]),
                        1e-6);
        }
        EXPECT_EQ(figure->table().rows.size(), static_cast<std::size_t>(30 * trace_->tokens()));
        const auto arrays = figure->arrays();
        EXPECT_EQ(arrays[0].shape, (std::vector<std::int64_t>{30, trace_->tokens()}));
    }
}

TEST_F(FlowViews, AMemoryOfTheMlpViewIsFollowed) {
    ViewState state{.view = "mlp", .layer = Layer(3), .query = Position(5), .neuron = analyze::NeuronId{Layer(3), Neuron(9)}};
    const auto shown = [&] {
        const auto figure = make_figure(trace_, state);
        const auto values = figure->arrays().back().values;
        return analyze::Vector(Eigen::Map<const analyze::Vector>(values.data(), std::ssize(values)));
    };
    EXPECT_TRUE(shown().isApprox(analyze::neuron_activations(*trace_, Layer(3), Neuron(9))));
    state.neuron = analyze::NeuronId{Layer(2), Neuron(9)};
    const Neuron strongest = analyze::memories(*trace_, Layer(3), Position(5), 1).front().neuron;
    EXPECT_TRUE(shown().isApprox(analyze::neuron_activations(*trace_, Layer(3), strongest)))
        << "a neuron of another layer is not this layer's";
    const auto figure = make_figure(trace_, state);
    std::set<std::int64_t> rows;
    each_hit(*figure, {60, 0, 1, figure->layout({1180, 0}, {}, {}).height()}, 1, 5, [&](const Hit& hit) {
        if (hit.neuron) rows.insert(hit.neuron->neuron.value);
    });
    EXPECT_EQ(rows.size(), 20U);
}

TEST_F(FlowViews, PredictionsAreThoseOfTheAnalysis) {
    ViewState state{.view = "predictions"};
    const auto figure = make_figure(trace_, state);
    EXPECT_GT(painted(*figure, Theme::light()), 2000);
    const auto expected = analyze::predictions(*trace_, 5);
    const Table table = figure->table();
    ASSERT_EQ(table.rows.size(), 5 * expected.size());
    EXPECT_TRUE(std::isnan(std::get<double>(table.rows[0][3]))) << "nothing stands before the first token";
    for (std::size_t i = 1; i < expected.size(); ++i) {
        EXPECT_EQ(std::get<double>(table.rows[5 * i][3]), expected[i].log_probability);
        EXPECT_EQ(table.rows[5 * i][4], Table::Cell(expected[i].rank));
    }
    const TracePtr masked = run(source / "tests/fixtures/models/bert-mlm", "the cat sat on the mat");
    state.query = Position(2);
    const auto candidates = make_figure(masked, state);
    const auto found = analyze::masked_candidates(*masked, Position(2), 5);
    const Table listed = candidates->table();
    ASSERT_EQ(listed.rows.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i)
        EXPECT_NEAR(std::get<double>(listed.rows[i][4]), static_cast<double>(found.candidates[i].probability), 1e-7);
    const TracePtr plain = run(source / "tests/fixtures/models/bert", "the cat");
    EXPECT_FALSE(view_spec("predictions").missing(*plain).empty());
    state.view = "contribution-graph";
    state.heads = {Head(0)};
    EXPECT_GT(make_figure(plain, state)->table().rows.size(), 0U) << "needs no unembedding";
}

}  // namespace contribution_views_test
}  // namespace headlight::figure
