// SPDX-License-Identifier: GPL-3.0-or-later
// Where the attention of every head goes in a long text: how far back, into which paragraphs, to which part of what was read, and
// whether it finds a passage.
#pragma once

#include "headlight/analyze/reach/sections.h"
#include "headlight/analyze/table.h"
#include "headlight/base/fields.h"
#include "headlight/base/job.h"
#include "headlight/trace/trace.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace headlight::analyze {

inline constexpr Field kPassage =
    Field{"passage", "Passage", "a needle: FIRST-LAST by position, or words of the text; how much every head reads of it"}
        .or_if_empty("120-140, or words of the text");

/// Tokens [first, last].
struct Passage {
    Position first, last;
    std::int64_t count() const { return last.value - first.value + 1; }
    bool operator==(const Passage&) const = default;
};

/// All shares are of the weight that a query gives to keys, and means over the queries (of a causal model all but the first,
/// which has one key) unless something else is said.
struct HeadReach {
    std::vector<double> by_distance;  ///< [Reach::distances] to both sides of the query
    std::vector<double> by_depth;     ///< [depths] over queries with `deep_enough` keys; NaN where there are none
    std::vector<double> by_section;   ///< [section] over the queries behind it; NaN where there are none
    double own_section = 0, previous_section = 0, earlier_sections = 0;  ///< the rest of 1 is on later sections
    double middle = 0;  ///< by_depth from a quarter to three quarters; uniform attention: 0.5

    /// Of a marked passage, over the queries that read it; NaN without one.
    double passage = 0;          ///< share on its tokens
    double passage_uniform = 0;  ///< the same of uniform attention
    double passage_largest = 0;  ///< share of these queries whose largest weight is on it
    /// Wu et al. 2024 (Retrieval Head Mechanistically Explains Long-Context Factuality), with the text in the place of what is
    /// generated: share of the passage's tokens that some query has its largest weight on whose next token is that token.
    double retrieval = 0;
};

struct Reach {
    static constexpr std::int64_t depths = 20, deep_enough = 100;
    std::int64_t n_layers = 0, n_heads = 0;
    std::vector<std::int64_t> distances;  ///< 0, 1, 2, 4, 8 …: each bin's least distance
    std::vector<TextSection> sections;
    std::optional<Passage> passage;
    std::vector<HeadReach> heads;  ///< [layer * n_heads + head]
    const HeadReach& of(HeadId id) const { return heads[static_cast<std::size_t>(id.layer.value * n_heads + id.head.value)]; }
};

/// Of every head of a model whose text attends to itself. Queries behind the passage read it, in a model that attends both ways
/// all outside it. Reads patterns a few rows at a time. Error: a cross attention, a passage that is not in the text. Kept with
/// the trace.
std::shared_ptr<const Reach> reach(const trace::Trace&, const std::optional<Passage>& = {}, const CancelToken& = {},
                                   const Progress& = {});

/// A row for each head: layer, head, own_section, previous_section, earlier_sections, middle, passage …, distance_0, distance_1,
/// distance_2, distance_4 …, depth_0, depth_5 … Arrays: `by_section` [layer, head, section], `section_first`.
Table table_of(const Reach&);

/// "120-140" or "120": positions. Else a text whose tokens stand in the trace's text, the first place. Error: neither.
Passage passage_called(const trace::Trace&, const std::string& typed);

/// A pair of tokens and what the head carries from the key to the query: |a_ij v_j W_O|.
struct MovedToken {
    Position query, key;
    double weight = 0, length = 0;  ///< length: NaN without the model's weights or the values
};
/// The `top` pairs of a head with the largest lengths, or the largest weights where there are no lengths, among queries [first,
/// last]; the first token and the query itself as keys do not count.
std::vector<MovedToken> moved_tokens(const trace::Trace&, HeadId, Passage queries, std::int64_t top, const CancelToken& = {});
Table table_of(const trace::Trace&, HeadId, const std::vector<MovedToken>&);

}  // namespace headlight::analyze
