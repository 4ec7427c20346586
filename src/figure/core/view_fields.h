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
Request request_of(const ViewState&, Request defaults = {});

/// Makes it a choice among measures of heads; `first` stand before them.
void offer_measures(ViewOption&, std::vector<std::pair<std::string, std::string>> first = {});

/// An option for each field, in their order.
template <class Request>
std::vector<ViewOption> options_of(const Request& defaults = {}) {
    std::vector<ViewOption> out;
    describe(defaults, [&](const Field& field, const auto& value) {
        using T = std::decay_t<decltype(value)>;
        ViewOption& option = out.emplace_back();
        option.name = field.flag();
        option.former = field.former;
        option.title = field.title;
        option.help = field.help;
        option.low = field.low, option.high = field.high;
        option.only = field.only;
        option.slider_low = field.slide_low, option.slider_high = field.slide_high;
        if constexpr (std::is_same_v<T, bool>) {
            option.kind = OptionKind::flag;
        } else if constexpr (std::is_enum_v<T>) {
            option.kind = OptionKind::choice;
            for (const auto& row : enum_rows(value)) option.choices.emplace_back(row.word, row.title);
        } else if constexpr (is_number<T>) {
            option.kind = std::is_integral_v<T> ? OptionKind::integer : OptionKind::number;
        } else {
            option.kind = OptionKind::text;
            option.list = std::is_same_v<T, Indices>;
            option.token = field.names_token();
            option.next = field.kind == FieldKind::target;
            option.example = field.empty;
            if (field.kind == FieldKind::measure) offer_measures(option);
        }
        if constexpr (!std::is_same_v<T, bool>) option.initial = field_words(value);
        if (field.only.empty()) return;
        option.relevant = [name = option.name, defaults](const ViewState& state) {
            bool relevant = true;
            const Request now = request_of<Request>(state, defaults);
            describe(now, [&](const Field& f, const auto&) {
                if (f.flag() == name) relevant = f.relevant;
            });
            return relevant;
        };
    });
    return out;
}

/// The request that the state's options make. The values are those that check_values() accepts.
template <class Request>
Request request_of(const ViewState& state, Request request) {
    describe(request, [&](const Field& field, auto& value) {
        using T = std::decay_t<decltype(value)>;
        const std::string text = text_value(state, field.flag());
        if constexpr (std::is_same_v<T, bool>)
            value = text.empty() == field.negated;
        else if constexpr (std::is_enum_v<T>)
            value = enum_value<T>(text).value();
        else if constexpr (is_number<T>)
            std::from_chars(text.data(), text.data() + text.size(), value);
        else if constexpr (std::is_same_v<T, Indices>)
            value = text.empty() ? Indices() : headlight::index_list(text);
        else
            value = text;
    });
    return request;
}

}  // namespace headlight::figure
