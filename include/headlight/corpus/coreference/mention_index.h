// SPDX-License-Identifier: GPL-3.0-or-later
// What every head attends to at the mentions of entities, small enough to be stored.
#pragma once

#include "headlight/corpus/accumulate/stored.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace headlight::corpus {

/// A mention whose head has tokens in a chunk.
struct IndexedMention {
    std::int32_t chain = 0;  ///< number of its entity in the chunk
    std::int32_t form = 0;   ///< the first mention whose head is the same word, ignoring case
    std::int64_t begin = 0, end = 0, head_begin = 0, head_end = 0;  ///< bytes of the text, as in Mention
    std::int32_t first_token = 0, last_token = 0;                   ///< of its head in the chunk
    bool asked = false;  ///< a mention with an earlier one of its chain in the chunk, or the pronoun of a question
    bool same_head(const IndexedMention& other) const noexcept {
        return head_begin == other.head_begin && head_end == other.head_end;
    }
};

/// A chunk of the index. Heads count as layer * n_heads + head.
struct IndexedMentions {
    MentionTask task = MentionTask::chains;
    std::string key;                       ///< id of the text, or Text::pair
    std::vector<IndexedMention> mentions;  ///< in the order of Text::mentions
    /// Of chains [asked mention, head]: the mention with an earlier head that the mention's head attends to most; -1: it attends
    /// to none. Ties go to the first. Attention as between words: columns of a head's tokens are summed, rows averaged.
    std::vector<std::int16_t> to;
    std::vector<std::int16_t> to_weight;  ///< round(32767 w)
    /// Of a question [head, 2]: attention of the pronoun to the first and to the second name, summed over the name's tokens.
    /// Floats, because weights on distant names are tiny and still decide.
    std::vector<float> names;
};

/// Accumulator "mentions". In a causal model a question is asked only where both names stand before the pronoun.
class MentionIndex final : public Stored<MentionIndex> {
public:
    MentionIndex(std::int64_t n_layers, std::int64_t n_heads, bool causal)
        : n_layers_(n_layers), n_heads_(n_heads), causal_(causal) {}
    /// Reads the arrays of save(), of any model. Error if there are none.
    static MentionIndex read(const Arrays&);

    std::int64_t n_layers() const noexcept { return n_layers_; }
    std::int64_t n_heads() const noexcept { return n_heads_; }
    std::int64_t heads() const noexcept { return n_layers_ * n_heads_; }
    bool causal() const noexcept { return causal_; }
    /// By the chunk's number in the store; only chunks in which something is asked.
    const std::map<std::int64_t, IndexedMentions>& chunks() const noexcept { return chunks_; }

    /// Of the texts of a task, before any is lost to the borders of chunks or to the order of its names.
    struct Counts {
        std::int64_t texts = 0;
        std::int64_t cases = 0;    ///< mentions with an earlier one of their chain in the text; questions that have an answer
        std::int64_t neither = 0;  ///< questions whose pronoun refers to neither name
        bool operator==(const Counts&) const = default;
    };
    const Counts& counts(MentionTask task) const noexcept { return counts_[static_cast<std::size_t>(task)]; }

    std::unique_ptr<TextPatterns> patterns_of(const TextRun&) const override;
    void add(const TextRun&, TextPatterns*) override;

private:
    void stored(Archive&) override;

    std::int64_t n_layers_, n_heads_;
    bool causal_;
    std::map<std::int64_t, IndexedMentions> chunks_;
    std::array<Counts, kMentionTasks> counts_{};
};

/// A row of the table of kinds.
AccumulatorKind mentions_kind();

}  // namespace headlight::corpus
