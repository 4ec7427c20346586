// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/accumulate/examples.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace headlight::corpus {
namespace {

using Drawn = std::pair<std::uint64_t, Example>;

bool drawn_before(const Drawn& a, const Drawn& b) { return a.first != b.first ? a.first < b.first : before(a.second, b.second); }

/// Keeps the first `size` in the order of `first`; the front of the heap is the last of them.
template <class T, class First>
void keep_first(std::vector<T>& heap, std::int64_t size, const T& item, First first) {
    if (static_cast<std::int64_t>(heap.size()) == size) {
        if (size == 0 || !first(item, heap.front())) return;
        std::ranges::pop_heap(heap, first);
        heap.back() = item;
    } else {
        heap.push_back(item);
    }
    std::ranges::push_heap(heap, first);
}

}  // namespace

bool before(const Example& a, const Example& b) noexcept {
    if (a.value != b.value) return a.value > b.value;
    return std::tie(a.text, a.query, a.key) < std::tie(b.text, b.query, b.key);
}

float TopExamples::floor() const noexcept {
    if (size_ == 0) return std::numeric_limits<float>::infinity();
    return static_cast<std::int64_t>(heap_.size()) < size_ ? -std::numeric_limits<float>::infinity() : heap_.front().value;
}

void TopExamples::add(const Example& example) { keep_first(heap_, size_, example, before); }

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

void SampledExamples::add(const Example& example) {
    const std::int64_t place = (static_cast<std::int64_t>(example.query) << 32) | static_cast<std::uint32_t>(example.key);
    keep_first(heap_, size_, Drawn{draw(seed_, example.text, place), example}, drawn_before);
}

void SampledExamples::merge(const SampledExamples& other) {
    for (const Drawn& each : other.heap_) keep_first(heap_, size_, each, drawn_before);
}

std::vector<Example> SampledExamples::sorted() const {
    std::vector<Drawn> drawn = heap_;
    std::ranges::sort(drawn, drawn_before);
    std::vector<Example> examples;
    for (const Drawn& each : drawn) examples.push_back(each.second);
    return examples;
}

}  // namespace headlight::corpus
