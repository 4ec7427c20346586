// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/enum_table.h"
#include "headlight/base/ids.h"
#include "headlight/trace/trace.h"

#include <Eigen/Core>

#include <string>
#include <vector>

namespace headlight::analyze {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;  ///< [query, key]
using Vector = Eigen::VectorXf;

/// BertViz's sentence-pair slices: rows of the first letter, columns of the second. Never renormalised by themselves.
enum class PairFilter { all, a_to_a, b_to_b, a_to_b, b_to_a };
inline constexpr EnumRow<PairFilter> pair_filters[] = {{PairFilter::all, "all", "All pairs"},
                                                       {PairFilter::a_to_a, "a-a", "A → A"},
                                                       {PairFilter::b_to_b, "b-b", "B → B"},
                                                       {PairFilter::a_to_b, "a-b", "A → B"},
                                                       {PairFilter::b_to_a, "b-a", "B → A"}};
constexpr const auto& enum_rows(PairFilter) { return pair_filters; }

/// What a map's weight is. value_norm: a_ij |v_j| / sum_j a_ij |v_j| (AttentionViz, Yeh 2023);
/// output_norm: the same with |v_j W_O^h|, the length of what the key really writes (Kobayashi 2020); output_length: these
/// lengths |a_ij f_h(x_j)| themselves, over the longest |f_h(x_j)| of the layer's heads; rows do not sum to 1. The others are of
/// the whole layer, so that every head has the same map: rows of value_mix.h over their sums, MixScope by MixScope (Kobayashi
/// 2020, 2021).
enum class Weighting {
    attention,
    value_norm,
    output_norm,
    output_length,
    layer_mix,
    layer_mix_residual,
    layer_mix_norm,
};
/// The note is the formula that captions give. The neuron view's |value| is that of output_norm.
inline constexpr EnumRow<Weighting> weightings[] = {
    {Weighting::attention, "attention", "Attention weight", "softmax weight"},
    {Weighting::value_norm, "value-norm", "Weight · |value|", "weight × |v|, row sums 1"},
    {Weighting::output_norm, "output-norm", "Weight · |value W_O|", "weight × |v W_O|, row sums 1"},
    {Weighting::output_length, "output-length", "Length of weight · value W_O",
     "|weight × v W_O| over the layer's longest |v W_O|"},
    {Weighting::layer_mix, "layer-mix", "Length of the heads' sum", "whole layer: |Σ weight × v W_O|, row sums 1"},
    {Weighting::layer_mix_residual, "layer-mix-residual", "… with the token's stream",
     "whole layer with the stream: |Σ weight × v W_O + x|, row sums 1"},
    {Weighting::layer_mix_norm, "layer-mix-norm", "… with stream and norm",
     "whole layer with stream and norm: |LN(Σ weight × v W_O + x)|, row sums 1"}};
constexpr const auto& enum_rows(Weighting) { return weightings; }

/// How a pattern is prepared before it is shown; the same for every view, written into exports. Applied in this order:
/// weighting, hiding (and renormalising over the keys that stay), pair filter, merging of words.
struct PatternOptions {
    PairFilter filter = PairFilter::all;
    Weighting weighting = Weighting::attention;
    bool hide_sinks = false;    ///< drop the columns of sinks.h: the first token's, and others that are one here
    bool hide_special = false;  ///< drop rows and columns of the tokens that the tokenizer puts in
    bool renormalise = true;    ///< after hiding: rows sum to 1 again (0 where everything was hidden)
    bool merge_words = false;   ///< sub-words to words: columns summed, rows averaged (Clark 2019, 4.1)
    bool operator==(const PatternOptions&) const = default;
};

/// One row or column of a prepared map: which positions of the sequence it stands for.
struct AxisItem {
    std::string label;         ///< readable, UTF-8: "·the"
    std::string continuation;  ///< "##": drawn faintly before label
    bool special = false;
    Position first;             ///< first position
    std::int64_t count = 1;     ///< positions it covers (words, joined characters keep 1)
    std::int64_t sentence = 0;  ///< 0 = A, 1 = B
};

struct PatternAxes {
    std::vector<AxisItem> queries, keys;  ///< in the order of the text
    /// Row or column that shows a position; -1 when it is hidden.
    std::int64_t query_row(Position) const noexcept;
    std::int64_t key_column(Position) const noexcept;
};

PatternAxes pattern_axes(const trace::Trace&, const PatternOptions&);
/// One head's prepared map, [axes.queries, axes.keys].
Matrix pattern(const trace::Trace&, HeadId, const PatternOptions&, const CancelToken& = {});
/// One prepared row (query) of several heads: [heads, axes.keys]. Fast enough for a hover at 4,000 tokens.
Matrix pattern_row(const trace::Trace&, const std::vector<HeadId>&, std::int64_t row, const PatternOptions&);
/// One prepared column (key) of several heads: [heads, axes.queries].
Matrix pattern_column(const trace::Trace&, const std::vector<HeadId>&, std::int64_t column, const PatternOptions&);
/// Pre-softmax scores of one head (no hiding, no merging; illegal keys NaN): [query, key].
Matrix scores(const trace::Trace&, HeadId);

/// A pooled picture for thumbnails, at most `side` cells a side: from the trace's overview when the options are the
/// default ones, else computed. Max or mean as said by the name. Cell (r, c) of an R x C picture covers the prepared
/// map's rows [r*Q/R, (r+1)*Q/R) and columns likewise; the mean is over the legal pairs of the cell, 0 where none is.
struct PooledMap {
    HeadId head;
    Matrix max, mean;
};
PooledMap pooled_pattern(const trace::Trace&, HeadId, const PatternOptions&, std::int64_t side = 128);

}  // namespace headlight::analyze
