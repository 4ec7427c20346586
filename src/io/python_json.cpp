// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/python_json.h"

#include "headlight/io/foreign.h"

#include <limits>

namespace headlight::io {
namespace {

using nlohmann::json;

/// "NaN", "Infinity" or "-Infinity" that the text begins with; empty: none.
std::string_view python_number(std::string_view text) {
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"})
        if (text.starts_with(word)) return word;
    return {};
}

/// Makes numbers of the texts that begin with the mark.
void put_numbers(json& value, std::string_view mark) {
    if (value.is_structured())
        for (json& each : value) put_numbers(each, mark);
    if (!value.is_string()) return;
    const std::string& text = value.get_ref<const std::string&>();
    if (!text.starts_with(mark)) return;
    const std::string_view word = std::string_view(text).substr(mark.size());
    const double endless = std::numeric_limits<double>::infinity();
    value = word == "NaN" ? std::numeric_limits<double>::quiet_NaN() : word == "Infinity" ? endless : -endless;
}

}  // namespace

json read_python_json(const std::filesystem::path& path) {
    const std::string text = read_text(path);
    refuse_foreign(text, path);
    // Python's words become texts that the second step turns into numbers; no other text has this mark.
    constexpr std::string_view kMark = "\x01\x01number:";
    std::string marked;
    bool in_string = false;
    for (std::size_t at = 0; at < text.size();) {
        if (in_string && text[at] == '\\' && at + 1 < text.size()) {
            marked.append(text, at, 2), at += 2;
            continue;
        }
        if (text[at] == '"') in_string = !in_string;
        const auto word = in_string ? std::string_view() : python_number(std::string_view(text).substr(at));
        if (word.empty()) {
            marked += text[at++];
            continue;
        }
        marked += "\"\\u0001\\u0001number:" + std::string(word) + "\"";
        at += word.size();
    }
    json root = parse_json(marked, path);
    if (marked.size() != text.size()) put_numbers(root, kMark);
    return root;
}

}  // namespace headlight::io
