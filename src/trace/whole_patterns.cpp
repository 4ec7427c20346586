// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/whole_patterns.h"

#include <algorithm>

namespace headlight::trace {

WholePatterns::Buffer& WholePatterns::open(HeadId head) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = open_.try_emplace(head);
    Buffer& buffer = place->second.buffer;
    if (!is_new) return buffer;
    if (unused_.empty()) {
        buffer = {.weights = std::vector<float>(static_cast<std::size_t>(queries_ * keys_)),
                  .widths = std::vector<std::int64_t>(static_cast<std::size_t>(queries_))};
    } else {
        buffer = std::move(unused_.back());
        unused_.pop_back();
    }
    return buffer;
}

void WholePatterns::add_rows(HeadId head, const float* rows, std::int64_t first, std::int64_t count, std::int64_t width,
                             std::int64_t stride, std::span<const float> lengths) {
    const auto size = static_cast<std::size_t>(queries_ * keys_);
    if (count == queries_ && width == keys_ && stride == keys_) {  // a short text: the tile is all of it
        reader_.pattern(head, {.weights = {rows, size}, .keys = keys_, .lengths = lengths});
        return;
    }
    Buffer& to = open(head);
    for (std::int64_t i = 0; i < count; ++i) {
        float* const row = to.weights.data() + (first + i) * keys_;
        std::int64_t& was = to.widths[static_cast<std::size_t>(first + i)];
        std::copy_n(rows + i * stride, width, row);
        if (width < was) std::fill(row + width, row + was, 0.0F);
        was = width;
    }
    Buffer whole;
    {
        const std::lock_guard lock(mutex_);
        const auto place = open_.find(head);
        if ((place->second.rows += count) < queries_) return;
        whole = std::move(place->second.buffer);
        open_.erase(place);
    }
    reader_.pattern(head, {.weights = {whole.weights.data(), size}, .keys = keys_, .lengths = lengths});
    const std::lock_guard lock(mutex_);
    unused_.push_back(std::move(whole));
}

}  // namespace headlight::trace
