// SPDX-License-Identifier: GPL-3.0-or-later
// The options of a request (base/fields.h).
#pragma once

#include "cli/options.h"
#include "cli/result_file.h"
#include "headlight/base/fields.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace headlight::cli {

/// A number of this type within the range of the field, which --help shows.
template <class T>
CLI::Validator number_check(const Field& field) {
    return CLI::Validator(
        [field](std::string& typed) {
            T number{};
            const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), number);
            const bool whole = error == std::errc() && end == typed.data() + typed.size();
            return whole && in_range(field, number) ? std::string()
                                                    : "expected " + expected_number<T>(field) + ", found " + typed;
        },
        range_words(field));
}

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// A value that need not be given, and then has no default.
template <class T>
void add_optional(Definition& definition, const Field& field, std::optional<T>& value, const std::string& type) {
    const std::string help(field.help);
    if constexpr (std::is_enum_v<T>) {
        const auto take = [&value](const std::string& word) { value = enum_value<T>(word); };
        definition.restrict_to(definition.app->add_option_function<std::string>(field.options(), take, help), enum_words<T>());
    } else {
        CLI::Option* option = definition.app->add_option_function<T>(
            field.options(), [&value](const T& typed) { value = typed; }, help);
        option->type_name(std::is_same_v<T, std::string> && field.type.empty() ? "TEXT" : type);
        if constexpr (is_number<T>) option->check(number_check<T>(field));
    }
}

/// An option for each field, in their order. The request must outlive the definition's parsing.
template <class Request>
void add_fields(Definition& definition, Request& request) {
    describe(request, [&](const Field& field, auto& value) {
        using T = std::decay_t<decltype(value)>;
        CLI::App& app = *definition.app;
        const std::string type = !field.type.empty() ? std::string(field.type) : std::is_floating_point_v<T> ? "X" : "N";
        const std::string what = field.names_token() ? ": an id, text that is one token, or a class" : "";
        const std::string help = std::string(field.help) + (std::is_same_v<T, std::string> ? what : "");
        if constexpr (is_optional<T>) {
            add_optional(definition, field, value, type);
        } else if constexpr (std::is_enum_v<T>) {
            definition.add_enum(field.options(), value, help);
        } else if constexpr (std::is_same_v<T, bool>) {
            app.add_flag_callback(
                field.options(), [&value, on = !field.negated] { value = on; }, help);
        } else if constexpr (std::is_same_v<T, Indices>) {
            app.add_option_function<std::string>(
                   field.options(),
                   [&value, option = field.option()](const std::string& typed) { value = parse_index_list(typed, option); }, help)
                ->type_name("LIST");
        } else if constexpr (is_number<T>) {
            CLI::Option* option = add_value(definition, field.options(), value, help, type);
            if (field.empty.empty()) option->capture_default_str();
            option->check(number_check<T>(field));
        } else {
            const std::string named = !field.type.empty()               ? std::string(field.type)
                                      : field.kind == FieldKind::file   ? "FILE"
                                      : field.kind == FieldKind::folder ? "FOLDER"
                                      : field.names_token()             ? (std::is_same_v<T, std::string> ? "ID|TEXT" : "TOKEN")
                                                                        : "TEXT";
            CLI::Option* option = field.kind == FieldKind::file ? add_path(definition, field.options(), value, help, named)
                                  : field.kind == FieldKind::folder
                                      ? add_path(definition, field.options(), value, help, named, ValueKind::folder)
                                      : add_value(definition, field.options(), value, help, named);
            if constexpr (std::is_same_v<T, Strings>) {
                option->allow_extra_args(false);
                if (field.kind == FieldKind::names) option->delimiter(',');
            } else if (!value.empty()) {
                option->capture_default_str();
            }
        }
    });
}

/// UsageError for an option that is given although the others make it mean nothing.
template <class Request>
void require_relevant(const CLI::App& app, const Request& request) {
    try {
        check_relevant(request, [&](const Field& field) { return app.count(field.option()) > 0; });
    } catch (const Error& error) {
        throw UsageError(error.what());
    }
}

/// A fact under its key for each field that is relevant and not empty, but for those named.
template <class Request>
void add_facts(Result& result, const Request& request, std::initializer_list<std::string_view> without = {}) {
    describe(request, [&](const Field& field, const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if (!field.relevant || std::ranges::find(without, field.name) != without.end()) return;
        if constexpr (std::is_same_v<T, Strings> || std::is_same_v<T, Indices>) {
            for (const auto& each : value) result.fact(field.key(), each);
        } else if constexpr (std::is_floating_point_v<T>) {
            result.fact(field.key(), double{value});
        } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::uint64_t>) {
            result.fact(field.key(), value);
        } else if constexpr (is_number<T>) {
            result.fact(field.key(), static_cast<std::int64_t>(value));
        } else if (std::string words = field_words(value); !words.empty()) {
            result.fact(field.key(), field.kind == FieldKind::file ? std::filesystem::path(words).filename().string() : words);
        }
    });
}

}  // namespace headlight::cli
