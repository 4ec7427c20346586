// SPDX-License-Identifier: GPL-3.0-or-later
// Options that several views have, each said once, and what they mean.
#pragma once

#include "headlight/analyze/pattern/aggregate.h"
#include "headlight/figure/core/view_spec.h"

#include <cstdint>
#include <optional>

namespace headlight::figure {

ViewOption flag(const char* name, const char* title, const char* help);
ViewOption sums_option();
/// none, mean, max
ViewOption aggregate_option();
ViewOption layers_option();

/// The token that a text option names, by id or as text; none when it is empty. Error as choose_token().
std::optional<std::int64_t> token_value(const trace::Trace&, const ViewState&, const char* option);
/// Of aggregate_option(); empty: each head by itself.
std::optional<analyze::Aggregate> aggregate_of(const ViewState&);
/// "0-2,5" or "all", each below `count`, sorted. Error names the option.
std::vector<std::int64_t> index_list(const std::string& text, std::int64_t count, const std::string& option);
/// The state's heads in each of the layers that layers_option() names; without it in the state's layer.
std::vector<HeadId> chosen_heads(const trace::Trace&, const ViewState&);

}  // namespace headlight::figure
