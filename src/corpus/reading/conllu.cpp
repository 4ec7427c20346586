// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/reading/conllu.h"

#include "corpus/reading/line_reader.h"
#include "corpus/reading/separated.h"
#include "headlight/base/error.h"
#include "text/unicode/utf8.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace headlight::corpus {
namespace {

constexpr std::size_t kColumns = 10;
enum Column { kId, kForm, kLemma, kUpos, kXpos, kFeats, kHead, kRelation, kDeps, kMisc };

std::optional<std::int32_t> whole_number(std::string_view text) {
    const auto value = number_of<std::int32_t>(text);
    return value && *value >= 0 ? value : std::nullopt;
}

std::string unless_blank(std::string_view column) { return column == "_" ? std::string() : std::string(column); }

/// DEPS, "4:nsubj|8.1:conj:and": the arcs whose heads are words. nullopt: it is not such a list.
std::optional<std::vector<EnhancedArc>> enhanced_arcs(std::string_view deps) {
    std::vector<EnhancedArc> arcs;
    if (deps == "_") return arcs;
    while (!deps.empty()) {
        const std::size_t end = std::min(deps.find('|'), deps.size()), colon = deps.substr(0, end).find(':');
        if (colon == std::string_view::npos || colon + 1 == end) return std::nullopt;
        const std::string_view head = deps.substr(0, colon);
        const std::size_t dot = head.find('.');
        const auto number = whole_number(head.substr(0, dot));
        if (!number || (dot != std::string_view::npos && !whole_number(head.substr(dot + 1)))) return std::nullopt;
        if (*number > 0 && dot == std::string_view::npos)
            arcs.push_back({*number - 1, std::string(deps.substr(colon + 1, end - colon - 1))});
        deps.remove_prefix(std::min(end + 1, deps.size()));
    }
    return arcs;
}

bool has_feature(std::string_view misc, std::string_view feature) { return std::ranges::count(split(misc, '|'), feature) > 0; }

/// The value of "key=value" in MISC, with "=" in `key`.
std::string_view feature_value(std::string_view misc, std::string_view key) {
    for (const std::string_view each : split(misc, '|'))
        if (each.starts_with(key)) return each.substr(key.size());
    return {};
}

/// Bytes of the white space at `at`: of ASCII, no-break and ideographic spaces, U+2000 to U+200B and U+FEFF.
std::size_t space_length(std::string_view text, std::size_t at) {
    if (at >= text.size()) return 0;
    const char c = text[at];
    if (c == ' ' || (c >= '\t' && c <= '\r')) return 1;
    std::size_t end = at;
    const char32_t u = headlight::text::utf8::next(text, end);
    const bool space = u == 0xA0 || u == 0x1680 || (u >= 0x2000 && u <= 0x200B) || u == 0x2028 || u == 0x2029 || u == 0x202F ||
                       u == 0x205F || u == 0x3000 || u == 0xFEFF;
    return space ? end - at : 0;
}

void skip_space(std::string_view text, std::size_t& at) {
    while (const std::size_t length = space_length(text, at)) at += length;
}

/// The end of `form` at `at`; a space in either may be different white space, or none, in the other.
std::optional<std::size_t> form_end(std::string_view text, std::size_t at, std::string_view form) {
    if (text.substr(at).starts_with(form)) return at + form.size();
    for (std::size_t i = 0; i < form.size();) {
        skip_space(form, i);
        if (i == form.size()) break;
        skip_space(text, at);
        if (at == text.size() || text[at] != form[i]) return std::nullopt;
        ++at, ++i;
    }
    return at;
}

/// The comment "# key = value".
std::optional<std::string_view> comment_value(std::string_view line, std::string_view key) {
    const auto trim = [](std::string_view& s) {
        while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    };
    line.remove_prefix(1);
    trim(line);
    if (!line.starts_with(key)) return std::nullopt;
    line.remove_prefix(key.size());
    trim(line);
    if (!line.starts_with('=')) return std::nullopt;
    line.remove_prefix(1);
    if (line.starts_with(' ')) line.remove_prefix(1);
    return line;
}

/// "# key", alone or with something behind it.
bool is_comment(std::string_view line, std::string_view key) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t", 1), line.size()));
    return line.starts_with(key) && (line.size() == key.size() || line[key.size()] == ' ' || line[key.size()] == '=');
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t") == std::string_view::npos; }

}  // namespace

/// A word, or the surface of several.
struct ConlluReader::Row {
    std::string form;
    bool space_after = true;
    std::int32_t first = 0, last = 0;  ///< words that it covers, from 0
    std::int64_t line = 0;
};

struct ConlluReader::Sentence {
    std::int64_t line = 0;  ///< the first one
    std::string id;
    std::optional<std::string> text;
    std::vector<Word> words;
    std::vector<std::int64_t> lines;  ///< of the words
    std::vector<Row> surface;
    std::int32_t covered = 0;  ///< words up to here belong to a multiword token
    bool empty_nodes = false;
    Marks marks;
};

ConlluReader::ConlluReader(Lines lines, std::string file)
    : lines_(std::move(lines)), file_(std::move(file)), document_(std::filesystem::path(file_).filename().string()) {}

ConlluReader::ConlluReader(const std::filesystem::path& path) : ConlluReader(Lines(), path.string()) {
    lines_ = [lines = std::make_shared<LineReader>(path)](std::string& line) { return lines->next(line); };
}

void ConlluReader::fail(std::int64_t line, const std::string& problem, const std::string& expected, const std::string& found,
                        const std::string& hint) const {
    throw Error({.problem = problem,
                 .file = file_,
                 .item = "line " + std::to_string(line),
                 .expected = expected,
                 .found = found,
                 .hint = hint});
}

bool ConlluReader::read_block(Sentence& sentence) {
    std::string line;
    bool any = false;
    while (lines_(line)) {
        ++line_;
        if (line.ends_with('\r')) line.pop_back();
        if (line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
        if (is_blank(line)) {
            if (any) break;
            continue;
        }
        if (const auto bad = headlight::text::utf8::first_invalid(line))
            fail(line_, "A line is not UTF-8", "UTF-8", "byte " + std::to_string(*bad + 1) + " of the line",
                 "Convert the file with iconv");
        if (!any) sentence.line = line_;
        any = true;
        if (line.front() == '#')
            read_comment(line, sentence);
        else
            read_row(line, sentence);
    }
    if (any && sentence.words.empty())
        fail(line_, "Comments are not followed by a sentence", "a word", "a blank line or the end");
    return any;
}

void ConlluReader::read_comment(const std::string& line, Sentence& sentence) {
    if (!sentence.words.empty())
        fail(line_, "A comment stands inside a sentence", "a word or a blank line", line,
             "Put the comment before the first word");
    if (const auto id = comment_value(line, "sent_id")) sentence.id = *id;
    if (const auto text = comment_value(line, "text")) sentence.text = std::string(*text);
    if (const auto document = comment_value(line, "newdoc id")) document_ = *document;
    if (const auto fields = comment_value(line, "global.Entity")) entity_fields_ = *fields;
    sentence.marks.new_document = sentence.marks.new_document || is_comment(line, "newdoc");
    sentence.marks.new_paragraph = sentence.marks.new_paragraph || is_comment(line, "newpar");
}

void ConlluReader::read_row(const std::string& line, Sentence& sentence) {
    const std::vector<std::string_view> columns = split(line, '\t');
    if (columns.size() != kColumns)
        fail(line_, "A word does not have ten columns", "10 columns with tabs between them", std::to_string(columns.size()),
             columns.size() == 1 ? "Is it CoNLL-U? Spaces do not separate columns" : "An empty column is written as _");
    for (std::size_t c = 0; c < kColumns; ++c)
        if (columns[c].empty()) fail(line_, "Column " + std::to_string(c + 1) + " of a word is empty", "a value or _", "nothing");

    const auto words = static_cast<std::int32_t>(sentence.words.size());
    const std::string_view id = columns[kId];
    const std::string found(id);
    Row row{std::string(columns[kForm]), !has_feature(columns[kMisc], "SpaceAfter=No"), words, words, line_};
    const auto note_entities = [&](std::int32_t word) {
        if (const std::string_view marks = feature_value(columns[kMisc], "Entity="); !marks.empty())
            sentence.marks.entities.push_back(
                {static_cast<std::int32_t>(sentence.marks.nodes.size()), std::string(marks), line_});
        sentence.marks.nodes.push_back(word);
    };
    if (const std::size_t dot = id.find('.'); dot != std::string_view::npos) {
        const auto after = whole_number(id.substr(0, dot)), number = whole_number(id.substr(dot + 1));
        if (!after || !number || *after != words || *number < 1)
            fail(line_, "The id of an empty node is out of order", std::to_string(words) + ".1 or the next one", found);
        ++counts_.empty_nodes;
        sentence.empty_nodes = true;
        note_entities(-1);
        return;
    }
    if (const std::size_t dash = id.find('-'); dash != std::string_view::npos) {
        const auto first = whole_number(id.substr(0, dash)), last = whole_number(id.substr(dash + 1));
        if (!first || !last || *first != words + 1 || *last < *first || sentence.covered > words)
            fail(line_, "The id of a multiword token is out of order",
                 std::to_string(std::max(words, sentence.covered) + 1) + "-…", found);
        if (const std::string_view marks = feature_value(columns[kMisc], "Entity="); !marks.empty())
            sentence.marks.entities.push_back({-1, std::string(marks), line_});
        row.last = *last - 1;
        sentence.covered = *last;
        sentence.surface.push_back(std::move(row));
        ++counts_.multiword;
        return;
    }
    const auto number = whole_number(id);
    if (!number || *number != words + 1)
        fail(line_, "The id of a word is out of order", std::to_string(words + 1), found,
             "Ids count from 1; sentences are separated by a blank line");
    Word word;
    word.form = row.form;
    word.upos = unless_blank(columns[kUpos]);
    word.xpos = unless_blank(columns[kXpos]);
    word.features = unless_blank(columns[kFeats]);
    word.relation = unless_blank(columns[kRelation]);
    if (columns[kHead] != "_") {
        const auto head = whole_number(columns[kHead]);
        if (!head) fail(line_, "HEAD is not a number", "the id of a word, 0 or _", std::string(columns[kHead]));
        word.head = *head - 1;
    }
    auto enhanced = enhanced_arcs(columns[kDeps]);
    if (!enhanced)
        fail(line_, "DEPS is not a list of heads and relations", "HEAD:RELATION|HEAD:RELATION, or _",
             std::string(columns[kDeps]));
    word.enhanced = std::move(*enhanced);
    note_entities(words);
    sentence.words.push_back(std::move(word));
    sentence.lines.push_back(line_);
    if (words >= sentence.covered) sentence.surface.push_back(std::move(row));
}

void ConlluReader::note(const Sentence& sentence, Text& text, const std::string& what) const {
    text.notes.push_back({file_ + ":" + std::to_string(sentence.line), what});
}

/// Gives every word its bytes.
void ConlluReader::place_words(const Sentence& sentence, Text& out) {
    if (sentence.text) {
        out.text = *sentence.text;
    } else {
        ++counts_.rebuilt;
        note(sentence, out, "no # text: the text is made from the forms");
        for (const Row& row : sentence.surface) out.text += row.form + (row.space_after ? " " : "");
        if (sentence.surface.back().space_after) out.text.pop_back();
    }
    std::size_t at = 0;
    bool any_shares = false;
    for (const Row& row : sentence.surface) {
        skip_space(out.text, at);
        const auto end = form_end(out.text, at, row.form);
        if (!end)
            fail(row.line, "A form is not in its place in # text", "\"" + row.form + "\"",
                 at < out.text.size()
                     ? "\"" +
                           out.text.substr(at, headlight::text::utf8::floor(out.text, std::min(at + 40, out.text.size())) - at) +
                           "\""
                     : "the end of the text",
                 "Correct # text, or remove it: the text is then made from the forms");
        std::string joined;
        for (std::int32_t w = row.first; w <= row.last; ++w) joined += out.words[static_cast<std::size_t>(w)].form;
        const bool shares = row.last > row.first && joined != std::string_view(out.text).substr(at, *end - at);
        if (shares) ++counts_.shared;
        any_shares = any_shares || shares;
        std::size_t begin = at;
        for (std::int32_t w = row.first; w <= row.last; ++w) {
            Word& word = out.words[static_cast<std::size_t>(w)];
            word.begin = static_cast<std::int64_t>(begin);
            word.shares_span = shares;
            if (!shares) begin = row.last > row.first ? begin + word.form.size() : *end;
            word.end = static_cast<std::int64_t>(shares ? *end : begin);
        }
        at = *end;
    }
    skip_space(out.text, at);
    if (at < out.text.size())
        fail(sentence.line, "# text continues after the last word", "the end of the text", out.text.substr(at),
             "Correct # text, or remove it: the text is then made from the forms");
    if (any_shares) note(sentence, out, "multiword tokens that are not their words: arcs inside them do not count");
    if (sentence.empty_nodes) note(sentence, out, "empty nodes: left out");
}

void ConlluReader::check_tree(const Sentence& sentence, Text& text) {
    const auto n = static_cast<std::int32_t>(text.words.size());
    for (std::size_t i = 0; i < text.words.size(); ++i) {
        const auto check = [&](std::int32_t head, const char* problem) {
            if (head >= n) fail(sentence.lines[i], problem, "0 to " + std::to_string(n), std::to_string(head + 1));
        };
        check(text.words[i].head, "HEAD is not a word of the sentence");
        for (const EnhancedArc& arc : text.words[i].enhanced) check(arc.head, "A head in DEPS is not a word of the sentence");
    }
    const std::string problem = tree_problem(text.words);
    if (problem.empty()) return;
    ++counts_.malformed;
    note(sentence, text, problem + ": the arcs count as they are");
}

bool ConlluReader::next(Text& text) {
    Sentence sentence;
    if (!read_block(sentence)) return false;
    if (sentence.covered > static_cast<std::int32_t>(sentence.words.size()))
        fail(line_, "A multiword token ends after the last word", "at most " + std::to_string(sentence.words.size()),
             std::to_string(sentence.covered));
    text = {};
    text.id = sentence.id.empty() ? file_ + ":" + std::to_string(sentence.line) : sentence.id;
    text.document = document_;
    text.words = sentence.words;
    place_words(sentence, text);
    check_tree(sentence, text);
    marks_ = std::move(sentence.marks);
    marks_.line = sentence.line;
    marks_.space_after = sentence.surface.back().space_after;
    ++counts_.sentences;
    counts_.words += static_cast<std::int64_t>(text.words.size());
    return true;
}

std::string tree_problem(const std::vector<Word>& words) {
    std::int64_t roots = 0;
    bool annotated = false;
    std::vector<std::size_t> seen(words.size());  // 0: not yet; else 1 + the word from which its chain of heads was followed
    for (std::size_t i = 0; i < words.size(); ++i) {
        roots += words[i].head < 0;
        annotated = annotated || words[i].head >= 0 || !words[i].relation.empty();
        for (auto at = static_cast<std::int32_t>(i); at >= 0; at = words[static_cast<std::size_t>(at)].head) {
            std::size_t& from = seen[static_cast<std::size_t>(at)];
            if (from == i + 1) return "arcs in a circle";
            if (from != 0) break;
            from = i + 1;
        }
    }
    return annotated && roots != 1 ? std::to_string(roots) + " roots" : std::string();
}

std::vector<Text> read_conllu(const std::filesystem::path& path) {
    ConlluReader reader(path);
    std::vector<Text> texts;
    for (Text text; reader.next(text);) texts.push_back(text);
    return texts;
}

}  // namespace headlight::corpus
