// SPDX-License-Identifier: GPL-3.0-or-later
// Requests (base/fields.h) as JSON objects of sessions and files.
#pragma once

#include "headlight/base/fields.h"
#include "headlight/io/json_holds.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>

namespace headlight::io {

/// Every field under its key: enums by their words, numbers as numbers.
template <class Request>
nlohmann::json fields_json(const Request& request) {
    nlohmann::json object = nlohmann::json::object();
    describe(request, [&](const Field& field, const auto& value) {
        if constexpr (std::is_enum_v<std::decay_t<decltype(value)>>)
            object[field.key()] = enum_word(value);
        else
            object[field.key()] = value;
    });
    return object;
}

/// Reads the fields that the object has; others stay as they are. Errors name file and key: a value of another kind, an unknown
/// word of an enum, a number out of range, a fraction where a whole number is meant.
template <class Request>
void read_fields(const nlohmann::json& object, Request& request, const std::filesystem::path& file) {
    const auto wrong = [&](const char* problem, const std::string& key, const std::string& expected) {
        return Error(ErrorFacts{
            .problem = problem, .file = file.string(), .item = key, .expected = expected, .found = object.at(key).dump()});
    };
    describe(request, [&](const Field& field, auto& value) {
        using T = std::decay_t<decltype(value)>;
        const std::string key = field.key();
        if (!object.contains(key)) return;
        constexpr const char* kWrongKind = "The session has a value of the wrong kind";
        try {
            if constexpr (std::is_enum_v<T>) {
                const auto known = enum_value<T>(object.at(key).template get<std::string>());
                if (!known) {
                    std::string words;
                    for (const std::string& word : enum_words<T>()) words += (words.empty() ? "" : ", ") + word;
                    throw wrong("The session has an unknown value", key, words);
                }
                value = *known;
            } else if constexpr (is_number<T>) {
                if (object.at(key).is_boolean()) throw wrong(kWrongKind, key, expected_number<T>(field));
                const auto number = object.at(key).template get<double>();
                if (std::is_integral_v<T> && number != std::trunc(number))
                    throw wrong("The session has a number with a fraction", key, expected_number<T>(field));
                // A number that the type cannot hold must not be converted.
                const double least = field.bounded() ? field.low : static_cast<double>(std::numeric_limits<T>::lowest());
                const double most = field.bounded() ? field.high : static_cast<double>(std::numeric_limits<T>::max());
                if (!(number >= least && number <= most))
                    throw wrong("The session has a number out of range", key, expected_number<T>(field));
                value = static_cast<T>(number);
            } else {
                if (!holds<T>(object.at(key))) throw wrong(kWrongKind, key, "whole numbers");
                value = object.at(key).template get<T>();
            }
        } catch (const nlohmann::json::exception&) {
            throw wrong(kWrongKind, key, "");
        }
    });
}

}  // namespace headlight::io
