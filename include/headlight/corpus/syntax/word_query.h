// SPDX-License-Identifier: GPL-3.0-or-later
// Questions about heads over a treebank, answered from the word index: "heads where VERB attends to its nsubj > 60 %".
#pragma once

#include "headlight/analyze/heads/head_query.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/analyze/table.h"
#include "headlight/base/enum_table.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/syntax/word_index.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::corpus {

/// A question in the finder's language (HeadQuery) with conditions "A attends to B" and "A attends to its R" on words:
///
/// - A and B are a part of speech (VERB), a relation (nsubj; nsubj:pass is only that subtype), a form in quotes (ignoring case),
/// or `word` for any. AUX is the tag and aux the relation; a name in another case is looked up as a tag first. R is a relation,
/// which means the dependents of A with it, or `head`.
/// - Cases are the words A that have a B (an R) in their sentence other than themselves that they can attend to; in a causal
///   model one that comes before them. Words without tokens and words that share their bytes (same_bytes()) are not cases.
/// - A percentage is compared with the share of cases in which the word that A attends to most, excluding itself, is a B.
/// - A plain number is compared with the mean weight of A on B: exact for "its R" (of several, the largest). Otherwise the index
/// holds only the weights of hits, and the mean with 0 for a miss is a lower bound, which allows only > and >=.
/// - "> 0.3 in 50 texts": in at least 50 texts a case has such a weight.
class WordQuery {
public:
    /// Errors as HeadQuery::parse(), with the column and the nearest name. The index must outlive the query. `known`: further
    /// measures that the expression may name, of the same heads; `trace`: a text whose tokens it may name.
    WordQuery(std::string_view expression, const WordIndex&, const analyze::HeadTable* known = nullptr,
              const trace::Trace* trace = nullptr);

    /// The known ones and, for each condition on words, "share", "weight" and, for "in N texts", "texts"; ids contain the
    /// condition's text.
    const analyze::HeadTable& measures() const noexcept { return table_; }
    /// The expression over measures().
    const analyze::HeadQuery& question() const noexcept { return query_; }
    /// Heads that match, best by the first condition's measure.
    std::vector<HeadId> heads() const;
    /// The reason why no head matches, for display.
    std::string why_none() const { return query_.why_none(table_); }

    struct Condition {
        std::string text;     ///< "VERB attends to its nsubj"
        std::string measure;  ///< id that the number is compared with
        std::string share;    ///< id of the share of hits
        analyze::QueryPhrase phrase;
        std::int64_t cases = 0;
        std::int64_t out_of_reach = 0;  ///< words with a B that they cannot attend to
        std::int64_t texts = 0;         ///< with cases
        /// The constant offset, up to 6 words either way and clamped to the sentence, at which most cases have a B, and their
        /// share: the baseline of a share, as in RelationRow.
        std::int64_t offset = 0;
        double offset_share = 0;
    };
    const std::vector<Condition>& conditions() const noexcept { return conditions_; }

    struct Case {
        std::int64_t text = 0;      ///< number in the store
        std::int32_t word = 0;      ///< A
        std::int32_t target = -1;   ///< the B: the word attended to most if it is a B, else the B with the largest weight
        std::int32_t attended = 0;  ///< the word that A attends to most; -1: none
        double weight = 0;          ///< on the target; NaN if the index does not hold it
        double attended_weight = 0;
        /// Upper bound of the weight on every B: the weight of the word attended to most.
        double at_most() const noexcept { return std::isnan(weight) ? attended_weight : weight; }
        bool hit() const noexcept { return attended == target; }
    };
    /// Every case of a condition for one head, in the order of the texts.
    std::vector<Case> cases(std::size_t condition, HeadId) const;
    /// The B's of a case.
    std::vector<std::int32_t> targets(std::size_t condition, const Case&) const;
    /// The share of hits of these heads, with intervals over sentences.
    std::vector<Interval> shares(std::size_t condition, const std::vector<HeadId>&, const BootstrapOptions& = {}) const;

private:
    /// The words of a condition.
    struct Words {
        std::string upos{}, relation{}, form{};  ///< one of them; none: any word
        bool matches(const Word&) const;
    };
    struct Meaning {
        Words from, to;
        bool its = false, its_head = false;
    };
    class Phrases;

    /// Calls visit(number, sentence, word, targets) for every case; returns the number of words whose targets are all out of
    /// reach.
    template <class Visit>
    std::int64_t each_case(const Meaning&, Visit&&) const;
    Meaning meaning_of(const analyze::QueryPhrase&) const;
    Words words_of(const analyze::QueryPhrase::Word&, bool relations_only) const;
    double weight_on(const Meaning&, const IndexedSentence&, std::int32_t word, std::int32_t target, std::int64_t head) const;
    void evaluate(Condition&, const Meaning&);

    const WordIndex& index_;
    std::vector<Condition> conditions_;
    std::vector<Meaning> meanings_;
    analyze::HeadTable table_;
    analyze::HeadQuery query_;
};

/// Examples of one head's cases.
enum class ExampleKind {
    hit,             ///< those with the largest weights (Case::at_most()) first
    miss,            ///< the same
    counter_example  ///< less than 5 % on every B; those with the largest weight on another word first
};
inline constexpr EnumRow<ExampleKind> example_kinds[] = {{ExampleKind::hit, "hit", "Hits"},
                                                         {ExampleKind::miss, "miss", "Misses"},
                                                         {ExampleKind::counter_example, "counter-example", "Counter-examples"}};
constexpr const auto& enum_rows(ExampleKind) { return example_kinds; }
/// At most `n`, best first.
std::vector<WordQuery::Case> example_cases(const WordQuery&, std::size_t condition, HeadId, ExampleKind, std::int64_t n);

/// The text of a sentence, rebuilt from its words, with brackets around one or two of them: "He [asked] the {nurse}".
std::string marked_sentence(const IndexedSentence&, std::int32_t bracketed, std::int32_t braced);

/// One row per matching head: for each condition the share of hits with its interval, the weight, and the number of texts.
analyze::Table table_of(const WordQuery&, const BootstrapOptions& = {});
/// example_cases() of every kind, one head's. `complete` may make a case's weights exact (exact_weights.h).
analyze::Table examples_of(const WordQuery&, std::size_t condition, HeadId, std::int64_t n, const WordIndex&,
                           const std::function<void(WordQuery::Case&)>& complete = {});

}  // namespace headlight::corpus
