// SPDX-License-Identifier: GPL-3.0-or-later
// Heads combined in the head, matrix and model view, batches of texts, and rectangles around heads.
#include "figure/plot/plot_figure.h"
#include "headlight/base/error.h"
#include "headlight/figure/core/view_spec.h"
#include "headlight/figure/heads/head_plots.h"
#include "tests/figure/novella.h"
#include "tests/figure/painting.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

namespace headlight::figure {
namespace aggregate_test {

using analyze::Aggregate;
using testing::HasSubstr;
using testing::Not;

const Style style;

class Together : public testing::Test {
protected:
    static void SetUpTestSuite() { trace_ = novella("The old doctor asked the nurse to wait."); }
    static void TearDownTestSuite() { trace_.reset(); }

    static ViewState state(const std::string& view, ViewValues values = {}) {
        ViewState s;
        s.view = view;
        s.layer = Layer(4);
        s.heads = {Head(1), Head(5)};
        s.values = std::move(values);
        return s;
    }

    static inline TracePtr trace_;
};

TEST_F(Together, HeadAndMatrixViewDrawTheMeanAndTheMaximumOfChosenHeads) {
    const std::vector<HeadId> heads{{Layer(2), Head(1)}, {Layer(2), Head(5)}, {Layer(4), Head(1)}, {Layer(4), Head(5)}};
    for (const auto& [word, how] : {std::pair{"mean", Aggregate::mean}, std::pair{"max", Aggregate::max}}) {
        const analyze::Matrix expected = analyze::aggregate_pattern(*trace_, heads, how);
        for (const char* view : {"head", "matrix"}) {
            const auto figure = make_figure(trace_, state(view, {{"aggregate", word}, {"layers", "2,4"}}));
            EXPECT_EQ(figure->view(), view);
            figure->layout({700, 600}, style, {});
            const NamedArray weights = figure->arrays()[0];
            ASSERT_EQ(weights.shape, (std::vector<std::int64_t>{1, trace_->tokens(), trace_->tokens()})) << view;
            EXPECT_TRUE(std::equal(weights.values.begin(), weights.values.end(), expected.data())) << view << word;
            EXPECT_EQ(figure->table().columns.front(), "map");
            EXPECT_THAT(figure->title().toStdString(), HasSubstr("of L2H1, L2H5, L4H1, L4H5"));
        }
    }
    EXPECT_THROW(make_figure(trace_, state("head", {{"aggregate", "mean"}, {"layers", "6"}})), Error);
}

TEST_F(Together, TheHeadViewsSquaresStayAndItsLinesBelongToNoHead) {
    const auto figure = make_figure(trace_, state("head", {{"aggregate", "mean"}}));
    Selection selection;
    selection.layer = Layer(4);
    selection.heads = {Head(1), Head(5)};
    const QSizeF size = painted(*figure, {800, 600}, style, selection).size();
    int squares = 0, pairs = 0;
    const auto count = [&](const Hit& hit) {
        squares += hit.kind == Hit::Kind::head_square;
        if (hit.kind != Hit::Kind::pair) return;
        ++pairs;
        EXPECT_FALSE(hit.head);
        EXPECT_THAT(hit.tip.toStdString(), HasSubstr("mean of L4H1, L4H5"));
    };
    each_hit(*figure, {{}, size}, 4, 4, count, selection);
    EXPECT_GT(squares, 0);
    EXPECT_GT(pairs, 0);
}

TEST_F(Together, SumsStandBesideThePlainMatrix) {
    const auto figure = make_figure(trace_, state("matrix", {{"sums", "1"}}));
    const QSizeF size = figure->layout({900, 600}, style, {});
    const analyze::Matrix map = analyze::pattern(*trace_, {Layer(4), Head(1)}, {});
    const QString wanted = QStringLiteral("sum of the column ") + draw::number_text(map.col(0).cast<double>().sum(), 4);
    const auto named = [&](const QString& tip) { return tip.endsWith(wanted); };
    EXPECT_TRUE(std::ranges::any_of(tips_in(*figure, {{}, size}, 3, 3), named)) << wanted.toStdString();
}

/// ALiBi: content and position, and the scores that they sum to; blank where a key may not be seen.
TEST_F(Together, PartsOfTheScoreAreMapsThatSumToIt) {
    const auto figure = make_figure(trace_, state("matrix", {{"parts", "1"}}));
    EXPECT_EQ(figure->view(), "matrix");
    const QSizeF size = figure->layout({1200, 600}, style, {});
    const std::int64_t n = trace_->tokens();
    const NamedArray maps = figure->arrays()[0];
    ASSERT_EQ(maps.shape, (std::vector<std::int64_t>{6, n, n})) << "two heads";
    const analyze::Matrix scores = analyze::scores(*trace_, {Layer(4), Head(5)});
    const auto at = [&](std::int64_t map, std::int64_t i, std::int64_t j) {
        return static_cast<double>(maps.values[static_cast<std::size_t>((map * n + i) * n + j)]);
    };
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j <= i; ++j) {
            EXPECT_NEAR(at(3, i, j) + at(4, i, j), at(5, i, j), 1e-5);
            EXPECT_EQ(at(5, i, j), scores(i, j));
        }
    const Table table = figure->table();
    EXPECT_EQ(table.columns, (std::vector<std::string>{"map", "query", "query_token", "key", "key_token", "part"}));
    EXPECT_EQ(std::get<std::string>(table.rows.front()[0]), "L4H1 content");
    EXPECT_EQ(static_cast<std::int64_t>(table.rows.size()), 6 * n * (n + 1) / 2);
    const auto named = [](const QString& tip) { return tip.startsWith(QStringLiteral("L4H5 position")); };
    EXPECT_TRUE(std::ranges::any_of(tips_in(*figure, {{}, size}, 5, 5), named));
}

TEST_F(Together, TheModelViewGetsAColumnAndARowMore) {
    ViewState s = state("model", {{"aggregate", "mean"}, {"over-heads", "1,5"}, {"layers", "0-2"}, {"cells", "lines"}});
    const auto figure = make_figure(trace_, s);
    const std::int64_t n = trace_->tokens(), layers = 6, heads = 8;
    const NamedArray all = figure->arrays()[0];
    ASSERT_EQ(all.shape, (std::vector<std::int64_t>{layers + 1, heads + 1, n, n}));
    const auto cell = [&](std::int64_t l, std::int64_t h) {
        const float* at = all.values.data() + (l * (heads + 1) + h) * n * n;
        return analyze::Matrix(Eigen::Map<const analyze::Matrix>(at, n, n));
    };
    const auto one = [&](std::int64_t l, std::int64_t h) { return analyze::pattern(*trace_, {Layer(l), Head(h)}, {}); };
    EXPECT_TRUE(cell(3, 7).isApprox(one(3, 7)));
    EXPECT_TRUE(cell(4, heads).isApprox((one(4, 1) + one(4, 5)) / 2)) << "the chosen heads of a layer";
    EXPECT_TRUE(cell(layers, 3).isApprox((one(0, 3) + one(1, 3) + one(2, 3)) / 3)) << "a head of the chosen layers";
    analyze::Matrix corner = analyze::Matrix::Zero(n, n);
    for (int l = 0; l < 3; ++l) corner += one(l, 1) + one(l, 5);
    EXPECT_TRUE(cell(layers, heads).isApprox(corner / 6));

    const QSizeF size = painted(*figure, {900, 700}).size();
    std::size_t together = 0;
    each_hit(*figure, {{}, size}, 5, 5, [&](const Hit& hit) {
        if (hit.head) {
            EXPECT_LT(hit.head->head.value, heads);
        }
        if (!hit.tip.startsWith(QStringLiteral("mean of "))) return;
        ++together;
        EXPECT_FALSE(hit.head);
    });
    EXPECT_GT(together, 0U);
    const Table table = figure->table();
    EXPECT_TRUE(std::any_of(table.rows.begin(), table.rows.end(), [](const auto& row) {
        return std::holds_alternative<std::string>(row[1]) && std::get<std::string>(row[1]) == "mean";
    }));
}

TEST_F(Together, LongTextsArePooledFromTheWholeMap) {
    const std::vector<HeadId> heads{{Layer(1), Head(0)}, {Layer(5), Head(7)}};
    const analyze::PooledMap pooled = analyze::pooled_aggregate(*trace_, heads, Aggregate::mean, {}, 4);
    const analyze::Matrix whole = analyze::aggregate_pattern(*trace_, heads, Aggregate::mean);
    const std::int64_t n = trace_->tokens();
    ASSERT_EQ(pooled.max.rows(), 4);
    for (std::int64_t r = 0; r < 4; ++r)
        for (std::int64_t c = 0; c <= r; ++c) {
            const std::int64_t q = r * n / 4, k = c * n / 4;
            const auto block = whole.block(q, k, (r + 1) * n / 4 - q, (c + 1) * n / 4 - k);
            EXPECT_FLOAT_EQ(pooled.max(r, c), block.maxCoeff()) << r << ' ' << c;
        }
    const auto figure = make_figure(trace_, state("model", {{"aggregate", "max"}, {"cells", "maps"}}));
    EXPECT_EQ(figure->arrays()[0].shape[1], 9);
}

TEST_F(Together, BatchesOfTextsReachFiguresCaptionsAndTheCommand) {
    auto batch = std::make_shared<TextBatch>();
    batch->traces = {novella("She was late."), novella("Rain fell all night, and the river rose.")};
    batch->file = "texts.txt";
    Request request;
    static_cast<ViewState&>(request) = state("focus-4");
    request.heads = {Head(5)};
    request.batch = batch;
    const auto data_of = [](const Figure& f) { return dynamic_cast<const plot::PlotFigure&>(f).data(); };
    const auto shares = make_figure(trace_, request);
    const std::int64_t queries = trace_->tokens() + batch->traces[0]->tokens() + batch->traces[1]->tokens() - 3;
    EXPECT_THAT(data_of(*shares).subtitle.toStdString(), HasSubstr(std::to_string(queries) + " queries of 3 texts"));
    EXPECT_THAT(command_of(*trace_, request, "svg"), HasSubstr("--text 'The old"));
    EXPECT_THAT(command_of(*trace_, request, "svg"), HasSubstr("--texts texts.txt"));
    EXPECT_THAT(provenance_of(*trace_, request, "svg").text, HasSubstr("3 texts, " + std::to_string(queries + 3) + " tokens"));
    auto lines_alone = std::make_shared<TextBatch>(*batch);
    lines_alone->own_text = false;
    request.batch = lines_alone;
    EXPECT_THAT(command_of(*trace_, request, "svg"), Not(HasSubstr("--text 'The old")));
    for (const char* view : {"clark-kinds", "clark-entropy", "head-scatter"}) {
        request.view = view;
        EXPECT_THAT(data_of(*make_figure(trace_, request)).subtitle.toStdString(), HasSubstr("means over 3 texts")) << view;
    }
    // The measure of the batch is the mean of the texts'.
    request.view = "head-scatter";
    double mean = 0;
    for (const TracePtr& each : batch_traces(trace_, request)) mean += (*analyze::head_table(*each).find("entropy"))(2, 3) / 3;
    EXPECT_NEAR(std::get<double>(make_figure(trace_, request)->table().rows[2 * 8 + 3][3]), mean, 1e-12);
    request.view = "focus";
    EXPECT_NO_THROW(make_figure(trace_, request));
    request.view = "head";
    EXPECT_THROW(make_figure(trace_, request), Error) << "of one text";
}

TEST_F(Together, ARectangleHoldsTheHeadsOfItsMarks) {
    auto table = std::make_shared<analyze::HeadTable>();
    table->n_layers = 1, table->n_heads = 4;
    table->measures = {{"a", "a", "", "", 0, 1}, {"b", "b", "", "", 0, 1}};
    table->values = {Eigen::MatrixXd(1, 4), Eigen::MatrixXd(1, 4)};
    table->values[0] << 0, 1, 2, 3;
    table->values[1] << 0, 3, 1, std::numeric_limits<double>::quiet_NaN();
    const auto figure = head_scatter(table, {.x = "a", .y = "b"});
    figure->layout({600, 400}, style, {});
    const auto& panel = dynamic_cast<plot::PlotFigure&>(*figure).frame().panels[0];
    ASSERT_TRUE(figure->brush_area(panel.area.center()));
    EXPECT_EQ(*figure->brush_area(panel.area.center()), panel.area);
    EXPECT_FALSE(figure->brush_area({2, 2}));
    const QRectF lower = QRectF(panel.at(-0.2, 1.5), panel.at(2.5, -0.2)).normalized();
    EXPECT_EQ(figure->heads_in(lower), (std::vector<HeadId>{{Layer(0), Head(0)}, {Layer(0), Head(2)}}));
    EXPECT_TRUE(figure->heads_in(QRectF(panel.at(2.6, 3), panel.at(2.9, 2)).normalized()).empty());
}

}  // namespace aggregate_test
}  // namespace headlight::figure
