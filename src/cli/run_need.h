// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "cli/run_text.h"

#include <vector>

namespace headlight::cli {

/// One stack of the model, and the lengths of what it will run.
struct StackTokens {
    const model::Model* model;
    std::int64_t tokens, source;  ///< `source`: of the encoder's text, where this is a decoder
};
/// The model, or its encoder and its decoder. Nothing where a text is longer than the model takes, which its run reports.
std::vector<StackTokens> stacks_of(const Loaded&);

}  // namespace headlight::cli
