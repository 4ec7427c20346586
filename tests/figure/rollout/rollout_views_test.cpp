// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/rollout/rollout_views.h"

#include "figure/pattern/matrix/matrix_view.h"
#include "figure/rollout/paths_view.h"
#include "headlight/base/error.h"
#include "tests/figure/novella.h"
#include "tests/figure/painting.h"
#include "tests/figure/synthetic.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace headlight::figure {
namespace rollout_views_test {

TEST(RolloutView, TheStrongestColourOfAPartOfThePairsIsThatOfAll) {
    std::srand(5);
    const analyze::Matrix map = analyze::Matrix::Random(600, 600).cwiseAbs() / 10;
    for (const bool causal : {false, true}) {
        EXPECT_NEAR(full_of({map}, causal), 0.098, 1e-6) << "97.5 % of numbers even between 0 and 0.1, rounded up";
        for (const Eigen::Index most : {5'000, 20'011}) EXPECT_NEAR(full_of({map}, causal, most), 0.098, 0.0011) << most;
    }
    EXPECT_EQ(full_of({}, true), 1);
    // Pairs of one distance alone are strong: a part that took some distances only would miss them.
    analyze::Matrix band = analyze::Matrix::Constant(600, 600, 0.01F);
    for (Eigen::Index i = 0; i < 600; ++i)
        for (Eigen::Index d = 1; d <= std::min<Eigen::Index>(i, 20); ++d) band(i, i - d) = 0.5F;
    EXPECT_NEAR(full_of({band}, true), 0.5, 1e-6) << "6.5 % of the pairs";
    EXPECT_NEAR(full_of({band}, true, 9'000), 0.5, 1e-6);
}

/// Three tokens, two layers, by hand: 1 = 0.75 + 0.2 + 0.05 from token 2.
PathsData three_tokens() {
    PathsData data;
    data.tokens = synthetic::axes(3).keys;
    data.paths.layer = Layer(1);
    data.paths.query = Position(2);
    data.paths.least = 0.1;
    data.paths.mass.assign(3, Eigen::VectorXd::Zero(3));
    data.paths.mass[2] << 0, 0, 1;
    data.paths.mass[1] << 0.05, 0.2, 0.75;
    data.paths.mass[0] << 0.15, 0.25, 0.6;
    data.paths.ribbons = {{0, Position(1), Position(1), 0.2},
                          {0, Position(2), Position(0), 0.1},
                          {0, Position(2), Position(2), 0.6},
                          {1, Position(2), Position(1), 0.2},
                          {1, Position(2), Position(2), 0.75}};
    data.paths.left_out = 3;
    data.paths.left_out_mass = 0.1;
    return data;
}

TEST(PathsLayout, WidthsAreToScaleAndNothingOverlaps) {
    const PathsData data = three_tokens();
    const PathsLayout l = paths_layout(data, 60, {800, 600});
    ASSERT_EQ(l.columns.size(), 3U);
    ASSERT_EQ(l.columns[1].size(), 3U) << "two tokens and one node for the thin one";
    EXPECT_EQ(l.columns[1].back().token, -1);
    EXPECT_EQ(l.columns[1].back().count, 1);
    for (const auto& column : l.columns) {
        double below = 0, height = 0;
        for (const PathNode& node : column) {
            EXPECT_NEAR(node.area.height(), node.mass * l.unit, 1e-9);
            EXPECT_GE(node.area.top(), below);
            below = node.area.bottom();
            height += node.area.height();
        }
        EXPECT_NEAR(height, l.unit, 1e-9) << "every column holds the whole";
        EXPECT_LE(below, l.size.height() - PathsLayout::legend);
    }
    ASSERT_EQ(l.bands.size(), data.paths.ribbons.size());
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<QRectF>> ends;
    for (const PathBand& band : l.bands) {
        const analyze::Ribbon& r = data.paths.ribbons[band.ribbon];
        EXPECT_NEAR(band.left.height(), r.mass * l.unit, 1e-9);
        EXPECT_NEAR(band.right.height(), r.mass * l.unit, 1e-9);
        const PathNode *from = l.node(r.layer + 1, r.from.value), *to = l.node(r.layer, r.to.value);
        ASSERT_TRUE(from && to);
        EXPECT_GE(band.right.top(), from->area.top() - 1e-9);
        EXPECT_LE(band.right.bottom(), from->area.bottom() + 1e-9);
        EXPECT_GE(band.left.top(), to->area.top() - 1e-9);
        EXPECT_LE(band.left.bottom(), to->area.bottom() + 1e-9);
        ends[{r.layer + 1, r.from.value}].push_back(band.right);
    }
    for (const auto& [node, bands] : ends)
        for (std::size_t k = 1; k < bands.size(); ++k) EXPECT_GE(bands[k].top(), bands[k - 1].bottom() - 1e-9);
}

TEST(PathsLayout, LayersInWhichLittleMovesAreFoldedWhereAllDoNotFit) {
    constexpr std::int64_t layers = 30;
    PathsData data = three_tokens();
    data.paths.ribbons.clear();
    data.paths.mass.assign(layers + 1, Eigen::Vector3d(0.2, 0.2, 0.6));
    for (std::int64_t l = 0; l < layers; ++l) {
        data.paths.ribbons.push_back({l, Position(2), Position(2), 0.5});
        if (l == 7 || l >= 26) data.paths.ribbons.push_back({l, Position(2), Position(1), 0.1});
    }
    const PathsLayout l = paths_layout(data, 80, {850, 600});
    EXPECT_LE(l.size.width(), 850.01);
    for (const std::int64_t whole : {7, 26, 27, 28, 29}) EXPECT_GE(l.step_after(whole), 40) << whole;
    EXPECT_TRUE(l.folded[20]);
    EXPECT_EQ(l.bands.size(), data.paths.ribbons.size()) << "every ribbon is drawn";
    data.paths.mass.assign(97, Eigen::Vector3d(0.2, 0.2, 0.6));
    EXPECT_LE(paths_layout(data, 80, {850, 600}).size.width(), 850.01) << "96 layers";
    data.paths.mass.resize(layers + 1);
    for (std::size_t c = 1; c < l.columns.size(); ++c) EXPECT_GT(l.columns[c][0].area.left(), l.columns[c - 1][0].area.right());
    data.paths.mass.resize(9);
    std::erase_if(data.paths.ribbons, [](const auto& r) { return r.layer >= 8; });
    const PathsLayout few = paths_layout(data, 80, {400, 600});
    EXPECT_EQ(std::ranges::count(few.folded, true), 0) << "few layers keep their width";
}

TEST(PathsFigure, HitsTellNodesRibbonsAndTheRest) {
    const auto figure = paths_figure(three_tokens());
    const QSizeF size = figure->layout({800, 600}, {}, {});
    std::set<QString> tips = tips_in(*figure, {{}, size}, 4, 2);
    tips.erase(QString());
    EXPECT_TRUE(tips.count(QStringLiteral("after L1  t2 (2)  100.0 %")));
    EXPECT_TRUE(tips.count(QStringLiteral("layer 1  t2 (2) → t1 (1)  20.0 %")));
    EXPECT_TRUE(tips.count(QStringLiteral("after L0  1 other together  5.0 %")));
    EXPECT_EQ(tips.size(), 12U) << "3 inputs, after L0 2 tokens and the other, after L1 1, 5 ribbons";
    const Table table = figure->table();
    EXPECT_EQ(table.columns, (std::vector<std::string>{"layer", "from", "from_token", "to", "to_token", "mass"}));
    EXPECT_EQ(table.rows.size(), 5U);
    EXPECT_EQ(figure->arrays()[0].shape, (std::vector<std::int64_t>{3, 3}));
}

TEST(MatrixSums, StandBesideTheMapAndSayTheirNumbers) {
    MatrixViewData data;
    data.axes = synthetic::axes(4);
    data.names = {QStringLiteral("mean of 2 heads")};
    data.weights = {analyze::Matrix::Zero(4, 4)};
    for (int i = 0; i < 4; ++i) data.weights[0].row(i).head(i + 1).setConstant(1.0F / static_cast<float>(i + 1));
    data.sums = true;
    const auto figure = matrix_figure(data);
    const QSizeF size = painted(*figure, {700, 600}).size();
    const std::set<QString> tips = tips_in(*figure, {{}, size}, 3, 3);
    EXPECT_TRUE(tips.count(QStringLiteral("t3 (3)  sum of the row 1.0000")));
    EXPECT_TRUE(tips.count(QStringLiteral("t0 (0)  sum of the column 2.0833")));
    EXPECT_TRUE(tips.count(QStringLiteral("mean of 2 heads  t1 (1) → t0 (0)  0.5000")));
    EXPECT_EQ(figure->table().columns.front(), "map");
    EXPECT_EQ(figure->arrays().size(), 3U);
}

class RolloutViews : public testing::Test {
protected:
    static void SetUpTestSuite() { trace_ = novella("The old doctor asked the nurse to wait."); }
    static void TearDownTestSuite() { trace_.reset(); }
    static inline TracePtr trace_;
};

TEST_F(RolloutViews, DrawWhatTheAnalysesSay) {
    const auto figure = rollout_view(trace_, Layer(5), {});
    const analyze::Matrix expected = analyze::rollout(*trace_).maps.back();
    const NamedArray weights = figure->arrays()[0];
    ASSERT_EQ(weights.shape, (std::vector<std::int64_t>{1, expected.rows(), expected.cols()}));
    EXPECT_TRUE(std::equal(weights.values.begin(), weights.values.end(), expected.data()));
    EXPECT_EQ(figure->view(), "rollout");
    EXPECT_EQ(figure->title(), QStringLiteral("Rollout after layer 5"));
    EXPECT_EQ(rollout_view(trace_, Layer(2), {.all_layers = true})->arrays()[0].shape[0], 3);
    EXPECT_EQ(rollout_view(trace_, Layer(2), {.flow = true})->view(), "flow");
    EXPECT_THROW(rollout_view(trace_, Layer(6), {}), Error);

    const auto paths = paths_view(trace_, Layer(5), Position(4), std::nullopt, {.least = 0.001});
    const NamedArray mass = paths->arrays()[0];
    for (std::int64_t j = 0; j < trace_->tokens(); ++j)
        EXPECT_NEAR(mass.values[static_cast<std::size_t>(j)], expected(4, j), 1e-5);
    EXPECT_THROW(paths_view(trace_, Layer(5), Position(400), std::nullopt, {}), Error);
}

TEST_F(RolloutViews, HeadsPutTogetherAreTheirMeanAndMaximum) {
    const std::vector<HeadId> heads = {{Layer(1), Head(2)}, {Layer(1), Head(3)}, {Layer(4), Head(5)}, {Layer(4), Head(5)}};
    for (const auto how : {analyze::Aggregate::mean, analyze::Aggregate::max})
        for (const auto weighting : {analyze::Weighting::attention, analyze::Weighting::layer_mix}) {  // a head's, a layer's
            const analyze::PatternOptions options{.weighting = weighting};
            const analyze::Matrix a = analyze::pattern(*trace_, heads[0], options),
                                  b = analyze::pattern(*trace_, heads[1], options),
                                  c = analyze::pattern(*trace_, heads[2], options),
                                  got = analyze::aggregate_pattern(*trace_, heads, how, options);
            for (Eigen::Index i = 0; i < a.size(); ++i) {
                const float x = a.data()[i], y = b.data()[i], z = c.data()[i];
                EXPECT_FLOAT_EQ(got.data()[i], how == analyze::Aggregate::mean ? (x + y + z) / 3 : std::max({x, y, z}));
            }
            const auto figure = aggregate_matrix_view(trace_, heads, how, options, true);
            EXPECT_EQ(figure->arrays()[0].values[0], got(0, 0));
        }
    EXPECT_THROW(analyze::aggregate_pattern(*trace_, {}, analyze::Aggregate::mean), Error);
    EXPECT_THROW(analyze::aggregate_pattern(*trace_, {{Layer(0), Head(8)}}, analyze::Aggregate::mean), Error);
}

}  // namespace rollout_views_test
}  // namespace headlight::figure
