// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/index_list.h"

#include "headlight/base/error.h"

#include <charconv>
#include <set>

namespace headlight {

std::vector<std::int64_t> index_list(std::string_view text) {
    const auto wrong = [](std::string_view part) {
        return Error(ErrorFacts{.problem = "\"" + std::string(part) + "\" is not a number or a range like 2-5"});
    };
    const auto number = [&](std::string_view digits, std::string_view part) {
        std::int64_t value = 0;
        const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (code != std::errc{} || end != digits.data() + digits.size() || value < 0 || value > 1'000'000) throw wrong(part);
        return value;
    };
    std::set<std::int64_t> values;
    std::string_view rest = text;
    for (bool more = true; more;) {
        const std::size_t comma = rest.find(',');
        const std::string_view part = rest.substr(0, comma);
        more = comma != std::string_view::npos;
        if (more) rest.remove_prefix(comma + 1);
        const std::size_t dash = part.find('-');
        const std::int64_t first = number(part.substr(0, dash), part);
        const std::int64_t last = dash == std::string_view::npos ? first : number(part.substr(dash + 1), part);
        if (last < first) throw wrong(part);
        for (std::int64_t value = first; value <= last; ++value) values.insert(value);
    }
    return {values.begin(), values.end()};
}

std::string index_list_text(const std::vector<std::int64_t>& sorted) {
    std::string text;
    for (std::size_t i = 0; i < sorted.size();) {
        std::size_t last = i;
        while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
        text += (text.empty() ? "" : ",") + std::to_string(sorted[i]);
        if (last > i) text += "-" + std::to_string(sorted[last]);
        i = last + 1;
    }
    return text;
}

}  // namespace headlight
