// SPDX-License-Identifier: GPL-3.0-or-later
// Options that several views have, each described once, and what they mean. Those of one view alone are described next to the
// function that makes it.
#pragma once

#include "headlight/analyze/pattern/aggregate.h"
#include "headlight/base/fields.h"
#include "headlight/figure/core/view_spec.h"

#include <cstdint>
#include <optional>

namespace headlight::figure {

inline constexpr Field kSums{"sums", "Sums of rows and columns", "bars with the sums of rows and columns beside the map"};
inline constexpr Field kLayers =
    Field{"layers", "Layers", "layers of the heads that are combined: 0,2-4 or all (default: --layer; model: all)"}.or_if_empty(
        "0,2-4 or all");

enum class HeadsAsOne { none, mean, max };
inline constexpr EnumRow<HeadsAsOne> heads_as_one[] = {{HeadsAsOne::none, "none", "Each head"},
                                                       {HeadsAsOne::mean, "mean", "Mean of the heads"},
                                                       {HeadsAsOne::max, "max", "Maximum of the heads"}};
constexpr const auto& enum_rows(HeadsAsOne) { return heads_as_one; }

/// Several heads in one map.
struct CombinedHeads {
    HeadsAsOne aggregate = HeadsAsOne::none;
    std::string layers{};
};
void describe(Describes<CombinedHeads> auto& r, const auto& field) {
    field(
        Field{
            "aggregate", "Combine heads",
            "several heads as one; model: one more column with a layer's heads combined, one more row with the layers combined"},
        r.aggregate);
    field(kLayers, r.layers);
}

/// The token that a text option names, by id or as text; none if it is empty. Errors are those of choose_token().
std::optional<std::int64_t> token_value(const trace::Trace&, const ViewState&, const char* option);
std::optional<std::int64_t> token_called(const trace::Trace&, const std::string& typed, const char* option);
/// Of CombinedHeads; none: each head by itself.
std::optional<analyze::Aggregate> aggregate_of(const ViewState&);
/// "0-2,5" or "all", each below `count`, sorted. Error names the option.
std::vector<std::int64_t> index_list(const std::string& text, std::int64_t count, const std::string& option);
/// The state's heads in each of the layers that the option --layers names; without it in the state's layer.
std::vector<HeadId> chosen_heads(const trace::Trace&, const ViewState&);

/// The pinned query, or the last token.
inline Position pinned_or_last(const trace::Trace& trace, const ViewState& state) {
    return state.query.value_or(Position(trace.tokens() - 1));
}

/// Few enough texts to read their summaries in less than a frame.
inline bool few_texts(const trace::Trace&, const ViewState& state) { return !state.batch || state.batch->traces.size() < 8; }

}  // namespace headlight::figure
