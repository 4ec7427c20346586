// SPDX-License-Identifier: GPL-3.0-or-later
// Choice of the next token from the logits.
#pragma once

#include "headlight/model/generate.h"

#include <random>

namespace headlight::model {

/// Draws a token as temperature, top-k, top-p and seed of the options say. All in double, so that the same seed gives the
/// same tokens wherever the logits are equal.
class Sampler {
public:
    explicit Sampler(const GenerateOptions& options) : options_(options), random_(options.seed) {}

    /// `logits`: one for each token of the vocabulary.
    std::int64_t draw(const std::vector<double>& logits);

private:
    const GenerateOptions& options_;
    std::mt19937_64 random_;
};

}  // namespace headlight::model
