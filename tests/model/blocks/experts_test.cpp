// SPDX-License-Identifier: GPL-3.0-or-later
// Routers in a bfloat16 run against transformers in bfloat16: which part is rounded decides who is chosen.
#include "model/blocks/experts.h"
#include "model/load/weight_source.h"
#include "tests/model/run_all.h"
#include "tests/support/case_name.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

namespace headlight::model {
namespace experts_test {

at::Tensor as_stored(const io::TensorStore& store, const std::string& name) {
    const io::TensorView* view = store.find(name);
    EXPECT_TRUE(view) << name;
    bool mapped = false;
    return to_tensor(*view, scalar_type(view->dtype), at::kCPU, mapped).clone();
}

class Router : public testing::TestWithParam<const char*> {
protected:
    /// The first layer with experts, by itself, on what the reference's router read.
    Collector run(const std::function<at::Tensor(HookPoint, at::Tensor)>& replace) const {
        const at::NoGradGuard no_grad;
        Collector seen;
        seen.replace = replace;
        const ForwardInput nothing;
        Pass pass{.model = model->internals(), .input = nothing, .observer = seen};
        std::int64_t layer = 0;
        while (!has_experts(model->config(), layer)) ++layer;
        experts(pass, Layer(layer), golden("input"));
        return seen;
    }
    static at::Tensor of(const Collector& seen, const std::string& hook) {
        for (const auto& [name, tensor] : seen.tensors)
            if (name.ends_with(hook)) return tensor;
        return {};
    }
    at::Tensor golden(const std::string& what) const { return as_stored(store, std::string(GetParam()) + "." + what); }

    const std::shared_ptr<const Model> model =
        Model::load(fixture(GetParam()), {.dtype = ComputeType::bfloat16, .device = "cpu"});
    const io::TensorStore store = io::TensorStore::open_file(tests_folder() / "golden" / "router_bf16.safetensors");
};

TEST_P(Router, LogitsHaveTheReferencesTypeAndNumbers) {
    const at::Tensor ours = of(run([](HookPoint, at::Tensor t) { return t; }), "hook_router"), theirs = golden("logits");
    ASSERT_EQ(ours.scalar_type(), theirs.scalar_type());
    const at::Tensor a = ours.to(at::kDouble), b = theirs.to(at::kDouble);
    // The order of a sum may differ: in bfloat16 that turns the last bit now and then.
    const bool narrow = theirs.scalar_type() == at::kBFloat16;
    EXPECT_LE(((a - b).abs() / b.abs().clamp_min(1)).max().item<double>(), narrow ? 1.0 / 128 : 1e-6);
    EXPECT_GE(a.eq(b).to(at::kDouble).mean().item<double>(), narrow ? 0.95 : 0.0);
}

TEST_P(Router, WeightsFollowFromTheLogitsAsInTheReference) {
    const at::Tensor logits = golden("logits"), theirs = golden("weights");
    const Collector seen = run([&](HookPoint p, at::Tensor t) { return p.hook == Hook::router ? logits.clone() : t; });
    const at::Tensor ours = of(seen, "hook_experts");
    ASSERT_EQ(ours.scalar_type(), theirs.scalar_type());
    EXPECT_TRUE(at::equal(ours.ne(0), theirs.ne(0))) << "other experts were chosen";
    const at::Tensor a = ours.to(at::kDouble), b = theirs.to(at::kDouble);
    const double widest = (a - b).abs().max().item<double>();
    if (theirs.scalar_type() == at::kBFloat16)
        EXPECT_EQ(widest, 0.0);
    else
        EXPECT_LE(widest, 1e-6 * b.abs().max().item<double>());
    // What is float32 there must not have gone through bfloat16.
    const bool rounded = at::equal(ours.to(at::kBFloat16).to(ours.scalar_type()), ours);
    EXPECT_EQ(rounded, theirs.scalar_type() == at::kBFloat16);
    // The pass itself stays in its own type.
    EXPECT_EQ(of(seen, "mlp.hook_post").scalar_type(), at::kBFloat16);
}

/// In bfloat16 the bias that chooses would put other experts in front.
TEST(RouterCorrection, IsNotRounded) {
    const auto model = Model::load(fixture("deepseek-v3"), {.dtype = ComputeType::bfloat16, .device = "cpu"});
    for (const LayerWeights& w : model->internals().layers)
        if (w.router_correction.defined()) {
            EXPECT_EQ(w.router_correction.scalar_type(), at::kFloat);
        }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Router,
                         testing::Values("mixtral", "qwen2-moe", "qwen2-moe-step", "gpt-oss", "deepseek-v2", "deepseek-v2-groups",
                                         "deepseek-v3", "deepseek-v3-halves"),
                         [](const auto& each) { return test::case_name(each.param); });

}  // namespace experts_test
}  // namespace headlight::model
