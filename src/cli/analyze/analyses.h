// SPDX-License-Identifier: GPL-3.0-or-later
// One file each; the table is in analyze.cpp.
#pragma once

#include "cli/command.h"

namespace headlight::cli {

Action define_analyze_heads(Definition&, const Frontend&);
Action define_analyze_focus(Definition&, const Frontend&);
Action define_analyze_rollout(Definition&, const Frontend&);
Action define_analyze_induction(Definition&, const Frontend&);
Action define_analyze_detect(Definition&, const Frontend&);
Action define_analyze_ov(Definition&, const Frontend&);
Action define_analyze_qk(Definition&, const Frontend&);
Action define_analyze_composition(Definition&, const Frontend&);
Action define_analyze_copy_suppression(Definition&, const Frontend&);
Action define_analyze_importance(Definition&, const Frontend&);
Action define_analyze_attention_gradient(Definition&, const Frontend&);
Action define_analyze_kv_cache(Definition&, const Frontend&);
Action define_analyze_lens(Definition&, const Frontend&);
Action define_analyze_attribution(Definition&, const Frontend&);
Action define_analyze_experts(Definition&, const Frontend&);
Action define_analyze_mlp(Definition&, const Frontend&);
Action define_analyze_refinement(Definition&, const Frontend&);
Action define_analyze_drivers(Definition&, const Frontend&);
Action define_analyze_contributions(Definition&, const Frontend&);
Action define_analyze_predictions(Definition&, const Frontend&);
Action define_analyze_value_mix(Definition&, const Frontend&);
Action define_analyze_sparsity(Definition&, const Frontend&);
Action define_analyze_reach(Definition&, const Frontend&);
Action define_analyze_why(Definition&, const Frontend&);
Action define_analyze_edits(Definition&, const Frontend&);

}  // namespace headlight::cli
