// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/files/merges_of_scores.h"

#include "text/unicode/utf8.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace headlight::text {

nlohmann::json merges_of_scores(const std::vector<std::string>& tokens, const std::vector<double>& scores,
                                const std::vector<bool>& joined) {
    std::unordered_map<std::string_view, std::size_t> ids;
    for (std::size_t i = 0; i < tokens.size(); ++i) ids.emplace(tokens[i], i);
    struct Merge {
        double score;
        std::size_t left_size, right_size;  // in characters
        std::string_view left, right;
    };
    std::vector<Merge> merges;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (!joined[i]) continue;
        const std::string_view piece = tokens[i];
        std::vector<std::array<std::size_t, 3>> cuts;  // left id, right id, place
        for (std::size_t at = 1; at < piece.size(); ++at) {
            if (utf8::is_continuation(piece[at])) continue;
            const auto left = ids.find(piece.substr(0, at)), right = ids.find(piece.substr(at));
            if (left != ids.end() && right != ids.end()) cuts.push_back({left->second, right->second, at});
        }
        std::ranges::sort(cuts);
        for (const auto& cut : cuts) {
            const std::string_view left = piece.substr(0, cut[2]), right = piece.substr(cut[2]);
            merges.push_back({scores[i], utf8::count(left), utf8::count(right), left, right});
        }
    }
    std::ranges::stable_sort(merges, [](const Merge& a, const Merge& b) {
        return std::tie(a.score, a.left_size, a.right_size) > std::tie(b.score, b.left_size, b.right_size);
    });
    nlohmann::json list = nlohmann::json::array();
    for (const Merge& m : merges) list.push_back({std::string(m.left), std::string(m.right)});
    return list;
}

}  // namespace headlight::text
