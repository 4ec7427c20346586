// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/text/alignment.h"

#include <algorithm>
#include <numeric>

namespace headlight::text {

namespace {

constexpr std::size_t kMostComparisons = 1u << 20;

template <class T>
std::vector<std::int64_t> align_equal(const std::vector<T>& before, const std::vector<T>& after) {
    std::vector<std::int64_t> to(before.size(), -1);
    const std::size_t shorter = std::min(before.size(), after.size());
    std::size_t head = 0, tail = 0;
    while (head < shorter && before[head] == after[head]) to[head] = static_cast<std::int64_t>(head), ++head;
    while (tail < shorter - head && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) {
        to[before.size() - 1 - tail] = static_cast<std::int64_t>(after.size() - 1 - tail);
        ++tail;
    }
    const std::size_t rows = before.size() - head - tail, cols = after.size() - head - tail;
    if (rows == 0 || cols == 0 || rows > kMostComparisons / cols) return to;
    // length[i][j]: longest common subsequence of the rests that start at i and j
    std::vector<std::uint32_t> length((rows + 1) * (cols + 1), 0);
    const auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& { return length[i * (cols + 1) + j]; };
    for (std::size_t i = rows; i-- > 0;) {
        for (std::size_t j = cols; j-- > 0;) {
            at(i, j) = before[head + i] == after[head + j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
        }
    }
    for (std::size_t i = 0, j = 0; i < rows && j < cols;) {
        if (before[head + i] == after[head + j]) {
            to[head + i++] = static_cast<std::int64_t>(head + j++);
        } else if (at(i + 1, j) >= at(i, j + 1)) {
            ++i;
        } else {
            ++j;
        }
    }
    return to;
}

template <class T>
std::vector<std::int64_t> align_replaced(const std::vector<T>& target, const std::vector<T>& source) {
    if (target.size() == source.size()) {
        std::vector<std::int64_t> same(target.size());
        std::iota(same.begin(), same.end(), 0);
        return same;
    }
    std::vector<std::int64_t> from = align_equal(target, source);
    const std::size_t n = from.size();
    for (std::size_t i = 0; i < n;) {
        std::size_t end = i;
        while (end < n && from[end] < 0) ++end;
        const std::int64_t before = i > 0 ? from[i - 1] + 1 : 0, after = end < n ? from[end] : std::ssize(source);
        if (after - before == static_cast<std::int64_t>(end - i))
            std::iota(from.begin() + static_cast<std::ptrdiff_t>(i), from.begin() + static_cast<std::ptrdiff_t>(end), before);
        i = end + 1;
    }
    return from;
}

/// With the ends as partners: where the alignment of the whole texts has others, that of what stands before and after them.
template <class T>
std::vector<std::int64_t> align_with_ends(const std::vector<T>& target, const std::vector<T>& source,
                                          std::optional<TextEnds> given) {
    if (target.empty() || source.empty()) return std::vector<std::int64_t>(target.size(), -1);
    const TextEnds ends = given.value_or(TextEnds{std::ssize(target) - 1, std::ssize(source) - 1});
    std::vector<std::int64_t> from = align_replaced(target, source);
    if (from.at(static_cast<std::size_t>(ends.target)) == ends.source) return from;
    const auto part = [](const std::vector<T>& text, std::int64_t first, std::int64_t last) {
        return std::vector<T>(text.begin() + first, text.begin() + last);
    };
    from = align_replaced(part(target, 0, ends.target), part(source, 0, ends.source));
    from.push_back(ends.source);
    for (const std::int64_t at :
         align_replaced(part(target, ends.target + 1, std::ssize(target)), part(source, ends.source + 1, std::ssize(source))))
        from.push_back(at < 0 ? -1 : ends.source + 1 + at);
    return from;
}

}  // namespace

std::vector<std::int64_t> align_tokens(const std::vector<std::string>& before, const std::vector<std::string>& after) {
    return align_equal(before, after);
}

std::vector<std::int64_t> align_positions(const std::vector<std::string>& target, const std::vector<std::string>& source,
                                          std::optional<TextEnds> ends) {
    return align_with_ends(target, source, ends);
}

std::vector<std::int64_t> align_positions(const std::vector<std::int64_t>& target, const std::vector<std::int64_t>& source,
                                          std::optional<TextEnds> ends) {
    return align_with_ends(target, source, ends);
}

std::vector<std::int64_t> align_without_ends(const std::vector<std::int64_t>& target, const std::vector<std::int64_t>& source) {
    return align_replaced(target, source);
}

}  // namespace headlight::text
