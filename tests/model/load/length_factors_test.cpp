// SPDX-License-Identifier: GPL-3.0-or-later
// |x R| = |x W_O| for every head of every fixture, and where a head's W_O does not reach every direction.
#include "model/internals.h"
#include "tests/model/run_all.h"
#include "tests/model/scratch_model.h"

#include <gtest/gtest.h>

namespace headlight::model {
namespace length_factors_test {

at::Tensor lengths(const at::Tensor& x, const at::Tensor& w) {
    return at::matmul(x.to(at::kDouble), w.to(at::kDouble)).norm(2, -1);
}

void expect_same_lengths(const Model& model) {
    const Model::Internals& in = model.internals();
    at::manual_seed(7);
    for (std::int64_t l = 0; l < in.config.n_layers; ++l) {
        const at::Tensor factors = length_factors(in, Layer(l)), w_o = in.layers[static_cast<std::size_t>(l)].o.weight;
        const std::int64_t d = w_o.size(0) / in.config.n_heads;
        const at::Tensor x = at::randn({20, d});
        for (std::int64_t h = 0; h < in.config.n_heads; ++h) {
            const at::Tensor expected = lengths(x, w_o.narrow(0, h * d, d)), found = lengths(x, factors.select(0, h));
            EXPECT_LE((found - expected).abs().max().item<double>(), 2e-6 * (1e-3 + expected.max().item<double>()))
                << "layer " << l << " head " << h;
        }
    }
}

TEST(LengthFactors, KeepTheLengthOfWhatAHeadWrites) {
    for (const std::string& name : fixture_names()) {
        SCOPED_TRACE(name);
        expect_same_lengths(*Model::load(fixture(name), {.device = "cpu"}));
    }
}

TEST(LengthFactors, AHeadThatWritesNothingOrAlongOneLine) {
    const ScratchModel scratch("gpt2");
    scratch.edit_weights([](std::vector<ScratchModel::Stored>& tensors) {
        ScratchModel::Stored& t = find(tensors, "h.0.attn.c_proj.weight");
        const std::int64_t rows = t.shape[0], width = t.shape[1], per_head = rows / 2;  // two heads
        for (std::int64_t r = 0; r < 2 * per_head; ++r)
            for (std::int64_t k = 0; k < width; ++k)
                t.set_float(r * width + k, r < per_head ? 0.0F : static_cast<float>(r) * static_cast<float>(k + 1) / 100.0F);
    });
    const auto model = Model::load(scratch.folder, {.device = "cpu"});
    EXPECT_EQ(length_factors(model->internals(), Layer(0)).select(0, 0).abs().max().item<double>(), 0.0);
    expect_same_lengths(*model);
}

}  // namespace length_factors_test
}  // namespace headlight::model
