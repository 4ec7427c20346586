// SPDX-License-Identifier: GPL-3.0-or-later
// Direct effects against their definition, and where they must be 0, in every family.
#include "tests/intervention/sweep/whole_passes.h"
#include "tests/support/case_name.h"

#include <gtest/gtest.h>

namespace headlight::intervention {
namespace direct_test {

namespace fs = std::filesystem;
using testing_support::FrozenAttention;
using testing_support::some_pair;

class DirectEffects : public testing::TestWithParam<fs::path> {
protected:
    std::shared_ptr<const model::Model> model_ = model::Model::load(GetParam(), {.dtype = model::ComputeType::float64});
    const model::ModelConfig& c_ = model_->config();
    SweepPair pair_ = pair();

    bool skipped() const { return !c_.has_unembedding; }
    /// An encoder's answer is in the middle, so that edits stand on both sides of it.
    SweepPair pair() const {
        SweepPair pair = some_pair(*model_);
        if (!c_.causal) pair.clean.end = pair.corrupt.end = 4;
        return pair;
    }
    std::vector<model::Stack> stacks() const {
        if (!model::has_cross_attention(c_)) return {model::Stack::decoder};
        return {model::Stack::decoder, model::Stack::cross};
    }
};

TEST_P(DirectEffects, AreThoseOfWholePassesWithAllOtherHeadsFrozen) {
    if (skipped()) return;
    const FrozenAttention frozen(*model_, pair_);
    for (const model::Stack attention : stacks())
        for (const Grid grid : {Grid::z, Grid::block_every, Grid::head_every_by_position})
            for (const std::int64_t window : {1, 2}) {
                if (attention == model::Stack::cross && grid == Grid::block_every) continue;
                const SweepResult r = run_sweep(
                    model_, {pair_}, {.grid = grid, .effect = Effect::direct, .attention = attention, .window = window});
                const std::size_t step = r.cells.size() / 14 | 1;
                for (std::size_t i = 0; i < r.cells.size(); i += step) {
                    const SweepCell& cell = r.cells[i];
                    SCOPED_TRACE(std::string(row_of(cell.site).word) + ", layer " + std::to_string(cell.layer) + ", head " +
                                 std::to_string(cell.head) + ", position " + std::to_string(cell.position) + ", window " +
                                 std::to_string(window));
                    const at::Tensor logits =
                        trace::replay(*model_, testing_support::tokens_of(pair_.corrupt), frozen.hooks(cell, window, attention));
                    EXPECT_NEAR(r.results[i].value, testing_support::difference_of(logits, pair_),
                                1e-6 * std::max({1.0, std::abs(r.clean.front()), std::abs(r.corrupt.front())}));
                }
            }
}

TEST_P(DirectEffects, AreZeroWhereNoAttentionMayCarryThem) {
    if (skipped()) return;
    const std::string queries = "L" + std::to_string(c_.n_layers - 1) + "H0.q";
    for (const std::int64_t window : {1, 3})
        for (const bool path : {false, true}) {
            double largest = 0;  // queries of layer 0 may be the same in both texts
            for (const Grid grid : {Grid::block_every, Grid::z_by_position, Grid::q_by_position, Grid::pattern_by_destination}) {
                SCOPED_TRACE(std::string(enum_word(grid)) + (path ? " to " + queries : ", direct") + ", window " +
                             std::to_string(window));
                SweepOptions options{.grid = grid, .effect = Effect::direct, .window = window};
                if (path) options.to = {queries};
                const SweepResult r = run_sweep(model_, {pair_}, options);
                for (std::size_t i = 0; i < r.cells.size(); ++i) {
                    if (r.cells[i].position == pair_.clean.end)
                        largest = std::max(largest, std::abs(r.results[i].effect));
                    else if (!has_convolution(c_, 0)) {
                        EXPECT_EQ(r.results[i].effect, 0) << r.cells[i].layer << " " << r.cells[i].position;
                    }
                }
            }
            EXPECT_GT(largest, 1e-9);
        }
}

/// The scatter's two numbers are those of the two sweeps.
TEST_P(DirectEffects, StandNextToTheTotalOnes) {
    if (skipped()) return;
    const auto sweep = [&](Effect effect) { return run_sweep(model_, {pair_}, {.grid = Grid::block_every, .effect = effect}); };
    const SweepResult both = sweep(Effect::both), direct = sweep(Effect::direct), total = sweep(Effect::total);
    for (std::size_t i = 0; i < both.cells.size(); ++i) {
        EXPECT_NEAR(both.results[i].direct, direct.results[i].effect, 1e-6 * std::max(1.0, std::abs(total.clean.front())));
        EXPECT_EQ(both.results[i].effect, total.results[i].effect);
    }
}

INSTANTIATE_TEST_SUITE_P(Models, DirectEffects, testing::ValuesIn(testing_support::family_folders()),
                         [](const auto& each) { return test::case_name(each.param.filename()); });

}  // namespace direct_test
}  // namespace headlight::intervention
