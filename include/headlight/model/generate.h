// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/error.h"
#include "headlight/base/job.h"
#include "headlight/model/model.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

namespace headlight::model {

struct GenerateOptions {
    std::int64_t tokens = 50;  ///< at most so many new ones
    double temperature = 0;    ///< logits are divided by it; 0: always the likeliest token
    std::int64_t top_k = 0;    ///< only the k likeliest are drawn from; 0: all
    double top_p = 1;          ///< only the fewest likeliest whose probabilities reach p (Holtzman et al. 2020); 1: all
    std::uint64_t seed = 0;    ///< equal seeds draw equal tokens
    std::vector<std::int64_t> source = {};  ///< what an encoder-decoder model reads; the prompt is its target so far
    std::vector<std::int64_t> end = {};     ///< a token that ends the text; it is the last that is returned
};

struct Generated {
    std::vector<std::int64_t> ids;      ///< the new ones
    std::vector<double> probabilities;  ///< of each, before temperature and cuts
    bool ended = false;                 ///< an end token came
    double prompt_seconds = 0;          ///< until the first token was known
    double seconds = 0;                 ///< for those after it
};

/// Why this model cannot continue a text, where it cannot: it looks both ways, or has no unembedding.
std::optional<ErrorFacts> why_no_continuation(const Model&);

/// Continues a prompt token by token; keys and values of what came before are kept, so that each token costs one row.
/// The likeliest token is the first one of equal logits. Errors: an empty prompt, a model that looks both ways or has no
/// unembedding, options outside their ranges, more tokens than a model with learned positions has room for.
Generated generate(const Model&, const std::vector<std::int64_t>& prompt, const GenerateOptions&,
                   const std::function<void(std::int64_t)>& on_token = {}, const CancelToken& = {}, const Progress& = {});

/// The tokens that end a text as the model's files say: eos_token_id of generation_config.json, of config.json, or of a
/// GGUF file's vocabulary. Empty where none does.
std::vector<std::int64_t> end_tokens(const std::filesystem::path& model);

}  // namespace headlight::model
