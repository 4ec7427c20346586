// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/families/experts/experts.h"

#include <algorithm>

namespace headlight::model {

void add_expert_rows(WeightMap& map, const ModelConfig& c, const ExpertNames& names) {
    const Experts& e = c.experts;
    const std::int64_t d = c.d_model;
    const std::string at = "layers.#.";
    const std::size_t before = map.rows.size();
    map.rows.push_back({Slot::router_weight, {at + names.router}, {e.count, d}, Layout::out_in});
    if (e.correction) map.rows.push_back({Slot::router_correction, {at + names.correction}, {e.count}});
    const auto add = [&](Slot slot, const std::string& name, std::vector<std::int64_t> shape, std::int64_t experts,
                         std::int64_t unit, const std::vector<std::string>& whole = {}, ExpertPiece piece = {}) {
        for (const std::string& each : whole) piece.of.push_back(at + each);
        map.rows.push_back({.slot = slot,
                            .names = {at + name},
                            .shape = std::move(shape),
                            .layout = Layout::out_in,
                            .experts = experts,
                            .unit = unit,
                            .times = slot == Slot::mlp_out_weight ? c.residual_scale : 1.0,
                            .piece = std::move(piece)});
    };
    add(Slot::mlp_in_weight, names.gate, {e.width, d}, e.count, 0, names.gates_up, {.index = 0, .count = 2});
    add(Slot::mlp_up_weight, names.up, {e.width, d}, e.count, 0, names.gates_up, {.index = 1, .count = 2});
    add(Slot::mlp_out_weight, names.down, {d, e.width}, e.count, 0, names.downs, {.index = 0, .count = 1});
    if (e.shared_width > 0) {
        const std::int64_t unit = e.count * e.width;
        add(Slot::mlp_in_weight, names.shared + "gate_proj.weight", {e.shared_width, d}, 1, unit);
        add(Slot::mlp_up_weight, names.shared + "up_proj.weight", {e.shared_width, d}, 1, unit);
        add(Slot::mlp_out_weight, names.shared + "down_proj.weight", {d, e.shared_width}, 1, unit);
    }
    if (e.shared_gate) map.rows.push_back({Slot::shared_gate_weight, {at + names.shared_gate}, {1, d}, Layout::out_in});
    std::vector<std::int64_t> layers;
    for (std::int64_t l = 0; l < c.n_layers; ++l)
        if (has_experts(c, l)) layers.push_back(l);
    for (std::size_t i = before; i < map.rows.size(); ++i) map.rows[i].layers = layers;
}

void finish_experts(const ConfigReader& json, ModelConfig& c, std::string_view chosen_field, std::string_view count_field) {
    Experts& e = c.experts;
    if (e.chosen > e.count)
        json.wrong(chosen_field, "at most " + std::string(count_field) + ", " + std::to_string(e.count),
                   std::to_string(e.chosen));
    if (e.units() > kMaxWidth * std::int64_t{256})
        json.wrong(count_field, "experts of at most " + std::to_string(kMaxWidth * 256) + " hidden units together",
                   std::to_string(e.units()));
    if (std::ranges::find(e.layers, false) == e.layers.end()) e.layers.clear();
    c.d_mlp = e.layers.empty() ? e.units() : std::max(e.units(), e.dense_width);
}

}  // namespace headlight::model
