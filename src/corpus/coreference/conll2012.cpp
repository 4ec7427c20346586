// SPDX-License-Identifier: GPL-3.0-or-later
#include "corpus/coreference/mention_lines.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace headlight::corpus {
namespace {

constexpr std::size_t kFormColumn = 3, kTagColumn = 4, kFewestColumns = 6;

/// Brackets and punctuation as the treebank writes them.
std::string surface_of(std::string_view form) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kBrackets{
        {{"-LRB-", "("}, {"-RRB-", ")"}, {"-LSB-", "["}, {"-RSB-", "]"}, {"-LCB-", "{"}, {"-RCB-", "}"}}};
    for (const auto& [written, meant] : kBrackets)
        if (form == written) return std::string(meant);
    if (form.size() == 2 && form[0] == '/' && std::string_view(".?-!,").find(form[1]) != std::string_view::npos)
        return std::string(form.substr(1));
    return std::string(form);
}

bool is_nominal(std::string_view tag) { return tag.starts_with("NN") || tag == "PRP" || tag == "PRP$"; }

/// Tags that end the part of a noun phrase in which its head stands.
bool ends_phrase(std::string_view tag) {
    constexpr std::array<std::string_view, 11> kEnds{"IN", "TO", "WDT", "WP", "WP$", "WRB", ",", ":", ".", "-LRB-", "VBG"};
    return std::ranges::find(kEnds, tag) != kEnds.end();
}

class Conll2012Reader final : public MentionReader {
public:
    Conll2012Reader(Lines lines, const std::string& file) : lines_(std::move(lines), file) {}

    bool next(Text& text) override {
        std::string line;
        do
            if (!lines_.next(line)) return false;
        while (line.find_first_not_of(" \t") == std::string::npos);
        constexpr std::string_view kBegin = "#begin document";
        if (!line.starts_with(kBegin)) lines_.fail("A document does not begin", "#begin document (NAME); part 000", line);
        text = {};
        words_.clear();
        text.id = line.substr(std::min(line.find_first_not_of(' ', kBegin.size()), line.size()));
        std::erase_if(text.id, [](char c) { return c == '(' || c == ')' || c == ';'; });
        if (text.id.empty()) text.id = lines_.place();
        text.document = text.id.substr(0, text.id.find(' '));
        const std::int64_t first = lines_.number();
        OpenSpans spans(lines_);
        while (true) {
            if (!lines_.next(line))
                lines_.fail_at(first, "A document does not end", "#end document", "the end of the file", "The file is truncated");
            if (line.starts_with("#end document")) break;
            if (line.starts_with("#begin document"))
                lines_.fail("A document begins inside another one", "#end document before it", line);
            if (line.starts_with('#') && columns_of(line).size() < kFewestColumns) continue;
            add_word(line, text, spans);
        }
        for (const NodeSpan& span : spans.finish()) {
            const Word2012 &from = word(span.nodes.front()), &to = word(span.nodes.back()), &head = word(head_of(span));
            text.mentions.push_back({span.chain, from.begin, to.end, head.begin, head.end});
        }
        sort_mentions(text.mentions);
        return true;
    }

private:
    struct Word2012 {
        std::int64_t begin = 0, end = 0;
        std::string tag;
    };

    static std::vector<std::string_view> columns_of(std::string_view line) {
        std::vector<std::string_view> columns;
        for (std::size_t at = line.find_first_not_of(" \t"); at != std::string_view::npos;) {
            const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
            columns.push_back(line.substr(at, end - at));
            at = line.find_first_not_of(" \t", end);
        }
        return columns;
    }

    void add_word(const std::string& line, Text& text, OpenSpans& spans) {
        const std::vector<std::string_view> columns = columns_of(line);
        if (columns.empty()) return;  // between sentences
        if (columns.size() < kFewestColumns)
            lines_.fail("A word has too few columns", "at least 6, the word in the fourth and its mentions in the last",
                        std::to_string(columns.size()), "Is it CoNLL-2012?");
        if (!text.text.empty()) text.text += ' ';
        const std::int64_t begin = std::ssize(text.text), node = std::ssize(words_);
        text.text += surface_of(columns[kFormColumn]);
        words_.push_back({begin, std::ssize(text.text), std::string(columns[kTagColumn])});
        std::string_view marks = columns.back();
        if (marks == "-" || marks == "_" || marks == "*") return;
        while (!marks.empty()) {
            std::string_view item = marks.substr(0, std::min(marks.find('|'), marks.size()));
            marks.remove_prefix(std::min(item.size() + 1, marks.size()));
            const bool opens = item.starts_with('('), closes = item.ends_with(')');
            if (opens) item.remove_prefix(1);
            if (closes && !item.empty()) item.remove_suffix(1);
            const bool number = !item.empty() && item.find_first_not_of("0123456789") == std::string_view::npos;
            if (!number || (!opens && !closes))
                lines_.fail("The last column of a word has no mentions", "(12|(3)|12), or - for none",
                            std::string(columns.back()), "The column of coreference must be the last one");
            const std::string chain(item);
            if (opens) spans.open(chain, {}, node, 0, lines_.number());
            if (closes) spans.close(chain, {}, node, lines_.number());
        }
    }

    /// The format has no dependencies: the last noun or pronoun before a comma, a preposition or a relative clause; without one
    /// the last word.
    std::int64_t head_of(const NodeSpan& span) const {
        std::int64_t head = -1;
        for (const std::int64_t node : span.nodes) {
            const std::string& tag = word(node).tag;
            if (head >= 0 && ends_phrase(tag)) break;
            if (is_nominal(tag)) head = node;
        }
        return head < 0 ? span.nodes.back() : head;
    }

    const Word2012& word(std::int64_t node) const { return words_[static_cast<std::size_t>(node)]; }

    MentionLines lines_;
    std::vector<Word2012> words_;
};

}  // namespace

std::unique_ptr<MentionReader> conll2012_reader(MentionReader::Lines lines, const std::string& file) {
    return std::make_unique<Conll2012Reader>(std::move(lines), file);
}

}  // namespace headlight::corpus
