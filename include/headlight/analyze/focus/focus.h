// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/analyze/table.h"
#include "headlight/base/fields.h"
#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/trace/trace.h"

#include <Eigen/Core>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

/// The numbers of the ten Attention Focus Plots (Claus 2023; docs/measures.md): what a head's score is
/// made of, what its queries focus on, and what the head changes in the stream.
namespace headlight::analyze {

/// Runs of one model, analysed together. Error when there is none or when they are not of one model.
using Traces = std::span<const std::shared_ptr<const trace::Trace>>;

struct FocusOptions {
    /// k_j = W_k x_j + b_k split too: position, b_q.(W_k x_j), (W_q x_i).(W_k x_j), (W_q x_i).b_k, b_q.b_k.
    bool five_terms = false;
    /// ALiBi as transformers adds it, m_h j, in place of -m_h (i - j). Position term and score then are m_h i larger,
    /// which is the same number along a row: the weights are equal.
    bool absolute_positions = false;
    bool operator==(const FocusOptions&) const = default;
};
void describe(Describes<FocusOptions> auto& r, const auto& field) {
    field(Field{"five-terms", "Five terms", "the key's bias split as well"}, r.five_terms);
    field(Field{"absolute-positions", "Absolute positions", "ALiBi as m·j, as transformers adds it, in place of −m·(i − j)"}
              .formerly("absolute"),
          r.absolute_positions);
}
inline constexpr Field kSortIdx =
    Field{"sort-idx", "Rank of the target", "which target of a row is split, 0 the one with the largest score, 1 the second …"}
        .within(0, 1'000'000);

/// One term of the score. score_ij is the sum of the terms that exist.
struct FocusTerm {
    std::string id;             ///< "position_term": column name in exports
    std::string title;          ///< "position"
    std::string definition;     ///< one sentence with the formula
    bool exists = true;         ///< false: this model has no such term; its values are NaN and count nothing
    bool row_constant = false;  ///< the same for every target of a query: cancels in the softmax
};

/// What a person must know to read the terms of one head.
struct FocusFacts {
    HeadId head;
    std::string position_kind;  ///< as PairChain: "ALiBi", "ALiBi, rounded to bfloat16", "rotary", "learned, inside the stream",
                                ///< "disentangled", "none"
    double alibi_slope = 0;     ///< m_h; NaN without ALiBi
    double scale = 1;           ///< s: score = s q.k + position
    bool causal = true;
    /// Always position_term, bias_term, quadratic_term; with five_terms then key_bias_term, constant_term.
    /// Rotary models: position is the score with rotation minus the score without, the others are of the vectors before
    /// rotation. A model without query biases has a bias_term of 0 everywhere.
    std::vector<FocusTerm> terms;
    std::vector<std::string> notes;  ///< sentences for the caption: what this model lacks and how a term is meant
    std::string first_words;         ///< what the first token is called in a legend: "first token"
    std::string other_words;         ///< "an earlier token"; models that look both ways: "another token"
};
FocusFacts focus_facts(const trace::Trace&, HeadId, const FocusOptions& = {});

/// A query of one of several texts.
struct FocusToken {
    std::int64_t text = 0;  ///< index into the traces
    Position position;
};

/// Figure 2: the score of each query at its target of rank `sort_idx` (0: the largest score of the row; of equal scores
/// the first key), split into its terms.
struct FocusBreakdown {
    FocusFacts facts;
    std::int64_t sort_idx = 0;
    std::vector<FocusToken> queries;  ///< text after text, in order
    std::vector<std::int64_t> keys;   ///< [query] position of the target in the same text; -1: the row has fewer targets
    Eigen::MatrixXd terms;            ///< [query, term] as facts.terms; NaN at gaps and for terms that do not exist
    Eigen::VectorXd score;            ///< [query] what the softmax saw (absolute_positions: m_h i more); NaN at gaps
    Eigen::VectorXd probability;      ///< [query]; NaN at gaps
};
/// Error for a head that does not exist and a sort_idx below 0 or not below the longest text. T numbers, never T^2.
FocusBreakdown focus_breakdown(Traces, HeadId, std::int64_t sort_idx, const FocusOptions& = {}, const CancelToken& = {},
                               const Progress& = {});

/// One query against every target it may look at.
struct FocusRow {
    Position query;
    std::int64_t targets = 0;     ///< keys 0 to targets - 1
    Eigen::MatrixXd terms;        ///< [key, term]
    Eigen::VectorXd score;        ///< [key]
    Eigen::VectorXd probability;  ///< [key]
};
/// Every pair of a head, row by row in order; holds a block of rows at a time.
void for_each_focus_row(const trace::Trace&, HeadId, const FocusOptions&, const std::function<void(const FocusRow&)>&,
                        const CancelToken& = {}, const Progress& = {});

/// Where a row has its largest number.
enum class Maximum { self, first, other };

struct RowMaximum {
    std::int64_t key = 0;  ///< of equal numbers the first
    Maximum kind = Maximum::self;
    bool counted = true;  ///< false: row 0 of a causal model, which can only attend to itself
};

/// Figure 1 without the map: the largest score of every row and what it falls on. Row 0 is `self`.
struct FocusMaxima {
    FocusFacts facts;
    std::vector<RowMaximum> rows;                         ///< [query]
    Eigen::VectorXd row_mean;                             ///< [query] mean score of the targets: the middle of a row's colours
    std::int64_t counted = 0, on_self = 0, on_first = 0;  ///< over the rows that count
};
FocusMaxima focus_maxima(const trace::Trace&, HeadId, const CancelToken& = {});

/// Figure 1: the scores of a head before the softmax, [query, key] (T^2 numbers; masked pairs NaN), with their maxima.
struct FocusMap {
    FocusMaxima maxima;
    Matrix score;
};
FocusMap focus_map(const trace::Trace&, HeadId, const CancelToken& = {});

/// Figure 3: the two terms that depend on the target alone, centred (only their course says something).
struct FocusTrend {
    FocusFacts facts;          ///< with absolute_positions
    Eigen::VectorXd bias;      ///< [key] s b_q.k_j minus its mean; 0 in models without query bias
    Eigen::VectorXd position;  ///< [key] m_h j minus its mean; all NaN where the position term is not ALiBi
    double bias_mean = 0;      ///< what was taken away
    double position_mean = 0;  ///< NaN without ALiBi
};
/// A text of one token has no course: NaN.
FocusTrend focus_trend(const trace::Trace&, HeadId);

/// Figures 4 to 6: one number of every head, from the summaries that the runs left. Several texts: mean over all of
/// their queries. In causal models row 0 is left out unless include_first_row; figure 6 leaves it out always, because a
/// row with one target has no second. NaN where no query counts.
enum class FocusShare { argmax_self, argmax_first, top1_minus_top2 };
struct FocusShares {
    FocusShare share = FocusShare::argmax_self;
    std::string title;       ///< "largest weight on itself"
    std::string definition;  ///< one sentence
    bool include_first_row = false;
    std::int64_t queries = 0;  ///< how many were counted, in the layer that has most
    std::int64_t texts = 1;
    Eigen::MatrixXd values;  ///< [layer, head]
    /// [layer][rank]: heads by value, largest first (equal: lower head first; NaN last). Line r of the figure joins
    /// values(layer, ranked[layer][r]) over the layers, so that lines never cross.
    std::vector<std::vector<std::int64_t>> ranked;
    double ranked_value(std::int64_t layer, std::int64_t rank) const {
        return values(layer, ranked[static_cast<std::size_t>(layer)][static_cast<std::size_t>(rank)]);
    }
};
/// Error when a run kept no overview.
FocusShares focus_shares(Traces, FocusShare, bool include_first_row = false);

/// Figures 7 to 10: what each head of one layer adds to the stream at each token, u = z_h W_O^h, against the stream it
/// found, h = resid_pre.
struct FocusUpdates {
    Layer layer;
    std::int64_t n_heads = 0;
    bool literal = false;  ///< magnitude is |z_h| / |h|, "the L2 norm of the context layer", in place of |u| / |h|
    bool has_output_bias = false;
    std::vector<FocusToken> tokens;  ///< text after text, in order
    /// [token, n_heads (+ 1)]: |u| / |h|; NaN where h is 0. The last column, with has_output_bias, is b_O, which
    /// belongs to no head.
    Eigen::MatrixXd magnitude;
    /// As magnitude: cos(u, h), after W_O in any case; NaN where either is 0. Below 0: the head takes away.
    Eigen::MatrixXd orientation;
    /// [token, head]: the token's largest weight is on the first token (of the tokens it may look at, equal weights:
    /// the first). Row 0 is true.
    Eigen::Matrix<bool, Eigen::Dynamic, Eigen::Dynamic> on_first;
    std::vector<std::string> notes;  ///< sentences for the caption

    std::int64_t entries() const noexcept { return n_heads + (has_output_bias ? 1 : 0); }
    std::string entry_name(std::int64_t column) const;  ///< "L3H5", "L3 b_O"
};
struct FocusUpdateOptions {
    bool literal = false;
    bool on_first = true;  ///< false: leave the flags out (all false); they are the slow part on long texts
    bool operator==(const FocusUpdateOptions&) const = default;
};
/// T numbers for each head, never T^2. Error for a layer that does not exist.
FocusUpdates focus_updates(Traces, Layer, const FocusUpdateOptions& = {}, const CancelToken& = {}, const Progress& = {});

/// A row a query of the first text: query, query_token, key, key_token, the terms, score, probability; of a gap only the query.
Table table_of(const FocusBreakdown&, const std::vector<text::TokenLabel>&);
/// The same of every target of every query. With `arrays` arrays [query, key] in place of rows, of any length of text: NaN
/// where a key is masked or a term does not exist.
Table focus_table(const trace::Trace&, HeadId, const FocusOptions&, bool arrays, const CancelToken& = {}, const Progress& = {});

}  // namespace headlight::analyze
