// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/families/rows.h"

namespace headlight::model {
namespace {

void add(WeightMap& map, Slot slot, const std::string& name, std::vector<std::int64_t> shape, bool with_bias) {
    const std::int64_t out = shape.front();
    const Layout layout = shape.size() > 1 ? Layout::out_in : Layout::plain;
    std::vector<std::string> gains{name + ".weight"}, biases{name + ".bias"};
    if (name.ends_with("LayerNorm")) {  // names of TensorFlow, which some files still have
        gains.push_back(name + ".gamma");
        biases.push_back(name + ".beta");
    }
    map.rows.push_back({slot, std::move(gains), std::move(shape), layout});
    if (with_bias) map.rows.push_back({static_cast<Slot>(static_cast<int>(slot) + 1), std::move(biases), {out}});
}

}  // namespace

void add_norm(WeightMap& map, Slot gain, const std::string& name, std::int64_t width, bool with_bias) {
    add(map, gain, name, {width}, with_bias);
}

void add_linear(WeightMap& map, Slot weight, const std::string& name, std::int64_t out, std::int64_t in, bool with_bias) {
    add(map, weight, name, {out, in}, with_bias);
}

void add_layers(WeightMap& map, const ModelConfig& c, const LayerNames& names) {
    const std::int64_t d = c.d_model, m = c.d_mlp, q = c.n_heads * c.d_head, kv = c.n_kv_heads * c.d_head;
    const auto norm = [&](Slot gain, const std::string& name) {
        if (!name.empty()) add_norm(map, gain, names.at + name, d, names.norm_bias);
    };
    const auto linear = [&](Slot weight, const std::string& name, std::int64_t out, std::int64_t in, bool bias) {
        if (!name.empty()) add_linear(map, weight, names.at + name, out, in, bias);
    };
    norm(Slot::ln1_gain, names.ln1);
    if (names.qkv.size() == 1) {
        linear(Slot::qkv_weight, names.qkv[0], q + 2 * kv, d, c.query_bias);
    } else {
        linear(Slot::q_weight, names.qkv[0], q, d, c.query_bias);
        linear(Slot::k_weight, names.qkv[1], kv, d, c.query_bias);
        linear(Slot::v_weight, names.qkv[2], kv, d, c.query_bias);
    }
    if (c.disentangled.by_layer)
        map.rows.push_back({Slot::relative_rows,
                            {names.at + "attention.self.distance_embedding.weight"},
                            {2 * c.disentangled.span - 1, c.d_head}});
    linear(Slot::o_weight, names.o, d, q, names.o_bias);
    norm(Slot::ln2_gain, names.ln2);
    linear(Slot::mlp_in_weight, names.mlp_in, m, d, c.mlp_bias);
    linear(Slot::mlp_up_weight, names.mlp_up, m, d, c.mlp_bias);
    linear(Slot::mlp_out_weight, names.mlp_out, d, m, c.mlp_bias);
}

}  // namespace headlight::model
