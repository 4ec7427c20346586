// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/tree_scores.h"

#include "headlight/analyze/heads/rank_correlation.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

namespace headlight::corpus {
namespace {

std::size_t group_of(std::vector<std::size_t>& parent, std::size_t point) {
    while (parent[point] != point) point = parent[point] = parent[parent[point]];
    return point;
}

void check_size(std::size_t found, std::size_t expected) {
    if (found != expected)
        throw Error({.problem = "Predictions do not fit the words of the sentence",
                     .expected = std::to_string(expected),
                     .found = std::to_string(found)});
}

}  // namespace

TreeLengths tree_lengths(const TreeSentence& sentence) {
    const std::int64_t n = sentence.words();
    const auto fail = [n](const std::string& found) -> Error {
        return Error({.problem = "The arcs of a sentence are not one tree",
                      .expected = "every word on a path to one root, among " + std::to_string(n) + " words",
                      .found = found});
    };
    if (std::ssize(sentence.punctuation) != n) throw fail(std::to_string(sentence.punctuation.size()) + " marks of punctuation");
    std::vector<std::vector<std::int32_t>> ancestors(sentence.heads.size());  // the word itself first, the root last
    for (std::size_t w = 0; w < ancestors.size(); ++w) {
        for (std::int32_t at = static_cast<std::int32_t>(w); at != -1; at = sentence.heads[static_cast<std::size_t>(at)]) {
            if (at < -1 || at >= n) throw fail("head " + std::to_string(at));
            if (std::ssize(ancestors[w]) == n) throw fail("a circle above word " + std::to_string(w + 1));
            ancestors[w].push_back(at);
        }
        if (ancestors[w].back() != ancestors[0].back()) throw fail("two roots");
    }
    TreeLengths out;
    for (const auto& path : ancestors) {
        out.depth.push_back(static_cast<float>(path.size() - 1));
        for (const auto& other : ancestors) {
            // What both share at the end is no part of the path between them, except the word where they meet.
            const auto [a, b] = std::mismatch(path.rbegin(), path.rend(), other.rbegin(), other.rend());
            out.distance.push_back(static_cast<float>((path.rend() - a) + (other.rend() - b)));
        }
    }
    return out;
}

double spearman(std::span<const float> a, std::span<const float> b) {
    check_size(b.size(), a.size());
    const std::vector<double> x(a.begin(), a.end()), y(b.begin(), b.end());
    return analyze::spearman(x, y);
}

std::vector<std::pair<std::int32_t, std::int32_t>> minimum_spanning_tree(std::span<const float> distances,
                                                                         std::span<const std::uint8_t> left_out) {
    const std::size_t n = left_out.size();
    check_size(distances.size(), n * n);
    using Edge = std::pair<std::int32_t, std::int32_t>;
    std::vector<Edge> pairs, tree;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = i + 1; j < n; ++j)
            if (!left_out[i] && !left_out[j]) pairs.emplace_back(static_cast<std::int32_t>(i), static_cast<std::int32_t>(j));
    std::ranges::stable_sort(pairs, {}, [&](const Edge& e) {
        return distances[static_cast<std::size_t>(e.first) * n + static_cast<std::size_t>(e.second)];
    });
    std::vector<std::size_t> parent(n);
    std::iota(parent.begin(), parent.end(), std::size_t{0});
    for (const Edge& edge : pairs) {
        const std::size_t a = group_of(parent, static_cast<std::size_t>(edge.first)),
                          b = group_of(parent, static_cast<std::size_t>(edge.second));
        if (a == b) continue;
        parent[a] = b;
        tree.push_back(edge);
    }
    return tree;
}

TreeScore score_distances(const TreeSentence& sentence, std::span<const float> predicted) {
    const auto n = static_cast<std::size_t>(sentence.words());
    check_size(predicted.size(), n * n);
    const TreeLengths gold = tree_lengths(sentence);
    auto found = minimum_spanning_tree(predicted, sentence.punctuation),
         wanted = minimum_spanning_tree(gold.distance, sentence.punctuation);
    std::ranges::sort(found);
    std::ranges::sort(wanted);
    std::vector<std::pair<std::int32_t, std::int32_t>> both;
    std::ranges::set_intersection(found, wanted, std::back_inserter(both));
    TreeScore score{.words = sentence.words(), .edges = std::ssize(wanted), .hits = std::ssize(both)};
    double sum = 0;
    std::int64_t rows = 0;
    for (std::size_t w = 0; w < n; ++w) {
        const double of_word = spearman(predicted.subspan(w * n, n), std::span(gold.distance).subspan(w * n, n));
        if (std::isfinite(of_word)) sum += of_word, ++rows;
    }
    if (rows > 0) score.spearman = sum / static_cast<double>(rows);
    return score;
}

TreeScore score_depths(const TreeSentence& sentence, std::span<const float> predicted) {
    check_size(predicted.size(), static_cast<std::size_t>(sentence.words()));
    const TreeLengths gold = tree_lengths(sentence);
    TreeScore score{.words = sentence.words(), .spearman = spearman(predicted, gold.depth)};
    std::size_t least = 0;
    for (std::size_t w = 0; w < predicted.size(); ++w) {
        if (sentence.punctuation[w] || (score.has_root && predicted[w] >= predicted[least])) continue;
        least = w;
        score.has_root = true;
    }
    score.root_hit = score.has_root && sentence.heads[least] == -1;
    return score;
}

bool counts_for_spearman(const TreeScore& score) {
    constexpr std::int64_t kShortest = 5, kLongest = 50;
    return score.words >= kShortest && score.words <= kLongest && !std::isnan(score.spearman);
}

TreeScores tree_scores(std::span<const TreeScore> sentences) {
    std::int64_t edges = 0, hits = 0, rooted = 0, roots = 0;
    std::map<std::int64_t, std::pair<double, std::int64_t>> by_length;
    for (const TreeScore& score : sentences) {
        edges += score.edges;
        hits += score.hits;
        rooted += score.has_root;
        roots += score.root_hit;
        if (!counts_for_spearman(score)) continue;
        auto& [sum, n] = by_length[score.words];
        sum += score.spearman;
        ++n;
    }
    const auto ratio = [](double a, std::int64_t b) { return b > 0 ? a / static_cast<double>(b) : kNaN; };
    double means = 0;
    for (const auto& [length, sums] : by_length) means += ratio(sums.first, sums.second);
    return {.uuas = ratio(static_cast<double>(hits), edges),
            .spearman = ratio(means, std::ssize(by_length)),
            .root_accuracy = ratio(static_cast<double>(roots), rooted)};
}

}  // namespace headlight::corpus
