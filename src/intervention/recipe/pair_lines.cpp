// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/recipe/pair_lines.h"

#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "headlight/io/text_lines.h"
#include "intervention/recipe/reader.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

namespace headlight::intervention {
namespace {

bool in_a_word(unsigned char byte) { return byte >= 0x80 || std::isalnum(byte) != 0; }

/// Where words begin in a text: as whole words, where they stand so, else as parts of words: "he" is not in "the nurse said he".
std::vector<std::size_t> places_of_words(const std::string& text, const std::string& words) {
    std::vector<std::size_t> all, whole;
    if (words.empty()) return all;
    const auto joined = [&](std::size_t at) {  // the characters on both sides of a cut are of one word
        return at > 0 && at < text.size() && in_a_word(static_cast<unsigned char>(text[at - 1])) &&
               in_a_word(static_cast<unsigned char>(text[at]));
    };
    for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
        all.push_back(at);
        if (!joined(at) && !joined(at + words.size())) whole.push_back(at);
    }
    return whole.empty() ? all : whole;
}

}  // namespace

void for_each_pair(const std::filesystem::path& file,
                   const std::function<void(const nlohmann::json&, const std::string&)>& take) {
    for (const io::TextLine& line : io::read_text_lines(file)) {
        const std::string where = "line " + std::to_string(line.number);
        try {
            const nlohmann::json json = io::parse_json(line.text, file);
            if (!json.is_object()) throw Error(ErrorFacts{.problem = "A pair is not a JSON object", .item = where});
            take(json, where);
        } catch (const Error& error) {
            ErrorFacts facts = error.facts();
            facts.file = file.string();
            if (!facts.item.starts_with(where)) facts.item = where + (facts.item.empty() ? "" : ", " + facts.item);
            throw Error(std::move(facts));
        }
    }
}

std::vector<std::string> strings_of(const nlohmann::json& line, const char* field, const std::string& where) {
    const auto found = line.find(field);
    if (found == line.end() || found->is_null()) return {};
    const auto one = [&](const nlohmann::json& value) {
        if (!value.is_string())
            throw Error(
                ErrorFacts{.problem = "A field of a pair is not a text", .item = where + ", " + field, .found = value.dump()});
        return value.get<std::string>();
    };
    std::vector<std::string> texts;
    if (!found->is_array()) return {one(*found)};
    for (const nlohmann::json& value : *found) texts.push_back(one(value));
    return texts;
}

std::string string_of(const nlohmann::json& line, const char* field, const std::string& where) {
    const std::vector<std::string> texts = strings_of(line, field, where);
    return texts.empty() ? std::string() : texts.front();
}

PlaceText place_of(const nlohmann::json& value, const std::string& where) {
    PlaceText place;
    const auto number = [&](const nlohmann::json& v) {
        if (!v.is_number_integer())
            throw Error(ErrorFacts{.problem = "A named position is neither a token position nor words of the text",
                                   .item = where,
                                   .found = v.dump()});
        place.positions.push_back(v.get<std::int64_t>());
    };
    if (value.is_string())
        place.words = value.get<std::string>();
    else if (value.is_array())
        std::ranges::for_each(value, number);
    else
        number(value);
    return place;
}

std::vector<std::int64_t> positions_of(const text::Encoding& encoding, const std::string& text, const std::string& words,
                                       const std::string& name) {
    if (encoding.pixels) {
        const auto patch = std::ranges::find(encoding.tokens, words) - encoding.tokens.begin();
        if (patch == std::ssize(encoding.tokens))
            throw Error(ErrorFacts{.problem = "A named position is no patch of the picture",
                                   .item = name,
                                   .expected = encoding.tokens.front() + " to " + encoding.tokens.back() + ", or positions: 5-8",
                                   .found = in_quotes(words)});
        return {patch};
    }
    const std::vector<std::size_t> places = places_of_words(text, words);
    if (places.empty())
        throw Error(
            ErrorFacts{.problem = "The words of a named position are not in the text", .item = name, .found = in_quotes(words)});
    if (places.size() > 1)
        throw Error(ErrorFacts{.problem = "The words of a named position occur more than once",
                               .item = name,
                               .found = in_quotes(words),
                               .hint = "Give token positions: [5]"});
    const auto from = static_cast<std::int64_t>(places.front()), to = from + std::ssize(words);
    std::vector<std::int64_t> positions;
    for (std::int64_t i = 0; i < encoding.size(); ++i) {
        const text::ByteRange at = encoding.offsets[static_cast<std::size_t>(i)];
        if (!encoding.special[static_cast<std::size_t>(i)] && at.begin < to && at.end > from) positions.push_back(i);
    }
    return positions;
}

}  // namespace headlight::intervention
