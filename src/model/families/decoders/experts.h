// SPDX-License-Identifier: GPL-3.0-or-later
// Shared by families with experts.
#pragma once

#include "model/families/family.h"
#include "model/load/config_reader.h"

#include <string>

namespace headlight::model {

inline constexpr std::int64_t kMaxExperts = 1 << 16;

/// Names after "layers.#."; '@' is the expert.
struct ExpertNames {
    std::string router, gate, up, down;
    std::string shared = {};  ///< in front of "gate_proj.weight", "up_proj.weight", "down_proj.weight"
    std::string shared_gate = {};
    std::string correction = {};
};
/// Rows of router, experts and shared expert, in the layers that have them.
void add_expert_rows(WeightMap&, const ModelConfig&, const ExpertNames&);

/// Checks what `experts` holds and sets d_mlp to the widest layer. Errors: more chosen than exist, wider than any
/// model.
void finish_experts(const ConfigReader&, ModelConfig&, std::string_view chosen_field, std::string_view count_field);

}  // namespace headlight::model
