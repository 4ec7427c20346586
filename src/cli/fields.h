// SPDX-License-Identifier: GPL-3.0-or-later
// The options of a request (base/fields.h).
#pragma once

#include "cli/options.h"
#include "headlight/base/fields.h"

namespace headlight::cli {

/// An option for each field, in their order. The request must outlive the definition's parsing.
template <class Request>
void add_fields(Definition& definition, Request& request) {
    describe(request, [&](const Field& field, auto& value) {
        using T = std::decay_t<decltype(value)>;
        CLI::App& app = *definition.app;
        const std::string help(field.help), type = field.type.empty() ? "N" : std::string(field.type);
        if constexpr (std::is_enum_v<T>) {
            definition.add_enum(field.option(), value, help);
        } else if constexpr (std::is_same_v<T, bool>) {
            app.add_flag_callback(
                field.option(), [&value, on = !field.negated] { value = on; }, help);
        } else if constexpr (std::is_same_v<T, Indices>) {
            app.add_option_function<std::string>(
                   field.option(),
                   [&value, option = field.option()](const std::string& typed) { value = parse_index_list(typed, option); }, help)
                ->type_name("LIST");
        } else if constexpr (is_number<T>) {
            CLI::Option* option = add_value(definition, field.option(), value, help, type);
            if (field.empty.empty()) option->capture_default_str();
            if (field.bounded()) {
                const auto bound = [](double limit) { return static_cast<T>(limit); };
                option->check(CLI::Range(bound(field.low), bound(field.high)));
            }
        } else {
            const std::string named = field.type.empty() ? "TEXT" : std::string(field.type);
            CLI::Option* option = field.kind == FieldKind::file ? add_path(definition, field.option(), value, help, named)
                                  : field.kind == FieldKind::folder
                                      ? add_path(definition, field.option(), value, help, named, ValueKind::folder)
                                      : add_value(definition, field.option(), value, help, named);
            if constexpr (std::is_same_v<T, Strings>) option->allow_extra_args(false);
        }
    });
}

/// UsageError for an option that the others make mean nothing.
template <class Request>
void require_relevant(const Request& request) {
    try {
        check_relevant(request);
    } catch (const Error& error) {
        throw UsageError(error.what());
    }
}

}  // namespace headlight::cli
