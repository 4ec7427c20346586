// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace headlight {

/// A zero-based index that does not mix with indices of another kind.
template <class Tag>
struct Index {
    std::int64_t value = 0;

    constexpr Index() = default;
    constexpr explicit Index(std::int64_t v) : value(v) {}
    constexpr auto operator<=>(const Index&) const = default;
    constexpr Index& operator++() {
        ++value;
        return *this;
    }
};

using Layer = Index<struct LayerTag>;
using Head = Index<struct HeadTag>;          ///< query head
using Position = Index<struct PositionTag>;  ///< token position in the sequence the model got
using Neuron = Index<struct NeuronTag>;      ///< MLP hidden unit

/// One attention head, shown as L3H5.
struct HeadId {
    Layer layer;
    Head head;
    constexpr auto operator<=>(const HeadId&) const = default;
};

}  // namespace headlight

template <class Tag>
struct std::hash<headlight::Index<Tag>> {
    std::size_t operator()(headlight::Index<Tag> i) const noexcept { return std::hash<std::int64_t>{}(i.value); }
};
