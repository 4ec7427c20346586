// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace headlight::text {

/// SentencePiece's BPE knows scores instead of merges. As the converters of transformers do: every way to put a piece
/// together from two others, those of the best pieces first. `joined`: which pieces may come about so.
nlohmann::json merges_of_scores(const std::vector<std::string>& tokens, const std::vector<double>& scores,
                                const std::vector<bool>& joined);

}  // namespace headlight::text
