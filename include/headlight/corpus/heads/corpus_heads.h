// SPDX-License-Identifier: GPL-3.0-or-later
// What views of a text use from a store: the measures of heads over its texts, and the words that questions refer to.
#pragma once

#include "headlight/analyze/heads/head_table.h"
#include "headlight/corpus/store/stored_corpus.h"
#include "headlight/corpus/syntax/word_index.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace headlight::corpus {

/// Immutable; shared by pointer.
struct CorpusHeads {
    std::filesystem::path folder;
    std::string name;                        ///< the folder's: "ewt-dev"
    std::string words;                       ///< "novella-7m over 2,001 texts"
    std::string model_hash;                  ///< of the model that ran the texts
    analyze::HeadTable table;                ///< means over texts: "corpus_induction", "corpus induction score"
    std::shared_ptr<const WordIndex> index;  ///< null: the store has no words of a treebank
};
/// Error: the store has neither measures of heads nor words.
std::shared_ptr<const CorpusHeads> heads_of_corpus(const StoredCorpus&);

/// A text's measures together with those of the corpus (null: none); those of another corpus are removed. Error if the shapes
/// differ.
analyze::HeadTable with_corpus(const analyze::HeadTable& of_text, const CorpusHeads*);

/// A question about heads (HeadQuery) that may name measures of the corpus and conditions on its words.
struct HeadQuestion {
    analyze::HeadQuery query;
    analyze::HeadTable table;  ///< the measures, and those of the conditions on words
};
/// Errors as HeadQuery::parse(). `measures`: those of the text and of the corpus. If `corpus` is null, conditions on words are
/// an Error.
HeadQuestion head_question(std::string_view expression, const analyze::HeadTable& measures, const trace::Trace*,
                           const CorpusHeads* corpus);

}  // namespace headlight::corpus
