// SPDX-License-Identifier: GPL-3.0-or-later
// What heads do with random tokens that are repeated: no meaning, no grammar, only the repetition (Elhage et al. 2021,
// Olsson et al. 2022; docs/measures.md).
#pragma once

#include "headlight/trace/trace.h"

#include <Eigen/Core>

#include <cstdint>
#include <memory>
#include <vector>

namespace headlight::analyze {

struct ProbeOptions {
    std::int64_t n = 50;      ///< random tokens, repeated once
    std::int64_t batch = 10;  ///< sequences; the scores are means over them
    std::uint64_t seed = 0;
};

/// [layer, head], means over the queries named, then over the sequences.
struct InductionProbe {
    Eigen::MatrixXd induction;  ///< a_q,q-(n-1) over q of the second copy: what came after the token the last time
    Eigen::MatrixXd previous;   ///< a_q,q-1 over all q of both copies that have a token before them
    Eigen::MatrixXd duplicate;  ///< a_q,q-n over q of the second copy: the same token in the first
    /// Models that look both ways and have a mask token, empty in others. Such a model can see the answer in the second
    /// copy, so every fifth token there is masked: from the mask q to q-n, where the hidden token stands in the first
    /// copy, and to the places before and after that.
    Eigen::MatrixXd masked_copy, masked_before, masked_after;
    std::vector<std::vector<std::int64_t>> ids;  ///< the n tokens of each sequence
};

/// The n token ids of each sequence: no special tokens, each at most once in a sequence, all equally likely. Drawn with
/// SplitMix64 from `seed`, so that they can be made again elsewhere: u = (next >> 11) / 2^53; for i < n the ids i and
/// i + floor(u (m - i)) of the m candidates, in rising order at first, change places.
/// Errors: n below 2, batch below 1, a vocabulary with fewer tokens than n.
std::vector<std::vector<std::int64_t>> probe_ids(const text::Tokenizer&, std::int64_t vocabulary, const ProbeOptions&);

/// Runs the model once for each sequence (with masks twice), with what the tokenizer puts around a text (<s>, [CLS] and
/// [SEP]). Errors: as probe_ids(); more tokens than the model takes.
InductionProbe induction_probe(const std::shared_ptr<const model::Model>&, const std::shared_ptr<const text::Tokenizer>&,
                               const ProbeOptions& = {}, const CancelToken& = {}, const Progress& = {});

}  // namespace headlight::analyze
