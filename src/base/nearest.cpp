// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/nearest.h"

#include <algorithm>

namespace headlight {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    // Rows of the optimal string alignment table: two back, one back, this one.
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before.swap(last);
        last.swap(row);
    }
    return last[b.size()];
}

std::string nearest(std::string_view typed, const std::vector<std::string>& words) {
    constexpr std::size_t kLongest = 64;  // longer input is no misspelt word
    if (typed.size() > kLongest) return {};
    std::string best;
    std::size_t best_distance = typed.size() / 3 + 2;
    for (const std::string& word : words) {
        // The beginning of a word counts as near: "--cap" for "--capture".
        const bool begins = typed.size() >= 3 && word.starts_with(typed);
        const std::size_t distance = begins ? 1 : edit_distance(typed, word);
        if (distance < best_distance) {
            best_distance = distance;
            best = word;
        }
    }
    return best;
}

std::string nearest_three(std::vector<std::pair<std::size_t, std::string>> by_distance) {
    std::ranges::stable_sort(by_distance, {}, &std::pair<std::size_t, std::string>::first);
    std::string list;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, by_distance.size()); ++i)
        list += (i ? ", " : "") + by_distance[i].second;
    return list;
}

std::string either_of(const std::vector<std::string>& words) {
    std::string list;
    for (std::size_t i = 0; i < words.size(); ++i) list += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
    return list;
}

}  // namespace headlight
