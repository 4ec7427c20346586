// SPDX-License-Identifier: GPL-3.0-or-later
// The Attention Focus Plots show the numbers of analyze/focus.h, and nothing else.
#include "figure/focus/focus_plots.h"

#include "figure/pattern/matrix/matrix_view.h"
#include "figure/pattern/matrix/mip_pyramid.h"
#include "figure/plot/plot_figure.h"
#include "headlight/base/error.h"
#include "headlight/figure/core/view_spec.h"
#include "tests/figure/novella.h"
#include "tests/figure/painting.h"
#include "tests/figure/synthetic.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <map>

namespace headlight::figure {
namespace focus_plots_test {

const Style style;
constexpr const char* kTerms[] = {"position_term", "bias_term", "quadratic_term"};  // that sum to a score

double number(const Table::Cell& cell) {
    if (const auto* d = std::get_if<double>(&cell)) return *d;
    if (const auto* i = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*i);
    return std::numeric_limits<double>::quiet_NaN();
}

std::size_t column(const Table& table, const char* name) {
    return static_cast<std::size_t>(std::find(table.columns.begin(), table.columns.end(), name) - table.columns.begin());
}

class FocusPlots : public testing::Test {
protected:
    static void SetUpTestSuite() { trace_ = novella("The old doctor asked the nurse to wait, because the old doctor was late."); }
    static void TearDownTestSuite() { trace_.reset(); }
    static std::unique_ptr<Figure> figure(int number, const TracePtr& trace = trace_) {
        return focus_figure({trace}, {.figure = number, .head = head_, .terms = {}});
    }

    static inline TracePtr trace_;
    static inline const HeadId head_{Layer(4), Head(5)};
};

TEST_F(FocusPlots, Figure2NamesNoTermThatTheModelDoesNotHave) {
    analyze::FocusBreakdown parts = analyze::focus_breakdown(std::vector{trace_}, head_, 0);
    const auto names = [&] {
        QStringList all;
        const plot::PlotData data = focus_breakdown_plot(parts, token_labels(*trace_));
        for (const plot::Series& s : data.panels[0].series) all << s.name;
        return all;
    };
    const QStringList before = names();
    const auto bias = std::ranges::find(parts.facts.terms, "query bias", &analyze::FocusTerm::title);
    ASSERT_NE(bias, parts.facts.terms.end());
    ASSERT_TRUE(before.contains(QStringLiteral("query bias")));
    parts.terms.col(bias - parts.facts.terms.begin()).setZero();
    EXPECT_EQ(names().size(), before.size() - 1);
    EXPECT_FALSE(names().contains(QStringLiteral("query bias")));
}

TEST_F(FocusPlots, Figure3SaysThatThereIsNoQueryBias) {
    analyze::FocusTrend trend;
    trend.bias = Eigen::VectorXd::Zero(5);
    const plot::PlotData data = focus_trend_plot(trend, TokenLabels(5));
    EXPECT_TRUE(data.panels[0].series.empty()) << "no line from -0.0005 to 0.0005";
    EXPECT_TRUE(data.panels[0].empty.contains(QStringLiteral("query bias"))) << data.panels[0].empty.toStdString();
}

TEST_F(FocusPlots, Figure1MarksTheLargestScoreOfEachRow) {
    const auto map = figure(1);
    EXPECT_EQ(map->view(), "focus-1");
    const auto numbers = analyze::focus_map(*trace_, head_);
    const Table table = map->table();
    const auto score = column(table, "score");
    ASSERT_LT(score, table.columns.size());
    ASSERT_EQ(table.rows.size(), 17U * 18 / 2);
    for (const auto& row : table.rows)
        EXPECT_FLOAT_EQ(static_cast<float>(number(row[score])),
                        numbers.score(static_cast<Eigen::Index>(number(row[2])), static_cast<Eigen::Index>(number(row[4]))));
    // The outline of a row's largest has the colour of what it falls on; the corner of its cell is part of it.
    const QSizeF size = map->layout({900, 900}, style, {});
    const QImage image = painted_part(*map, size, QRectF({}, size), style);
    std::map<std::pair<std::int64_t, std::int64_t>, QRectF> cells;
    each_hit(*map, QRectF({1, 1}, QPointF(size.width(), size.height())), 5, 5, [&](const Hit& hit) {
        if (hit.kind == Hit::Kind::pair) cells[{hit.query->value, hit.key->value}] = hit.area;
    });
    ASSERT_EQ(cells.size(), 17U * 17);
    std::size_t seen[3] = {};
    for (std::int64_t i = 0; i < 17; ++i) {
        const auto& maximum = numbers.maxima.rows[static_cast<std::size_t>(i)];
        const QColor wanted = maximum.kind == analyze::Maximum::self    ? style.theme->heads[2]
                              : maximum.kind == analyze::Maximum::first ? style.theme->heads[4]
                                                                        : style.theme->muted;
        ++seen[static_cast<int>(maximum.kind)];
        const QRectF cell = cells[{i, maximum.key}];
        int nearest = 1000;
        for (double in : {0.0, 1.0, 2.0}) {
            const QColor at = image.pixelColor((cell.topLeft() + QPointF(cell.width() / 2, in)).toPoint());
            nearest = std::min(nearest, std::abs(at.red() - wanted.red()) + std::abs(at.green() - wanted.green()) +
                                            std::abs(at.blue() - wanted.blue()));
        }
        EXPECT_LT(nearest, 60) << i;
    }
    EXPECT_GT(seen[0], 0U) << "row 0";
    EXPECT_GT(seen[1] + seen[2], 0U);
}

TEST_F(FocusPlots, Figure2StacksTermsThatSumToTheScore) {
    const auto plot = figure(2);
    const Table table = plot->table();
    const auto numbers = analyze::focus_breakdown(std::vector{trace_}, head_, 0);
    ASSERT_EQ(table.rows.size(), 17U);
    const auto score = column(table, "score"), key = column(table, "key");
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        double sum = 0;
        for (const char* term : kTerms) sum += number(table.rows[r][column(table, term)]);
        EXPECT_NEAR(sum, number(table.rows[r][score]), 1e-5);
        EXPECT_EQ(number(table.rows[r][key]), static_cast<double>(numbers.keys[r]));
    }
    auto& drawn = dynamic_cast<plot::PlotFigure&>(*plot);
    drawn.layout({900, 500}, style, {});
    const auto& series = drawn.data().panels[0].series;
    ASSERT_EQ(series.size(), 4U);
    const Hit hit = drawn.hit_test(drawn.frame().panels[0].at(9, series[3].y[9]), style, {});
    EXPECT_EQ(hit.kind, Hit::Kind::pair);
    EXPECT_EQ(hit.query, Position(9));
    EXPECT_EQ(hit.key, Position(numbers.keys[9]));
}

TEST_F(FocusPlots, RanksBeyondARowAreGaps) {
    FocusFigureOptions options{.figure = 2, .head = head_, .sort_idx = 5, .terms = {}};
    const Table table = focus_figure({trace_}, options)->table();
    for (std::size_t r = 0; r < table.rows.size(); ++r)
        EXPECT_EQ(std::isnan(number(table.rows[r][column(table, "score")])), r < 5) << r;
    options.sort_idx = 17;
    EXPECT_THROW(focus_figure({trace_}, options), Error);
}

TEST_F(FocusPlots, SortedLinesNeverCrossAndDotsAreTheHeads) {
    for (int f : {4, 5, 6}) {
        const auto drawn = figure(f);
        const auto& panel = dynamic_cast<plot::PlotFigure&>(*drawn).data().panels[0];
        ASSERT_EQ(panel.series.size(), 8U + 1) << "eight ranks, and the dots";
        for (std::size_t r = 1; r < 8; ++r)
            for (std::size_t l = 0; l < 6; ++l) EXPECT_LE(panel.series[r].y[l], panel.series[r - 1].y[l]) << f;
        const auto table = analyze::head_table(*trace_);
        const auto* values = table.find(f == 4 ? "argmax_self" : f == 5 ? "argmax_first" : "top1_minus_top2");
        const plot::Series& dots = panel.series.back();
        ASSERT_EQ(dots.size(), 48U);
        for (std::size_t i = 0; i < dots.size(); ++i)
            EXPECT_NEAR(dots.y[i], (*values)(dots.heads[i].layer.value, dots.heads[i].head.value), 1e-9);
    }
}

TEST_F(FocusPlots, HistogramsCountEveryTokenOnce) {
    for (int f : {7, 8}) {
        const auto drawn = figure(f);
        const auto& panel = dynamic_cast<plot::PlotFigure&>(*drawn).data().panels[0];
        ASSERT_GE(panel.series.size(), 8U);
        for (const plot::Series& s : panel.series) {
            double sum = 0;
            for (double y : s.y) sum += y;
            EXPECT_EQ(sum, 17) << f << ' ' << s.name.toStdString();
            EXPECT_EQ(s.y.size(), 50U);
        }
    }
    const auto log = focus_figure({trace_}, {.figure = 7, .head = head_, .terms = {}, .log_magnitude = true, .bins = 7});
    const auto& series = dynamic_cast<plot::PlotFigure&>(*log).data().panels[0].series[0];
    EXPECT_EQ(series.y.size(), 7U);
    EXPECT_NEAR(series.x[1] / series.x[0], series.x[7] / series.x[6], 1e-9) << "equal steps of the logarithm";
}

TEST_F(FocusPlots, AxesOfSharesEndWhereSmallOnesAreSeen) {
    analyze::FocusShares shares;
    shares.queries = 10;
    shares.values = Eigen::MatrixXd::Constant(1, 2, 0.1);
    shares.values(0, 1) = 0.02;
    shares.ranked = {{0, 1}};
    EXPECT_FALSE(focus_shares_plot(shares, 5).panels[0].y.high);
    EXPECT_FALSE(focus_shares_plot(shares, 5).note.isEmpty());
    shares.values(0, 0) = 0.3;
    EXPECT_EQ(focus_shares_plot(shares, 5).panels[0].y.high, 1);
    shares.values.setConstant(std::numeric_limits<double>::quiet_NaN());
    EXPECT_EQ(focus_shares_plot(shares, 5).panels[0].y.high, 1);
}

TEST_F(FocusPlots, TheBiasDoesNotFlattenTheHeads) {
    analyze::FocusUpdates updates;
    updates.n_heads = 1;
    updates.has_output_bias = true;
    updates.magnitude = Eigen::MatrixXd(40, 2);
    for (Eigen::Index i = 0; i < 40; ++i) updates.magnitude(i, 0) = static_cast<double>(i + 1), updates.magnitude(i, 1) = 0.1;
    updates.tokens.resize(40);
    const plot::PlotData data = focus_histogram_plot(updates, false, 10, false);
    EXPECT_LT(data.panels[0].y.high.value_or(40), 10);
    EXPECT_TRUE(data.note.contains(QStringLiteral("40 tokens"))) << "the note names bins above the axis";
    EXPECT_EQ(*std::max_element(data.panels[0].series[1].y.begin(), data.panels[0].series[1].y.end()), 40);
    updates.magnitude.col(1) = updates.magnitude.col(0);
    EXPECT_FALSE(focus_histogram_plot(updates, false, 10, false).panels[0].y.high);
}

TEST_F(FocusPlots, TermsOfAChapterAreDots) {
    analyze::FocusBreakdown breakdown;
    breakdown.facts.terms.emplace_back().title = "position";
    constexpr Eigen::Index n = 1200;
    breakdown.terms = Eigen::MatrixXd::Ones(n, 1);
    breakdown.score = breakdown.probability = Eigen::VectorXd::Zero(n);
    for (Eigen::Index i = 0; i < n; ++i) breakdown.queries.push_back({0, Position(i)}), breakdown.keys.push_back(0);
    const plot::PlotData data = focus_breakdown_plot(breakdown, TokenLabels(n));
    ASSERT_EQ(data.panels[0].series.size(), 2U);
    for (const plot::Series& s : data.panels[0].series) EXPECT_EQ(s.kind, plot::Series::Kind::points);
}

TEST_F(FocusPlots, Figures9And10PointAtHeadAndToken) {
    const auto updates = analyze::focus_updates(std::vector{trace_}, Layer(4));
    const auto scatter = figure(9);
    auto& nine = dynamic_cast<plot::PlotFigure&>(*scatter);
    const plot::Series& five = nine.data().panels[0].series[5];
    EXPECT_EQ(five.head, head_);
    for (std::size_t i = 0; i < 17; ++i) {
        EXPECT_DOUBLE_EQ(five.x[i], updates.magnitude(static_cast<Eigen::Index>(i), 5));
        EXPECT_DOUBLE_EQ(five.y[i], updates.orientation(static_cast<Eigen::Index>(i), 5));
        EXPECT_EQ(five.queries[i], Position(static_cast<std::int64_t>(i)));
    }
    const auto over_text = figure(10);
    const auto& ten = dynamic_cast<plot::PlotFigure&>(*over_text).data().panels[0];
    ASSERT_EQ(ten.series.size(), 2U);
    EXPECT_EQ(ten.series[0].size() + ten.series[1].size(), 17U * 8);
    for (std::size_t i = 0; i < ten.series[1].size(); ++i)
        EXPECT_TRUE(updates.on_first(ten.series[1].queries[i].value, ten.series[1].heads[i].head.value));
}

TEST_F(FocusPlots, SeveralTextsArePooledAndOnlyOneIsLinked) {
    FocusFigureOptions options{.figure = 9, .head = head_, .terms = {}};
    const std::vector<TracePtr> two{trace_, novella("She was late.")};
    const auto tokens = static_cast<std::size_t>(17 + two[1]->tokens());
    const auto scatter = focus_figure(two, options);
    const auto& series = dynamic_cast<plot::PlotFigure&>(*scatter).data().panels[0].series[0];
    EXPECT_EQ(series.size(), tokens);
    EXPECT_TRUE(series.queries.empty()) << "positions of two texts are not one text's";
    options.figure = 2;
    EXPECT_EQ(focus_figure(two, options)->table().rows.size(), 17U);
    options.figure = 0;
    EXPECT_NO_THROW(focus_figure(two, options));
}

TEST_F(FocusPlots, OneTokenGivesGaps) {
    const TracePtr one =
        trace::run(trace_->model(), trace_->tokenizer(), {.text = "The", .pair = {}, .add_special_tokens = false});
    ASSERT_EQ(one->tokens(), 1);
    for (int f = 0; f <= 10; ++f) {
        const auto drawn = figure(f, one);
        EXPECT_NO_THROW(painted(*drawn, {700, 500}, style)) << f;
    }
    for (int f : {4, 5, 6}) {
        const Table table = figure(f, one)->table();
        for (const auto& row : table.rows) EXPECT_TRUE(std::isnan(number(row[column(table, "value")]))) << f;
    }
}

TEST_F(FocusPlots, ThePageHoldsAllTenAndLinksThem) {
    const auto page = figure(0);
    for (double width : {321.0, 672.0, 1440.0}) {
        const QSizeF size = page->layout({width, 800}, style, {});
        EXPECT_EQ(size.width(), width);
        EXPECT_GT(size.height(), width > 1040 ? 1500 : 3000);
        painted_part(*page, size, QRectF({}, size), style);
        bool pair = false, head = false;
        Hit token = page->hit_test({30, 58}, style, {});
        EXPECT_EQ(token.kind, Hit::Kind::query);
        EXPECT_EQ(token.query, Position(0));
        for (double y = 100; y < size.height(); y += 6)
            for (double x = 10; x < width; x += 9) {
                const Hit hit = page->hit_test({x, y}, style, {});
                if (hit.kind == Hit::Kind::none) continue;
                EXPECT_TRUE(hit.area.isEmpty() || hit.area.adjusted(-12, -12, 12, 12).contains(QPointF(x, y)) ||
                            hit.kind == Hit::Kind::legend || hit.kind == Hit::Kind::query || hit.kind == Hit::Kind::key)
                    << hit.tip.toStdString();
                pair |= hit.kind == Hit::Kind::pair && hit.head && hit.query;
                head |= hit.kind == Hit::Kind::head;
            }
        EXPECT_TRUE(pair && head) << width;
    }
    const Table table = page->table();
    std::map<std::string, std::size_t> rows;
    for (const auto& row : table.rows) {
        EXPECT_EQ(row.size(), table.columns.size());
        ++rows[std::get<std::string>(row[0])];
    }
    EXPECT_EQ(rows.size(), 10U);
    EXPECT_EQ(rows["focus-2"], 17U);
}

TEST_F(FocusPlots, EveryViewOfTheListIsMadeAndNamedAlike) {
    for (const ViewSpec& spec : view_specs()) {
        if (!spec.id.starts_with("focus") && !spec.id.starts_with("clark") && spec.id != "head-scatter") continue;
        ViewState state;
        state.view = spec.id;
        state.layer = head_.layer;
        state.heads = {head_.head};
        const auto made = make_figure(trace_, state);
        EXPECT_EQ(made->view(), spec.id);
        EXPECT_FALSE(made->description().isEmpty()) << spec.id;
        EXPECT_FALSE(made->table().rows.empty()) << spec.id;
        EXPECT_FALSE(made->arrays().empty()) << spec.id;
    }
}

/// One tiny model of each family: ALiBi, learned positions, rotary; both ways and causal.
TEST(FocusFamilies, EveryFamilyHasAllTenAndItsTermsSumToTheScore) {
    namespace fs = std::filesystem;
    std::size_t families = 0, both_ways = 0;
    for (const auto& entry : fs::directory_iterator(fs::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/models")) {
        if (!fs::exists(entry.path() / "tokenizer.json")) continue;
        const auto trace = trace::run(model::Model::load(entry.path()), text::Tokenizer::load(entry.path()),
                                      {.text = "The old doctor asked her to wait.", .pair = {}});
        if (model::has_relative_bias(trace->config())) continue;  // refused, as T5 is
        const bool causal = trace->config().causal;
        ++families, both_ways += !causal;
        FocusFigureOptions options;
        options.head = {Layer(1), Head(1)};
        for (options.figure = 1; options.figure <= 10; ++options.figure) {
            const auto drawn = focus_figure({trace}, options);
            EXPECT_NO_THROW(painted(*drawn, {500, 400}, style)) << entry.path();
        }
        options.figure = 2;
        const Table table = focus_figure({trace}, options)->table();
        ASSERT_EQ(table.rows.size(), static_cast<std::size_t>(trace->tokens()));
        for (const auto& row : table.rows) {
            double sum = 0;
            for (const char* term : kTerms)
                if (const double v = number(row[column(table, term)]); std::isfinite(v)) sum += v;
            if (const double cap = trace->config().score_softcap; cap > 0) sum = cap * std::tanh(sum / cap);  // as the notes say
            const double score = number(row[column(table, "score")]);
            EXPECT_NEAR(sum, score, 1e-5 * std::max(1.0, std::abs(score))) << entry.path();
        }
        // the marks' words fit a bidirectional model
        options.figure = 1;
        const auto facts = analyze::focus_facts(*trace, options.head);
        EXPECT_EQ(facts.other_words, causal ? "an earlier token" : "another token") << entry.path();
        if (!causal) {
            const auto n = static_cast<std::int64_t>(table.rows.size());
            const std::int64_t window = model::window_of(trace->config(), options.head.layer.value);
            std::size_t pairs = 0;
            for (std::int64_t q = 0; q < n; ++q)
                pairs += static_cast<std::size_t>(model::legal_keys(q, n, false, window).count());
            EXPECT_EQ(focus_figure({trace}, options)->table().rows.size(), pairs) << entry.path();
        }
    }
    EXPECT_GE(families, 3U);
    EXPECT_GE(both_ways, 1U);
}

TEST(SignedPyramid, KeepsWhatIsFarthestFromTheMiddle) {
    analyze::Matrix map = analyze::Matrix::Zero(4, 4);
    map(2, 0) = -3, map(2, 1) = 2, map(3, 0) = 10;
    Eigen::VectorXf middle = Eigen::VectorXf::Zero(4);
    middle[3] = 9;
    const MipPyramid p = signed_pyramid(map, synthetic::axes(4), true, middle, 4);
    EXPECT_EQ(p.levels[0].at(0, 3), 0) << "masked";
    EXPECT_EQ(p.levels[0].at(0, 0), 128);
    EXPECT_EQ(p.levels[0].at(3, 0), 128 + 32) << "a quarter above its row's middle";
    EXPECT_EQ(p.levels[0].at(3, 3), 1) << "clipped";
    EXPECT_LT(p.levels[1].at(1, 0), 40) << "−3 of 4 and, in the row below, −9";
}

}  // namespace focus_plots_test
}  // namespace headlight::figure
