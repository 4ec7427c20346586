// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/load/place.h"

#include "headlight/base/error.h"

namespace headlight::model {
namespace {

/// Where the tensor of a slot is kept: in this layer, or in the whole model.
at::Tensor& slot_tensor(Model::Internals& m, LayerWeights& l, Slot slot) {
    switch (slot) {
#define HEADLIGHT_SLOT(slot, member, name) \
    case Slot::slot:                       \
        return member;
#define HEADLIGHT_FUSED(slot, name)
#include "model/families/slots.def"
        default: throw Error("A fused matrix has no tensor of its own");
    }
}

/// Fused matrices that the pass does not read fused become views of their parts; Falcon's interleaved ones copies.
void place_whole(Model::Internals& m, LayerWeights& l, Slot slot, const at::Tensor& tensor) {
    const ModelConfig& c = m.config;
    switch (slot) {  // stored with the axes of a convolution and of a batch
        case Slot::patch_weight:
        case Slot::conv_weight: slot_tensor(m, l, slot) = tensor.flatten(1).t(); return;
        case Slot::class_embed:
        case Slot::distill_embed: slot_tensor(m, l, slot) = tensor.flatten(); return;
        case Slot::pos_embed:
        case Slot::register_embed: slot_tensor(m, l, slot) = tensor.dim() == 3 ? tensor.squeeze(0) : tensor; return;
        default: break;
    }
    const std::int64_t last = tensor.dim() - 1;
    if (slot == Slot::mlp_gate_up_weight || slot == Slot::mlp_gate_up_bias) {
        const bool weight = slot == Slot::mlp_gate_up_weight;
        slot_tensor(m, l, weight ? Slot::mlp_in_weight : Slot::mlp_in_bias) = tensor.narrow(last, 0, c.d_mlp);
        slot_tensor(m, l, weight ? Slot::mlp_up_weight : Slot::mlp_up_bias) = tensor.narrow(last, c.d_mlp, c.d_mlp);
        return;
    }
    if (slot == Slot::experts_gate_up_weight || slot == Slot::experts_gate_up_bias) {
        const bool weight = slot == Slot::experts_gate_up_weight;
        const auto units = [&](std::int64_t which) {  // an expert's hidden units are rows in memory, as place_units() has them
            const at::Tensor part = tensor.slice(last, which, tensor.size(last), 2);
            return weight ? part.transpose(1, 2).reshape({-1, c.d_model}).t() : part.reshape({-1});
        };
        slot_tensor(m, l, weight ? Slot::mlp_in_weight : Slot::mlp_in_bias) = units(0);
        slot_tensor(m, l, weight ? Slot::mlp_up_weight : Slot::mlp_up_bias) = units(1);
        return;
    }
    if (slot == Slot::experts_out_weight) {
        slot_tensor(m, l, Slot::mlp_out_weight) = tensor.reshape({-1, c.d_model});
        return;
    }
    if (slot == Slot::sinks) {
        slot_tensor(m, l, slot) = tensor.to(at::kCPU, at::kDouble);
        return;
    }
    const bool weight = slot == Slot::qkv_weight;
    if (!(weight || slot == Slot::qkv_bias) || (m.qkv_layout != QkvLayout::blocks && m.qkv_layout != QkvLayout::grouped)) {
        slot_tensor(m, l, slot) = tensor;
        return;
    }
    const std::int64_t group = c.n_heads / c.n_kv_heads, d = c.d_head;
    const auto part = [&](std::int64_t first, std::int64_t heads, std::int64_t all_heads) {
        if (m.qkv_layout == QkvLayout::blocks) return tensor.narrow(last, all_heads * d, heads * d * c.n_kv_heads);
        const std::vector<std::int64_t> split = {c.n_kv_heads, group + 2, d};
        return tensor.unflatten(last, split).narrow(last + 1, first, heads).flatten(last, last + 2).contiguous();
    };
    slot_tensor(m, l, weight ? Slot::q_weight : Slot::q_bias) = part(0, group, 0);
    slot_tensor(m, l, weight ? Slot::k_weight : Slot::k_bias) = part(group, 1, c.n_heads);
    slot_tensor(m, l, weight ? Slot::v_weight : Slot::v_bias) = part(group + 1, 1, c.n_heads + c.n_kv_heads);
}

/// False where there is no tensor yet, or the outline of one.
bool fits(const at::Tensor& whole, const at::Tensor& part) { return whole.defined() && whole.is_meta() == part.is_meta(); }

/// Memory of a layer's hidden units as place_units() has them, where there is none yet.
at::Tensor& units_of(Model::Internals& m, LayerWeights& l, Slot slot, std::int64_t layer, const at::Tensor& like) {
    at::Tensor& whole = slot_tensor(m, l, slot);
    if (!fits(whole, like)) {
        whole = at::empty({mlp_width(m.config, layer), m.config.d_model}, like.options());
        if (slot != Slot::mlp_out_weight) whole = whole.t();
    }
    return whole;
}

/// The hidden units of one expert, or one head's gains: copied to their place among the layer's. A unit's numbers lie side by
/// side there, so that an expert is a piece of memory and not a strip of every row.
void place_units(Model::Internals& m, LayerWeights& l, const ResolvedRow& r, const at::Tensor& tensor) {
    if (tensor.dim() == 1) {  // a norm of each head
        at::Tensor& whole = slot_tensor(m, l, r.row->slot);
        if (!fits(whole, tensor)) whole = at::empty({r.row->experts, tensor.size(0)}, tensor.options());
        whole.select(0, r.expert).copy_(tensor);
        return;
    }
    const std::int64_t dim = r.row->slot == Slot::mlp_out_weight ? 0 : 1, width = tensor.size(dim);
    units_of(m, l, r.row->slot, r.layer, tensor).narrow(dim, r.row->unit + r.expert * width, width).copy_(tensor);
}

/// The same of all experts' matrices in one tensor, beside a shared expert's: [expert, d_model, 2 width] or [expert, width,
/// d_model].
void place_experts(Model::Internals& m, LayerWeights& l, const ResolvedRow& r, const at::Tensor& tensor) {
    const std::int64_t units = m.config.experts.count * m.config.experts.width;
    if (r.row->slot == Slot::experts_out_weight) {
        units_of(m, l, Slot::mlp_out_weight, r.layer, tensor).narrow(0, 0, units).copy_(tensor.flatten(0, 1));
        return;
    }
    const std::int64_t width = tensor.size(2) / 2;
    for (const Slot slot : {Slot::mlp_in_weight, Slot::mlp_up_weight}) {
        const at::Tensor half = tensor.narrow(2, slot == Slot::mlp_in_weight ? 0 : width, width);
        units_of(m, l, slot, r.layer, tensor).narrow(1, 0, units).copy_(half.transpose(1, 2).reshape({units, -1}).t());
    }
}

/// A factor of each number that a matrix and its bias write, whose row stands before theirs; undefined: none.
at::Tensor scale_of(const LayerWeights& l, Slot slot) {
    if (slot == Slot::o_weight || slot == Slot::o_bias) return l.attn_scale;
    return slot == Slot::mlp_out_weight || slot == Slot::mlp_out_bias ? l.mlp_scale : at::Tensor();
}

}  // namespace

bool place(Model::Internals& m, LayerWeights& l, const ResolvedRow& r, at::Tensor tensor) {
    const at::Tensor scale = scale_of(l, r.row->slot);
    if (r.row->times != 1) tensor = tensor * r.row->times;
    if (r.row->plus != 0) tensor = tensor + r.row->plus;
    if (r.row->layout == Layout::out_in) tensor = tensor.t();
    if (scale.defined() && !tensor.is_meta()) tensor = tensor * scale;
    const bool beside_shared = r.row->slot == Slot::experts_halves_weight ||
                               (r.row->slot == Slot::experts_out_weight && m.config.experts.shared_width > 0);
    if (beside_shared)
        place_experts(m, l, r, tensor);
    else
        r.row->experts > 0 ? place_units(m, l, r, tensor) : place_whole(m, l, r.row->slot, tensor);
    return r.row->times != 1 || r.row->plus != 0 || scale.defined();
}

}  // namespace headlight::model
