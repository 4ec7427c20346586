// SPDX-License-Identifier: GPL-3.0-or-later
// Shared by families with experts.
#pragma once

#include "model/families/family.h"
#include "model/load/config_reader.h"

#include <string>
#include <vector>

namespace headlight::model {

inline constexpr std::int64_t kMaxExperts = 1 << 16;

/// Names after "layers.#."; '@' is the expert.
struct ExpertNames {
    std::string router, gate, up, down;  ///< without `gate`: the family adds its experts' rows
    std::string shared = {};             ///< in front of "gate_proj.weight", "up_proj.weight", "down_proj.weight"
    std::string shared_gate = {};
    std::string correction = {};
    /// Tensors of all experts, in files that hold them so: rows (expert, gate | linear branch, unit) and (expert, d_model).
    std::vector<std::string> gates_up = {}, downs = {};
};
/// As most families call them: "mlp.gate", "mlp.experts.@.gate_proj" and so on, or "mlp.experts.gate_up_proj".
inline const ExpertNames kExpertNames = {.router = "mlp.gate.weight",
                                         .gate = "mlp.experts.@.gate_proj.weight",
                                         .up = "mlp.experts.@.up_proj.weight",
                                         .down = "mlp.experts.@.down_proj.weight",
                                         .gates_up = {"mlp.experts.gate_up_proj"},
                                         .downs = {"mlp.experts.down_proj"}};
/// Rows of router, experts and shared expert, in the layers that have them.
void add_expert_rows(WeightMap&, const ModelConfig&, const ExpertNames&);

/// Checks what `experts` holds and sets d_mlp to the widest layer. Errors: more chosen than exist, wider than any
/// model.
void finish_experts(const ConfigReader&, ModelConfig&, std::string_view chosen_field, std::string_view count_field);

/// What the fields of experts in groups (DeepSeek, GLM-4-MoE) mean where config.json lacks them.
struct GroupedExperts {
    std::int64_t dense_layers, shared;  ///< "first_k_dense_replace", "n_shared_experts"
    bool sigmoid;                       ///< as in Experts; then with a correction, and a group is worth its two best experts
    double scale;
    std::int64_t groups, groups_chosen;
};
/// Experts behind some dense layers, those of a token from its best groups, and shared ones. Errors: those of finish_experts();
/// groups that do not divide the experts or hold too few.
void read_grouped_experts(const ConfigReader&, ModelConfig&, const GroupedExperts&);
void add_grouped_experts(WeightMap&, const ModelConfig&);

}  // namespace headlight::model
