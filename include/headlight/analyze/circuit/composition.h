// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/fields.h"
#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/model/model.h"

#include <array>
#include <cstdint>
#include <vector>

namespace headlight::analyze {

inline constexpr Field kFoldNorms =
    Field{"fold-norms", "Norm gains multiplied in", "multiply the norms' gains (and centring) into the matrices"};
struct CompositionRequest {
    bool fold_norms = false;
};
void describe(Describes<CompositionRequest> auto& r, const auto& field) { field(kFoldNorms, r.fold_norms); }

/// Which input of the later head reads what the earlier one wrote.
enum class Composition { q, k, v };

/// How much of what an earlier head can write, a later one can read (Elhage et al. 2021): |A B|_F / (|A|_F |B|_F) with
/// A = W_OV of the earlier head and B, for row vectors, W_Q W_K^T (Q), W_K W_Q^T (K) or W_V W_O (V) of the later one.
/// Weights only. In [0, 1]; two random matrices of rank d_head give about 1 / sqrt(d_model).
struct CompositionScores {
    std::int64_t n_layers = 0, n_heads = 0;
    /// By kind: [from_layer, from_head, to_layer, to_head]; 0 unless to_layer > from_layer.
    std::array<std::vector<double>, 3> values;

    double at(Composition, HeadId from, HeadId to) const;
};

/// By products of d_head x d_head only. `fold_norms` as in CircuitOptions.
CompositionScores composition_scores(const model::Model&, bool fold_norms = false, const CancelToken& = {}, const Progress& = {});

const char* name_of(Composition) noexcept;  ///< "Q"

/// How much a later head reads of an earlier one.
struct ComposedPair {
    Composition kind = Composition::q;
    HeadId from, to;
    double score = 0;
};
/// Every earlier and later head, Q, then K, then V.
std::vector<ComposedPair> composed_pairs(const CompositionScores&);
/// kind, from_layer, from_head, to_layer, to_head, score.
Table table_of(const std::vector<ComposedPair>&);

}  // namespace headlight::analyze
