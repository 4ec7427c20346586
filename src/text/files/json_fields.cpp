// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/files/json_fields.h"

#include "headlight/base/error.h"

#include <algorithm>

namespace headlight::text {
namespace {

constexpr std::size_t kShownLength = 60;

std::string shown(const nlohmann::json& value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "an array of " + std::to_string(value.size());
    std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    if (text.size() > kShownLength) text = text.substr(0, kShownLength) + "…";
    return text;
}

}  // namespace

bool Field::has(const char* key) const {
    if (!value_->is_object()) fail_expected("an object");
    const auto it = value_->find(key);
    return it != value_->end() && !it->is_null();
}

std::optional<Field> Field::find(const char* key) const {
    if (!has(key)) return std::nullopt;
    return Field(*value_->find(key), file_, path_.empty() ? key : path_ + "." + key);
}

Field Field::at(const char* key) const {
    auto field = find(key);
    if (!field) {
        const nlohmann::json none;
        Field(none, file_, path_.empty() ? key : path_ + "." + key).fail("A field is missing in the tokenizer");
    }
    return *field;
}

std::vector<Field> Field::items() const {
    if (!value_->is_array()) fail_expected("an array");
    std::vector<Field> out;
    out.reserve(value_->size());
    for (std::size_t i = 0; i < value_->size(); ++i) {
        out.emplace_back((*value_)[i], file_, path_ + "[" + std::to_string(i) + "]");
    }
    return out;
}

const std::string& Field::string() const {
    if (!value_->is_string()) fail_expected("a string");
    return value_->get_ref<const std::string&>();
}

bool Field::boolean() const {
    if (!value_->is_boolean()) fail_expected("true or false");
    return value_->get<bool>();
}

std::int64_t Field::integer(std::int64_t low, std::int64_t high) const {
    const bool fits = value_->is_number_unsigned() ? value_->get<std::uint64_t>() <= static_cast<std::uint64_t>(high)
                                                   : value_->is_number_integer();
    if (!fits || value_->get<std::int64_t>() < low || value_->get<std::int64_t>() > high) {
        fail_expected("a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    }
    return value_->get<std::int64_t>();
}

std::string Field::string_or(const char* key, std::string fallback) const {
    const auto field = find(key);
    return field ? field->string() : std::move(fallback);
}

bool Field::boolean_or(const char* key, bool fallback) const {
    const auto field = find(key);
    return field ? field->boolean() : fallback;
}

std::string Field::type(std::initializer_list<std::string_view> known, const char* what) const {
    const Field field = at("type");
    const std::string& name = field.string();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
        std::string list;
        for (const auto& k : known) list += (list.empty() ? "" : ", ") + std::string(k);
        field.fail(std::string("This ") + what + " is not known", "one of " + list, name);
    }
    return name;
}

void Field::fail(const std::string& problem, const std::string& expected, const std::string& found,
                 const std::string& hint) const {
    throw Error({.problem = problem,
                 .file = file_,
                 .item = path_.empty() ? "the whole file" : path_,
                 .expected = expected,
                 .found = found,
                 .hint = hint});
}

void Field::fail_expected(const std::string& expected) const {
    fail("A field of the tokenizer has the wrong type or value", expected, shown(*value_));
}

}  // namespace headlight::text
