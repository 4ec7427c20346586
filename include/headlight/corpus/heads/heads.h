// SPDX-License-Identifier: GPL-3.0-or-later
// Every head over a corpus: the measures of analyze/heads/head_table.h text by text, its attention by distance, and the places
// where its behaviour is strongest.
#pragma once

#include "headlight/corpus/accumulate/examples.h"
#include "headlight/corpus/accumulate/fixed_sum.h"
#include "headlight/corpus/accumulate/stored.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace headlight::corpus {

/// The kinds of examples of a head. A chunk gives its best one of each kind; the first token and special tokens are not keys,
/// special tokens are not queries, and no query is its own key.
enum class HeadExample {
    weight,     ///< the largest weight a_ij
    value,      ///< the largest |a_ij f_j| with f_j = v_j W_O: the largest output (Kobayashi 2020)
    induction,  ///< the largest weight on a key right after an earlier copy of the query's token (Olsson 2022)
};
inline constexpr std::int64_t kHeadExamples = 3;

/// Distances |i - j| are counted in bins that double: 0, 1, 2-3, 4-7, ..., 2048-4095, and 4096 or more.
inline constexpr std::int64_t kDistanceBins = 14;
std::int64_t distance_bin(std::int64_t distance) noexcept;
std::int64_t first_distance(std::int64_t bin) noexcept;

/// Ids of the measures that a corpus has: those of analyze::head_measures() except `variability`, which needs all texts at
/// once (first_tokens.h), and the probe's, which are the same for every text.
const std::vector<std::string>& corpus_measures();

/// Of the model that ran the texts.
struct HeadsShape {
    std::int64_t layers = 0, heads = 0;
    bool causal = true;
};

class Heads final : public Stored<Heads> {
public:
    explicit Heads(const model::ModelConfig&, std::int64_t examples = 20);
    /// What a file holds. Errors as load().
    explicit Heads(const Arrays&);
    std::vector<std::string> hooks() const override;
    bool overview() const override { return true; }
    std::unique_ptr<TextPatterns> patterns_of(const TextRun&) const override;
    void add(const TextRun&, TextPatterns*) override;

private:
    Heads(const HeadsShape&, std::int64_t examples);
    /// heads.measures: ids, joined by commas. heads.shape: layers, heads, causal. heads.chunks [n]; heads.values [n, measure,
    /// layer, head], NaN where the chunk has none; heads.rows [n, measure, layer]: queries that these are means over. heads.sum
    /// [measure, layer, head, 2] (FixedSum of value * rows) and heads.count [measure, layer, head]: over all queries.
    /// heads.distance [layer, head, bin, 2]: FixedSum of weights. heads.top_value, _text, _query, _key [criterion, layer, head,
    /// example], text -1 beyond the last one.
    void stored(Archive&) override;
    struct Row {
        std::vector<float> values;       ///< [measure, layer, head]
        std::vector<std::int32_t> rows;  ///< [measure, layer], the largest of any head
    };
    class Patterns;
    std::size_t head_index(HeadId id) const noexcept { return static_cast<std::size_t>(id.layer.value * heads_ + id.head.value); }
    std::size_t heads() const noexcept { return static_cast<std::size_t>(layers_ * heads_); }

    std::int64_t layers_ = 0, heads_ = 0, examples_ = 0;
    bool causal_ = true;
    std::map<std::int64_t, Row> rows_;  ///< by the chunk's number
    std::vector<FixedSum> sums_;        ///< [measure, layer, head]
    std::vector<std::int64_t> counts_;  ///< the same
    std::vector<FixedSum> distances_;   ///< [layer, head, bin]
    std::vector<TopExamples> top_;      ///< [criterion, layer, head]
};

AccumulatorKind heads_kind();

}  // namespace headlight::corpus
