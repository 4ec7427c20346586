// SPDX-License-Identifier: GPL-3.0-or-later
// Webster et al. 2018, "Mind the GAP: A Balanced Corpus of Gendered Ambiguous Pronouns".
#include "corpus/coreference/mention_lines.h"
#include "corpus/reading/separated.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace headlight::corpus {
namespace {

enum GapColumn {
    kGapId,
    kGapText,
    kPronoun,
    kPronounOffset,
    kNameA,
    kAOffset,
    kACoref,
    kNameB,
    kBOffset,
    kBCoref,
    kUrl,
    kGapColumns
};
constexpr std::array<std::string_view, kGapColumns> kGapNames{"ID",      "Text", "Pronoun",  "Pronoun-offset", "A",  "A-offset",
                                                              "A-coref", "B",    "B-offset", "B-coref",        "URL"};

/// A field in quotes, with doubled quotes in it, as spreadsheets write it.
std::string unquoted(const std::string& field) {
    if (field.size() < 2 || !field.starts_with('"') || !field.ends_with('"')) return field;
    std::string out;
    for (std::size_t i = 1; i + 1 < field.size(); ++i) {
        out += field[i];
        if (field[i] == '"' && i + 2 < field.size() && field[i + 1] == '"') ++i;
    }
    return out;
}

/// The byte at which a character begins; nullopt: beyond the end.
std::optional<std::size_t> byte_of_character(std::string_view text, std::int64_t character) {
    std::size_t at = 0;
    for (; character > 0; --character) {
        if (at >= text.size()) return std::nullopt;
        ++at;
        while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
    }
    return at;
}

class GapReader final : public MentionReader {
public:
    GapReader(Lines lines, const std::string& file) : lines_(std::move(lines), file) {}

    bool next(Text& text) override {
        std::string line;
        if (lines_.number() == 0) {
            if (!lines_.next(line)) return false;
            if (!is_gap_header(line))
                lines_.fail("A GAP file begins with another header", "ID, Text, Pronoun, Pronoun-offset, A, A-offset … URL",
                            line);
        }
        do
            if (!lines_.next(line)) return false;
        while (line.empty());
        const auto columns = split<std::string>(line, '\t');
        if (columns.size() != kGapColumns)
            lines_.fail("A row of GAP does not have eleven columns", "11 columns with tabs between them",
                        std::to_string(columns.size()));
        text = {};
        text.id = columns[kGapId].empty() ? lines_.place() : columns[kGapId];
        text.document = lines_.file();
        text.task = MentionTask::gap;
        const bool a = is_true(columns, kACoref), b = is_true(columns, kBCoref);
        if (a && b) lines_.fail("Both names are the pronoun's", "one of A-coref and B-coref, or none", "TRUE and TRUE");
        text.text = columns[kGapText];
        if (const std::string plain = unquoted(text.text); plain != text.text && fits(columns, plain)) text.text = plain;
        Mention pronoun = mention(columns, kPronoun, text.text, "pronoun");
        Mention first = mention(columns, kNameA, text.text, a ? "pronoun" : "A"),
                second = mention(columns, kNameB, text.text, b ? "pronoun" : "B");
        if (second.begin < first.begin) std::swap(first, second);
        text.mentions = {std::move(pronoun), std::move(first), std::move(second)};
        return true;
    }

private:
    static std::string_view name_of(std::size_t column) { return kGapNames[column]; }

    bool is_true(const std::vector<std::string>& columns, std::size_t column) const {
        std::string value = columns[column];
        for (char& c : value) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
        if (value != "TRUE" && value != "FALSE")
            lines_.fail("A column of GAP is neither true nor false", "TRUE or FALSE in " + std::string(name_of(column)),
                        columns[column]);
        return value == "TRUE";
    }

    /// Bytes of the name in `column`, whose offset is in the next one; nullopt: the text has something else there.
    static std::optional<std::size_t> place_of(const std::vector<std::string>& columns, std::size_t column,
                                               std::string_view text) {
        const std::string& name = columns[column];
        const auto character = number_of<std::int64_t>(columns[column + 1]);
        if (name.empty() || !character || *character < 0) return std::nullopt;
        const auto byte = byte_of_character(text, *character);
        return byte && text.substr(*byte).starts_with(name) ? byte : std::nullopt;
    }
    static bool fits(const std::vector<std::string>& columns, std::string_view text) {
        return place_of(columns, kPronoun, text) && place_of(columns, kNameA, text) && place_of(columns, kNameB, text);
    }
    Mention mention(const std::vector<std::string>& columns, std::size_t column, std::string_view text,
                    const std::string& chain) const {
        const auto place = place_of(columns, column, text);
        if (!place)
            lines_.fail("A name is not at its offset", "\"" + columns[column] + "\" at character " + columns[column + 1],
                        "another text, in " + std::string(name_of(column)),
                        "Offsets count characters of Text from 0; programs that replace quotes change them");
        const auto begin = static_cast<std::int64_t>(*place), end = begin + std::ssize(columns[column]);
        return {chain, begin, end, begin, end};
    }

    MentionLines lines_;
};

}  // namespace

bool is_gap_header(std::string_view line) { return std::ranges::equal(split(line, '\t'), kGapNames); }

std::unique_ptr<MentionReader> gap_reader(MentionReader::Lines lines, const std::string& file) {
    return std::make_unique<GapReader>(std::move(lines), file);
}

}  // namespace headlight::corpus
