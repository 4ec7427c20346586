// SPDX-License-Identifier: GPL-3.0-or-later
// Models whose layers update a state, against transformers (tests/golden/state_updates.py), and their implied maps.
#include "headlight/base/error.h"
#include "headlight/model/generate.h"
#include "model/internals.h"
#include "tests/model/run_all.h"
#include "tests/support/case_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headlight::model {
namespace state_updates_test {

using testing::AllOf, testing::HasSubstr;

std::filesystem::path folder_of(const std::string& name) { return tests_folder() / "fixtures" / "state_updates" / name; }

std::vector<std::string> all_names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(tests_folder() / "fixtures" / "state_updates"))
        names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
}

/// Hooks of layers with an implied map.
template <class Read>
void for_implied(const ModelConfig& c, const Collector& seen, const Read& read) {
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        if (!has_implied_map(c, l)) continue;
        read(l, [&, l](const char* hook) { return seen.tensors.at("blocks." + std::to_string(l) + ".attn.hook_" + hook); });
    }
}

class StateUpdates : public testing::TestWithParam<std::string> {
protected:
    static std::shared_ptr<const Model> load(ComputeType type = ComputeType::float32) {
        return Model::load(folder_of(GetParam()), {.dtype = type, .device = "cpu"});
    }
    static void expect_golden(const char* precision, ComputeType type, double tolerance) {
        const Golden golden =
            read_golden(tests_folder() / "golden" / "state_updates" / (GetParam() + "." + precision + ".safetensors"));
        const auto model = load(type);
        const Collector seen = run_all(*model, golden.input);
        EXPECT_EQ(seen.order, hooks_of(model->config()));
        EXPECT_EQ(golden.tensors.size(), seen.tensors.size());
        for (const HookPoint& point : seen.order) {
            const std::string name = name_of(point);
            ASSERT_TRUE(golden.tensors.contains(name)) << "the golden lacks " << name;
            const at::Tensor ours = seen.tensors.at(name), theirs = golden.tensors.at(name);
            ASSERT_EQ(ours.sizes(), theirs.sizes()) << name;
            ASSERT_EQ(ours.sizes().vec(), shape_of(point, model->config(), std::ssize(golden.input.ids))) << name;
            ASSERT_LE(deviation(name, ours, theirs), tolerance) << name;
        }
    }
};

TEST_P(StateUpdates, EveryHookInFloat32) { expect_golden("f32", ComputeType::float32, 2e-5); }
TEST_P(StateUpdates, EveryHookInFloat64) { expect_golden("f64", ComputeType::float64, 1e-10); }

TEST_P(StateUpdates, TheMapTimesTheValuesIsTheOutputOfTheUpdateStepByStep) {
    const auto model = load();
    const ModelConfig& c = model->config();
    const std::int64_t tokens = 300;  // several tiles
    const Collector seen = run_all(*model, some_text(c, tokens));
    for_implied(c, seen, [&](std::int64_t l, const auto& get) {
        const at::Tensor map = get("implied").to(at::kDouble), v = get("v").to(at::kDouble), z = get("z").to(at::kDouble);
        const double largest = z.abs().max().template item<double>();
        EXPECT_LE((at::matmul(map, v.transpose(0, 1)).transpose(0, 1) - z).abs().max().template item<double>(), 1e-5 * largest);
        EXPECT_EQ(map.triu(1).abs().max().template item<double>(), 0) << "later tokens count in layer " << l;
        EXPECT_LT(map.min().template item<double>(), 0) << "no negative weight: proves nothing";
        const at::Tensor q = get("q").to(at::kDouble), k = get("k").to(at::kDouble), step = get("step").to(at::kDouble),
                         decay = get("decay").to(at::kDouble);
        at::Tensor state = at::zeros({c.n_heads, value_width(c), c.d_head}, at::kDouble);
        for (std::int64_t t = 0; t < tokens; ++t) {
            const at::Tensor written = v[t].unsqueeze(2) * (k[t] * step[t].unsqueeze(1)).unsqueeze(1);
            state = state * decay[t].exp().view({-1, 1, 1}) + written;
            const at::Tensor read = at::matmul(state, q[t].unsqueeze(2)).squeeze(2);
            ASSERT_LE((read - z[t]).abs().max().template item<double>(), 1e-5 * largest) << "token " << t << " of layer " << l;
        }
    });
}

TEST_P(StateUpdates, WhatIsWatchedChangesNoBit) {
    const auto model = load();
    const ForwardInput input = some_text(model->config(), 150);
    const Collector all = run_all(*model, input);
    Collector last;
    last.wanted = [](HookPoint p) { return p.hook == Hook::logits; };
    forward(*model, input, last, {}, {});
    EXPECT_TRUE(at::equal(last.tensors.at("logits"), all.tensors.at("logits")));
}

TEST_P(StateUpdates, AReplacedMapReachesTheOutput) {
    const auto model = load();
    const ForwardInput input = some_text(model->config(), 20);
    const Collector before = run_all(*model, input);
    for (const Hook hook : {Hook::gate, Hook::conv_in, Hook::step, Hook::decay, Hook::implied, Hook::gate_norm_scale}) {
        Collector changed;
        changed.replace = [&](HookPoint p, const at::Tensor& t) { return p == HookPoint{hook, Layer(0)} ? t * 0.5 : t; };
        forward(*model, input, changed, {}, {});
        EXPECT_FALSE(at::allclose(changed.tensors.at("logits"), before.tensors.at("logits"))) << name_of({hook, Layer(0)});
    }
    Collector cut;
    cut.replace = [](HookPoint p, const at::Tensor& t) { return p.hook == Hook::implied ? at::zeros_like(t) : t; };
    forward(*model, input, cut, {}, {});
    EXPECT_EQ(cut.tensors.at("blocks.0.attn.hook_z").abs().max().item<double>(), 0);
}

TEST_P(StateUpdates, AContinuationIsThatOfTheWholeText) {
    const auto model = load();
    const std::vector<std::int64_t> prompt = some_text(model->config(), 12).ids;
    const Generated out = generate(*model, prompt, {.tokens = 4, .temperature = 0, .ignore_end = true}, {}, {}, {});
    ASSERT_EQ(out.ids.size(), 4u);
    std::vector<std::int64_t> text = prompt;
    for (const std::int64_t id : out.ids) {
        const at::Tensor logits = run_all(*model, {.ids = text, .type_ids = {}}).tensors.at("logits");
        EXPECT_EQ(id, logits[-1].argmax().item<std::int64_t>());
        text.push_back(id);
    }
}

TEST_P(StateUpdates, EveryNumberOfTheFileIsCounted) {
    const auto model = load();
    EXPECT_EQ(counted_parameters(*model), stored_parameters(*model));
    EXPECT_TRUE(model->report().unused.empty());
}

INSTANTIATE_TEST_SUITE_P(Fixtures, StateUpdates, testing::ValuesIn(all_names()),
                         [](const auto& each) { return test::case_name(each.param); });

TEST(StateUpdates, WhatNeedsAttentionIsRefusedByName) {
    const ModelConfig c = Model::load(folder_of("mamba2"))->config();
    try {
        require_attention(c, "Rollout");
        FAIL() << "nothing was refused";
    } catch (const Error& e) {
        EXPECT_THAT(e.what(), AllOf(HasSubstr("Rollout"), HasSubstr("mamba2"), HasSubstr("state update in all layers")));
    }
    EXPECT_THROW(require_attention(c, 1, "The pattern"), Error);
    const ModelConfig plain = Model::load(fixture("qwen3"))->config();
    EXPECT_NO_THROW(require_attention(plain, "Rollout"));
    EXPECT_EQ(why_no_attention(plain), "");
}

}  // namespace state_updates_test
}  // namespace headlight::model
