// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/accumulate/examples.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace headlight::corpus {

bool before(const Example& a, const Example& b) noexcept {
    if (a.value != b.value) return a.value > b.value;
    return std::tie(a.text, a.query, a.key) < std::tie(b.text, b.query, b.key);
}

float TopExamples::floor() const noexcept {
    if (size_ == 0) return std::numeric_limits<float>::infinity();
    return static_cast<std::int64_t>(heap_.size()) < size_ ? -std::numeric_limits<float>::infinity() : heap_.front().value;
}

void TopExamples::add(const Example& example) {
    if (static_cast<std::int64_t>(heap_.size()) == size_) {
        if (size_ == 0 || !before(example, heap_.front())) return;
        std::ranges::pop_heap(heap_, before);
        heap_.back() = example;
    } else {
        heap_.push_back(example);
    }
    std::ranges::push_heap(heap_, before);
}

void TopExamples::merge(const TopExamples& other) {
    for (const Example& example : other.heap_) add(example);
}

std::vector<Example> TopExamples::sorted() const {
    std::vector<Example> best = heap_;
    std::ranges::sort(best, before);
    return best;
}

std::uint64_t draw(std::uint64_t seed, std::int64_t text, std::int64_t place) noexcept {
    const auto mix = [](std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    };
    constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15u;
    return mix(mix(mix(seed + kStep) + static_cast<std::uint64_t>(text) + kStep) + static_cast<std::uint64_t>(place) + kStep);
}

std::int64_t name_hash(std::string_view name) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return static_cast<std::int64_t>(hash);
}

}  // namespace headlight::corpus
