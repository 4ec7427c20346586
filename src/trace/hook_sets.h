// SPDX-License-Identifier: GPL-3.0-or-later
// Which tensors are stored, and which are computed from them on demand.
#pragma once

#include "headlight/model/config.h"
#include "headlight/model/hook_name.h"

#include <set>
#include <vector>

namespace headlight::trace {

/// Stored tensors that give `wanted` (patterns: the q and k they are made of; a hook that is stored: itself).
std::vector<model::HookPoint> stored_for(const model::ModelConfig&, model::HookPoint wanted);
std::set<model::HookPoint> stored_for(const model::ModelConfig&, const std::vector<model::HookPoint>& wanted);

/// What a run keeps of `stored` where the tensors of its layers are made again: the stream before each layer and behind the last,
/// what is in front of the layers, and all of the layers (or of the blocks behind them) with an intervention.
std::set<model::HookPoint> checkpoints_for(const model::ModelConfig&, const std::set<model::HookPoint>& stored,
                                           const std::set<model::HookPoint>& hooked);

}  // namespace headlight::trace
