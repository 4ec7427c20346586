// SPDX-License-Identifier: GPL-3.0-or-later
// Attention between parts of speech, and along dependencies (Vig & Belinkov 2019, section 4): over tokens, not words.
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/ids.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/accumulate/fixed_sum.h"
#include "headlight/corpus/accumulate/stored.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/syntax/word_tokens.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

namespace headlight::corpus {

/// Classes of tokens: the parts of speech of Universal Dependencies; "none": a word without one, or no word; "first": the first
/// token, an attention sink, whatever it is; "special": other special tokens.
inline constexpr std::array<std::string_view, 20> kTokenTags{"ADJ",  "ADP",  "ADV",  "AUX",  "CCONJ", "DET",    "INTJ",
                                                             "NOUN", "NUM",  "PART", "PRON", "PROPN", "PUNCT",  "SCONJ",
                                                             "SYM",  "VERB", "X",    "none", "first", "special"};
inline constexpr std::size_t kTagCount = kTokenTags.size();
inline constexpr std::size_t kPartsOfSpeech = 17;  ///< the first of kTokenTags, and behind them
inline constexpr std::size_t kNoTag = kPartsOfSpeech, kFirstToken = kNoTag + 1, kSpecialToken = kNoTag + 2;

/// Accumulator "tags" of a treebank. Rows are all queries except the first one of a causal model, which has no choice. A token
/// of several words counts towards the tag of each in equal parts. Texts of several chunks are left out.
class TagAttention final : public Stored<TagAttention> {
public:
    TagAttention(std::int64_t n_layers, std::int64_t n_heads, bool causal);
    /// As WordIndex::read().
    static TagAttention read(const Arrays&);

    std::int64_t n_layers() const noexcept { return n_layers_; }
    std::int64_t n_heads() const noexcept { return n_heads_; }
    std::int64_t texts() const noexcept { return texts_; }
    std::int64_t left_out() const noexcept { return left_out_; }  ///< texts

    /// Attention from tokens of one tag to tokens of another, summed over rows; heads count as layer * n_heads + head.
    double mass(std::int64_t head, std::size_t from, std::size_t to) const { return mass_[place(head, from, to)].value(); }
    /// The same under uniform attention over the allowed keys (ignoring sliding windows).
    double even_mass(std::size_t from, std::size_t to) const { return even_mass_[from * kTagCount + to].value(); }
    /// Rows of the tag.
    double rows(std::size_t from) const { return rows_[from].value(); }

    /// Share of the attention, excluding that to the first token, between words of which one depends on the other.
    double alignment(std::int64_t head) const { return along_[at(head)].value() / off_first_[at(head)].value(); }
    /// The same under uniform attention over the allowed keys except the first.
    double even_alignment() const { return even_along_.value() / static_cast<double>(even_rows_); }
    /// Mean distance between query and key in tokens, over the same attention.
    double distance(std::int64_t head) const { return distance_[at(head)].value() / off_first_[at(head)].value(); }

    /// What a text adds to the sums: what intervals over texts are drawn from.
    struct TextSums {
        std::vector<float> rows;                        ///< [tag] queries
        std::vector<std::int16_t> pairs;                ///< from * kTagCount + to, in order: those with a legal key
        std::vector<float> mass;                        ///< [pair, head] attention
        std::vector<float> along, off_first, distance;  ///< [head]: along arcs, off the first token, its distance
    };
    /// By the number of the text's chunk.
    const std::map<std::int64_t, TextSums>& by_text() const noexcept { return by_text_; }

    std::unique_ptr<TextPatterns> patterns_of(const TextRun&) const override;
    void add(const TextRun&, TextPatterns*) override;

private:
    void stored(Archive&) override;
    struct Tagged;
    static std::size_t at(std::int64_t head) { return static_cast<std::size_t>(head); }
    static std::size_t place(std::int64_t head, std::size_t from, std::size_t to) {
        return (at(head) * kTagCount + from) * kTagCount + to;
    }
    std::int64_t first_row() const noexcept { return causal_ ? 1 : 0; }
    std::int64_t last_key(std::int64_t query, std::int64_t keys) const noexcept { return causal_ ? query + 1 : keys; }

    std::int64_t n_layers_, n_heads_;
    bool causal_;
    std::int64_t texts_ = 0, left_out_ = 0, even_rows_ = 0;
    std::vector<FixedSum> mass_;                          ///< [head, from, to]
    std::vector<FixedSum> even_mass_, rows_;              ///< [from, to], [from]
    std::vector<FixedSum> along_, off_first_, distance_;  ///< [head]
    FixedSum even_along_;
    std::map<std::int64_t, TextSums> by_text_;
};
/// A row of the table of kinds.
AccumulatorKind tags_kind();

enum class TagSides { one, both };

/// Of the attention of queries of one tag, the share that goes to keys of another. kTagCount: all tags. Where `to` is all, the
/// share is that of all attention off the first token which comes from such queries.
struct TagShare {
    HeadId head;
    std::size_t from = kTagCount, to = kTagCount;
    Interval share;      ///< over texts
    double base = kNaN;  ///< the same if every row were even
    double rows = 0;     ///< queries
};
/// By head; of each tag alone, as `to` and then as `from`, or of every pair.
std::vector<TagShare> tag_shares(const TagAttention&, TagSides, const BootstrapOptions& = {});
/// layer, head, from, to ("all": any), share, low, high, base, ratio, rows.
analyze::Table table_of(const std::vector<TagShare>&);

struct HeadAlignment {
    HeadId head;
    Interval alignment;  ///< TagAttention::alignment(), over texts
    double base = kNaN;  ///< of even rows
    Interval distance;   ///< TagAttention::distance(), over texts
};
/// One a head.
std::vector<HeadAlignment> head_alignments(const TagAttention&, const BootstrapOptions& = {});
/// layer, head, alignment, low, high, base, ratio, distance_off_first, distance_low, distance_high.
analyze::Table table_of(const std::vector<HeadAlignment>&);

}  // namespace headlight::corpus
