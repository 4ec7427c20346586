// SPDX-License-Identifier: GPL-3.0-or-later
// A request is what one asks of a command or a page. Its fields stand once, in a function found by its argument:
//
//     // R: SweepRequest or const SweepRequest
//     void describe(Describes<SweepRequest> auto& r, const auto& field) {
//         field(Field{"window", "Window", "layers edited at once, around each layer"}.within(1, 1000), r.window);
//     }
//
// Whatever reads or writes requests walks this list: the options of a command (cli/fields.h), the words of the command that makes
// a result again (changed_fields), JSON of sessions and files (io/fields_json.h), forms of the window (ui/style/form.h).
// A field is an enum with a table, a bool, a number, a string, a list of strings, or a list of indices ("0,2,5-7").
#pragma once

#include "headlight/base/enum_table.h"
#include "headlight/base/error.h"
#include "headlight/base/index_list.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace headlight {

/// What a string holds: forms and completion of command lines differ by it. Names have no spaces. A target is a token, or "next":
/// the one that the text has there. A measure is one of heads.
enum class FieldKind { text, lines, token, target, measure, names, file, folder };

template <class R, class Request>
concept Describes = std::is_same_v<std::remove_const_t<R>, Request>;

struct Field {
    std::string_view name;     ///< "noise-scale": the option --noise-scale; the key "noise_scale" of JSON
    std::string_view title;    ///< in the window
    std::string_view help;     ///< on the command line, and the tip in the window
    double low = 0, high = 0;  ///< of a number, ends included; both 0: any
    FieldKind kind = FieldKind::text;
    std::string_view type{};               ///< what --help calls a value; empty: by the type of the field
    std::string_view empty{};              ///< what an empty string, an empty list or a 0 of a form stands for: "all"
    bool relevant = true;                  ///< as the other fields are now
    std::string_view only{};               ///< when it is relevant: "--dims 3"
    bool always = false;                   ///< changed_fields() has it even if it is the default
    bool negated = false;                  ///< of a bool that is on by default: its option --no-NAME switches it off
    double slide_low = 0, slide_high = 0;  ///< of a number: ends of a slider in the window; both 0: it has none
    std::string_view former{};             ///< an earlier name, which command lines and sessions still read

    constexpr Field within(double least, double most) const {
        return with([&](Field& f) { f.low = least, f.high = most; });
    }
    constexpr Field as(FieldKind k) const {
        return with([&](Field& f) { f.kind = k; });
    }
    constexpr Field called(std::string_view t) const {
        return with([&](Field& f) { f.type = t; });
    }
    constexpr Field or_if_empty(std::string_view words) const {
        return with([&](Field& f) { f.empty = words; });
    }
    /// Relevant on this condition, which `words` name for an error: "--dims 3".
    constexpr Field when(bool on, std::string_view words) const {
        return with([&](Field& f) { f.relevant = on, f.only = words; });
    }
    constexpr Field written() const {
        return with([](Field& f) { f.always = true; });
    }
    constexpr Field slider(double least, double most) const {
        return with([&](Field& f) { f.slide_low = least, f.slide_high = most; });
    }
    constexpr Field formerly(std::string_view n) const {
        return with([&](Field& f) { f.former = n; });
    }
    constexpr Field on() const {
        return with([](Field& f) { f.negated = true; });
    }

    bool bounded() const { return low != 0 || high != 0; }
    bool names_token() const { return kind == FieldKind::token || kind == FieldKind::target; }
    std::string option() const { return "--" + flag(); }
    /// All its names on the command line: "--permutations,--shuffles".
    std::string options() const { return former.empty() ? option() : option() + ",--" + std::string(former); }
    std::string flag() const { return (negated ? "no-" : "") + std::string(name); }
    std::string key() const {
        std::string out(name);
        for (char& c : out)
            if (c == '-') c = '_';
        return out;
    }

private:
    template <class Change>
    constexpr Field with(const Change& change) const {
        Field copy = *this;
        change(copy);
        return copy;
    }
};

template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
using Indices = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

/// A value as it is typed on the command line.
template <class T>
std::string field_words(const T& value) {
    if constexpr (std::is_enum_v<T>) {
        return std::string(enum_word(value));
    } else if constexpr (std::is_same_v<T, Indices>) {
        return index_list_text(value);
    } else if constexpr (is_number<T>) {
        char text[32];
        return {text, std::to_chars(text, text + sizeof text, value).ptr};
    } else {
        return value;
    }
}

/// "1 to 1000"; empty: any.
inline std::string range_words(const Field& field) {
    // 1000000, not 1e+06
    const auto bound = [](double value) {
        const auto whole = static_cast<std::int64_t>(value);
        return static_cast<double>(whole) == value ? field_words(whole) : field_words(value);
    };
    return field.bounded() ? bound(field.low) + " to " + bound(field.high) : std::string();
}
/// The one text for what a number may be, whichever dialect it comes from: "a whole number from 1 to 1000".
template <class T>
std::string expected_number(const Field& field) {
    const std::string kind = std::is_integral_v<T> ? "a whole number" : "a number", range = range_words(field);
    return range.empty() ? kind : kind + " from " + range;
}
template <class T>
bool in_range(const Field& field, const T& value) {
    if constexpr (is_number<T>)
        return !field.bounded() || (static_cast<double>(value) >= field.low && static_cast<double>(value) <= field.high);
    else
        return true;
}

/// A field with its words: one for a value, none or several for a list, "on" or "off" for a switch.
struct FieldValue {
    Field field;
    Strings words;
    bool is_switch = false;
};
template <class Request>
std::vector<FieldValue> fields_of(const Request& request) {
    std::vector<FieldValue> all;
    describe(request, [&](const Field& field, const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>)
            all.push_back({field, {value ? "on" : "off"}, true});
        else if constexpr (std::is_same_v<T, Strings>)
            all.push_back({field, value});
        else
            all.push_back({field, {field_words(value)}});
    });
    return all;
}

/// Options and their values as a command line has them; that of a switch is empty.
using OptionWords = std::vector<std::pair<std::string, std::string>>;

/// The relevant fields that differ from `defaults`, and those that are always written.
template <class Request>
OptionWords changed_fields(const Request& request, const Request& defaults = {}) {
    const std::vector<FieldValue> now = fields_of(request), before = fields_of(defaults);
    OptionWords out;
    for (std::size_t i = 0; i < now.size(); ++i) {
        const auto& [field, words, is_switch] = now[i];
        if (!field.relevant || (words == before[i].words && !field.always)) continue;
        for (const std::string& word : words) out.emplace_back(field.flag(), is_switch ? std::string() : word);
    }
    return out;
}

/// Error for the first field that is `given` (a function of the field) although the others make it mean nothing.
template <class Request, class Given>
void check_relevant(const Request& request, const Given& given) {
    describe(request, [&](const Field& field, const auto&) {
        if (!field.relevant && given(field)) throw Error(field.option() + " is for " + std::string(field.only));
    });
}

/// Fields of which `which` is true get the values of `defaults`.
template <class Request, class Which>
void reset_fields(Request& request, const Which& which, const Request& defaults = {}) {
    std::size_t i = 0;
    describe(request, [&](const Field& field, auto& value) {
        std::size_t k = 0;
        describe(defaults, [&, at = i](const Field&, const auto& other) {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::decay_t<decltype(other)>>)
                if (k == at && which(field)) value = other;
            ++k;
        });
        ++i;
    });
}

}  // namespace headlight
