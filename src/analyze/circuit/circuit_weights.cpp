// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/circuit/circuit_weights.h"

#include "headlight/base/error.h"

namespace headlight::analyze {

void check_head(const model::Model& model, HeadId id) {
    const model::ModelConfig& c = model.config();
    if (id.layer.value >= 0 && id.layer.value < c.n_layers && id.head.value >= 0 && id.head.value < c.n_heads) return;
    throw Error({.problem = "There is no such head",
                 .expected = "layer 0 to " + std::to_string(c.n_layers - 1) + ", head 0 to " + std::to_string(c.n_heads - 1),
                 .found = "L" + std::to_string(id.layer.value) + "H" + std::to_string(id.head.value)});
}

void check_foldable(const model::Model& model) {
    if (!model.config().post_norm) return;
    throw Error({.problem = "The norms of this model come after its sub-layers: there is none in front to fold in",
                 .file = model.folder().string(),
                 .hint = "Leave the norms out"});
}

at::Tensor folded(const model::Model& model, const trace::NormTensors& norm, const at::Tensor& w) {
    at::Tensor out = w;
    if (norm.gain.defined()) out = out * norm.gain.to(w.options()).view({-1, 1});
    if (model.config().norm == model::Norm::layer_norm) out = out - out.mean(0, true);
    return out;
}

HeadMatrices head_matrices(const model::Model& model, HeadId id, bool fold_norms) {
    check_head(model, id);
    if (fold_norms) check_foldable(model);
    const model::ModelConfig& c = model.config();
    const trace::AttentionTensors w = trace::attention_weights(model, id.layer);
    const std::int64_t kv = id.head.value / (c.n_heads / c.n_kv_heads);
    const auto reading = [&](const at::Tensor& all, std::int64_t head) {
        const at::Tensor one = all.select(0, head).to(at::kCPU).to(at::kDouble);
        return (fold_norms ? folded(model, w.norm, one) : one).contiguous();
    };
    at::Tensor writing = w.w_o.select(0, id.head.value).to(at::kCPU).to(at::kDouble);
    if (fold_norms && w.branch.gain.defined()) writing = writing * w.branch.gain.to(at::kCPU).to(at::kDouble);
    const auto latent = [&](const at::Tensor& down) { return down.defined() ? reading(down.unsqueeze(0), 0) : down; };
    return {.q = reading(w.w_q, id.head.value),
            .k = reading(w.w_k, kv),
            .v = reading(w.w_v, kv),
            .o = writing.contiguous(),
            .kv_head = kv,
            .q_latent = latent(w.w_q_latent),
            .kv_latent = latent(w.w_kv_latent)};
}

at::Tensor through_final_norm(const model::Model& model, const at::Tensor& w_o) {
    check_foldable(model);
    const at::Tensor gain = trace::final_norm(model).gain;
    if (!gain.defined()) return w_o;
    const at::Tensor out = model.config().norm == model::Norm::layer_norm ? w_o - w_o.mean(1, true) : w_o;
    return out * gain.to(w_o.options());
}

}  // namespace headlight::analyze
