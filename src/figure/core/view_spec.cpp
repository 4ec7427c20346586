// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/view_spec.h"

#include "figure/core/view_tables.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"
#include "headlight/base/index_list.h"
#include "headlight/base/nearest.h"
#include "headlight/intervention/compare/comparison.h"
#include "headlight/model/classes.h"
#include "headlight/model/outline.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace headlight::figure {
namespace {

/// Adds to a row's own reasons those that follow from what the view is computed from.
void require_basis(ViewSpec& spec) {
    spec.missing = [own = std::move(spec.missing), basis = spec.basis, across = spec.across_texts, any = spec.any_mixer,
                    compares = spec.compares](const trace::Trace& trace) -> std::string {
        if (compares) return "This view compares two runs. Choose the second with Compare, or with --with or --other.";
        if (std::string why = any ? "" : model::why_no_attention(trace.config()); !why.empty()) return why;
        if (trace.across_texts() && !across)
            return "This view needs self-attention. Choose the attention of the encoder or the decoder's own.";
        if (basis == Basis::terms && model::has_relative_bias(trace.config()))
            return "This view splits a score into terms, and has none for a bias by distance. The neuron view shows it.";
        if (basis != Basis::patterns && !model::has_weights(*trace.model()))
            return "This view needs more than attention patterns, and the file holds no model. Open the model itself.";
        return own ? own(trace) : "";
    };
}

std::vector<ViewSpec> all_specs() {
    std::vector<ViewSpec> all;
    const auto take = [&](std::vector<ViewSpec> some) {
        for (ViewSpec& spec : some) {
            require_basis(spec);
            all.push_back(std::move(spec));
        }
    };
    take(pattern_view_specs());
    take(focus_view_specs());
    take(heads_view_specs());
    take(rollout_view_specs());
    take(prediction_view_specs());
    take(picture_view_specs());
    take(contribution_view_specs());
    take(why_view_specs());
    take(circuit_view_specs());
    take(sparsity_view_specs());
    take(reach_view_specs());
    take(architecture_view_specs());
    take(compare_view_specs());
    add_differences(all);
    return all;
}

template <class T>
std::optional<T> parsed(const std::string& text) {
    T value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::string range_text(const ViewOption& option) {
    const auto whole = [](double x) { return std::to_string(static_cast<std::int64_t>(x)); };
    if (option.kind == OptionKind::integer) return whole(option.low) + " to " + whole(option.high);
    std::string low = std::to_string(option.low), high = std::to_string(option.high);
    for (std::string* text : {&low, &high}) {
        text->erase(text->find_last_not_of('0') + 1);
        if (text->ends_with('.')) text->pop_back();
    }
    return low + " to " + high;
}

/// What the value should be; empty: it is valid.
std::string expectation(const ViewOption& option, const std::string& value) {
    const bool bounded = option.low != 0 || option.high != 0;
    const auto outside = [&](double x) { return bounded && (x < option.low || x > option.high); };
    switch (option.kind) {
        case OptionKind::integer: {
            const auto number = parsed<std::int64_t>(value);
            if (!number) return "a whole number";
            return outside(static_cast<double>(*number)) ? range_text(option) : "";
        }
        case OptionKind::number: {
            const auto number = parsed<double>(value);
            if (!number || !std::isfinite(*number)) return "a number";
            return outside(*number) ? range_text(option) : "";
        }
        case OptionKind::choice: {
            std::string words;
            const bool of_corpus = option.measure && analyze::is_of_corpus(value);
            const std::string_view asked = std::string_view(value).substr(of_corpus ? analyze::corpus_prefix.size() : 0);
            for (const auto& [word, title] : option.choices) {
                if (word == asked) return {};
                words += (words.empty() ? "" : ", ") + word;
            }
            return "one of " + words;
        }
        case OptionKind::text:
            try {
                if (option.list && !value.empty()) (void)headlight::index_list(value);
            } catch (const Error&) {
                return "numbers and ranges like 0,2-4";
            }
            break;
        case OptionKind::flag: break;
    }
    return {};
}

/// What a difference would leave out without a word.
std::string why_no_difference(const ViewSpec& spec, const ViewState& state) {
    if (!spec.difference) return "This view cannot show a difference. Choose A or B.";
    analyze::PatternOptions pattern = state.pattern;
    if (pattern.renormalise) pattern.hide_sinks = false;  // the first key is left out, and the others are renormalised
    if (spec.needs.pattern && pattern != analyze::PatternOptions{})
        return "The difference is that of attention weights between all tokens. Choose the attention weight, all pairs, single "
               "tokens and no hidden special tokens, or show A or B.";
    for (const char* name : {"aggregate", "parts", "tuned"})
        if (const ViewOption* option = spec.option(name); option && text_value(state, name) != option->initial)
            return "The difference does not have the option “" + option->title + "”. Take it back, or show A or B.";
    return {};
}

}  // namespace

const ViewOption* ViewSpec::option(std::string_view name) const noexcept {
    const auto at = std::ranges::find(options, name, &ViewOption::name);
    return at == options.end() ? nullptr : &*at;
}

std::string why_missing(const ViewSpec& spec, const trace::Trace& trace, const ViewState& state) {
    if (!spec.missing || (spec.compares && state.beside)) return {};
    std::string why = spec.missing(trace);
    if (!why.empty() || !state.beside || state.side == Side::a) return why;
    if (state.side == Side::b) return spec.missing(*state.beside->pair->b);
    if (const std::string no = why_no_difference(spec, state); !no.empty()) return no;
    return spec.missing(*state.beside->pair->b);
}

std::span<const ViewSpec> view_specs() {
    static const std::vector<ViewSpec> all = all_specs();
    return all;
}

const ViewSpec* find_view(std::string_view id) noexcept {
    const auto at = std::ranges::find(view_specs(), id, &ViewSpec::id);
    return at == view_specs().end() ? nullptr : &*at;
}

const ViewSpec& view_spec(std::string_view id) {
    if (const ViewSpec* spec = find_view(id)) return *spec;
    std::vector<std::string> ids;
    for (const ViewSpec& spec : view_specs()) ids.push_back(spec.id);
    const std::string near = nearest(id, ids);
    throw Error(ErrorFacts{
        .problem = "There is no such view", .item = std::string(id), .hint = near.empty() ? "" : "Did you mean " + near + "?"});
}

const std::string& view_id(std::size_t n) { return view_specs()[n].id; }

Position default_position(const trace::Trace& trace, const ViewSpec& spec) {
    if (const auto read = model::class_position(trace.config(), trace.encoding().ids)) return Position(*read);
    std::int64_t last = trace.tokens() - 1;
    while (spec.skips_special && last > 0 && trace.encoding().special[static_cast<std::size_t>(last)]) --last;
    return Position(last);
}

Position head_position(const trace::Trace& trace, const ViewSpec& spec, std::optional<Position> pinned) {
    const bool free = !model::text_class_position(trace.config(), trace.encoding().ids);
    return free && pinned ? *pinned : default_position(trace, spec);
}

std::string choice_title(const ViewOption& option, std::string_view value) {
    const bool of_corpus = option.measure && analyze::is_of_corpus(value);
    if (of_corpus) value.remove_prefix(analyze::corpus_prefix.size());
    for (const auto& [word, title] : option.choices)
        if (word == value) return (of_corpus ? "corpus " : "") + title;
    return std::string(value);
}

std::string text_value(const ViewState& state, std::string_view name) {
    const auto found = state.values.find(std::string(name));
    if (found != state.values.end()) return found->second;
    const ViewOption* option = view_spec(state.view).option(name);
    if (!option) throw std::logic_error("view " + state.view + " has no option " + std::string(name));
    return option->initial;
}

ViewValues renamed(const ViewSpec& spec, ViewValues values) {
    for (const ViewOption& option : spec.options)
        if (auto former = option.former.empty() ? decltype(values.extract("")){} : values.extract(option.former)) {
            former.key() = option.name;
            values.insert(std::move(former));
        }
    return values;
}

ViewValues tidy(const ViewSpec& spec, const ViewValues& values) {
    ViewValues kept;
    for (const auto& [name, value] : values) {
        const ViewOption* option = spec.option(name);
        if (option && option->initial != value) kept[name] = value;
    }
    return kept;
}

ViewValues in_use(const ViewSpec& spec, const ViewValues& values) {
    ViewState state;
    state.view = spec.id;
    state.values = tidy(spec, values);
    ViewValues used = state.values;
    std::erase_if(used, [&](const auto& value) {
        const ViewOption& option = *spec.option(value.first);
        return option.relevant && !option.relevant(state);
    });
    return used;
}

void check_values(const ViewSpec& spec, const ViewValues& values) {
    for (const auto& [name, value] : values) {
        const ViewOption* option = spec.option(name);
        if (!option)
            throw Error(ErrorFacts{
                .problem = "The view has no such option", .item = "--" + name, .hint = "See the options of " + spec.id});
        if (const std::string expected = expectation(*option, value); !expected.empty())
            throw Error(
                ErrorFacts{.problem = "Not a value of this option", .item = "--" + name, .expected = expected, .found = value});
    }
}

}  // namespace headlight::figure
