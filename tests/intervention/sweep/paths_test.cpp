// SPDX-License-Identifier: GPL-3.0-or-later
// Path patching through queries, keys and values against its definition.
#include "headlight/base/error.h"
#include "tests/intervention/sweep/whole_passes.h"
#include "tests/support/case_name.h"

#include <gtest/gtest.h>

namespace headlight::intervention {
namespace paths_test {

using testing_support::fixture;
using testing_support::FrozenAttention;
using testing_support::some_pair;

class Paths : public testing::TestWithParam<std::string> {};

/// Path patching by its definition: every head but the sender frozen, what the receiver becomes put into a run of its own.
TEST_P(Paths, ThroughQueriesKeysAndValuesAreThoseOfTwoWholePasses) {
    const auto model_ = fixture(GetParam());
    const SweepPair pair = some_pair(*model_);
    const model::ModelConfig& c = model_->config();
    const trace::TokenIds corrupt = testing_support::tokens_of(pair.corrupt);
    const FrozenAttention frozen(*model_, pair);
    const std::int64_t last = c.n_layers - 1;
    const auto word = [&](const char* site, std::int64_t head) {
        return "L" + std::to_string(last) + "H" + std::to_string(head) + "." + site;
    };
    const std::int64_t head = c.n_heads - 1, group = head / (c.n_heads / c.n_kv_heads);
    const std::vector<std::pair<std::vector<std::string>, std::vector<model::Hook>>> all = {
        {{word("q", head)}, {model::Hook::q}},
        {{word("k", head)}, {model::Hook::k}},
        {{word("v", head)}, {model::Hook::v}},
        {{word("q", head), word("k", head), word("v", head)}, {model::Hook::q, model::Hook::k, model::Hook::v}}};
    for (const auto& [to, sites] : all) {
        SCOPED_TRACE(to.front() + (to.size() > 1 ? " and others" : ""));
        for (const auto& [grid, window, step] :
             {std::tuple{Grid::z, 1, 1}, {Grid::block_every, 1, 4}, {Grid::block_every, 2, 4}}) {
            const SweepResult paths = run_sweep(model_, {pair}, {.grid = grid, .to = to, .window = window});
            EXPECT_EQ(paths.options.effect, Effect::direct);
            for (std::size_t i = 0; i < paths.cells.size(); i += static_cast<std::size_t>(step)) {
                const SweepCell& cell = paths.cells[i];
                SCOPED_TRACE(std::string(row_of(cell.site).word) + ", layer " + std::to_string(cell.layer) + ", head " +
                             std::to_string(cell.head) + ", position " + std::to_string(cell.position));
                if (cell.layer == last && cell.site != Site::resid_pre && window == 1) {
                    EXPECT_EQ(paths.results[i].state, CellState::certain) << "nothing of the layer reads it";
                }
                if (cell.head > 1) continue;
                std::map<model::Hook, at::Tensor> heard;
                std::vector<trace::Intervention> hooks;
                for (const model::Hook site : sites)  // before it is frozen
                    hooks.push_back({name_of({site, Layer(last)}, c), [&, site](model::HookPoint, const at::Tensor& t) {
                                         heard[site] = t.clone();
                                         return t;
                                     }});
                std::ranges::move(frozen.hooks(cell, window), std::back_inserter(hooks));
                trace::replay(*model_, corrupt, hooks);
                std::vector<trace::Intervention> second;
                for (const model::Hook site : sites)
                    second.push_back({name_of({site, Layer(last)}, c), [&, site](model::HookPoint, const at::Tensor& t) {
                                          const std::int64_t unit = site == model::Hook::q ? head : group;
                                          at::Tensor changed = t.clone();
                                          changed.select(1, unit).copy_(heard.at(site).select(1, unit));
                                          return changed;
                                      }});
                EXPECT_NEAR(paths.results[i].value, testing_support::difference_of(trace::replay(*model_, corrupt, second), pair),
                            1e-6 * std::max({1.0, std::abs(paths.clean.front()), std::abs(paths.corrupt.front())}));
            }
        }
    }
}

/// Of a path both passes: the first from the sender's layer on, the second from the receiver's, over the rows that can differ.
TEST(Path, TheForecastCountsBothPasses) {
    const auto model = fixture("models/llama-kv2");
    const SweepPair pair = some_pair(*model);
    const std::int64_t layers = model->config().n_layers, heads = model->config().n_heads, rows = 9 - 3;
    for (const Grid grid : {Grid::z, Grid::z_by_position}) {
        const SweepForecast forecast = forecast_sweep(model, {pair}, {.grid = grid, .to = {"L1H0.k", "L1H1.q"}});
        ASSERT_EQ(layers, 2) << "senders are the heads of layer 0";
        std::int64_t work = 0;
        for (std::int64_t p = 3; p < 9; ++p)  // a cell of one position begins there
            work += heads * (grid == Grid::z ? (p == 3 ? (2 + 1) * rows : 0) : (2 + 1) * (9 - p));
        EXPECT_EQ(forecast.work, work);
        EXPECT_EQ(forecast.computed, heads * (grid == Grid::z ? 1 : rows));
    }
}

/// The queries of the last layer at other positions than the answer's are read by no logit of it.
TEST(Path, ThroughQueriesOfTheLastLayerTheAnswersPositionAloneIsRun) {
    const auto model = fixture("models/llama-kv2");
    const SweepPair pair = some_pair(*model);
    const SweepOptions by_position{.grid = Grid::z_by_position, .to = {"L1H1.q"}};
    EXPECT_EQ(forecast_sweep(model, {pair}, by_position).computed, model->config().n_heads);
    const SweepResult positions = run_sweep(model, {pair}, by_position);
    const SweepResult whole = run_sweep(model, {pair}, {.grid = Grid::z, .to = {"L1H1.q"}});
    double most = 0;
    for (std::size_t i = 0; i < positions.cells.size(); ++i) {
        const SweepCell& cell = positions.cells[i];
        const bool reaches = cell.layer == 0 && cell.position == 8;
        EXPECT_EQ(positions.results[i].state, reaches ? CellState::computed : CellState::certain) << i;
        if (!reaches) continue;
        const auto same = std::ranges::find(whole.cells, SweepCell{.site = Site::z, .layer = 0, .head = cell.head});
        EXPECT_NEAR(positions.results[i].effect, whole.results[std::size_t(same - whole.cells.begin())].effect, 1e-6);
        most = std::max(most, std::abs(positions.results[i].effect));
    }
    EXPECT_GT(most, 1e-6);
}

TEST(Path, EndsInQueriesKeysOrValues) {
    const auto model = fixture("models/gpt2");
    for (const char* words : {"L1H0", "L1.mlp", "L99H0.k", "L1H99.q", "nonsense"})
        EXPECT_THROW(run_sweep(model, {some_pair(*model)}, {.grid = Grid::z, .to = {words}}), Error) << words;
}

INSTANTIATE_TEST_SUITE_P(Shapes, Paths,
                         testing::Values("models/gpt2", "models/llama-kv2", "models/gpt-neox", "models/bloom", "models/gemma2",
                                         "models/gpt-oss", "models/bert-mlm", "encoder_decoders/t5"),
                         [](const auto& each) { return test::case_name(each.param); });

}  // namespace paths_test
}  // namespace headlight::intervention
