// SPDX-License-Identifier: GPL-3.0-or-later
// The lists of StoredAccumulator::stored():
//
//     a.heads("tags.heads", layers_, heads_, causal_);
//     a.sums("tags.mass", {layers_ * heads_}, mass_);
//     a.counts("tags.counts", {2}, {&texts_, &left_out_});
//     a.rows("tags.text.number", by_text_, [&](StoredRows<Text>& text) {
//         text.column<float>("tags.text.rows", {20}, &Text::rows)
//             .column<std::int64_t>("tags.text.words", {}, at_least(1, &Text::words));
//     });
#pragma once

#include "headlight/corpus/accumulate/arrays.h"
#include "headlight/corpus/accumulate/fixed_sum.h"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headlight::corpus {

using Integers = std::vector<std::int64_t>;
using Shape = Integers;
std::int64_t product_of(const Shape&);
Shape extended(Shape, const Shape& more);

template <class T>
std::vector<T*> pointers_to(std::vector<T>& values) {
    std::vector<T*> all;
    for (T& value : values) all.push_back(&value);
    return all;
}
/// The first `most` of both, each in their order.
template <class Row, class Order>
void add_in_order(std::vector<Row>& to, std::vector<Row> more, const Order& order,
                  std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
    const auto middle = to.insert(to.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
    std::ranges::inplace_merge(to, middle, {}, order);
    if (std::ssize(to) > most) to.erase(to.begin() + most, to.end());
}

/// A member of a row that is a number or holds several, and what these may be in a file. Other fields have the same two
/// functions.
template <class Row, class M, class Element>
struct StoredField {
    M Row::*member;
    std::int64_t least, most;
    bool checked = true;

    template <class T>
    void save(const Row& row, std::vector<T>& out) const {
        if constexpr (std::same_as<M, Element>)
            out.push_back(static_cast<T>(row.*member));
        else
            out.insert(out.end(), (row.*member).begin(), (row.*member).end());
    }
    template <class T>
    void load(Row& row, const T* begin, const T* end, const Arrays& in, const std::string& name) const {
        for (const T* each = begin; checked && each != end; ++each) {
            if constexpr (!std::integral<T>) {
                if (*each != *each) in.throw_damaged(name, "a number", "NaN");
            } else if (std::cmp_less(*each, least) || std::cmp_greater(*each, most)) {
                in.throw_damaged(name, std::to_string(least) + " to " + std::to_string(most), std::to_string(*each));
            }
        }
        if constexpr (std::same_as<M, Element>)
            row.*member = static_cast<M>(*begin);
        else
            (row.*member).assign(begin, end);
    }
};
template <class M>
struct ElementOf : std::type_identity<M> {};
template <class M>
requires requires { typename M::value_type; }
struct ElementOf<M> : std::type_identity<typename M::value_type> {};
/// From `least` to `most`, or to the largest number that the member holds; a float is any but NaN.
template <class Row, class M, class Element = typename ElementOf<M>::type>
StoredField<Row, M, Element> within(std::int64_t least, M Row::*member, std::optional<std::int64_t> most = {}) {
    constexpr std::int64_t largest = std::integral<Element> ? static_cast<std::int64_t>(std::numeric_limits<Element>::max()) : 0;
    return {member, least, most.value_or(largest)};
}
/// Any number that the member holds; of a string any byte.
template <class Row, class M, class Element = typename ElementOf<M>::type>
StoredField<Row, M, Element> field_of(M Row::*member) {
    if constexpr (std::integral<Element> && !std::same_as<Element, char> && sizeof(Element) < sizeof(std::int64_t))
        return within(std::numeric_limits<Element>::min(), member);
    else
        return {member, 0, 0, false};
}
template <class Field>
const Field& field_of(const Field& field) {
    return field;
}

template <class Row>
class StoredRows;

/// One walk over a list.
class Archive {
public:
    /// Parts of another accumulator are collected before they are merged.
    enum class Task { clear, collect, merge, save, load };
    explicit Archive(Task task, std::vector<const void*> collected = {}) : task_(task), parts_(std::move(collected)) {}
    explicit Archive(Arrays& out) : task_(Task::save), out_(&out) {}
    explicit Archive(const Arrays& in) : task_(Task::load), in_(&in) {}
    bool saves() const noexcept { return task_ == Task::save; }
    bool loads() const noexcept { return task_ == Task::load; }
    Arrays& out() const noexcept { return *out_; }
    const Arrays& in() const noexcept { return *in_; }
    std::vector<const void*> collected() && { return std::move(parts_); }

    /// What fresh() and merge() do with a part: merge(const T& other) adds another's.
    template <class T, class Merge>
    void part(T& part, const Merge& merge) {
        if (task_ == Task::collect) parts_.push_back(&part);
        if (task_ == Task::merge) merge(*static_cast<const T*>(parts_[next_++]));
        if (task_ != Task::clear) return;
        if constexpr (requires { part.clear(); })
            part.clear();
        else
            part = T();
    }

    /// [2 + more]: layers and heads, and more facts of the run. Where there are none yet, those of the file are taken.
    template <class... More>
    void heads(const std::string& name, std::int64_t& layers, std::int64_t& heads, More&... more) {
        Integers facts{layers, heads, static_cast<std::int64_t>(more)...};
        walk_facts(name, facts, layers > 0, true);
        const std::int64_t* fact = facts.data();
        layers = *fact++, heads = *fact++;
        ((more = static_cast<More>(*fact++)), ...);
    }
    /// What else all accumulators of a run have alike: an array of any size.
    void facts(const std::string& name, Integers& facts) const { walk_facts(name, facts, !facts.empty(), false); }
    /// [shape, 2]
    void sums(const std::string& name, const Shape&, std::vector<FixedSum>&);
    void sums(const std::string& name, const Shape&, const std::vector<FixedSum*>&);
    /// Of queries or texts: from 0 to kMostCounted.
    void counts(const std::string& name, const Shape&, const std::vector<std::int64_t*>&);
    /// [slot] how many items each has, at most `most`, and the items of all: `items(slot)` gives those of one,
    /// `take(slot, i, item)` takes one of a file, describe(StoredRows<Item>&, name) lists the arrays.
    template <class Item, class Items, class Take, class Describe>
    void lists(const std::string& name, const Shape& slots, std::uint8_t most, const Items& items, const Take& take,
               const Describe& describe);
    /// [bytes of all], [string] where each ends.
    void strings(const std::string& bytes, const std::string& ends, std::vector<std::string>&);
    /// The number of a chunk of the store, or from `least`.
    template <class Row, class M>
    auto chunk(M Row::*member, std::int64_t least = 0) const {
        return within(least, member, loads() ? in_->chunks() - 1 : 0);
    }

    /// Rows by the numbers of their chunks, which are an array [row]; describe(StoredRows<Row>&) lists the others.
    template <class Row, class Describe>
    void rows(const std::string& name, std::map<std::int64_t, Row>&, const Describe& describe);
    /// The first `most` rows in an order.
    template <class Row, class Order, class Describe>
    void rows(std::vector<Row>&, const Order&, std::int64_t most, const Describe& describe);

private:
    void walk_facts(const std::string& name, Integers& facts, bool known, bool of_heads) const;

    Task task_;
    Arrays* out_ = nullptr;
    const Arrays* in_ = nullptr;
    std::vector<const void*> parts_;
    std::size_t next_ = 0;
};

/// Arrays of the members of rows; their first sizes are `lead`.
template <class Row>
class StoredRows {
public:
    /// In a file that is loaded, `make` makes the rows once an array has them all.
    StoredRows(Archive& a, Shape lead, std::vector<Row*> rows, std::function<std::vector<Row*>()> make = {})
        : a_(a), lead_(std::move(lead)), rows_(std::move(rows)), make_(std::move(make)) {}
    /// Of a vector: as many as `lead` says; {-1}: as the vector or the file has.
    StoredRows(Archive& a, Shape lead, std::vector<Row>& rows) : a_(a), lead_(std::move(lead)) {
        if (a.saves()) {
            if (lead_.front() < 0) lead_.front() = std::ssize(rows);
            rows_ = pointers_to(rows);
        } else if (a.loads()) {
            make_ = [this, &rows] {
                rows.resize(static_cast<std::size_t>(product_of(lead_)));
                return pointers_to(rows);
            };
        }
    }
    StoredRows(const StoredRows&) = delete;

    /// [lead, shape], or [lead, field, shape] of several fields: members, or fields with limits.
    template <class T, class... Fields>
    StoredRows& column(const std::string& name, const Shape& shape, const Fields&... fields) {
        const Shape all = extended(lead_, sizeof...(fields) > 1 ? extended({sizeof...(fields)}, shape) : shape);
        return walk<T>(
            name, all, product_of(shape), [](const Row&) { return 1; }, fields...);
    }
    /// [sum of count(row), shape]
    template <class T, class Field, class Count>
    StoredRows& ragged(const std::string& name, const Shape& shape, const Field& field, const Count& count) {
        return walk<T>(name, extended({-1}, shape), product_of(shape), count, field);
    }
    /// [row] ends of the rows' items in `array`; with `begins`, [1 + row] from 0 on.
    template <class Items>
    StoredRows& ends(const std::string& name, const std::string& array, Items Row::*member, bool begins = false) {
        Integers ends(begins ? 1 : 0);
        std::int64_t end = 0;
        for (const Row* row : rows_)
            if (a_.saves()) ends.push_back(end += std::ssize(row->*member));
        if (a_.saves()) a_.out().template put<std::int64_t>(name, {std::ssize(ends)}, ends);
        if (!a_.loads()) return *this;
        a_.in().template require<std::int64_t>(name, {lead_.front() + std::ssize(ends)});
        make(name);
        const Shape shape = a_.in().shape(array);
        const std::int64_t all = shape.empty() ? 0 : shape.front();
        ends = a_.in().get_within(name, {-1}, std::int64_t{0}, all);
        auto next = ends.begin();
        if (begins && *next++ != 0) a_.in().throw_damaged(name, "0 first", std::to_string(ends.front()));
        for (Row* row : rows_) {
            if (*next < end) a_.in().throw_damaged(name, std::to_string(end) + " or more", std::to_string(*next));
            (row->*member).resize(static_cast<std::size_t>(*next - end));
            end = *next++;
        }
        if (end != all) a_.in().throw_damaged(name, std::to_string(all) + " last", std::to_string(end));
        return *this;
    }
    /// The items of all rows: `n` in each, or as many as ends() has loaded.
    template <class Item>
    StoredRows<Item> each(std::vector<Item> Row::*member, std::optional<std::int64_t> n = {}) {
        const auto items = [rows = rows_, member, n] {
            std::vector<Item*> all;
            for (Row* row : rows) {
                if (n) (row->*member).resize(static_cast<std::size_t>(*n));
                for (Item& item : row->*member) all.push_back(&item);
            }
            return all;
        };
        if (n) return {a_, {std::ssize(rows_), *n}, a_.saves() ? items() : std::vector<Item*>(), items};
        const std::vector<Item*> all = items();
        return {a_, {std::ssize(all)}, all};
    }

private:
    template <class T, class Count, class... Fields>
    StoredRows& walk(const std::string& name, Shape shape, std::int64_t size, const Count& count, const Fields&... fields) {
        if (a_.saves()) {
            std::vector<T> all;
            for (const Row* row : rows_) (field_of(fields).save(*row, all), ...);
            if (shape.front() < 0) shape.front() = std::ssize(all) / size;
            a_.out().template put<T>(name, shape, all);
        }
        if (!a_.loads()) return *this;
        const ArrayView<T> all = a_.in().template view<T>(name, shape);
        make(name);
        std::int64_t left = std::ssize(all) / size;  // each row's must fit, or two could cancel
        const T* at = all.data();
        const auto load = [&](Row& row, const auto& field) {
            const std::int64_t n = count(row);
            if (n < 0 || n > left) a_.in().throw_damaged(name, std::to_string(n) + " more", std::to_string(left));
            field.load(row, at, at + n * size, a_.in(), name);
            left -= n, at += n * size;
        };
        for (Row* row : rows_) (load(*row, field_of(fields)), ...);
        if (left > 0) a_.in().throw_damaged(name, "as many as its rows say", std::to_string(left) + " more");
        return *this;
    }
    /// An array has all rows.
    void make(const std::string& name) {
        if (!make_) return;
        if (lead_.front() < 0) lead_.front() = a_.in().shape(name).front();
        rows_ = std::exchange(make_, {})();
    }

    Archive& a_;
    Shape lead_;
    std::vector<Row*> rows_;
    std::function<std::vector<Row*>()> make_;
};

template <class Item, class Items, class Take, class Describe>
void Archive::lists(const std::string& name, const Shape& slots, std::uint8_t most, const Items& items, const Take& take,
                    const Describe& describe) {
    const std::string in_use = name + ".in_use";
    std::vector<Item> all;
    std::vector<std::uint8_t> sizes;
    if (loads()) sizes = in_->get_within<std::uint8_t>(in_use, slots, 0, most);
    for (std::int64_t slot = 0; saves() && slot < product_of(slots); ++slot) {
        const std::vector<Item> more = items(slot);
        all.insert(all.end(), more.begin(), more.end());
        sizes.push_back(static_cast<std::uint8_t>(more.size()));
    }
    if (saves()) out_->put<std::uint8_t>(in_use, slots, sizes);
    StoredRows<Item> rows(*this, {-1}, all);
    describe(rows, name);
    if (!loads()) return;
    const std::int64_t listed = std::reduce(sizes.begin(), sizes.end(), std::int64_t{0});
    if (listed != std::ssize(all))
        in_->throw_damaged(in_use, std::to_string(std::ssize(all)) + " in all", std::to_string(listed));
    const Item* next = all.data();
    for (std::int64_t slot = 0; slot < std::ssize(sizes); ++slot)
        for (std::int64_t i = 0; i < sizes[static_cast<std::size_t>(slot)]; ++i) take(slot, i, *next++);
}

template <class Row, class Describe>
void Archive::rows(const std::string& name, std::map<std::int64_t, Row>& rows, const Describe& describe) {
    part(rows, [&](const auto& other) { rows.insert(other.begin(), other.end()); });
    if (!saves() && !loads()) return;
    Integers chunks;
    if (loads()) chunks = in_->get_chunks(name, {-1}), rows.clear();
    for (const std::int64_t chunk : chunks) {
        if (!rows.empty() && chunk <= rows.rbegin()->first)
            in_->throw_damaged(name, "more than " + std::to_string(rows.rbegin()->first), std::to_string(chunk));
        rows[chunk];
    }
    std::vector<Row*> all;
    for (auto& [chunk, row] : rows) {
        if (saves()) chunks.push_back(chunk);
        all.push_back(&row);
    }
    if (saves()) out_->put<std::int64_t>(name, {std::ssize(chunks)}, chunks);
    StoredRows<Row> each(*this, {std::ssize(chunks)}, std::move(all));
    describe(each);
}

template <class Row, class Order, class Describe>
void Archive::rows(std::vector<Row>& rows, const Order& order, std::int64_t most, const Describe& describe) {
    part(rows, [&](const auto& other) { add_in_order(rows, other, order, most); });
    if (!saves() && !loads()) return;
    StoredRows<Row> each(*this, {-1}, rows);
    describe(each);
    std::ranges::stable_sort(rows, {}, order);
}

}  // namespace headlight::corpus
