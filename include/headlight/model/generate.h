// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/error.h"
#include "headlight/base/fields.h"
#include "headlight/base/job.h"
#include "headlight/model/model.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

namespace headlight::model {

struct GenerateOptions {
    std::int64_t tokens = 50;  ///< maximum number of new tokens
    double temperature = 0;    ///< logits are divided by it; 0: always the likeliest token
    std::int64_t top_k = 0;    ///< samples from the k likeliest; 0: all
    double top_p = 1;          ///< samples from the fewest likeliest whose probabilities reach p (Holtzman et al. 2020); 1: all
    std::uint64_t seed = 0;    ///< equal seeds draw equal tokens
    bool ignore_end = false;   ///< goes on after a token of `end`
    std::vector<std::int64_t> source = {};  ///< of an encoder-decoder model; the prompt is its target so far
    std::vector<std::int64_t> end = {};     ///< tokens that end the text; the one that occurs is returned as the last
};

void describe(Describes<GenerateOptions> auto& o, const auto& field) {
    const bool draws = o.temperature > 0;
    field(Field{"tokens", "Tokens", "maximum number of new tokens"}.within(1, 1 << 20), o.tokens);
    field(Field{"temperature", "Temperature", "sampling temperature; 0: always the likeliest token"}
              .within(0, 1000)
              .called("X")
              .or_if_empty("0: greedy"),
          o.temperature);
    field(Field{"top-k", "Top k", "draw from the k likeliest tokens only; 0: from all"}
              .within(0, 1'000'000)
              .called("K")
              .or_if_empty("all")
              .when(draws, "--temperature above 0"),
          o.top_k);
    field(Field{"top-p", "Top p", "draw from the likeliest tokens that together reach this probability; 1: from all"}
              .within(1e-9, 1)
              .called("P")
              .when(draws, "--temperature above 0"),
          o.top_p);
    field(Field{"seed", "Seed", "equal seeds draw equal tokens"}.within(0, 2'147'483'647).when(draws, "--temperature above 0"),
          o.seed);
    field(Field{"ignore-end", "Continue after the end of the text", "continue after an end-of-text token"}, o.ignore_end);
}

struct Generated {
    std::vector<std::int64_t> ids;      ///< of the new tokens
    std::vector<double> probabilities;  ///< of each, before temperature and cuts
    bool ended = false;                 ///< stopped at an end token
    double prompt_seconds = 0;          ///< until the first new token
    double seconds = 0;                 ///< for the tokens after it
};

/// Why this model cannot continue a text: it is bidirectional or has no unembedding. nullopt if it can.
std::optional<ErrorFacts> why_no_continuation(const Model&);

/// Continues a prompt token by token; keys and values of what came before are kept, so that each token costs one row.
/// The likeliest token is the first one of equal logits. Errors: an empty prompt, a model that is bidirectional
/// or has no unembedding, options outside their ranges, more tokens than a model with learned positions has room for.
Generated generate(const Model&, const std::vector<std::int64_t>& prompt, const GenerateOptions&,
                   const std::function<void(std::int64_t)>& on_token = {}, const CancelToken& = {}, const Progress& = {});

/// The tokens that end a text as the model's files say: eos_token_id of generation_config.json, of config.json, or of a
/// GGUF file's vocabulary. Empty where none does.
std::vector<std::int64_t> end_tokens(const std::filesystem::path& model);

}  // namespace headlight::model
