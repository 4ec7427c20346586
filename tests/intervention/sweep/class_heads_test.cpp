// SPDX-License-Identifier: GPL-3.0-or-later
// Sweeps of classifiers.
#include "intervention/sweep/metric.h"

#include "tests/intervention/sweep/whole_passes.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headlight::intervention {
namespace class_sweep_test {

/// Where the head reads the mean of all rows, each of them changes the classes, in the last layer too.
TEST(ClassSweep, OfAMeanDependsOnEveryPosition) {
    const auto model = testing_support::fixture("class_heads/modernbert-mean");
    const model::ModelConfig& c = model->config();
    SweepPair pair = testing_support::some_pair(*model);
    pair.clean.end = pair.corrupt.end = 0;
    pair.answers = {2};
    pair.wrong = {0};
    const std::int64_t last = c.n_layers - 1;
    const SweepResult r = run_sweep(model, {pair}, {.grid = Grid::mlp_out, .layers = {last}});
    const trace::TokenIds clean = testing_support::tokens_of(pair.clean), corrupt = testing_support::tokens_of(pair.corrupt);
    const model::HookPoint point{model::Hook::mlp_out, Layer(last)};
    const at::Tensor put = trace::tensors_of(*model, clean, {point}, {}).at(point);
    for (const std::int64_t position : {0, 3, 8}) {
        const auto replace = [&](model::HookPoint, const at::Tensor& t) {
            at::Tensor out = t.clone();
            out[position].copy_(put[position]);
            return out;
        };
        const at::Tensor row = trace::replay(*model, corrupt, {{name_of(point, c), replace}})[0];
        const SweepCellResult& cell = testing_support::result_at(r, {Site::mlp_out, last, -1, position});
        EXPECT_EQ(cell.state, CellState::computed);
        EXPECT_NEAR(cell.value, (row[2] - row[0]).item<double>(), 1e-9) << position;
    }
}

/// Of classes that do not exclude each other, which a model may be as sure of as float64 can tell.
TEST(ClassMetric, DivergenceOfSureClassesIsANumber) {
    model::ModelConfig c;
    c.class_head = {.kind = model::HeadKind::sequence_classifier, .independent = true};
    const SweepPair pair{.clean = {.ids = {1, 2}, .end = 1}};
    MetricReader metric(c, pair, pair.clean, Metric::kl);
    metric.set_reference(at::tensor({50.0, -50.0, 0.0}, at::kDouble).unsqueeze(0));
    const double found = metric(at::tensor({48.0, -50.0, 1.0}, at::kDouble).unsqueeze(0));
    const double of_even = 0.5 * (std::log(0.5) + std::log1p(std::exp(-1))) + 0.5 * (std::log(0.5) + std::log1p(std::exp(1)));
    EXPECT_NEAR(found, of_even, 1e-15);
}

}  // namespace class_sweep_test
}  // namespace headlight::intervention
