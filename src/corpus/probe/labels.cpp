// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/labels.h"

#include "corpus/probe/token_spans.h"
#include "corpus/reading/line_reader.h"
#include "corpus/reading/separated.h"
#include "headlight/base/enum_table.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/corpus/syntax/word_tokens.h"
#include "text/unicode/utf8.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace headlight::corpus {
namespace {

namespace utf8 = headlight::text::utf8;

constexpr std::int32_t kDeepest = 8;
constexpr std::string_view kFeature = "feature:", kField = "field:";

/// An example before its tokens are known.
struct Wanted {
    Bytes span{};
    std::optional<Bytes> other{};
    std::string label{};
    std::string type{};
};

/// Labels of a text, in the order of the text; adds to `unlabelled`.
using LabelsOf = std::function<std::vector<Wanted>(const Text&, std::int64_t& unlabelled)>;

std::string feature_of(const Word& word, std::string_view name) {
    for (const std::string_view each : split(word.features, '|'))
        if (each.starts_with(name) && each.substr(name.size()).starts_with('=')) return std::string(each.substr(name.size() + 1));
    return {};
}

std::string base_relation(const Word& word) { return word.relation.substr(0, word.relation.find(':')); }

/// Arcs from a word to the root; empty if there are none, or if they run in a circle.
std::string depth_of(const Text& text, std::size_t word) {
    const std::vector<Word>& words = text.words;
    if (words[word].head < 0 && words[word].relation.empty()) return {};
    std::size_t depth = 0;
    for (std::int32_t at = words[word].head; at >= 0; at = words[static_cast<std::size_t>(at)].head)
        if (++depth > words.size()) return {};
    return depth < kDeepest ? std::to_string(depth) : std::to_string(kDeepest) + "+";
}

/// A label of every word.
struct WordLabel {
    std::string_view word;
    std::string (*of)(const Text&, std::size_t);
};
constexpr WordLabel kWordLabels[] = {{"upos", [](const Text& t, std::size_t w) { return t.words[w].upos; }},
                                     {"xpos", [](const Text& t, std::size_t w) { return t.words[w].xpos; }},
                                     {"relation", [](const Text& t, std::size_t w) { return base_relation(t.words[w]); }},
                                     {"depth", depth_of}};
constexpr std::string_view kArc = "arc";

std::vector<Wanted> labels_of_words(const Text& text, const std::function<std::string(const Text&, std::size_t)>& label,
                                    std::int64_t& unlabelled) {
    std::vector<Wanted> out;
    for (std::size_t w = 0; w < text.words.size(); ++w) {
        const Word& word = text.words[w];
        if (std::string here = label(text, w); here.empty())
            ++unlabelled;
        else
            out.push_back({.span = {word.begin, word.end}, .label = std::move(here), .type = word.form});
    }
    return out;
}

std::vector<Wanted> labels_of_arcs(const Text& text, std::int64_t& unlabelled) {
    std::vector<Wanted> out;
    for (const Word& word : text.words) {
        if (word.head < 0) continue;
        const Word& head = text.words[static_cast<std::size_t>(word.head)];
        if (word.relation.empty() || same_bytes(word, head))
            ++unlabelled;
        else
            out.push_back({.span = {word.begin, word.end},
                           .other = Bytes{head.begin, head.end},
                           .label = base_relation(word),
                           .type = word.form + " → " + head.form});
    }
    return out;
}

/// The user's own labels.
class LabelFile {
public:
    explicit LabelFile(const std::filesystem::path& path) : path_(path) {
        LineReader lines(path);
        std::string line;
        if (!lines.next(line)) fail({}, "a file of tab-separated values with a header", "nothing");
        const std::vector<std::string> header = cells(line);
        for (std::size_t c = 0; c < header.size(); ++c) {
            const auto at = std::ranges::find(kColumns, header[c]);
            if (at == kColumns.end()) fail("column " + header[c], "text, label, begin, end, begin2, end2", header[c]);
            column_[static_cast<std::size_t>(at - kColumns.begin())] = static_cast<int>(c);
        }
        for (const Column needed : {kText, kLabel})
            if (!has(needed)) fail("header", std::string(kColumns[needed]), line);
        for (const auto& [first, second] : {std::pair(kBegin, kEnd), std::pair(kBegin2, kEnd2)})
            if (has(first) != has(second))
                fail("header", std::string(kColumns[first]) + " and " + std::string(kColumns[second]), line);
        if (has(kBegin2) && !has(kBegin)) fail("header", "begin and end", line);
        while (lines.next(line)) {
            line_ = lines.number();
            if (line.empty()) continue;
            Row row{.line = line_, .cells = cells(line)};
            if (row.cells.size() != header.size())
                fail("columns", std::to_string(header.size()), std::to_string(row.cells.size()));
            std::string id = cell(row, kText);
            if (cell(row, kLabel).empty()) fail("label", "a label", "nothing");
            rows_[std::move(id)].push_back(std::move(row));
        }
    }
    bool pairs() const { return has(kBegin2); }
    std::string unit() const { return pairs() ? "pair" : has(kBegin) ? "span" : "text"; }

    std::vector<Wanted> of(const Text& text) {
        const auto found = rows_.find(text.id);
        if (found == rows_.end()) return {};
        used_.insert(text.id);
        std::vector<std::int64_t> bytes;  // [character] and the end
        for (std::size_t at = 0; at < text.text.size(); utf8::next(text.text, at)) bytes.push_back(static_cast<std::int64_t>(at));
        bytes.push_back(std::ssize(text.text));
        std::vector<Wanted> out;
        for (const Row& row : found->second) {
            line_ = row.line;
            Wanted& one = out.emplace_back();
            one.label = cell(row, kLabel);
            one.span = has(kBegin) ? bytes_of(row, kBegin, kEnd, bytes) : Bytes{0, std::ssize(text.text)};
            if (pairs()) one.other = bytes_of(row, kBegin2, kEnd2, bytes);
            const auto words = [&](const Bytes& of) {
                return text.text.substr(static_cast<std::size_t>(of.begin), static_cast<std::size_t>(of.end - of.begin));
            };
            one.type = words(one.span) + (one.other ? " → " + words(*one.other) : "");
        }
        return out;
    }
    /// Error for rows of texts that were not asked for.
    void check_used() {
        for (const auto& [id, rows] : rows_) {
            if (used_.contains(id)) continue;
            line_ = rows.front().line;
            fail("text", "the id of a text in the store", id, "An id is FILE:LINE, or the sent_id of a treebank");
        }
    }

private:
    enum Column : std::size_t { kText, kLabel, kBegin, kEnd, kBegin2, kEnd2 };
    static constexpr std::array<std::string_view, 6> kColumns{"text", "label", "begin", "end", "begin2", "end2"};
    struct Row {
        std::int64_t line = 0;
        std::vector<std::string> cells;
    };

    bool has(Column column) const { return column_[column] >= 0; }
    const std::string& cell(const Row& row, Column column) const { return row.cells[static_cast<std::size_t>(column_[column])]; }
    static std::vector<std::string> cells(std::string_view line) { return split<std::string>(line, '\t'); }
    Bytes bytes_of(const Row& row, Column first, Column second, const std::vector<std::int64_t>& bytes) const {
        const auto number = [&](Column column) {
            const std::string& text = cell(row, column);
            const auto value = number_of<std::int64_t>(text);
            if (!value || *value < 0 || *value >= std::ssize(bytes))
                fail(std::string(kColumns[column]), "a character from 0 to " + std::to_string(bytes.size() - 1), text);
            return static_cast<std::size_t>(*value);
        };
        const std::size_t begin = number(first), end = number(second);
        if (begin >= end)
            fail(std::string(kColumns[second]), "more than " + std::to_string(begin), std::to_string(end),
                 "The end is the character behind the span");
        return {bytes[begin], bytes[end]};
    }
    [[noreturn]] void fail(const std::string& item, const std::string& expected, const std::string& found,
                           const std::string& hint = {}) const {
        throw Error({.problem = "The labels cannot be read",
                     .file = path_.string() + ":" + std::to_string(line_),
                     .item = item,
                     .expected = expected,
                     .found = found,
                     .hint = hint});
    }

    std::filesystem::path path_;
    std::int64_t line_ = 1;
    std::array<int, 6> column_{-1, -1, -1, -1, -1, -1};
    std::map<std::string, std::vector<Row>> rows_;
    std::set<std::string> used_;
};

[[noreturn]] void fail_unknown(std::string_view labels) {
    const std::string near = nearest(std::string(labels), treebank_labels());
    throw Error({.problem = "There are no such labels",
                 .item = "--labels",
                 .expected = label_words(),
                 .found = std::string(labels),
                 .hint = near.empty() ? "" : "Did you mean " + near + "?"});
}

}  // namespace

TokenSpan tokens_of(const Bytes& span, const Chunk& chunk) {
    if (span.begin < chunk.first_byte || span.end > chunk.end_byte) return {};
    const headlight::text::Encoding& encoding = chunk.encoding;
    TokenSpan out;
    for (std::int64_t t = 0; t < encoding.size(); ++t) {
        const auto at = static_cast<std::size_t>(t);
        if (encoding.special[at] || encoding.sequence[at] != 0) continue;
        if (encoding.offsets[at].end + chunk.first_byte <= span.begin) continue;
        if (encoding.offsets[at].begin + chunk.first_byte >= span.end) break;
        if (encoding.offsets[at].begin == encoding.offsets[at].end) continue;
        if (out.chunk < 0) out = {.chunk = chunk.number, .begin = static_cast<std::int32_t>(t)};
        out.end = static_cast<std::int32_t>(t + 1);
    }
    return out.end > chunk.first_query ? out : TokenSpan{};
}

std::vector<std::string> treebank_labels() {
    std::vector<std::string> out;
    for (const WordLabel& each : kWordLabels) out.emplace_back(each.word);
    out.emplace_back(kArc);
    return out;
}

std::string label_words() {
    std::string out;
    for (const std::string& each : treebank_labels()) out += each + ", ";
    return out + "feature:NAME, field:NAME or a file";
}

LabelledExamples read_labels(TextStore& texts, std::string_view labels, const CancelToken& cancel) {
    LabelledExamples out;
    out.task = labels;
    std::optional<LabelFile> file;
    LabelsOf wanted;
    const auto word_label = std::ranges::find(kWordLabels, labels, &WordLabel::word);
    if (word_label != std::end(kWordLabels)) {
        wanted = [&](const Text& t, std::int64_t& none) { return labels_of_words(t, word_label->of, none); };
    } else if (labels == kArc) {
        out.pairs = true;
        out.unit = "pair";
        wanted = labels_of_arcs;
    } else if (labels.starts_with(kFeature)) {
        wanted = [name = labels.substr(kFeature.size())](const Text& t, std::int64_t& none) {
            return labels_of_words(
                t, [&](const Text& of, std::size_t w) { return feature_of(of.words[w], name); }, none);
        };
    } else if (labels.starts_with(kField)) {
        out.unit = "text";
        wanted = [name = std::string(labels.substr(kField.size()))](const Text& t, std::int64_t& none) -> std::vector<Wanted> {
            const auto at = t.fields.find(name);
            if (at == t.fields.end() || at->second.empty()) return ++none, std::vector<Wanted>();
            return {{.span = {0, std::ssize(t.text)}, .label = at->second, .type = t.text}};
        };
    } else {
        const std::filesystem::path path(labels);
        out.task = path.stem().string();
        if (!std::filesystem::is_regular_file(path)) fail_unknown(labels);
        file.emplace(path);
        out.pairs = file->pairs();
        out.unit = file->unit();
        wanted = [&](const Text& t, std::int64_t&) { return file->of(t); };
    }

    std::vector<std::string> names;
    std::vector<Wanted> of_text;
    std::vector<bool> found;
    std::int64_t last = -1;
    const auto finish = [&] { out.without += std::ranges::count(found, false); };
    for (std::int64_t number = 0; number < texts.chunks(); ++number) {
        cancel.throw_if_cancelled();
        const Chunk& chunk = texts.chunk(number);
        if (std::exchange(last, chunk.text) != chunk.text) {
            finish();
            of_text = wanted(texts.text(chunk.text), out.unlabelled);
            found.assign(of_text.size(), false);
        }
        for (std::size_t i = 0; i < of_text.size(); ++i) {
            if (found[i]) continue;
            ProbeExample example{.span = tokens_of(of_text[i].span, chunk), .text = chunk.text, .type = of_text[i].type};
            if (of_text[i].other) example.other = tokens_of(*of_text[i].other, chunk);
            if (example.span.chunk < 0 || (of_text[i].other && example.other.chunk < 0)) continue;
            found[i] = true;
            names.push_back(of_text[i].label);
            out.examples.push_back(std::move(example));
        }
    }
    finish();
    if (file) file->check_used();

    out.classes = names;
    std::ranges::sort(out.classes);
    const auto repeated = std::ranges::unique(out.classes);
    out.classes.erase(repeated.begin(), repeated.end());
    if (out.classes.size() < 2)
        throw Error({.problem = "A probe needs labels of at least two classes",
                     .item = "labels " + out.task,
                     .expected = "two classes",
                     .found = std::to_string(out.examples.size()) + " examples of " + std::to_string(out.classes.size()) +
                              (out.classes.size() == 1 ? " class (" + out.classes.front() + ")" : " classes") +
                              (out.unlabelled > 0 ? "; " + std::to_string(out.unlabelled) + " without the label" : ""),
                     .hint = out.examples.empty() && !file ? "Labels of words need a store of a treebank" : ""});
    for (std::size_t i = 0; i < names.size(); ++i)
        out.examples[i].label = static_cast<std::int32_t>(std::ranges::lower_bound(out.classes, names[i]) - out.classes.begin());
    return out;
}

ProbePart part_of_text(std::string_view id, std::uint64_t seed) noexcept {
    const std::uint64_t tenth = draw(seed, name_hash(id), 0) % 10;
    return tenth == 0 ? ProbePart::test : tenth == 1 ? ProbePart::development : ProbePart::train;
}

}  // namespace headlight::corpus
