// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/models/vocab.h"

#include <algorithm>

namespace headlight::text {
namespace {
constexpr std::int64_t kGaps = 1'000'000;
}  // namespace

Vocab::Vocab(const Field& object) {
    const nlohmann::json& json = object.json();
    if (!json.is_object()) object.fail_expected("an object of strings and ids");
    const auto count = static_cast<std::int64_t>(json.size());
    if (count == 0) object.fail("The vocabulary is empty");
    std::vector<bool> taken;
    for (const auto& [token, value] : json.items()) {
        const auto entry = [&value = value, &token = token, &object] {
            return Field(value, object.file(), object.path() + "[\"" + token + "\"]");
        };
        if (!value.is_number_integer()) entry().integer(0, kHighestId);
        const std::int64_t id =
            value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX ? INT64_MAX : value.get<std::int64_t>();
        if (id < 0 || id > kHighestId) entry().integer(0, kHighestId);
        if (id >= 4 * count + kGaps) {  // a wrong number must not ask for gigabytes
            entry().fail("The ids of the vocabulary have too wide a gap",
                         "ids up to " + std::to_string(4 * count + kGaps - 1) + " for " + std::to_string(count) + " entries",
                         std::to_string(id));
        }
        const auto at = static_cast<std::size_t>(id);
        if (at >= strings_.size()) {
            strings_.resize(at + 1);
            taken.resize(at + 1, false);
        }
        if (taken[at]) {
            entry().fail("Two entries of the vocabulary have the same id", "",
                         std::to_string(id) + ", which is \"" + strings_[at] + "\" already");
        }
        taken[at] = true;
        strings_[at] = token;
    }
    ids_.reserve(strings_.size() * 2);
    for (std::size_t i = 0; i < strings_.size(); ++i) {
        if (!taken[i]) continue;
        ids_.emplace(strings_[i], static_cast<std::int32_t>(i));
        longest_ = std::max(longest_, strings_[i].size());
    }
}

}  // namespace headlight::text
