// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/rollout/rollout.h"

#include "analyze/rollout/max_flow.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/trace/tensors.h"
#include "tests/analyze/traces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace headlight::analyze {
namespace rollout_test {

Matrix matrix(std::initializer_list<std::initializer_list<float>> rows) {
    Matrix m(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(rows.begin()->size()));
    Eigen::Index i = 0;
    for (const auto& row : rows) {
        Eigen::Index j = 0;
        for (const float x : row) m(i, j++) = x;
        ++i;
    }
    return m;
}

/// A worked example.
std::vector<Matrix> example() {
    return {with_residual(matrix({{1, 0, 0}, {.5F, .5F, 0}, {.2F, .3F, .5F}})),
            with_residual(matrix({{1, 0, 0}, {.6F, .4F, 0}, {.1F, .1F, .8F}}))};
}

void expect_row(const Matrix& map, Eigen::Index row, std::initializer_list<double> expected) {
    Eigen::Index j = 0;
    for (const double x : expected) EXPECT_NEAR(map(row, j++), x, 1e-6) << "row " << row;
}

TEST(Rollout, OfTheWorkedExample) {
    const std::vector<Matrix> maps = rollout_of(example());
    ASSERT_EQ(maps.size(), 2U);
    EXPECT_EQ(maps[0], example()[0]);
    expect_row(maps[1], 2, {.1525, .1725, .675});
    expect_row(maps[1], 1, {.475, .525, 0});
}

/// Products of far tokens' weights would be denormal numbers, which take a hundred times as long on some processors.
TEST(Rollout, HasNoNumbersTooSmallToBeNormal) {
#if !defined(__SSE__)
    GTEST_SKIP() << "other processors are as fast with them";
#endif
    const Eigen::Index n = 300;  // rows for several threads
    Matrix faint = Matrix::Constant(n, n, 1e-20F);
    faint.diagonal().setOnes();
    faint.col(0).setConstant(1e-22F);
    const Matrix last = rollout_of({faint, Matrix::Constant(n, n, 1e-20F)})[1];
    EXPECT_EQ(last.col(0).cwiseAbs().maxCoeff(), 0);
    EXPECT_GT(last.rightCols(n - 1).minCoeff(), 0.9e-20F);
}

TEST(Flow, OfTheWorkedExample) {
    const Matrix flow = flow_of(example());
    expect_row(flow, 2, {.2, .2, .75});
    expect_row(flow, 1, {.55, .7, 0});
    expect_row(flow, 0, {1, 0, 0});
}

std::vector<Matrix> random_network(std::mt19937& random, std::int64_t layers, std::int64_t n, bool causal) {
    std::vector<Matrix> joint;
    std::uniform_real_distribution<float> number(0, 1);
    for (std::int64_t l = 0; l < layers; ++l) {
        Matrix a = Matrix::Zero(n, n);
        for (Eigen::Index i = 0; i < n; ++i)
            for (Eigen::Index j = 0; j < (causal ? i + 1 : n); ++j) a(i, j) = std::pow(number(random), 3.0F);
        for (Eigen::Index i = 0; i < n; ++i) a.row(i) /= a.row(i).sum();
        joint.push_back(l % 2 == 0 ? with_residual(a) : a);
    }
    return joint;
}

/// The smallest of all cuts, one by one (max-flow min-cut theorem): every set of middle nodes beside the source.
double smallest_cut(const std::vector<Matrix>& joint, std::int64_t from, std::int64_t to) {
    const auto layers = static_cast<std::int64_t>(joint.size()), n = static_cast<std::int64_t>(joint[0].rows());
    const std::int64_t middle = (layers - 1) * n;
    double best = 1e9;
    for (std::int64_t set = 0; set < (std::int64_t{1} << middle); ++set) {
        const auto inside = [&](std::int64_t level, std::int64_t token) {
            if (level == layers) return token == from;
            if (level == 0) return token != to;  // other inputs lead nowhere: leaving them inside costs nothing
            return ((set >> ((level - 1) * n + token)) & 1) != 0;
        };
        double cut = 0;
        for (std::int64_t l = 0; l < layers; ++l)
            for (std::int64_t a = 0; a < n; ++a)
                for (std::int64_t b = 0; b < n; ++b)
                    if (inside(l + 1, a) && !inside(l, b)) cut += static_cast<double>(joint[static_cast<std::size_t>(l)](a, b));
        best = std::min(best, cut);
    }
    return best;
}

TEST(Flow, IsTheSmallestCut) {
    std::mt19937 random(7);
    for (const bool causal : {false, true})
        for (const auto& [layers, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 5}, {3, 4}, {4, 3}, {5, 3}}) {
            const std::vector<Matrix> joint = random_network(random, layers, n, causal);
            const Matrix flow = flow_of(joint);
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t j = 0; j < n; ++j)
                    EXPECT_NEAR(flow(i, j), smallest_cut(joint, i, j), 1e-6)
                        << layers << " layers, " << n << " tokens, " << i << " to " << j << (causal ? ", causal" : "");
        }
}

/// A flow is the largest when no way with room is left from the source to the sink (Ford & Fulkerson 1956). For
/// networks too large to try every cut; heads that look at few tokens leave edges without any room.
TEST(Flow, LeavesNoWayInLargerNetworks) {
    std::mt19937 random(11);
    for (const bool causal : {false, true})
        for (const float least : {0.0F, 0.3F}) {
            constexpr std::int64_t layers = 5, n = 30;
            std::vector<Matrix> joint = random_network(random, layers, n, causal);
            for (Matrix& m : joint)
                for (Eigen::Index i = 0; i < n; ++i)
                    for (Eigen::Index j = 0; j < n; ++j)
                        if (m(i, j) < least * m.row(i).maxCoeff()) m(i, j) = 0;
            LayeredFlow network(joint, causal);
            for (const auto& [from, to] :
                 std::vector<std::pair<std::int64_t, std::int64_t>>{{29, 0}, {29, 17}, {12, 12}, {20, 3}}) {
                const double largest = network.largest(layers, from, to);
                std::vector<Eigen::MatrixXd> flow(layers, Eigen::MatrixXd::Zero(n, n));
                for (std::int64_t l = 0; l < layers; ++l)
                    for (const auto& f : network.flow_of_layer(l)) flow[static_cast<std::size_t>(l)](f.from, f.to) = f.amount;
                EXPECT_NEAR(flow.back().row(from).sum(), largest, 1e-9);
                EXPECT_NEAR(flow.front().col(to).sum(), largest, 1e-9);
                for (std::size_t l = 0; l < layers; ++l) {
                    EXPECT_LE((flow[l] - joint[l].cast<double>()).maxCoeff(), 1e-9) << "more than an edge takes";
                    if (l == 0) continue;
                    EXPECT_LE((flow[l].colwise().sum().transpose() - flow[l - 1].rowwise().sum()).cwiseAbs().maxCoeff(), 1e-9)
                        << "what goes in goes on";
                }
                // Everything that can be reached from the source, down where there is room and up where something
                // flows.
                std::vector<std::vector<bool>> reached(layers + 1, std::vector<bool>(n));
                std::vector<std::pair<std::size_t, std::int64_t>> todo{{layers, from}};
                reached[layers][static_cast<std::size_t>(from)] = true;
                while (!todo.empty()) {
                    const auto [level, token] = todo.back();
                    todo.pop_back();
                    const auto visit = [&](std::size_t to_level, std::int64_t t) {
                        if (reached[to_level][static_cast<std::size_t>(t)]) return;
                        reached[to_level][static_cast<std::size_t>(t)] = true;
                        todo.emplace_back(to_level, t);
                    };
                    for (std::int64_t t = 0; t < n; ++t) {
                        if (level > 0 && static_cast<double>(joint[level - 1](token, t)) - flow[level - 1](token, t) > 1e-9)
                            visit(level - 1, t);
                        if (level < layers && flow[level](t, token) > 1e-9) visit(level + 1, t);
                    }
                }
                EXPECT_FALSE(reached[0][static_cast<std::size_t>(to)]) << from << " to " << to;
            }
        }
}

/// Needs a path that goes back up an edge: the first choice of a path is wrong.
TEST(Flow, TakesBackWhatItSentTheWrongWay) {
    const std::vector<Matrix> joint = {matrix({{1, 0, 0}, {1, 0, 0}, {0, 0, 1}}), matrix({{1, 1, 0}, {1, 0, 0}, {0, 0, 1}}),
                                       matrix({{1, 1, 0}, {0, 1, 0}, {0, 0, 1}})};
    LayeredFlow network(joint, false);
    EXPECT_NEAR(network.largest(3, 0, 0), 2, 1e-12);
    EXPECT_NEAR(network.largest(3, 1, 0), 1, 1e-12);
    EXPECT_NEAR(network.largest(3, 0, 0), 2, 1e-12) << "asked again";
    for (std::int64_t l = 0; l < 3; ++l) {
        double sum = 0;
        for (const auto& f : network.flow_of_layer(l)) sum += f.amount;
        EXPECT_NEAR(sum, 2, 1e-6) << "what goes in goes on";
    }
    EXPECT_NEAR(network.largest(2, 2, 2), 1, 1e-12);
    EXPECT_EQ(network.largest(2, 2, 0), 0);
}

class RolloutOf : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(RolloutOf, RowsSumToOneAndLookAtNothingThatIsMasked) {
    const TracePtr trace = run_model(GetParam(), cats);
    const bool causal = trace->config().causal;
    std::vector<RolloutOptions> many = {{}, {.head = Head(1)}, {.layer = Layer(1)}};
    if (causal) many.push_back({.by_receptive_field = true});
    for (const RolloutOptions& options : many)
        for (const bool flow : {false, true}) {
            if (flow && options.head) {
                EXPECT_THROW(attention_flow(*trace, options), Error);
                continue;
            }
            const Rollout found = flow ? attention_flow(*trace, options) : rollout(*trace, options);
            ASSERT_EQ(found.maps.size(), options.layer ? 1U : static_cast<std::size_t>(trace->config().n_layers));
            EXPECT_EQ(found.notes.empty(), !causal && !options.head && !trace->config().convolution.any());
            for (const Matrix& map : found.maps) {
                EXPECT_GE(map.minCoeff(), 0);
                for (Eigen::Index i = 0; i < map.rows(); ++i) {
                    EXPECT_NEAR(map.row(i).sum(), 1, 1e-5);
                    if (causal) {
                        EXPECT_EQ(map.row(i).tail(map.rows() - i - 1).sum(), 0);
                    }
                }
            }
        }
}

TEST_P(RolloutOf, IsTheProductOfMeanPatternsAndResiduals) {
    const TracePtr trace = run_model(GetParam(), cats);
    const auto& config = trace->config();
    const std::int64_t n = trace->tokens();
    Eigen::MatrixXd below = Eigen::MatrixXd::Identity(n, n);
    const Rollout all = rollout(*trace), of_head = rollout(*trace, {.head = Head(0)});
    std::vector<Matrix> joint;
    for (std::int64_t l = 0; l < config.n_layers; ++l) {
        Eigen::MatrixXd mean = Eigen::MatrixXd::Zero(n, n);
        for (std::int64_t h = 0; h < config.n_heads; ++h) mean += pattern(*trace, head_id(l, h), {}).cast<double>();
        mean /= static_cast<double>(config.n_heads);
        Eigen::MatrixXd own = pattern(*trace, head_id(l, 0), {}).cast<double>();
        if (config.attention_sinks) own = (own.array().colwise() / own.rowwise().sum().array()).matrix().eval();
        own = (own * below).eval();
        EXPECT_LE((of_head.maps[static_cast<std::size_t>(l)].cast<double>() - own).cwiseAbs().maxCoeff(), 1e-6);
        Eigen::MatrixXd step = mean + Eigen::MatrixXd::Identity(n, n);
        if (config.attention_sinks)  // else every row sums to 2
            step = (step.array().colwise() / step.rowwise().sum().array()).matrix().eval();
        else
            step *= 0.5;
        below = (step * below).eval();
        EXPECT_EQ(all.layers[static_cast<std::size_t>(l)], Layer(l));
        EXPECT_LE((all.maps[static_cast<std::size_t>(l)].cast<double>() - below).cwiseAbs().maxCoeff(), 1e-6);
        joint.push_back(with_residual(mean.cast<float>()));
    }
    Matrix flow = flow_of(joint);
    for (Eigen::Index i = 0; i < n; ++i) flow.row(i) /= flow.row(i).sum();
    EXPECT_LE((attention_flow(*trace).maps.back() - flow).cwiseAbs().maxCoeff(), 1e-5);
}

/// Rows in several pieces, in place where the model is causal.
TEST(Rollout, OfLongTextsIsTheProductOfWholeMaps) {
    for (const char* name : {"bloom", "modernbert"}) {
        SCOPED_TRACE(name);
        const std::filesystem::path folder = source_folder() / "tests/fixtures/models" / name;
        std::string text;
        for (std::int64_t n = 0; n < 2300; n += run_model(folder, cats)->tokens()) text += cats;
        const TracePtr trace = run_model(folder, text);
        const std::int64_t n = trace->tokens(), last = trace->config().n_layers - 1;
        ASSERT_GT(n, 2048);
        std::vector<Matrix> joint;
        for (std::int64_t l = 0; l <= last; ++l) {
            Matrix mean = Matrix::Zero(n, n);
            for (std::int64_t h = 0; h < trace->config().n_heads; ++h) mean += pattern(*trace, head_id(l, h), {});
            joint.push_back(with_residual(mean / static_cast<float>(trace->config().n_heads)));
        }
        const std::vector<Matrix> expected = rollout_of(joint);
        const Rollout all = rollout(*trace);
        ASSERT_EQ(all.maps.size(), expected.size());
        for (std::size_t l = 0; l < expected.size(); ++l) EXPECT_LE((all.maps[l] - expected[l]).cwiseAbs().maxCoeff(), 1e-6) << l;
        const Matrix of_head = pattern(*trace, head_id(last, 1), {}) * expected[static_cast<std::size_t>(last - 1)];
        const Matrix head = rollout(*trace, {.head = Head(1), .layer = Layer(last)}).maps[0];
        EXPECT_LE((head - of_head).cwiseAbs().maxCoeff(), 1e-6);
        const Position query(n - 3);
        const Matrix row = rollout(*trace, {.layer = Layer(last), .query = query}).maps[0];
        EXPECT_LE((row - all.maps.back().row(n - 3)).cwiseAbs().maxCoeff(), 1e-6);
    }
}

TEST_P(RolloutOf, PathsEndInTheRowOfTheMap) {
    const TracePtr trace = run_model(GetParam(), cats);
    const Layer last(trace->config().n_layers - 1);
    const Position query(trace->tokens() - 2);
    const TokenPaths paths = rollout_paths(*trace, last, query, 0);
    const Matrix map = rollout(*trace, {.layer = last}).maps[0];
    EXPECT_LE((paths.mass[0].transpose() - map.row(query.value).cast<double>()).cwiseAbs().maxCoeff(), 1e-6);
    EXPECT_EQ(paths.left_out, 0);
    for (std::size_t level = 0; level < paths.mass.size(); ++level) EXPECT_NEAR(paths.mass[level].sum(), 1, 1e-6);
    std::vector<double> sums(paths.mass.size() - 1);
    for (const Ribbon& r : paths.ribbons) sums[static_cast<std::size_t>(r.layer)] += r.mass;
    for (const double sum : sums) EXPECT_NEAR(sum, 1, 1e-6) << "nothing is lost";

    const TokenPaths thick = rollout_paths(*trace, last, query, 0.05);
    EXPECT_EQ(thick.ribbons.size() + static_cast<std::size_t>(thick.left_out), paths.ribbons.size());
    for (const Ribbon& r : thick.ribbons) EXPECT_GE(r.mass, 0.05);
    EXPECT_LE(thick.left_out_mass, 1);
}

TEST_P(RolloutOf, FlowPathsCarryTheFlow) {
    const TracePtr trace = run_model(GetParam(), cats);
    const std::int64_t layers = trace->config().n_layers;
    const Position query(trace->tokens() - 2);
    const Matrix map = attention_flow(*trace, {.layer = Layer(layers - 1)}).maps[0];
    Eigen::Index best = 0;
    map.row(query.value).maxCoeff(&best);
    const TokenPaths paths = flow_paths(*trace, Layer(layers - 1), query, std::nullopt, 0);
    ASSERT_TRUE(paths.key);
    EXPECT_NEAR(map(query.value, paths.key->value), map(query.value, best), 1e-6);
    const TokenPaths to_first = flow_paths(*trace, Layer(layers - 1), query, Position(0), 0);
    EXPECT_NEAR(to_first.total / paths.total, map(query.value, 0) / map(query.value, best), 1e-5);
    for (const auto& level : to_first.mass) EXPECT_NEAR(level.sum(), to_first.total, 1e-6);
    EXPECT_NEAR(to_first.mass[0][0], to_first.total, 1e-6);
}

TEST_P(RolloutOf, OfOneQueryIsTheRowOfTheMap) {
    const TracePtr trace = run_model(GetParam(), cats);
    std::vector<RolloutOptions> many = {{}, {.layer = Layer(1)}, {.head = Head(1)}, {.head = Head(0), .layer = Layer(1)}};
    if (trace->config().causal) many.push_back({.by_receptive_field = true});
    for (RolloutOptions options : many) {
        RolloutOptions of_flow = options;
        of_flow.head.reset();
        const std::vector<Matrix> rolled = rollout(*trace, options).maps, flowed = attention_flow(*trace, of_flow).maps;
        options.query = of_flow.query = Position(trace->tokens() - 2);
        const std::vector<Matrix> one = rollout(*trace, options).maps, one_flow = attention_flow(*trace, of_flow).maps;
        ASSERT_EQ(one.size(), rolled.size());
        ASSERT_EQ(one_flow.size(), flowed.size());
        for (std::size_t l = 0; l < one.size(); ++l) {
            ASSERT_EQ(one[l].rows(), 1);
            ASSERT_EQ(one_flow[l].rows(), 1);
            EXPECT_LE((one[l] - rolled[l].row(options.query->value)).cwiseAbs().maxCoeff(), 1e-6);
            EXPECT_LE((one_flow[l] - flowed[l].row(options.query->value)).cwiseAbs().maxCoeff(), 1e-6);
        }
    }
    EXPECT_THROW(attention_flow(*trace, {.query = Position(trace->tokens())}), Error);
}

TEST_P(RolloutOf, OneToken) {
    const TracePtr loaded = run_model(GetParam(), "a");
    const TracePtr trace = trace::run(loaded->model(), loaded->tokenizer(), {.text = "a", .add_special_tokens = false});
    EXPECT_EQ(rollout(*trace).maps.back()(0, 0), 1);
    EXPECT_EQ(attention_flow(*trace).maps.back()(0, 0), 1);
    EXPECT_EQ(rollout_paths(*trace, Layer(0), Position(0)).ribbons.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Models, RolloutOf, testing::ValuesIn(model_folders()), model_name);

TEST(Rollout, EvenAttentionIsFlatByReceptiveField) {
    const TracePtr flat = flat_attention(doctor);
    for (const Rollout& found :
         {rollout(*flat, {.by_receptive_field = true}), attention_flow(*flat, {.by_receptive_field = true})})
        for (const Matrix& map : found.maps)
            for (Eigen::Index i = 0; i < map.rows(); ++i)
                EXPECT_LE((map.row(i).head(i + 1).array() - 1.0F / static_cast<float>(i + 1)).abs().maxCoeff(), 1e-5);
    EXPECT_GT(rollout(*flat).maps.back()(9, 0), 0.2) << "without it the first token has most";
}

TEST(Rollout, SaysWhatIsTooMuchOrDoesNotExist) {
    const TracePtr trace = built_in(doctor);
    EXPECT_THROW(rollout(*trace, {.layer = Layer(6)}), Error);
    EXPECT_THROW(rollout(*trace, {.head = Head(8)}), Error);
    EXPECT_THROW(rollout_paths(*trace, Layer(0), Position(17)), Error);
    EXPECT_THROW(flow_paths(*trace, Layer(0), Position(3), Position(17)), Error);
    EXPECT_EQ(flow_paths(*trace, Layer(2), Position(3), Position(5)).total, 0) << "a later token";
    const TracePtr bert = run_model(source_folder() / "tests/fixtures/models/bert", cats);
    EXPECT_THROW(rollout(*bert, {.by_receptive_field = true}), Error);
    CancelToken cancel;
    cancel.cancel();
    EXPECT_THROW(rollout(*trace, {}, cancel), Cancelled);
    EXPECT_THROW(attention_flow(*trace, {}, cancel), Cancelled);

    std::string text;
    for (int i = 0; i < 120; ++i) text += "The old doctor asked the nurse to wait; ";
    const TracePtr longer = built_in(text);
    const ErrorFacts facts = error_facts([&] { attention_flow(*longer); });
    EXPECT_NE(facts.expected.find("tokens with 6 layers"), std::string::npos);
    EXPECT_EQ(facts.found, with_commas(longer->tokens()) + " tokens");
}

}  // namespace rollout_test
}  // namespace headlight::analyze
