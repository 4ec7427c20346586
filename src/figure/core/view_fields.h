// SPDX-License-Identifier: GPL-3.0-or-later
// The fields of a request (base/fields.h) as a view's own options.
#pragma once

#include "figure/core/shared_options.h"
#include "headlight/base/fields.h"

#include <charconv>
#include <string>
#include <type_traits>
#include <vector>

namespace headlight::figure {

template <class Request>
Request request_of(const ViewState&);

/// An option for each field, in their order. --help names the view, whose option it is.
template <class Request>
std::vector<ViewOption> options_of(const std::string& view) {
    std::vector<ViewOption> out;
    const Request defaults;
    describe(defaults, [&](const Field& field, const auto& value) {
        using T = std::decay_t<decltype(value)>;
        ViewOption& option = out.emplace_back();
        option.name = field.name;
        option.title = field.title;
        option.help = view + ": " + std::string(field.help);
        option.low = field.low, option.high = field.high;
        option.only = field.only;
        if constexpr (std::is_same_v<T, bool>) {
            option.kind = OptionKind::flag;
        } else if constexpr (std::is_enum_v<T>) {
            option.kind = OptionKind::choice;
            for (const auto& row : enum_rows(value)) option.choices.emplace_back(row.word, row.title);
        } else if constexpr (is_number<T>) {
            option.kind = std::is_integral_v<T> ? OptionKind::integer : OptionKind::number;
        } else {
            option.kind = OptionKind::text;
            option.token = field.kind == FieldKind::token;
            option.example = field.empty;
        }
        if constexpr (!std::is_same_v<T, bool>) option.initial = field_words(value);
        option.relevant = [name = std::string(field.name)](const ViewState& state) {
            bool relevant = true;
            const Request now = request_of<Request>(state);
            describe(now, [&](const Field& f, const auto&) {
                if (f.name == name) relevant = f.relevant;
            });
            return relevant;
        };
    });
    return out;
}

/// The request that the state's options make. The values are those that check_values() accepts.
template <class Request>
Request request_of(const ViewState& state) {
    Request request;
    describe(request, [&](const Field& field, auto& value) {
        using T = std::decay_t<decltype(value)>;
        const std::string text = text_value(state, field.name);
        if constexpr (std::is_same_v<T, bool>)
            value = !text.empty();
        else if constexpr (std::is_enum_v<T>)
            value = enum_value<T>(text).value();
        else if constexpr (is_number<T>)
            std::from_chars(text.data(), text.data() + text.size(), value);
        else
            value = text;
    });
    return request;
}

}  // namespace headlight::figure
