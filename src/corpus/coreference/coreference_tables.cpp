// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/corpus/coreference/coreference.h"
#include "text/unicode/utf8.h"

#include <algorithm>

namespace headlight::corpus {
namespace {

constexpr std::int64_t kBytesAround = 28, kFarApart = 3 * kBytesAround;

std::string word_of(const std::string& text, std::int64_t begin, std::int64_t end) {
    if (begin < 0 || end < begin || end > std::ssize(text))
        throw Error({.problem = "The store's texts and results do not fit",
                     .item = "mentions.bytes",
                     .expected = "at most " + std::to_string(text.size()),
                     .found = std::to_string(begin) + " to " + std::to_string(end)});
    return text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

}  // namespace

analyze::Table table_of(const CoreferenceTable& coreference) {
    analyze::Table table;
    table.columns = {"score",     "layer",     "head",        "accuracy",        "low",          "high",
                     "n",         "cases",     "coverage",    "nearest_mention", "head_match",   "first_name",
                     "best",      "selection", "selection_n", "held_out",        "held_out_low", "held_out_high",
                     "held_out_n"};
    table.definitions = {
        {"score",
         "chains: of the mentions with earlier heads, the head of a mention attends most to one of its own chain. gap, "
         "winobias-pro, winobias-anti: the pronoun attends more to the name that it refers to, summed over the name's tokens. "
         "winobias-difference: pro - anti over sentences that have both versions."},
        {"accuracy", "Share of the n cases that the head gets right."},
        {"low", "95 % interval of the accuracy, to high: percentiles of a bootstrap over texts, of the difference over pairs."},
        {"n", "Cases that can be asked: the answer is in the chunk, and in a causal model both names stand before the pronoun."},
        {"cases", "Cases in the texts."},
        {"coverage", "n / cases."},
        {"nearest_mention", "Accuracy of the nearest other mention, or name, on the same cases."},
        {"head_match",
         "Accuracy of the nearest earlier mention whose head is the same word; without one the case counts as wrong."},
        {"first_name", "Accuracy of the name that stands first."},
        {"best", "1: the best head on half A of the texts."},
        {"selection", "Accuracy on half A, where the best head is chosen; over selection_n cases."},
        {"held_out", "Accuracy on half B, which had no part in the choice; over held_out_n cases."}};
    for (const CoreferenceRow& row : coreference.rows)
        table.add({std::string(enum_word(row.score)), row.head.layer.value, row.head.head.value, row.accuracy.mean,
                   row.accuracy.low, row.accuracy.high, row.n, row.cases,
                   row.cases > 0 ? static_cast<double>(row.n) / static_cast<double>(row.cases) : kNaN, row.nearest_mention,
                   row.head_match, row.first_name, std::int64_t{row.best ? 1 : 0}, row.selection, row.selection_n,
                   row.held_out.mean, row.held_out.low, row.held_out.high, row.held_out_n});
    return table;
}

std::string head_word(const IndexedMentions& chunk, std::int32_t mention, const std::string& text) {
    if (mention < 0) return {};
    const IndexedMention& m = chunk.mentions[static_cast<std::size_t>(mention)];
    return word_of(text, m.head_begin, m.head_end);
}

std::string marked_case(const IndexedMentions& chunk, const CoreferenceCase& one, const std::string& text) {
    struct Mark {
        std::int64_t begin, end;
        char open, close;
    };
    std::vector<Mark> marks;
    const auto mark = [&](std::int32_t mention, char open, char close) {
        if (mention < 0) return;
        const IndexedMention& m = chunk.mentions[static_cast<std::size_t>(mention)];
        marks.push_back({m.head_begin, m.head_end, open, close});
    };
    mark(one.mention, '[', ']');
    mark(one.chosen, '{', '}');
    if (!one.hit) mark(one.correct, '<', '>');
    std::ranges::sort(marks, {}, &Mark::begin);
    const std::int64_t size = std::ssize(text);
    const auto border = [&](std::int64_t at) {
        return static_cast<std::int64_t>(
            text::utf8::floor(text, static_cast<std::size_t>(std::clamp<std::int64_t>(at, 0, size))));
    };
    // Whole words, where there is a space near the border.
    const auto word_after = [&](std::int64_t at) {
        const auto space = static_cast<std::int64_t>(text.find(' ', static_cast<std::size_t>(at)));
        return at > 0 && space >= 0 && space < at + kBytesAround / 2 ? space + 1 : at;
    };
    const auto word_before = [&](std::int64_t at) {
        const auto space = static_cast<std::int64_t>(text.rfind(' ', static_cast<std::size_t>(at)));
        return at < size && space > at - kBytesAround / 2 ? space : at;
    };
    const std::int64_t from = word_after(border(marks.front().begin - kBytesAround)),
                       to = std::max(marks.back().end, word_before(border(marks.back().end + 2 * kBytesAround)));
    std::string out = from > 0 ? "…" : "";
    std::int64_t at = from;
    for (const Mark& each : marks) {
        // A distant mention is shown with the text between left out.
        if (at > from && each.begin - at > kFarApart) {
            out += word_of(text, at, word_before(border(at + kBytesAround))) + " … ";
            at = word_after(border(each.begin - kBytesAround));
        }
        out += word_of(text, at, std::max(at, each.begin)) + each.open + word_of(text, each.begin, each.end) + each.close;
        at = std::max(at, each.end);
    }
    out += word_of(text, at, std::max(at, to)) + (to < size ? "…" : "");
    std::ranges::replace(out, '\n', ' ');
    return out;
}

analyze::Table examples_of(const MentionIndex& index, const CoreferenceTable& coreference, std::int64_t n, TextStore& texts) {
    analyze::Table table;
    table.columns = {"score", "kind", "layer", "head", "chunk", "document", "weight", "mention", "chosen", "correct", "text"};
    table.definitions = {{"kind", "hit or miss, of the best head of the score; the largest weights first."},
                         {"weight", "Attention of the mention's head to the chosen one's, or of a pronoun to the chosen name."},
                         {"correct", "The chosen one where it is right, else the nearest earlier mention of the chain."},
                         {"text", "[the mention], {the chosen one}, <the right one> where it is another."}};
    for (const auto& [score, word, title, note] : coreference_scores) {
        const HeadId head = best_head(coreference, score);
        if (head.layer.value < 0) continue;
        for (const CoreferenceCase& one : coreference_examples(index, score, head, n)) {
            const IndexedMentions& chunk = index.chunks().at(one.chunk);
            const Text& text = texts.text(texts.chunk(one.chunk).text);
            const auto form = [&](std::int32_t mention) { return head_word(chunk, mention, text.text); };
            table.add({std::string(word), std::string(one.hit ? "hit" : "miss"), head.layer.value, head.head.value, one.chunk,
                       text.id, one.weight, form(one.mention), form(one.chosen), form(one.correct),
                       marked_case(chunk, one, text.text)});
        }
    }
    return table;
}

}  // namespace headlight::corpus
