// SPDX-License-Identifier: GPL-3.0-or-later
// Path patching through queries, keys and values against its definition.
#include "headlight/base/error.h"
#include "headlight/intervention/sweep/sweep.h"
#include "headlight/trace/replay.h"
#include "headlight/trace/variants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace headlight::intervention {
namespace paths_test {

std::shared_ptr<const model::Model> fixture(const std::string& name) {
    return model::Model::load(std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures" / name,
                              {.dtype = model::ComputeType::float64});
}

/// Two texts of one fixture that differ in the tokens 3 and 6 of 9.
SweepPair some_pair(const model::Model& model) {
    SweepPair pair{.answers = {3}, .wrong = {11}};
    for (std::int64_t i = 0; i < 9; ++i) pair.clean.ids.push_back((7 * i * i + 3 * i + 5) % model.config().vocab_size);
    pair.clean.end = 8;
    pair.corrupt = pair.clean;
    for (const std::size_t i : {3, 6}) pair.corrupt.ids[i] = (pair.corrupt.ids[i] + 17) % model.config().vocab_size;
    if (model.part(model::Stack::encoder)) pair.clean.source = pair.corrupt.source = {4, 7, 9, 12, 5};
    return pair;
}

class Paths : public testing::TestWithParam<std::string> {};

/// Path patching by its definition: every head but the sender frozen, what the receiver becomes put into a run of its own.
TEST_P(Paths, ThroughQueriesKeysAndValuesAreThoseOfTwoWholePasses) {
    const auto model_ = fixture(GetParam());
    const SweepPair pair = some_pair(*model_);
    const model::ModelConfig& c = model_->config();
    const trace::TokenIds clean{pair.clean.ids, {}, {}, pair.clean.source},
        corrupt{pair.corrupt.ids, {}, {}, pair.corrupt.source};
    std::vector<model::HookPoint> outputs;
    for (const model::HookPoint point : model::hooks_of(c))
        if (point.hook == model::Hook::z || point.hook == model::Hook::cross_z) outputs.push_back(point);
    const auto of_clean = trace::tensors_of(*model_, clean, outputs), of_corrupt = trace::tensors_of(*model_, corrupt, outputs);
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
        const SweepResult paths = run_sweep(model_, {pair}, {.grid = Grid::z, .to = to});
        EXPECT_EQ(paths.options.effect, Effect::direct);
        for (std::size_t i = 0; i < paths.cells.size(); ++i) {
            const SweepCell& cell = paths.cells[i];
            if (cell.layer == last) {
                EXPECT_EQ(paths.results[i].state, CellState::certain) << "nothing of the layer reads it";
            }
            if (cell.layer == last || cell.head > 1) continue;
            std::map<model::Hook, at::Tensor> heard;
            std::vector<trace::Intervention> hooks;
            for (const model::HookPoint point : outputs)
                hooks.push_back({name_of(point, c), [&, point](model::HookPoint, const at::Tensor&) {
                                     at::Tensor z = of_corrupt.at(point).clone();
                                     if (point == model::HookPoint{model::Hook::z, Layer(cell.layer)})
                                         z.select(1, cell.head).copy_(of_clean.at(point).select(1, cell.head));
                                     return z;
                                 }});
            for (const model::Hook site : sites)
                hooks.push_back({name_of({site, Layer(last)}, c), [&, site](model::HookPoint, const at::Tensor& t) {
                                     heard[site] = t.clone();
                                     return t;
                                 }});
            trace::replay(*model_, corrupt, hooks);
            std::vector<trace::Intervention> second;
            for (const model::Hook site : sites)
                second.push_back({name_of({site, Layer(last)}, c), [&, site](model::HookPoint, const at::Tensor& t) {
                                      const std::int64_t unit = site == model::Hook::q ? head : group;
                                      at::Tensor changed = t.clone();
                                      changed.select(1, unit).copy_(heard.at(site).select(1, unit));
                                      return changed;
                                  }});
            const at::Tensor logits = trace::replay(*model_, corrupt, second)[pair.corrupt.end];
            EXPECT_NEAR(paths.results[i].value, (logits[3] - logits[11]).item<double>(),
                        1e-6 * std::max({1.0, std::abs(paths.clean.front()), std::abs(paths.corrupt.front())}))
                << cell.layer << " " << cell.head;
        }
    }
}

TEST(Path, EndsInQueriesKeysOrValues) {
    const auto model = fixture("models/gpt2");
    for (const char* words : {"L1H0", "L1.mlp", "L99H0.k", "L1H99.q", "nonsense"})
        EXPECT_THROW(run_sweep(model, {some_pair(*model)}, {.grid = Grid::z, .to = {words}}), Error) << words;
}

INSTANTIATE_TEST_SUITE_P(Shapes, Paths,
                         testing::Values("models/gpt2", "models/llama-kv2", "models/gpt-neox", "models/bloom", "models/gemma2",
                                         "models/gpt-oss", "models/bert-mlm", "encoder_decoders/t5"),
                         [](const auto& each) {
                             std::string name = each.param;
                             std::ranges::replace_if(
                                 name, [](char c) { return c == '-' || c == '/'; }, '_');
                             return name;
                         });

}  // namespace paths_test
}  // namespace headlight::intervention
