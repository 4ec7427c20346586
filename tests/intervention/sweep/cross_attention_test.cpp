// SPDX-License-Identifier: GPL-3.0-or-later
// Sweeps of the cross attention against whole passes, in every encoder-decoder family.
#include "headlight/base/error.h"
#include "tests/intervention/sweep/whole_passes.h"
#include "tests/support/case_name.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::intervention {
namespace cross_attention_test {

using model::Hook;
using model::HookPoint;
using testing_support::fixture;
using testing_support::tokens_of;

class CrossAttention : public testing::TestWithParam<std::string> {
protected:
    std::shared_ptr<const model::Model> model_ = fixture("encoder_decoders/" + GetParam());
    SweepPair pair_ = pair();

    /// One target, two sources.
    SweepPair pair() const {
        SweepPair pair = testing_support::some_pair(*model_);
        pair.corrupt.ids = pair.clean.ids;
        for (const std::size_t i : {1, 4}) pair.corrupt.source[i] = (pair.corrupt.source[i] + 17) % model_->config().vocab_size;
        return pair;
    }
    /// The metric of the corrupt run with a tensor of the clean run, where `put` says.
    double with(HookPoint point, const std::function<void(at::Tensor&, const at::Tensor&)>& put) const {
        const at::Tensor clean = trace::tensors_of(*model_, tokens_of(pair_.clean), {point}).at(point);
        const at::Tensor logits = trace::replay(*model_, tokens_of(pair_.corrupt),
                                                {{name_of(point, model_->config()), [&](HookPoint, const at::Tensor& t) {
                                                      at::Tensor changed = t.clone();
                                                      put(changed, clean);
                                                      return changed;
                                                  }}});
        return testing_support::difference_of(logits, pair_);
    }
};

TEST_P(CrossAttention, CellsAreWholePasses) {
    const auto sweep = [&](Grid grid, std::vector<std::int64_t> layers = {}) {
        return run_sweep(model_, {pair_}, {.grid = grid, .attention = model::Stack::cross, .layers = std::move(layers)});
    };
    const std::int64_t layers = model_->config().n_layers, heads = model_->config().n_heads, target = 9, source = 7;
    const auto check = [&](const SweepResult& r, std::size_t every, const auto& value) {
        double largest = 0;
        for (std::size_t i = 0; i < r.cells.size(); i += every) {
            EXPECT_NEAR(r.results[i].value, value(r.cells[i]), 1e-6 * std::max(1.0, std::abs(r.clean.front()))) << i;
            largest = std::max(largest, std::abs(r.results[i].effect));
        }
        EXPECT_GT(largest, 1e-6);
    };
    for (const auto& [grid, hook] :
         {std::pair{Grid::z, Hook::cross_z}, {Grid::q, Hook::cross_q}, {Grid::k, Hook::cross_k}, {Grid::v, Hook::cross_v}}) {
        SCOPED_TRACE(std::string(enum_word(grid)));
        const SweepResult r = sweep(grid);
        EXPECT_EQ(std::ssize(r.cells), layers * heads);
        check(r, 1, [&](const SweepCell& cell) {
            return with({hook, Layer(cell.layer)}, [&](at::Tensor& t, const at::Tensor& clean) {
                t.select(1, cell.head).copy_(clean.select(1, cell.head));
            });
        });
    }
    for (const auto& [grid, hook] : {std::pair{Grid::z_by_position, Hook::cross_z}, {Grid::v_by_position, Hook::cross_v}}) {
        SCOPED_TRACE(std::string(enum_word(grid)));
        const SweepResult r = sweep(grid);
        EXPECT_EQ(std::ssize(r.cells), layers * heads * (grid == Grid::v_by_position ? source : target));
        check(r, 5, [&](const SweepCell& cell) {
            return with({hook, Layer(cell.layer)}, [&](at::Tensor& t, const at::Tensor& clean) {
                t[cell.position][cell.head].copy_(clean[cell.position][cell.head]);
            });
        });
    }
    const SweepResult edges = sweep(Grid::pattern_by_edge, {layers - 1});
    EXPECT_EQ(std::ssize(edges.cells), heads * target * source) << "every source token is visible";
    check(edges, 11, [&](const SweepCell& cell) {
        return with({Hook::cross_pattern, Layer(cell.layer)}, [&](at::Tensor& t, const at::Tensor& clean) {
            t[cell.head][cell.position][cell.source].copy_(clean[cell.head][cell.position][cell.source]);
        });
    });
    EXPECT_EQ(edges.axes.sources, source);
    const SweepResult out = sweep(Grid::attn_out);
    check(out, 3, [&](const SweepCell& cell) {
        return with({Hook::cross_attn_out, Layer(cell.layer)},
                    [&](at::Tensor& t, const at::Tensor& clean) { t[cell.position].copy_(clean[cell.position]); });
    });
}

TEST_P(CrossAttention, DirectEffectsFreezeWhatComesLater) {
    const testing_support::FrozenAttention frozen(*model_, pair_);
    const SweepResult r =
        run_sweep(model_, {pair_}, {.grid = Grid::z, .effect = Effect::direct, .attention = model::Stack::cross});
    for (std::size_t i = 0; i < r.cells.size(); i += 2) {
        const at::Tensor logits =
            trace::replay(*model_, tokens_of(pair_.corrupt), frozen.hooks(r.cells[i], 1, model::Stack::cross));
        EXPECT_NEAR(r.results[i].value, testing_support::difference_of(logits, pair_),
                    1e-6 * std::max(1.0, std::abs(r.clean[0])));
    }
}

/// Estimates are derivatives: with two sources that are nearly one, they are the effects.
TEST_P(CrossAttention, AttributionIsExactForSmallEdits) {
    for (const Grid grid : {Grid::z, Grid::q, Grid::k, Grid::v, Grid::pattern}) {
        SCOPED_TRACE(std::string(enum_word(grid)));
        const SweepResult r =
            run_sweep(model_, {pair_}, {.grid = grid, .attention = model::Stack::cross, .method = Method::attribution});
        for (std::size_t i = 0; i < r.cells.size(); i += 3) {
            if (grid == Grid::q || grid == Grid::k) {
                EXPECT_TRUE(std::isfinite(r.results[i].effect));
                continue;
            }
            const SweepCell& cell = r.cells[i];
            const double e = 1e-4;
            const Hook hook = *model::in_decoder(row_of(cell.site).hook);
            const auto at = [&](double by) {
                return with({hook, Layer(cell.layer)}, [&](at::Tensor& t, const at::Tensor& clean) {
                    const std::int64_t axis = grid == Grid::pattern ? 0 : 1;
                    t.select(axis, cell.head).add_(by * (clean - t).select(axis, cell.head));
                });
            };
            EXPECT_NEAR(r.results[i].effect, (at(e) - at(-e)) / (2 * e), 1e-5);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Families, CrossAttention, testing::Values("bart", "marian", "mbart", "mt5", "t5", "t5-v1_1"),
                         [](const auto& each) { return test::case_name(each.param); });

TEST(CrossAttentionSweep, SourcesOfUnequalLengthAreAligned) {
    const auto model = fixture("encoder_decoders/t5");
    SweepPair pair = testing_support::some_pair(*model);
    pair.corrupt.ids = pair.clean.ids;
    pair.corrupt.source.insert(pair.corrupt.source.begin() + 3, 2);
    const SweepResult keys = run_sweep(model, {pair}, {.grid = Grid::k_by_position, .attention = model::Stack::cross});
    for (std::size_t i = 0; i < keys.cells.size(); ++i)
        EXPECT_EQ(keys.results[i].state, keys.cells[i].position == 3 ? CellState::missing : CellState::computed) << i;
    const SweepResult patterns = run_sweep(model, {pair}, {.grid = Grid::pattern, .attention = model::Stack::cross});
    EXPECT_GT(patterns.computed, 0);
    const SweepResult edges = run_sweep(model, {pair}, {.grid = Grid::edge, .attention = model::Stack::cross, .layers = {1}});
    for (std::size_t i = 0; i < edges.cells.size(); ++i)
        EXPECT_EQ(edges.results[i].state == CellState::missing, edges.cells[i].source == 3) << i;
}

TEST(CrossAttentionSweep, ErrorsNameWhatThereIs) {
    const auto model = fixture("encoder_decoders/t5"), decoder = fixture("models/gpt2");
    const auto message = [](const std::shared_ptr<const model::Model>& of, const std::vector<SweepPair>& pairs,
                            const SweepOptions& options) { return test::error_of([&] { run_sweep(of, pairs, options); }); };
    const std::vector pairs(2, testing_support::some_pair(*model));
    const model::Stack cross = model::Stack::cross;
    EXPECT_THAT(message(decoder, {testing_support::some_pair(*decoder)}, {.attention = cross}), testing::HasSubstr("no cross"));
    EXPECT_THAT(message(model, pairs, {.attention = model::Stack::encoder}), testing::HasSubstr("self or cross"));
    EXPECT_THAT(message(model, pairs, {.grid = Grid::mlp_out, .attention = cross}), testing::HasSubstr("mlp_out"));
    std::vector<SweepPair> unequal = pairs;
    for (SweepText* text : {&unequal[1].clean, &unequal[1].corrupt}) text->source.push_back(1);
    EXPECT_THAT(message(model, unequal, {.grid = Grid::k_by_position, .attention = cross}), testing::HasSubstr("sources"));
    EXPECT_EQ(message(model, unequal, {.grid = Grid::z_by_position, .attention = cross}), "no error");
    EXPECT_THAT(message(decoder, {testing_support::some_pair(*decoder)}, {.grid = Grid::expert, .ablation = Ablation::forbid}),
                testing::HasSubstr("router"));
    EXPECT_THAT(message(decoder, {testing_support::some_pair(*decoder)}, {.grid = Grid::z, .ablation = Ablation::force}),
                testing::HasSubstr("Only experts"));
}

}  // namespace cross_attention_test
}  // namespace headlight::intervention
