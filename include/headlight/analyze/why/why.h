// SPDX-License-Identifier: GPL-3.0-or-later
// Why a query attends to a key: its score as a sum over pairs of what wrote the query and what wrote the key. With the scales of
// the norms as they were in the run, queries and keys are linear in the parts of the stream, so a score is bilinear in them
// (Elhage et al. 2021, section "QK circuits"; docs/views/why.md).
#pragma once

#include "headlight/analyze/prediction/attribution.h"
#include "headlight/base/enum_table.h"
#include "headlight/base/fields.h"
#include "headlight/base/job.h"

#include <Eigen/Core>

#include <cstdint>
#include <optional>
#include <vector>

namespace headlight::analyze {

/// The other keys that the key is compared with.
enum class Against { row, no_sinks, key };
inline constexpr EnumRow<Against> against_rows[] = {
    {Against::row, "row", "the row", "all other keys that the query sees"},
    {Against::no_sinks, "no-sinks", "no sinks", "without attention sinks and special tokens"},
    {Against::key, "key", "one key", "one other key"}};
constexpr const auto& enum_rows(Against) { return against_rows; }

/// What counts as one part.
enum class WhyBy { part, kind, layer, token };
inline constexpr EnumRow<WhyBy> why_by_rows[] = {
    {WhyBy::part, "part", "Part", "embeddings, every head, every MLP, biases"},
    {WhyBy::kind, "kind", "Kind", "embeddings, positions, heads, MLPs and biases, each summed over the layers"},
    {WhyBy::layer, "layer", "Layer", "the heads of a layer as one part, and its MLP as another"},
    {WhyBy::token, "token", "Token", "one head by the tokens that it read, the other parts as they are"}};
constexpr const auto& enum_rows(WhyBy) { return why_by_rows; }

/// A side of the pair.
enum class WhySide { larger, query, key };
inline constexpr EnumRow<WhySide> why_side_rows[] = {{WhySide::larger, "larger", "Larger", "the side to which it adds more"},
                                                     {WhySide::query, "query", "Query", "what it wrote at the query"},
                                                     {WhySide::key, "key", "Key", "what it wrote at the key"}};
constexpr const auto& enum_rows(WhySide) { return why_side_rows; }

/// What one may ask of a head's weight.
struct WhyRequest {
    std::string
        against{};  ///< word of Against, or the position of one key; empty: no_sinks where sinks hold most of the row, else row
    WhyBy by = WhyBy::part;
    std::string part{};  ///< of WhyBy::token: word of a head; empty: the strongest
    WhySide part_of = WhySide::larger;
    std::int64_t top = 10;
};
void describe(Describes<WhyRequest> auto& r, const auto& field) {
    field(Field{"against", "Against", "what the key is compared with: row (all other keys), no-sinks, or the position of one key"}
              .called("row|no-sinks|KEY")
              .or_if_empty("the row, or no-sinks where sinks hold most of it"),
          r.against);
    field(Field{"group", "Parts", "what counts as one part"}, r.by);
    const bool by_token = r.by == WhyBy::token;
    field(Field{"part", "Head", "the head whose writing is split by the tokens that it read"}
              .called("L3H0")
              .or_if_empty("the strongest")
              .when(by_token, "--group token"),
          r.part);
    field(Field{"part-of", "Head wrote", "the side of the pair at which it wrote"}.when(by_token, "--group token"), r.part_of);
    field(Field{"top", "Pairs listed", "the strongest pairs; 0: all"}.within(0, 1 << 20), r.top);
}

struct WhyOptions {
    HeadId head;
    Position query, key;
    Against against = Against::row;
    std::int64_t other = 0;  ///< the other key, of Against::key
    WhyBy by = WhyBy::part;
    std::optional<HeadId> split{};  ///< of WhyBy::token; none: the head with the largest amount
    WhySide split_of = WhySide::larger;
};

/// Without a query the last token; without a key the one with the largest weight that is no sink. Errors: a contrast that is none
/// of the three; a part that is no head; those of why().
WhyOptions why_options(const trace::Trace&, HeadId, std::optional<Position> query, std::optional<Position> key, const WhyRequest&,
                       const CancelToken& = {});

/// A part of the stream. Sums of a layer's heads have no index; sums of a kind have no layer either. Of a head that is split by
/// the tokens that it read (WhyBy::token), one token, or on the key's side its writing at the other keys, whose mean the
/// advantage takes away.
struct StreamPart {
    static constexpr std::int64_t whole = -1, elsewhere = -2;
    Component component = Component::embed;
    std::int64_t layer = -1, index = -1, source = whole;
    bool is_head() const { return component == Component::head && index >= 0; }
    bool operator==(const StreamPart&) const = default;
};
std::string name_of(const StreamPart&);  ///< "L1H0", "L3.mlp", "embed", "bias", "L1H0 from 4"

/// With w the softmax of the scores over the other compared keys alone, a number x(k) of the keys has the advantage
/// x(key) - sum of w_k x(k). The advantage A of the score and the entropy H of w give the weight a among the compared keys:
/// ln(a / (1 - a)) = A - H. All in float64; natural logarithms. NaN where no other key is compared.
struct Why {
    WhyOptions of;
    double weight = 0;        ///< softmax weight of the key among all keys that the query sees, and the head's own sink (GPT-OSS)
    double score = 0;         ///< of the pair, behind a cap
    double position = 0;      ///< of it, what depends on the distance alone (ALiBi, T5, DeBERTa's terms); NaN: none such
    double cap_ratio = 1;     ///< score / score before the cap, the least of the compared keys with more than 1 % weight
    double log_odds = 0;      ///< ln(a / (1 - a))
    double rest_entropy = 0;  ///< H, nats
    double advantage = 0;     ///< A
    double position_advantage = 0;
    /// A - position_advantage - the sum of all pairs: rounding of the run's float32 numbers.
    double residual = 0;
    std::vector<StreamPart> query_parts, key_parts;  ///< in the order of the pass
    /// [query part, key part]: of the pair's score, and its advantage.
    Eigen::MatrixXd scores, advantages;
    /// Sums over the other side of `advantages`: [query part], [key part]. Both sum to A - position_advantage.
    Eigen::VectorXd query_sums, key_sums;
    std::vector<std::int64_t> compared;  ///< the other keys
    Eigen::VectorXd compared_weights;    ///< w

    /// A pair of parts, by its numbers in query_parts and key_parts.
    struct Pair {
        Eigen::Index query = 0, key = 0;
    };
    std::vector<Pair> strongest(std::int64_t count) const;  ///< by the amount of the advantage
};

/// How much of the sum a list of the strongest pairs holds.
struct WhyList {
    double listed = 0;                   ///< sum of the listed
    double rest_for = 0, rest_from = 0;  ///< of the others, the positive and the negative
    double share = 0;                    ///< amounts of the listed / amounts of all
    std::int64_t half = 0;               ///< the least number of pairs that hold half of the positive sum
    double opposing = 0;                 ///< amounts of all / |A|
    std::int64_t others = 0;
    double all = 0;  ///< sum of all pairs

    /// What keeps the list from telling why the weight is as it is: it holds less than a quarter of all amounts, or its sum is
    /// less than half or more than one and a half of that of all pairs.
    bool holds_little() const;
    bool sums_to_other() const;
};
WhyList listed(const Why&, std::int64_t count);
/// Share of the amounts of a side (Why::query_sums, Why::key_sums) that its `count` largest parts hold.
double share_of_largest(const Eigen::VectorXd& sums, std::int64_t count);
/// Parts of a side by the amount of their sums, largest first.
std::vector<Eigen::Index> by_amount(const Eigen::VectorXd& sums);

/// Errors: a head or position that does not exist, a key that the query does not see, no other key to compare with, a model with
/// latent attention (DeepSeek), attention to a source, a trace without weights; queries or keys that are no sum of the parts (a
/// model clips them, an edit replaced them).
Why why(const trace::Trace&, const WhyOptions&, const CancelToken& = {});

/// What a head among the parts wrote, by the token that it read: [token]. Of a part of the key terms of the pair's score, which
/// sum to its sum of `Why::scores`; of a part of the query (`of_query`) terms of the advantage, which sum to its
/// `Why::query_sums`. Error: a part that is no head in front of the layer.
Eigen::VectorXd why_sources(const trace::Trace&, const WhyOptions&, bool of_query, const StreamPart&);

/// The weight of the key if heads had written the mean over the text of what they write, at the query (`of_query`) or at the key:
/// directly, with norms, patterns and all other parts as they were in the run. Nothing is run. Errors: those of why(); a head
/// that is not in front of the layer.
double why_predicted(const trace::Trace&, const WhyOptions&, bool of_query, const std::vector<HeadId>&);

/// kind (pair, query, key, position, rest, total), query_component, query_layer, query_index, key_component, key_layer,
/// key_index, source, score, others, advantage; `top` pairs, 0: all. Arrays: pairs, pair_scores [query_part, key_part],
/// query_sums, key_sums, row.
Table table_of(const Why&, std::int64_t top);

}  // namespace headlight::analyze
