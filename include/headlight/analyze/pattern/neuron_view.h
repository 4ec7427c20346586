// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headlight::analyze {

/// One query against every key of one head, number by number (BertViz's neuron view, generalised).
/// For every key j: score_j = scale * sum(products row j) + position_j + terms_j, weight = softmax of scores.
struct NeuronView {
    HeadId head;
    std::int64_t kv_head = 0;     ///< which key/value head is read (grouped-query attention)
    std::int64_t group_size = 1;  ///< query heads that share it
    Position query;
    double scale = 1;
    bool causal = true;
    std::string position_kind;    ///< as PairChain
    Vector q;                     ///< [d_head], after rotation
    Matrix k;                     ///< [key, d_head], after rotation; all keys of the text
    Matrix products;              ///< [key, d_head] q * k, unscaled
    Vector dot;                   ///< [key] scale * sum of products
    std::int64_t content = 0;     ///< MLA: the first numbers of q and k are of content, the others rotate; 0: no such split
    std::vector<float> position;  ///< [key] additive term (ALiBi), NaN for masked keys; empty when none or inside q and k
    /// Further additive terms of the score, one value a key (DeBERTa: "c2p" content to position, "p2c" position to content).
    struct Term {
        std::string name;
        Vector values;
    };
    std::vector<Term> terms;
    /// MLA: "content" and "rotary", what the two parts of q and k add to `dot`, of which they are the sum; NaN for masked
    /// keys. Empty in other models.
    std::vector<Term> parts;
    Vector score;                ///< [key]; NaN for masked keys
    Vector weight;               ///< [key]; 0 for masked keys
    float sink = 0;              ///< share of the softmax that goes to no key (GPT-OSS); with the weights it is 1
    Vector value_norm;           ///< [key] |v_j W_O^h|, as PairChain
    Vector weighted_value_norm;  ///< [key] a_ij |v_j W_O^h|
};

NeuronView neuron_view(const trace::Trace&, HeadId, Position query);
/// q of every query of a head: [query, d_head] (the collapsed-to-expanded left column).
Matrix query_vectors(const trace::Trace&, HeadId);

}  // namespace headlight::analyze
