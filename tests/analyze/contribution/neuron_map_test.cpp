// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the neuron map against the coefficients, and the tree against merging pair by pair.
#include "headlight/analyze/contribution/neuron_map.h"
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/base/error.h"
#include "tests/analyze/traces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

namespace headlight::analyze {
namespace neuron_map_test {

/// Average linkage as it is defined: the two clusters with the largest mean cosine over the pairs of their rows, again
/// and again. Returns the sets of rows that were clusters at some time.
std::set<std::set<std::int64_t>> clusters_by_definition(const Matrix& rows) {
    const auto n = static_cast<std::int64_t>(rows.rows());
    Eigen::MatrixXd cosine(n, n);
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j)
            cosine(i, j) =
                static_cast<double>(rows.row(i).dot(rows.row(j))) / static_cast<double>(rows.row(i).norm() * rows.row(j).norm());
    std::vector<std::set<std::int64_t>> open;
    for (std::int64_t i = 0; i < n; ++i) open.push_back({i});
    std::set<std::set<std::int64_t>> all;
    while (open.size() > 1) {
        double best = -2;
        std::size_t a = 0, b = 0;
        for (std::size_t i = 0; i < open.size(); ++i)
            for (std::size_t j = i + 1; j < open.size(); ++j) {
                double sum = 0;
                for (const auto x : open[i])
                    for (const auto y : open[j]) sum += cosine(x, y);
                const double mean = sum / static_cast<double>(open[i].size() * open[j].size());
                if (mean > best) best = mean, a = i, b = j;
            }
        open[a].insert(open[b].begin(), open[b].end());
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(b));
        all.insert(open[a]);
    }
    return all;
}

TEST(ClusteredOrder, EveryClusterOfTheDefinitionStandsTogether) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (const std::int64_t n : {2, 3, 9, 24}) {
        Matrix rows(n, 7);
        for (Eigen::Index i = 0; i < rows.size(); ++i) rows.data()[i] = normal(random);
        const std::vector<std::int64_t> order = clustered_order(rows, std::vector<double>(static_cast<std::size_t>(n), 1.0));
        ASSERT_EQ(std::set<std::int64_t>(order.begin(), order.end()).size(), static_cast<std::size_t>(n));
        for (const auto& cluster : clusters_by_definition(rows)) {
            std::vector<std::ptrdiff_t> at;
            for (const auto row : cluster) at.push_back(std::find(order.begin(), order.end(), row) - order.begin());
            const auto [low, high] = std::minmax_element(at.begin(), at.end());
            EXPECT_EQ(*high - *low + 1, std::ssize(at)) << n;
        }
    }
    EXPECT_EQ(clustered_order(Matrix::Ones(1, 3), {1.0}), (std::vector<std::int64_t>{0}));
    EXPECT_TRUE(clustered_order(Matrix(0, 3), {}).empty());
    EXPECT_EQ(clustered_order(Matrix::Zero(4, 3), {1, 1, 1, 1}).size(), 4U) << "silent neurons are no trouble";
}

class NeuronMaps : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(NeuronMaps, RowsAreTheStrongestNeuronsWithTheirCoefficients) {
    const TracePtr trace = run_model(GetParam(), cats);
    const Layer layer(1);
    for (const NeuronOrder order : {NeuronOrder::strength, NeuronOrder::peak, NeuronOrder::clustered, NeuronOrder::index}) {
        const NeuronMap map = neuron_map(*trace, layer, order, 9);
        ASSERT_EQ(map.neurons.size(), 9U);
        // None that is left out is stronger than one that is there.
        const std::set<Neuron> kept(map.neurons.begin(), map.neurons.end());
        const double weakest = *std::min_element(map.strength.begin(), map.strength.end());
        for (const Memory& each : memories(*trace, layer, Position(0), 0)) {
            if (kept.contains(each.neuron)) continue;
            const double length = static_cast<double>(neuron_activations(*trace, layer, each.neuron).norm()) * each.value_norm;
            EXPECT_LE(length / std::sqrt(static_cast<double>(trace->tokens())), weakest + 1e-5);
        }
        for (std::size_t r = 0; r < 9; ++r) {
            const Vector m = neuron_activations(*trace, layer, map.neurons[r]);
            EXPECT_TRUE(map.coefficients.row(static_cast<Eigen::Index>(r)).transpose().isApprox(m));
            double value_norm = 0;
            for (const Memory& each : memories(*trace, layer, Position(0), 0))
                if (each.neuron == map.neurons[r]) value_norm = each.value_norm;
            EXPECT_NEAR(map.strength[r],
                        static_cast<double>(m.norm()) * value_norm / std::sqrt(static_cast<double>(trace->tokens())), 1e-4);
            if (r == 0) continue;
            if (order == NeuronOrder::strength) {
                EXPECT_GE(map.strength[r - 1], map.strength[r]);
            }
            if (order == NeuronOrder::index) {
                EXPECT_LT(map.neurons[r - 1], map.neurons[r]);
            }
            if (order == NeuronOrder::peak) {
                Eigen::Index before = 0, here = 0;
                map.coefficients.row(static_cast<Eigen::Index>(r) - 1).cwiseAbs().maxCoeff(&before);
                map.coefficients.row(static_cast<Eigen::Index>(r)).cwiseAbs().maxCoeff(&here);
                EXPECT_LE(before, here);
            }
        }
    }
    EXPECT_EQ(std::ssize(neuron_map(*trace, layer, NeuronOrder::clustered).neurons), model::mlp_width(trace->config(), 1));
    EXPECT_THROW(neuron_map(*trace, Layer(99), NeuronOrder::index), Error);
}

INSTANTIATE_TEST_SUITE_P(Models, NeuronMaps, testing::ValuesIn(model_folders()), model_name);

}  // namespace neuron_map_test
}  // namespace headlight::analyze
