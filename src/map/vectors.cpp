// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/vectors.h"

#include "headlight/model/config.h"

#include <cmath>
#include <string>
#include <utility>

namespace headlight::map {

std::string not_finite(const HeadVectors& head) {
    for (const auto& [rows, what] : {std::pair{head.query_rows(), "query"}, std::pair{head.key_rows(), "key"}})
        for (std::size_t i = 0; i < rows.values.size(); ++i)
            if (!std::isfinite(rows.values[i]))
                return std::string("The ") + what + " of token " + std::to_string(static_cast<std::int64_t>(i) / rows.width) +
                       " holds " + (std::isnan(rows.values[i]) ? "NaN" : "infinity");
    return {};
}

std::vector<TokenRange> text_ranges(const MapTokens& tokens) {
    std::vector<TokenRange> ranges(tokens.names.size());
    for (std::size_t i = 0; i < tokens.text.size(); ++i) {
        const auto text = static_cast<std::size_t>(tokens.text[i]);
        if (text >= ranges.size()) ranges.resize(text + 1);
        TokenRange& range = ranges[text];
        if (range.second == 0) range.first = static_cast<std::int64_t>(i);
        range.second = static_cast<std::int64_t>(i) + 1;
    }
    return ranges;
}

TokenRange legal_keys(const MapVectors& vectors, const HeadVectors& head, const std::vector<TokenRange>& ranges,
                      std::int64_t query) {
    const auto at = static_cast<std::size_t>(query);
    const TokenRange& range = ranges.at(static_cast<std::size_t>(vectors.tokens.text[at]));
    const bool own = !vectors.crossed();
    const model::KeyRange legal =
        model::legal_keys(vectors.tokens.position[at], range.second - range.first, own && vectors.causal, own ? head.window : 0);
    return {range.first + legal.first, range.first + legal.last};
}

}  // namespace headlight::map
