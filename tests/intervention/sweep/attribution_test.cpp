// SPDX-License-Identifier: GPL-3.0-or-later
// Attribution against derivatives of whole passes.
#include "headlight/base/error.h"
#include "headlight/intervention/sweep/sweep.h"
#include "headlight/trace/replay.h"
#include "tests/intervention/sweep/whole_passes.h"
#include "tests/support/case_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

namespace headlight::intervention {
namespace attribution_test {

using model::Hook;
using model::HookPoint;
using testing_support::result_at;
using ModelOf = std::shared_ptr<const model::Model>;

ModelOf fixture(const std::string& name) { return testing_support::fixture("models/" + name); }

SweepPair pair_for(const model::Model& model) {
    const std::int64_t vocab = model.config().vocab_size;
    SweepPair pair{.clean = {.ids = testing_support::ids_of_length(7, vocab), .end = 6}, .answers = {3}, .wrong = {11}};
    pair.corrupt = pair.clean;
    for (const std::size_t i : {2, 4}) pair.corrupt.ids[i] = (pair.corrupt.ids[i] + 17) % vocab;
    return pair;
}

double metric_of(const at::Tensor& logits) { return (logits[-1][3] - logits[-1][11]).item<double>(); }

/// d metric(value + e (edited - value)) / d e at 0, by a central difference of whole passes.
double slope(const model::Model& model, const std::vector<std::int64_t>& ids, HookPoint point, const at::Tensor& edited,
             std::vector<trace::Intervention> hooks = {}) {
    const double e = 1e-5;
    double by = 0;
    hooks.push_back(
        {name_of(point, model.config()), [&](HookPoint, const at::Tensor& t) { return (t + by * (edited - t)).contiguous(); }});
    const auto at = [&](double step) {
        by = step;
        return metric_of(trace::replay(model, {ids, {}}, hooks));
    };
    return (at(e) - at(-e)) / (2 * e);
}

at::Tensor tensor_at(const model::Model& model, const std::vector<std::int64_t>& ids, HookPoint point,
                     const std::vector<trace::Intervention>& edits = {}) {
    at::Tensor found;
    std::vector<trace::Intervention> hooks = edits;
    hooks.push_back({name_of(point, model.config()), [&](HookPoint, const at::Tensor& t) {
                         found = t.clone();
                         return t;
                     }});
    trace::replay(model, {ids, {}}, hooks);
    return found;
}

class EveryShape : public testing::TestWithParam<const char*> {
protected:
    ModelOf model_ = fixture(GetParam());
    SweepPair pair_ = pair_for(*model_);
    SweepResult sweep(Grid grid, Ablation ablation = Ablation::none, Method method = Method::attribution) const {
        return run_sweep(model_, {pair_}, {.grid = grid, .ablation = ablation, .method = method, .layers = {0, 1}});
    }
    at::Tensor clean(HookPoint point) const { return tensor_at(*model_, pair_.clean.ids, point); }
    at::Tensor corrupt(HookPoint point) const { return tensor_at(*model_, pair_.corrupt.ids, point); }
};

TEST_P(EveryShape, TheEstimateIsTheDerivativeTowardsTheEdit) {
    const SweepResult heads = sweep(Grid::z), stream = sweep(Grid::resid_pre), weights = sweep(Grid::pattern);
    for (const std::int64_t l : {0, 1}) {
        const HookPoint z{Hook::z, Layer(l)}, pre{Hook::resid_pre, Layer(l)}, pattern{Hook::pattern, Layer(l)};
        at::Tensor edited = corrupt(z).clone();
        edited.select(1, 1).copy_(clean(z).select(1, 1));
        EXPECT_NEAR(result_at(heads, {Site::z, l, 1}).effect, slope(*model_, pair_.corrupt.ids, z, edited), 1e-6);
        edited = corrupt(pre).clone();
        edited[4].copy_(clean(pre)[4]);
        EXPECT_NEAR(result_at(stream, {Site::resid_pre, l, -1, 4}).effect, slope(*model_, pair_.corrupt.ids, pre, edited), 1e-6);
        edited = corrupt(pattern).clone();
        edited[1].copy_(clean(pattern)[1]);
        EXPECT_NEAR(result_at(weights, {Site::pattern, l, 1}).effect, slope(*model_, pair_.corrupt.ids, pattern, edited), 1e-6);
    }
}

/// The pattern that a pass with the edited queries or keys has, and the derivative towards it.
TEST_P(EveryShape, QueriesAndKeysGoThroughTheirSoftmax) {
    for (const auto& [site, hook, grid] :
         {std::tuple{Site::q, Hook::q, Grid::q_by_position}, {Site::k, Hook::k, Grid::k_by_position}}) {
        for (const Ablation ablation : {Ablation::none, Ablation::zero}) {
            const SweepResult r = sweep(grid, ablation);
            const auto& ids = ablation == Ablation::none ? pair_.corrupt.ids : pair_.clean.ids;
            for (const std::int64_t l : {0, 1})
                for (const std::int64_t position : {3, 6}) {
                    const HookPoint point{hook, Layer(l)}, pattern{Hook::pattern, Layer(l)};
                    at::Tensor edited = tensor_at(*model_, ids, point).clone();
                    if (ablation == Ablation::none)
                        edited[position][0].copy_(clean(point)[position][0]);
                    else
                        edited[position][0].zero_();
                    const at::Tensor after =
                        tensor_at(*model_, ids, pattern,
                                  {{name_of(point, model_->config()), [&](HookPoint, const at::Tensor&) { return edited; }}});
                    const SweepCellResult& cell = result_at(r, {site, l, 0, position});
                    EXPECT_NEAR(cell.effect, slope(*model_, ids, pattern, after), 1e-6 * std::max(1.0, std::abs(cell.effect)))
                        << enum_word(grid) << " layer " << l << " position " << position;
                }
        }
    }
}

TEST_P(EveryShape, KnockingOutAWeightIsEstimatedWithItsRowRenormalised) {
    const SweepResult r = sweep(Grid::pattern_by_edge, Ablation::knockout);
    const HookPoint pattern{Hook::pattern, Layer(1)};
    at::Tensor edited = clean(pattern).clone();
    edited[0][6][2] = 0;
    edited[0][6] /= edited[0][6].sum() + (1 - clean(pattern)[0][6].sum());
    EXPECT_NEAR(result_at(r, {Site::pattern, 1, 0, 6, 2}).effect, slope(*model_, pair_.clean.ids, pattern, edited), 1e-6);
}

/// Without a layer: its attention and MLP add what they add in the unedited run, whatever is edited before them.
TEST_P(EveryShape, GradDropIsTheMeanSizeOfDerivativesWithoutEachLayer) {
    const SweepResult heads = sweep(Grid::z, Ablation::none, Method::graddrop),
                      stream = sweep(Grid::resid_pre, Ablation::none, Method::graddrop);
    const model::ModelConfig& c = model_->config();
    const auto size_of = [&](HookPoint point, const at::Tensor& edited) {
        double sum = 0;
        for (std::int64_t without = 0; without < c.n_layers; ++without) {
            std::vector<trace::Intervention> constant;
            for (const Hook hook : {Hook::attn_out, Hook::mlp_out})
                constant.push_back({name_of({hook, Layer(without)}, c),
                                    [t = corrupt({hook, Layer(without)})](HookPoint, const at::Tensor&) { return t; }});
            sum += std::abs(slope(*model_, pair_.corrupt.ids, point, edited, constant));
        }
        return sum / static_cast<double>(c.n_layers - 1);
    };
    for (const std::int64_t l : {0, 1}) {
        const HookPoint z{Hook::z, Layer(l)}, pre{Hook::resid_pre, Layer(l)};
        at::Tensor edited = corrupt(z).clone();
        edited.select(1, 1).copy_(clean(z).select(1, 1));
        const SweepCellResult& cell = result_at(heads, {Site::z, l, 1});
        EXPECT_NEAR(cell.effect, size_of(z, edited), 1e-6);
        EXPECT_TRUE(std::isnan(cell.value) && std::isnan(cell.normalized)) << "a size has no sign";
        edited = corrupt(pre).clone();
        edited[4].copy_(clean(pre)[4]);
        EXPECT_NEAR(result_at(stream, {Site::resid_pre, l, -1, 4}).effect, size_of(pre, edited), 1e-6);
    }
}

TEST_P(EveryShape, TheErrorIsTheEstimateMinusTheEffect) {
    const SweepResult both = sweep(Grid::z, Ablation::none, Method::both), exact = sweep(Grid::z, Ablation::none, Method::exact),
                      estimated = sweep(Grid::z);
    double error = 0;
    for (std::size_t i = 0; i < both.cells.size(); ++i) {
        EXPECT_EQ(both.results[i].effect, exact.results[i].effect);
        EXPECT_NEAR(both.results[i].estimate, estimated.results[i].effect, 1e-12);
        error = std::max(error, std::abs(both.results[i].estimate - both.results[i].effect));
    }
    EXPECT_GT(error, 0) << "the metric is not linear in the outputs of heads";
    const analyze::Table table = table_of(both);
    EXPECT_THAT(table.columns, testing::IsSupersetOf({"estimate", "error"}));
}

INSTANTIATE_TEST_SUITE_P(Shapes, EveryShape, testing::Values("gpt2", "llama-kv2", "gpt-oss", "bloom", "gemma2", "bert-mlm"),
                         [](const auto& each) { return test::case_name(each.param); });

TEST(Attribution, RefusesWhatHasNoGradient) {
    const ModelOf model = fixture("gpt2");
    const SweepPair pair = pair_for(*model);
    EXPECT_THROW(run_sweep(model, {pair}, {.metric = Metric::rank, .method = Method::attribution}), Error);
    EXPECT_THROW(run_sweep(model, {pair}, {.effect = Effect::direct, .method = Method::both}), Error);
}

}  // namespace attribution_test
}  // namespace headlight::intervention
