// SPDX-License-Identifier: GPL-3.0-or-later
#include "corpus/coreference/mention_lines.h"
#include "corpus/reading/separated.h"
#include "headlight/corpus/reading/conllu.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

namespace headlight::corpus {
namespace {

std::optional<std::int64_t> positive_number(std::string_view text) {
    const auto value = number_of<std::int64_t>(text);
    return value && *value >= 1 ? value : std::nullopt;
}

/// Hyphens and brackets inside a value are written as "&#45;" or "%2D".
std::string unescaped(std::string_view value) {
    std::string out;
    while (!value.empty()) {
        std::size_t taken = 1;
        unsigned code = 0;
        if (value.starts_with("&#")) {
            const auto end = std::from_chars(value.data() + 2, value.data() + value.size(), code).ptr;
            if (end != value.data() + value.size() && *end == ';' && code > 0 && code < 128)
                taken = static_cast<std::size_t>(end - value.data()) + 1;
        } else if (value.size() >= 3 && value.front() == '%') {
            const auto end = std::from_chars(value.data() + 1, value.data() + 3, code, 16).ptr;
            if (end == value.data() + 3 && code > 0 && code < 128) taken = 3;
        }
        out += taken > 1 ? static_cast<char>(code) : value.front();
        value.remove_prefix(taken);
    }
    return out;
}

class CorefUdReader final : public MentionReader {
public:
    CorefUdReader(Lines lines, const std::string& file)
        : places_({}, file), sentences_(std::move(lines), file), has_pending_(false) {}

    bool next(Text& text) override {
        if (!has_pending_ && !read()) return false;
        text = {};
        document_.clear();
        OpenSpans spans(places_);
        const std::string place = places_.file() + ":" + std::to_string(marks_.line);
        // A document without an id has the name of the one before it.
        text.id = std::exchange(document_id_, pending_.document) == pending_.document ? place : pending_.document;
        text.document = pending_.document;
        bool space = false;
        do {
            add_sentence(text, spans, std::exchange(space, marks_.space_after));
        } while (read() && !marks_.new_document);
        finish(text, spans.finish(), place);
        return true;
    }

private:
    struct Node {
        bool empty = true;
        std::int64_t head = -1;  ///< node that it depends on
        std::int64_t begin = 0, end = 0;
    };

    bool read() {
        has_pending_ = sentences_.next(pending_);
        if (has_pending_) marks_ = sentences_.marks();
        return has_pending_;
    }

    void add_sentence(Text& text, OpenSpans& spans, bool space) {
        if (!text.text.empty()) text.text += marks_.new_paragraph ? "\n" : space ? " " : "";
        const std::int64_t first = std::ssize(document_), byte = std::ssize(text.text);
        std::vector<std::int64_t> node_of_word(pending_.words.size());
        for (std::size_t n = 0; n < marks_.nodes.size(); ++n)
            if (marks_.nodes[n] >= 0)
                node_of_word[static_cast<std::size_t>(marks_.nodes[n])] = first + static_cast<std::int64_t>(n);
        for (const std::int32_t word : marks_.nodes) {
            Node node;
            if (word >= 0) {
                const Word& of = pending_.words[static_cast<std::size_t>(word)];
                node = {false, of.head < 0 ? -1 : node_of_word[static_cast<std::size_t>(of.head)], byte + of.begin,
                        byte + of.end};
            }
            document_.push_back(node);
        }
        const auto first_word = static_cast<std::int32_t>(text.words.size()),
                   sentence = text.words.empty() ? 0 : text.words.back().sentence + 1;
        for (Word& word : pending_.words) {
            if (word.head >= 0) word.head += first_word;
            for (EnhancedArc& arc : word.enhanced) arc.head += first_word;
            word.begin += byte;
            word.end += byte;
            word.sentence = sentence;
            text.words.push_back(std::move(word));
        }
        text.text += pending_.text;
        for (TextNote& each : pending_.notes) text.notes.push_back(std::move(each));
        for (const ConlluReader::EntityMark& mark : marks_.entities) add_marks(spans, mark, first + mark.node);
    }

    /// "(e1-person-1-", "(e2-place)", "e1)", and any number of these together.
    void add_marks(OpenSpans& spans, const ConlluReader::EntityMark& mark, std::int64_t node) {
        if (mark.node < 0)
            places_.fail_at(mark.line, "Entity= stands on a multiword token", "Entity= on its words", mark.value,
                            "Move it to the first and the last word of the mention");
        if (fields_.empty()) name_fields(mark);
        const std::string_view all = mark.value;
        for (std::size_t at = 0; at < all.size();) {
            if (all[at] == '(') {
                const std::size_t end = std::min(all.find_first_of("()", at + 1), all.size());
                const std::vector<std::string_view> values = split(all.substr(at + 1, end - at - 1), '-');
                const auto [chain, part] = id_of(values.size() > id_ ? values[id_] : std::string_view(), mark);
                std::int64_t head = 0;
                if (head_ && values.size() > *head_ && !values[*head_].empty()) {
                    const auto given = positive_number(values[*head_]);
                    if (!given)
                        places_.fail_at(mark.line, "The head of a mention is not a number", "a word of the mention, from 1",
                                        std::string(values[*head_]),
                                        "Compare the fields with # global.Entity = " + sentences_.entity_fields());
                    head = *given;
                }
                spans.open(chain, part, node, head, mark.line);
                const bool closes = end < all.size() && all[end] == ')';
                if (closes) spans.close(chain, part, node, mark.line);
                at = end + (closes ? 1 : 0);
            } else {
                const std::size_t end = all.find_first_of("()", at);
                if (end == std::string_view::npos || all[end] == '(')
                    places_.fail_at(mark.line, "Entity= has an item without brackets", "(e1-person, e1) or (e1-person)",
                                    mark.value);
                // Older GUM files repeat the fields before the id: "person-1)".
                const std::vector<std::string_view> values = split(all.substr(at, end - at), '-');
                const auto [chain, part] = id_of(values[values.size() > id_ ? id_ : 0], mark);
                spans.close(chain, part, node, mark.line);
                at = end + 1;
            }
        }
    }

    /// "e5" or "e5[1/2]"
    std::pair<std::string, OpenSpans::Part> id_of(std::string_view value, const ConlluReader::EntityMark& mark) const {
        OpenSpans::Part part;
        std::string_view id = value;
        if (const std::size_t bracket = id.find('['); bracket != std::string_view::npos) {
            const std::size_t slash = std::min(id.find('/', bracket), id.size());
            const auto number = positive_number(id.substr(bracket + 1, slash - bracket - 1));
            const auto of = slash + 1 < id.size() && id.back() == ']'
                                ? positive_number(id.substr(slash + 1, id.size() - slash - 2))
                                : std::nullopt;
            if (!number || !of) places_.fail_at(mark.line, "A part of a mention cannot be read", "e5[1/2]", std::string(value));
            part = {*number, *of};
            id = id.substr(0, bracket);
        }
        if (id.empty())
            places_.fail_at(mark.line, "A mention has no entity", "an id in the field of # global.Entity", mark.value,
                            "Compare the fields with # global.Entity = " + sentences_.entity_fields());
        return {unescaped(id), part};
    }

    void name_fields(const ConlluReader::EntityMark& mark) {
        const std::string& names = sentences_.entity_fields();
        if (names.empty())
            places_.fail_at(mark.line, "The fields of Entity= have no names", "# global.Entity = eid-etype-head before it",
                            mark.value);
        fields_ = names;
        const std::vector<std::string_view> all = split(fields_, '-');
        for (std::size_t f = 0; f < all.size(); ++f) {
            if (all[f] == "eid" || all[f] == "GRP") id_ = f;
            if (all[f] == "head") head_ = f;
        }
    }

    void finish(Text& text, const std::vector<NodeSpan>& spans, const std::string& place) {
        std::int64_t without_words = 0;
        for (const NodeSpan& span : spans) {
            std::vector<std::int64_t> words;
            for (const std::int64_t node : span.nodes)
                if (!at(node).empty) words.push_back(node);
            if (words.empty()) {
                ++without_words;
                continue;
            }
            if (span.head > std::ssize(span.nodes))
                places_.fail_at(span.line, "The head of a mention is behind its end", "1 to " + std::to_string(span.nodes.size()),
                                std::to_string(span.head));
            std::int64_t head = span.head > 0 ? span.nodes[static_cast<std::size_t>(span.head - 1)] : -1;
            if (head < 0 || at(head).empty) {
                // The word that depends on none of the others.
                const std::set<std::int64_t> inside(words.begin(), words.end());
                const auto leaves = std::ranges::find_if(words, [&](std::int64_t w) { return !inside.contains(at(w).head); });
                head = leaves == words.end() ? words.front() : *leaves;
            }
            text.mentions.push_back({span.chain, at(words.front()).begin, at(words.back()).end, at(head).begin, at(head).end});
        }
        sort_mentions(text.mentions);
        if (without_words > 0) text.notes.push_back({place, "mentions of empty nodes alone: left out"});
    }

    const Node& at(std::int64_t node) const { return document_[static_cast<std::size_t>(node)]; }

    MentionLines places_;  ///< only for errors
    ConlluReader sentences_;
    Text pending_;
    ConlluReader::Marks marks_;
    bool has_pending_;
    std::vector<Node> document_;
    std::string fields_, document_id_;
    std::size_t id_ = 0;
    std::optional<std::size_t> head_;
};

}  // namespace

std::unique_ptr<MentionReader> corefud_reader(MentionReader::Lines lines, const std::string& file) {
    return std::make_unique<CorefUdReader>(std::move(lines), file);
}

}  // namespace headlight::corpus
