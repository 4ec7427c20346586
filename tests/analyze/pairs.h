// SPDX-License-Identifier: GPL-3.0-or-later
// Runs of the committed encoder-decoder models on one source and target.
#pragma once

#include "tests/analyze/traces.h"
#include "tests/support/case_name.h"

namespace headlight::analyze {

inline trace::Prompt pair_prompt() { return {.text = "the cat, the hat: the cat", .pair = "die Katze, die"}; }

inline TracePtr run_pair(const std::string& name, model::Stack part = model::Stack::decoder) {
    const auto folder = source_folder() / "tests/fixtures/encoder_decoders" / name;
    return trace::part_of(run_model(folder, pair_prompt().text, pair_prompt().pair), part);
}

inline std::vector<std::string> pair_models() { return {"t5", "t5-v1_1", "mt5", "bart", "mbart", "marian"}; }

inline std::string pair_name(const testing::TestParamInfo<std::string>& instance) { return test::case_name(instance.param); }

}  // namespace headlight::analyze
