// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/families/experts/experts.h"

#include <algorithm>
#include <cmath>

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
    if (!names.gate.empty()) {
        add(Slot::mlp_in_weight, names.gate, {e.width, d}, e.count, 0, names.gates_up, {.index = 0, .count = 2});
        add(Slot::mlp_up_weight, names.up, {e.width, d}, e.count, 0, names.gates_up, {.index = 1, .count = 2});
        add(Slot::mlp_out_weight, names.down, {d, e.width}, e.count, 0, names.downs, {.index = 0, .count = 1});
    }
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

namespace {

/// Groups that a token's experts come from.
void read_groups(const ConfigReader& json, const GroupedExperts& other, Experts& e) {
    e.groups = json.size({"n_group"}, kMaxExperts, other.groups);
    e.groups_chosen = json.size({"topk_group"}, kMaxExperts, other.groups_chosen);
    e.group_best = other.sigmoid ? 2 : 1;
    if (e.count % e.groups != 0)
        json.wrong("n_group", "a divisor of n_routed_experts, " + std::to_string(e.count), std::to_string(e.groups));
    const std::int64_t each = e.count / e.groups;
    if (e.groups_chosen > e.groups)
        json.wrong("topk_group", "at most n_group, " + std::to_string(e.groups), std::to_string(e.groups_chosen));
    if (each < e.group_best)
        json.wrong("n_group", "groups of at least " + std::to_string(e.group_best) + " experts", std::to_string(e.groups));
    if (e.groups_chosen * each < e.chosen)
        json.wrong("num_experts_per_tok",
                   "at most the " + std::to_string(e.groups_chosen * each) + " experts of topk_group groups",
                   std::to_string(e.chosen));
}

}  // namespace

void read_grouped_experts(const ConfigReader& json, ModelConfig& c, const GroupedExperts& other) {
    Experts& e = c.experts;
    e.count = json.size({"n_routed_experts", "num_experts", "num_local_experts"}, kMaxExperts);
    e.chosen = json.size({"num_experts_per_tok"}, kMaxExperts);
    e.width = json.size({"moe_intermediate_size"}, kMaxWidth);
    e.shared_width = e.width * json.size({"n_shared_experts"}, kMaxExperts, other.shared);
    e.dense_width = c.d_mlp;
    e.sigmoid = e.correction = other.sigmoid;
    e.wide_router = e.wide_weights = true;
    e.normalized = other.sigmoid && json.flag("norm_topk_prob", true);
    e.scale = json.number({"routed_scaling_factor"}, other.scale);
    const double dense = json.signed_number({"first_k_dense_replace"}, static_cast<double>(other.dense_layers));
    for (std::int64_t l = 0; l < c.n_layers; ++l) e.layers.push_back(static_cast<double>(l) >= dense);
    if (!e.layers.back())
        json.wrong("first_k_dense_replace", "fewer than num_hidden_layers, " + std::to_string(c.n_layers),
                   std::to_string(std::llround(dense)));
    finish_experts(json, c, "num_experts_per_tok", "n_routed_experts");
    const std::string method = json.text({"topk_method"}, other.sigmoid ? "noaux_tc" : "greedy");
    if (other.sigmoid ? method == "noaux_tc" : method == "group_limited_greedy")
        read_groups(json, other, e);
    else if (other.sigmoid || method != "greedy")
        json.unsupported("topk_method", other.sigmoid ? "\"noaux_tc\"" : "\"greedy\" or \"group_limited_greedy\"");
}

void add_grouped_experts(WeightMap& map, const ModelConfig& c) {
    ExpertNames names = kExpertNames;
    names.shared = "mlp.shared_experts.";
    names.correction = "mlp.gate.e_score_correction_bias";
    add_expert_rows(map, c, names);
    // Layers for multi-token prediction follow the last one.
    map.ignored.push_back("*layers." + std::to_string(c.n_layers) + ".*");
}

}  // namespace headlight::model
