// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/trace/trace.h"

#include <Eigen/Core>

#include <string>
#include <string_view>
#include <vector>

namespace headlight::analyze {

struct HeadTable;

/// "VERB attends to its nsubj > 60 %", "`it` attends to NOUN > 0.3 in 50 texts": a condition on the words of a treebank, as
/// typed.
struct QueryPhrase {
    struct Word {
        std::string text{};
        bool quoted = false;
        std::int64_t column = 1;
    };
    Word from{}, to{};
    bool its = false;       ///< `to` is a dependent of that very word, or "head"
    std::string op{};       ///< < <= > >= = !=
    double number = 0;      ///< 60 % is 0.6
    bool percent = false;   ///< it was typed as a percentage
    bool in_texts = false;  ///< the comparison is to hold in so many texts
};
/// Who knows the treebank.
class QueryPhrases {
public:
    virtual ~QueryPhrases() = default;
    /// The id of the measure that is compared: with phrase.number, but with the number of texts where in_texts is set. Errors by
    /// fail_in_query().
    virtual std::string measure(const QueryPhrase&) = 0;
};
/// The Error about a place in an expression; `column` counts characters from 1.
[[noreturn]] void fail_in_query(std::int64_t column, const std::string& problem, const std::string& expected,
                                const std::string& found, const std::string& hint = {});

/// A question about heads: "induction > 0.3 and entropy < 1", "layer = 4 or not (share_first >= 0.5)",
/// "attention from `it` to `animal` > 0.3", "L3H5" (grammar: docs/measures.md).
/// Comparisons < <= > >= = != of a measure, `layer` or `head` with a number (or a percentage), in either order; not before and
/// before or; parentheses; upper and lower case are the same. A measure is called by its id, its title, or any part of either
/// that no other measure has. A NaN satisfies no comparison. An empty expression matches every head.
class HeadQuery {
public:
    /// Weight between tokens, the largest over all pairs of `from` and `to`.
    struct Term {
        std::string id;     ///< "attention from `it` to `animal`"
        std::string title;  ///< "it → animal"
        std::vector<Position> from, to;
        bool weighted = false;   ///< a_ij |v_j W_O^h| / sum_j a_ij |v_j W_O^h| (Kobayashi 2020) instead of a_ij
        Eigen::MatrixXd values;  ///< [layer, head]; empty until measure()
    };

    /// Tokens in the expression are looked up in the text of `trace`; null: an expression with tokens is an Error.
    /// The Error names the column of the mistake (1-based, in characters) and the nearest name.
    /// `phrases`: conditions on words of a corpus are an Error without it. "heads where" may come before it all.
    static HeadQuery parse(std::string_view expression, const HeadTable& names_from, const trace::Trace* trace = nullptr,
                           QueryPhrases* phrases = nullptr);

    bool empty() const noexcept { return nodes_.empty(); }
    const std::vector<Term>& terms() const noexcept { return terms_; }
    /// Ids of the measures and terms it speaks of, in order, each once; without layer and head.
    std::vector<std::string> measures() const;
    /// Computes the terms, once for all heads: reads only the rows of the tokens that look. Until then they are NaN.
    void measure(const trace::Trace&, const CancelToken& = {});
    bool measured() const noexcept;
    /// Weights that measure() reads: rows times keys, over all heads.
    std::int64_t cost(const trace::Trace&) const noexcept;
    bool matches(const HeadTable&, HeadId) const;
    /// Why no head matches, for a person: "the largest induction score is 0.11, L0H0". The table has the terms.
    std::string why_none(const HeadTable&) const;
    /// The table and one more measure a term.
    HeadTable with_terms(const HeadTable&) const;

    struct Node {  ///< reverse Polish; see head_query.cpp
        enum class Kind { compare, logical_and, logical_or, logical_not } kind = Kind::compare;
        std::string measure{}, op{};
        double number = 0;
    };

private:
    std::vector<Node> nodes_;
    std::vector<Term> terms_;
};

/// What may be typed next.
struct QueryCompletions {
    std::int64_t from = 0;           ///< bytes of the expression that stay; a completion stands behind them
    std::vector<std::string> found;  ///< titles of measures, words of the language, tokens of the text; best first
};
/// For an expression that is typed as far as `typed`. Tokens of the text need `trace`. Nothing is offered in the place of a
/// number.
QueryCompletions complete_query(std::string_view typed, const HeadTable&, const trace::Trace* trace = nullptr);

/// Id of the measure (or "layer", "head") that a person means by `words`: its id, its title, or a part of either that
/// no other has. Error names the nearest, or all that fit.
std::string measure_called(std::string_view words, const HeadTable&);

/// Heads that match, sorted by a measure, `layer` or `head` (descending unless `ascending`); NaN last, ties by layer
/// then head. Error as measure_called().
std::vector<HeadId> ranked_heads(const HeadTable&, const HeadQuery&, std::string_view sort_by, bool ascending);

/// The heads that do not match, by layer, then head.
std::vector<HeadId> heads_left_out(const HeadTable&, const HeadQuery&);

/// Positions of the tokens that read `typed`, without the mark of a leading space and in any case; else of the pieces
/// of the words that read so; else none.
std::vector<Position> tokens_called(const trace::Trace&, std::string_view typed);

/// Largest weight from any of `from` to any of `to`, [layer, head]; `weighted` as in HeadQuery::Term. A pair that a
/// causal model cannot have has weight 0.
Eigen::MatrixXd attention_between(const trace::Trace&, const std::vector<Position>& from, const std::vector<Position>& to,
                                  bool weighted, const CancelToken& = {});

}  // namespace headlight::analyze
