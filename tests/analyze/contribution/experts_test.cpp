// SPDX-License-Identifier: GPL-3.0-or-later
// Experts: what the router says is what the layer did, in every model that has them.
#include "headlight/analyze/contribution/experts.h"

#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"
#include "tests/analyze/traces.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace headlight::analyze {
namespace experts_test {

using model::Hook;

TEST(Experts, AsManyAsTheModelChoosesAreComputedForEveryToken) {
    std::size_t models = 0;
    for (const auto& folder : model_folders()) {
        SCOPED_TRACE(folder.filename().string());
        const TracePtr trace = run_model(folder, cats);
        const model::ModelConfig& c = trace->config();
        models += c.experts.count > 0;
        std::set<std::int64_t> used;
        for (const Layer layer : layers_with_experts(c)) {
            const ExpertUse use = expert_use(*trace, layer);
            const at::Tensor pre = trace::tensor(*trace, {Hook::mlp_pre, layer}),
                             post = trace::tensor(*trace, {Hook::mlp_post, layer});
            EXPECT_EQ(pre.size(1), model::mlp_width(c, layer.value));
            for (std::int64_t p = 0; p < trace->tokens(); ++p) {
                EXPECT_EQ((use.weights.row(p).array() != 0).count(), c.experts.chosen);
                if (c.experts.normalized) {
                    EXPECT_NEAR(use.weights.row(p).sum(), c.experts.scale, 1e-6);
                }
                // The chosen are those of the largest logits, but where groups or a correction have a say.
                const bool by_logit = c.experts.groups == 0 && !c.experts.correction;
                float least = std::numeric_limits<float>::infinity();
                for (std::int64_t e = 0; e < c.experts.count; ++e)
                    if (use.weights(p, e) != 0) least = std::min(least, use.logits(p, e));
                const std::vector<bool> works = working_neurons(*trace, layer, Position(p));
                for (std::int64_t e = 0; e < c.experts.count; ++e) {
                    const std::int64_t unit = e * c.experts.width;
                    const bool chosen = use.weights(p, e) != 0;
                    if (by_logit) {
                        EXPECT_EQ(chosen, use.logits(p, e) >= least);
                    }
                    EXPECT_EQ(works[static_cast<std::size_t>(unit)], chosen);
                    EXPECT_EQ(neuron_works(*trace, {layer, Neuron(unit)}, Position(p)), chosen);
                    EXPECT_EQ(pre[p].narrow(0, unit, c.experts.width).abs().max().item<float>() > 0, chosen);
                    EXPECT_EQ(post[p].narrow(0, unit, c.experts.width).abs().max().item<float>() > 0, chosen);
                    if (chosen) used.insert(e);
                }
                if (c.experts.shared_width > 0) {
                    EXPECT_TRUE(works.back());
                    EXPECT_GT(
                        pre[p].narrow(0, c.experts.count * c.experts.width, c.experts.shared_width).abs().max().item<float>(), 0);
                }
            }
            EXPECT_EQ(use.shared.size(), c.experts.shared_gate ? trace->tokens() : 0);
        }
        if (c.experts.count > 0) {
            EXPECT_GT(std::ssize(used), c.experts.chosen) << "all tokens alike: proves nothing";
        }
        for (std::int64_t l = 0; l < c.n_layers; ++l)
            if (!model::has_experts(c, l)) {
                EXPECT_THROW(expert_use(*trace, Layer(l)), Error);
                EXPECT_TRUE(neuron_works(*trace, {Layer(l), Neuron(0)}, Position(0)));
            }
        EXPECT_THROW(expert_use(*trace, Layer(c.n_layers)), Error);
    }
    EXPECT_GE(models, 3U);
}

}  // namespace experts_test
}  // namespace headlight::analyze
