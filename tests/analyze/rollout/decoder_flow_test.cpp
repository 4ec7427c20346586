// SPDX-License-Identifier: GPL-3.0-or-later
// Attention flow of a decoder behind an encoder, against largest flows of the plain graph found in another way.
#include "headlight/analyze/rollout/rollout.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"
#include "tests/analyze/pairs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <queue>

namespace headlight::analyze {
namespace decoder_flow_test {

using model::Hook;
using model::Stack;

/// A graph by its capacities, float64; largest flow along shortest paths (Edmonds & Karp 1972).
class Graph {
public:
    explicit Graph(int nodes) : room_(Eigen::MatrixXd::Zero(nodes, nodes)) {}
    void edge(int from, int to, double capacity) { room_(from, to) += capacity; }
    double largest(int source, int sink) const {
        Eigen::MatrixXd room = room_;
        double total = 0;
        for (;;) {
            std::vector<int> before(static_cast<std::size_t>(room.rows()), -1);
            std::queue<int> open;
            open.push(source);
            before[static_cast<std::size_t>(source)] = source;
            while (!open.empty() && before[static_cast<std::size_t>(sink)] < 0) {
                const int at = open.front();
                open.pop();
                for (int to = 0; to < room.cols(); ++to)
                    if (before[static_cast<std::size_t>(to)] < 0 && room(at, to) > 1e-12)
                        before[static_cast<std::size_t>(to)] = at, open.push(to);
            }
            if (before[static_cast<std::size_t>(sink)] < 0) return total;
            double most = std::numeric_limits<double>::max();
            for (int at = sink; at != source; at = before[static_cast<std::size_t>(at)])
                most = std::min(most, room(before[static_cast<std::size_t>(at)], at));
            for (int at = sink; at != source; at = before[static_cast<std::size_t>(at)]) {
                room(before[static_cast<std::size_t>(at)], at) -= most;
                room(at, before[static_cast<std::size_t>(at)]) += most;
            }
            total += most;
        }
    }

private:
    Eigen::MatrixXd room_;
};

at::Tensor mean_pattern(const trace::Trace& trace, std::int64_t layer) {
    return trace::tensor(trace, {Hook::pattern, Layer(layer)}).mean(0).to(at::kDouble).contiguous();
}

class DecoderFlow : public testing::TestWithParam<std::string> {
protected:
    TracePtr decoder = run_pair(GetParam()), encoder = decoder->part(Stack::encoder), cross = decoder->part(Stack::cross);
    int s = static_cast<int>(encoder->tokens()), t = static_cast<int>(decoder->tokens()),
        below = static_cast<int>(encoder->config().n_layers), layers = static_cast<int>(decoder->config().n_layers);

    // One node for each token and level, and no other: the encoder's output is read where it is.
    int of_encoder(int level, int token) const { return level * s + token; }
    int of_decoder(int half, int token) const { return (below + 1) * s + half * t + token; }

    Graph graph() const {
        Graph g((below + 1) * s + (2 * layers + 1) * t);
        for (int l = 0; l < below; ++l) {
            const at::Tensor p = mean_pattern(*encoder, l);
            for (int i = 0; i < s; ++i)
                for (int j = 0; j < s; ++j)
                    g.edge(of_encoder(l + 1, i), of_encoder(l, j), (p[i][j].item<double>() + (i == j)) / 2);
        }
        for (int l = 0; l < layers; ++l) {
            const at::Tensor own = mean_pattern(*decoder, l), read = mean_pattern(*cross, l);
            for (int i = 0; i < t; ++i) {
                for (int j = 0; j <= i; ++j)
                    g.edge(of_decoder(2 * l + 1, i), of_decoder(2 * l, j), (own[i][j].item<double>() + (i == j)) / 2);
                g.edge(of_decoder(2 * l + 2, i), of_decoder(2 * l + 1, i), 0.5);
                for (int j = 0; j < s; ++j) g.edge(of_decoder(2 * l + 2, i), of_encoder(below, j), read[i][j].item<double>() / 2);
            }
        }
        return g;
    }
};

TEST_P(DecoderFlow, IsTheLargestOfTheGraphOfBothTexts) {
    const Graph g = graph();
    const Rollout own = attention_flow(*decoder), read = attention_flow(*decoder, {.of_source = true});
    ASSERT_EQ(std::ssize(own.maps), layers);
    ASSERT_EQ(read.maps[0].cols(), s);
    for (int l = 0; l < layers; ++l)
        for (int i = 0; i < t; i += 2) {
            Eigen::VectorXd row(s + t);
            for (int j = 0; j < s; ++j) row[j] = g.largest(of_decoder(2 * l + 2, i), of_encoder(0, j));
            for (int j = 0; j < t; ++j) row[s + j] = g.largest(of_decoder(2 * l + 2, i), of_decoder(0, j));
            row /= row.sum();
            const auto at = static_cast<std::size_t>(l);
            EXPECT_LE((read.maps[at].row(i).transpose().cast<double>() - row.head(s)).cwiseAbs().maxCoeff(), 1e-6);
            EXPECT_LE((own.maps[at].row(i).transpose().cast<double>() - row.tail(t)).cwiseAbs().maxCoeff(), 1e-6);
            EXPECT_GT(row.head(s).sum(), 0.05) << "proves nothing";
        }
}

TEST_P(DecoderFlow, OneQueryAndOneLayerAreRowsOfTheWhole) {
    const Rollout all = attention_flow(*decoder, {.of_source = true});
    const Rollout one = attention_flow(*decoder, {.layer = Layer(1), .query = Position(2), .of_source = true});
    ASSERT_EQ(one.maps.size(), 1u);
    ASSERT_EQ(one.maps[0].rows(), 1);
    EXPECT_LE((one.maps[0].row(0) - all.maps[1].row(2)).cwiseAbs().maxCoeff(), 1e-6F);
    EXPECT_THROW(attention_flow(*decoder, {.head = Head(0)}), Error);
    EXPECT_THROW(attention_flow(*decoder, {.by_receptive_field = true}), Error);
    EXPECT_THROW(attention_flow(*cross), Error);
    EXPECT_NO_THROW(attention_flow(*encoder));
}

TEST_P(DecoderFlow, PathsOfARolloutEndInTheRowsOfBothMaps) {
    const Layer last(layers - 1);
    const TokenPaths paths = rollout_paths(*decoder, last, Position(3), 0);
    EXPECT_EQ(paths.source, s);
    EXPECT_EQ(paths.query, Position(s + 3));
    ASSERT_EQ(std::ssize(paths.mass), below + 2 * layers + 1);
    const Eigen::VectorXd
        own = rollout(*decoder, {.layer = last, .query = Position(3)}).maps[0].row(0).transpose().cast<double>(),
        read =
            rollout(*decoder, {.layer = last, .query = Position(3), .of_source = true}).maps[0].row(0).transpose().cast<double>();
    EXPECT_LE((paths.mass[0].head(s) - read).cwiseAbs().maxCoeff(), 1e-6);
    EXPECT_LE((paths.mass[0].tail(t) - own).cwiseAbs().maxCoeff(), 1e-6);
    for (const Eigen::VectorXd& level : paths.mass) EXPECT_NEAR(level.sum(), 1, 1e-6);
    std::vector<double> sums(paths.mass.size() - 1);
    for (const Ribbon& r : paths.ribbons) sums[static_cast<std::size_t>(r.layer)] += r.mass;
    for (const double sum : sums) EXPECT_NEAR(sum, 1, 1e-6);
}

TEST_P(DecoderFlow, PathsCarryTheLargestFlow) {
    const Graph g = graph();
    const Layer last(layers - 1);
    for (const bool of_source : {false, true}) {
        const TokenPaths paths = flow_paths(*decoder, last, Position(3), Position(1), 0, {}, of_source);
        EXPECT_NEAR(paths.total, g.largest(of_decoder(2 * layers, 3), of_source ? of_encoder(0, 1) : of_decoder(0, 1)), 1e-6);
        EXPECT_EQ(paths.key, Position(of_source ? 1 : s + 1));
        for (const Eigen::VectorXd& level : paths.mass) EXPECT_NEAR(level.sum(), paths.total, 1e-6);
        EXPECT_NEAR(paths.mass[0][paths.key->value], paths.total, 1e-6);
    }
    const TokenPaths best = flow_paths(*decoder, last, Position(3), std::nullopt, 0);
    for (int j = 0; j < s; ++j) EXPECT_LE(g.largest(of_decoder(2 * layers, 3), of_encoder(0, j)), best.total + 1e-6);
    for (int j = 0; j < t; ++j) EXPECT_LE(g.largest(of_decoder(2 * layers, 3), of_decoder(0, j)), best.total + 1e-6);
    EXPECT_THROW(flow_paths(*decoder, last, Position(3), Position(s), 0, {}, true), Error);
    EXPECT_THROW(flow_paths(*encoder, Layer(0), Position(0), Position(0), 0, {}, true), Error);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, DecoderFlow, testing::ValuesIn(pair_models()), pair_name);

}  // namespace decoder_flow_test
}  // namespace headlight::analyze
