// SPDX-License-Identifier: GPL-3.0-or-later
// What a probe predicts: labels of words, of pairs of words, of spans and of whole texts of a store.
#pragma once

#include "headlight/base/job.h"
#include "headlight/corpus/store/text_store.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::corpus {

/// Tokens of a chunk; a state is the mean over them.
struct TokenSpan {
    std::int64_t chunk = -1;  ///< -1: there is none
    std::int32_t begin = 0, end = 0;
};

struct ProbeExample {
    TokenSpan span{}, other{};  ///< `other`: of a pair, else none. The states of a pair stand one behind the other
    std::int32_t label = 0;     ///< index into LabelledExamples::classes
    std::int64_t text = 0;      ///< number in the store
    std::string type{};         ///< what stands there; the same for equal words: "run", of a pair "run → fast"
};

/// Parts of the texts: all examples of a text are in one of them.
enum class ProbePart { train, development, test };

struct LabelledExamples {
    std::string task;                  ///< "upos"
    std::vector<std::string> classes;  ///< sorted
    std::vector<ProbeExample> examples;
    std::string unit = "word";  ///< what has a label: word, pair, span or text
    bool pairs = false;
    std::int64_t unlabelled = 0;  ///< words without the label, left out
    std::int64_t without = 0;     ///< spans without a token, or cut by the end of a chunk; left out
};

/// `labels`: upos, xpos, relation (of a word to its head, without the subtype), depth (arcs to the root, 8 and more as one),
/// arc (of a word and its head: the relation), feature:NAME of a treebank; field:NAME of records, one label a text; or a file of
/// tab-separated values with a header: `text` (the id), `label`, and either nothing else (a label of the whole text), or `begin`
/// and `end` in characters, and `begin2` and `end2` for pairs.
/// Errors: a label that the store does not have, one class only; of a file: a missing column, a text that is not in the store, a
/// span that is not in its text, with the line.
LabelledExamples read_labels(TextStore& texts, std::string_view labels, const CancelToken& = {});
/// The words that read_labels() knows, for help and errors.
std::string label_words();
/// Those of the words of a treebank: upos, xpos, relation, depth, arc.
std::vector<std::string> treebank_labels();

/// 80 % of the texts train the probe, 10 % choose its penalty, 10 % test it: by a hash of the text's id and the seed.
ProbePart part_of_text(std::string_view id, std::uint64_t seed) noexcept;

}  // namespace headlight::corpus
