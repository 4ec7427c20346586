// SPDX-License-Identifier: GPL-3.0-or-later
// What tests/golden/make_map_golden.py has written.
#pragma once

#include "headlight/io/npz.h"
#include "headlight/map/projection/pca.h"

#include <cstring>
#include <string>
#include <vector>

namespace headlight::map::golden {

inline const io::NpzContent& file() {
    static const io::NpzContent content = io::read_npz(HEADLIGHT_SOURCE_DIR "/tests/golden/map.npz");
    return content;
}

template <class T>
std::vector<T> values(const std::string& name) {
    const io::TensorView& view = file().arrays.at(name);
    std::vector<T> out(static_cast<std::size_t>(view.numel()));
    if (view.bytes.size() != out.size() * sizeof(T)) throw std::runtime_error(name + " is of another type");
    std::memcpy(out.data(), view.bytes.data(), view.bytes.size());
    return out;
}

inline Rows points() {
    static const std::vector<float> x = values<float>("x");
    const std::int64_t width = file().arrays.at("x").shape[1];
    return {x, std::ssize(x) / width, width};
}

}  // namespace headlight::map::golden
