// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/trees.h"

#include "corpus/probe/token_spans.h"
#include "headlight/base/error.h"
#include "headlight/corpus/reading/conllu.h"

#include <algorithm>
#include <string>
#include <utility>

namespace headlight::corpus {
namespace {

/// Words of a sentence with heads that count from its first word; false: they are no tree.
bool tree_of(std::span<const Word> words, std::int32_t first, TreeSentence& out) {
    std::vector<Word> own(words.begin(), words.end());
    bool has_arcs = false;
    for (Word& word : own) {
        if (word.head >= 0) word.head -= first;
        if (word.head >= std::ssize(own) || (word.head < 0 && word.relation.empty())) return false;
        has_arcs = has_arcs || word.head >= 0;
        out.heads.push_back(word.head);
        out.punctuation.push_back(word.relation.starts_with("punct"));
    }
    return has_arcs && tree_problem(own).empty();
}

}  // namespace

std::int64_t StoredTrees::count(ProbePart part) const noexcept { return std::ranges::count(parts, part); }

StoredTrees read_trees(TextStore& texts, std::uint64_t seed, const CancelToken& cancel) {
    StoredTrees out;
    std::vector<std::vector<std::int64_t>> chunks_of(static_cast<std::size_t>(texts.texts()));
    const std::vector<std::int64_t> text_of_chunk = texts.text_of_chunk();
    for (std::size_t chunk = 0; chunk < text_of_chunk.size(); ++chunk)
        chunks_of[static_cast<std::size_t>(text_of_chunk[chunk])].push_back(static_cast<std::int64_t>(chunk));
    std::int64_t sentences = 0;
    for (std::size_t number = 0; number < chunks_of.size(); ++number) {
        cancel.throw_if_cancelled();
        const Text text = texts.text(static_cast<std::int64_t>(number));
        const ProbePart part = part_of_text(text.id, seed);
        for (std::size_t first = 0, end = 0; first < text.words.size(); first = end) {
            while (end < text.words.size() && text.words[end].sentence == text.words[first].sentence) ++end;
            if (end - first < 2) continue;
            ++sentences;
            TreeSentence sentence{.first = std::ssize(out.words), .heads = {}, .punctuation = {}};
            const auto words = std::span(text.words).subspan(first, end - first);
            bool complete = tree_of(words, static_cast<std::int32_t>(first), sentence);
            for (const std::int64_t chunk : chunks_of[number]) {
                if (!complete) break;
                out.words.resize(static_cast<std::size_t>(sentence.first));
                for (const Word& word : words) {
                    const TokenSpan span = tokens_of({word.begin, word.end}, texts.chunk(chunk));
                    if (span.chunk < 0) break;
                    out.words.push_back({.span = span, .text = static_cast<std::int64_t>(number), .type = word.form});
                }
                if (std::ssize(out.words) == sentence.first + sentence.words()) break;
            }
            complete = complete && std::ssize(out.words) == sentence.first + sentence.words();
            if (!complete) {
                out.words.resize(static_cast<std::size_t>(sentence.first));
                ++out.left_out;
                continue;
            }
            out.chunks.push_back(out.words.back().span.chunk);
            out.texts.push_back(static_cast<std::int64_t>(number));
            out.first_word.push_back(static_cast<std::int32_t>(first));
            out.parts.push_back(part);
            out.sentences.push_back(std::move(sentence));
        }
    }
    if (out.sentences.empty())
        throw Error({.problem = "The texts of the store have no trees",
                     .expected = "sentences with words and their heads",
                     .found = sentences > 0 ? std::to_string(sentences) + " sentences without a tree" : "texts without words",
                     .hint = "This probe needs a store of a treebank in CoNLL-U"});
    for (const auto& [part, name] : {std::pair(ProbePart::train, "training"), std::pair(ProbePart::development, "development"),
                                     std::pair(ProbePart::test, "test")})
        if (out.count(part) < 2)
            throw Error({.problem = "A part of the texts has too few sentences for a probe",
                         .item = std::string(name) + " part",
                         .expected = "at least 2",
                         .found = std::to_string(out.count(part)),
                         .hint = "Use more texts"});
    return out;
}

}  // namespace headlight::corpus
