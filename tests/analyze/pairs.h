// SPDX-License-Identifier: GPL-3.0-or-later
// Runs of the committed encoder-decoder models on one source and target.
#pragma once

#include "tests/analyze/traces.h"

namespace headlight::analyze {

inline TracePtr run_pair(const std::string& name, model::Stack part = model::Stack::decoder) {
    const auto folder = source_folder() / "tests/fixtures/encoder_decoders" / name;
    return trace::part_of(run_model(folder, "the cat, the hat: the cat", "die Katze, die"), part);
}

inline std::vector<std::string> pair_models() { return {"t5", "t5-v1_1", "mt5", "bart", "mbart", "marian"}; }

inline std::string pair_name(const testing::TestParamInfo<std::string>& instance) {
    std::string name = instance.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

}  // namespace headlight::analyze
