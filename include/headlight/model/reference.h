// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"
#include "headlight/model/model.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace headlight::model {

/// Differences from the numbers that transformers computed for the same tokens.
struct ReferenceCheck {
    std::filesystem::path file{};
    std::int64_t tokens = 0;
    std::optional<double> logits{};    ///< max |Δ| over all positions and entries; nullopt: not in the file
    std::optional<double> patterns{};  ///< max |Δ| over all heads, queries and keys
    std::string worst_pattern{};       ///< its hook: "blocks.3.attn.hook_pattern"
    std::string problem{};             ///< why nothing could be compared, else empty
};

/// reference.safetensors in the model's folder, if any: tests/golden/make_golden.py --folder DIR --text T writes it.
std::optional<std::filesystem::path> reference_file(const std::filesystem::path& model);

/// Runs the reference's tokens ("ids", "type_ids") and compares "logits" and "blocks.N.attn.hook_pattern" with what the
/// file holds, in float64. Nothing without a file; a file that does not fit the model is a problem, no error.
std::optional<ReferenceCheck> check_reference(const Model&, const CancelToken& = {}, const Progress& = {});

/// "12 tokens: max |Δlogit| 1.2e-05, max |Δpattern| 3.1e-07", or the problem.
std::string text_of(const ReferenceCheck&);

}  // namespace headlight::model
