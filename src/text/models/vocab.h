// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "text/files/json_fields.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace headlight::text {

/// The strings of a model by id and the ids by string.
class Vocab {
public:
    /// From {"string": id, …}. Each id once: a duplicate is an Error. Ids that nobody has are empty strings.
    explicit Vocab(const Field& object);
    Vocab(const Vocab&) = delete;  // ids_ points into strings_
    Vocab& operator=(const Vocab&) = delete;

    std::optional<std::int32_t> id_of(std::string_view token) const {
        const auto it = ids_.find(token);
        if (it == ids_.end()) return std::nullopt;
        return it->second;
    }
    const std::string& token_of(std::int32_t id) const { return strings_[static_cast<std::size_t>(id)]; }
    /// The highest id and one.
    std::int32_t size() const noexcept { return static_cast<std::int32_t>(strings_.size()); }
    std::size_t longest() const noexcept { return longest_; }  ///< bytes of the longest string

private:
    std::vector<std::string> strings_;
    std::unordered_map<std::string_view, std::int32_t> ids_;
    std::size_t longest_ = 0;
};

}  // namespace headlight::text
