// SPDX-License-Identifier: GPL-3.0-or-later
#include "corpus/accumulate/archive.h"

#include "corpus/heads/saved_heads.h"
#include "headlight/corpus/accumulate/stored.h"

#include <algorithm>
#include <typeinfo>
#include <utility>

namespace headlight::corpus {

std::int64_t product_of(const Shape& shape) {
    std::int64_t n = 1;
    for (const std::int64_t size : shape) n *= size;
    return n;
}

Shape extended(Shape shape, const Shape& more) {
    shape.insert(shape.end(), more.begin(), more.end());
    return shape;
}

std::unique_ptr<Accumulator> StoredAccumulator::fresh() const {
    std::unique_ptr<StoredAccumulator> other = copy();
    Archive clear(Archive::Task::clear);
    other->stored(clear);
    return other;
}

void StoredAccumulator::merge(const Accumulator& from) {
    if (typeid(from) != typeid(*this)) throw std::bad_cast();
    // To collect parts, and to save them, changes nothing.
    Archive collect(Archive::Task::collect);
    const_cast<StoredAccumulator&>(dynamic_cast<const StoredAccumulator&>(from)).stored(collect);
    Archive merge(Archive::Task::merge, std::move(collect).collected());
    stored(merge);
}

void StoredAccumulator::save(Arrays& arrays) const {
    Archive save(arrays);
    const_cast<StoredAccumulator*>(this)->stored(save);
}

void StoredAccumulator::load(const Arrays& arrays) {
    Archive load(arrays);
    stored(load);
}

void Archive::walk_facts(const std::string& name, Integers& facts, bool known, bool of_heads) const {
    if (saves()) out_->put<std::int64_t>(name, {std::ssize(facts)}, facts);
    if (!loads()) return;
    const std::int64_t own = std::ssize(facts);
    const Integers expected =
        std::exchange(facts, in_->get_within<std::int64_t>(name, {of_heads || known ? own : -1}, 0, kMostCounted));
    if (of_heads) check_heads(*in_, name, facts[0], facts[1]);
    for (std::size_t i = 0; known && i < facts.size(); ++i)
        if (facts[i] != expected[i])
            in_->throw_damaged(name, std::to_string(expected[i]) + " as in the run", std::to_string(facts[i]));
}

void Archive::sums(const std::string& name, const Shape& shape, std::vector<FixedSum>& values) {
    if (loads()) in_->require<std::int64_t>(name, extended(shape, {2}));
    values.resize(static_cast<std::size_t>(product_of(shape)));
    sums(name, shape, pointers_to(values));
}

void Archive::sums(const std::string& name, const Shape& shape, const std::vector<FixedSum*>& sums) {
    Integers halves;
    for (FixedSum* sum : sums) {
        part(*sum, [sum](const FixedSum& other) { sum->merge(other); });
        if (saves()) halves.insert(halves.end(), {sum->low(), sum->high()});
    }
    if (saves()) out_->put<std::int64_t>(name, extended(shape, {2}), halves);
    if (!loads()) return;
    halves = in_->get<std::int64_t>(name, extended(shape, {2}));
    for (std::size_t i = 0; i < sums.size(); ++i) *sums[i] = FixedSum::of(halves[2 * i], halves[2 * i + 1]);
}

void Archive::counts(const std::string& name, const Shape& shape, const std::vector<std::int64_t*>& counts) {
    Integers all;
    for (std::int64_t* count : counts) {
        part(*count, [count](std::int64_t other) { *count += other; });
        if (saves()) all.push_back(*count);
    }
    if (saves()) out_->put<std::int64_t>(name, shape, all);
    if (!loads()) return;
    all = in_->get_within<std::int64_t>(name, shape, 0, kMostCounted);
    for (std::size_t i = 0; i < counts.size(); ++i) *counts[i] = all[i];
}

void Archive::strings(const std::string& bytes, const std::string& ends, std::vector<std::string>& strings) {
    struct One {
        std::string text;
    };
    std::vector<One> all;
    for (std::string& each : strings) all.push_back({std::move(each)});
    StoredRows<One>(*this, {-1}, all)
        .ends(ends, bytes, &One::text)
        .ragged<std::uint8_t>(bytes, {}, &One::text, [](const One& one) { return std::ssize(one.text); });
    strings.clear();
    for (One& one : all) strings.push_back(std::move(one.text));
}

}  // namespace headlight::corpus
