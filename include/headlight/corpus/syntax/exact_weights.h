// SPDX-License-Identifier: GPL-3.0-or-later
// Weights that the word index does not hold, computed by running the sentences again.
#pragma once

#include "headlight/base/job.h"
#include "headlight/corpus/store/text_store.h"
#include "headlight/corpus/syntax/word_query.h"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace headlight::corpus {

/// For one head over sentences of a store. Each sentence is run once.
class ExactWeights {
public:
    /// The references must outlive it. `model`: the one that ran the store's texts.
    ExactWeights(TextStore& texts, std::shared_ptr<const model::Model> model,
                 std::shared_ptr<const headlight::text::Tokenizer> tokenizer, HeadId head, const CancelToken& cancel = {})
        : texts_(texts), model_(std::move(model)), tokenizer_(std::move(tokenizer)), head_(head), cancel_(cancel) {}
    /// The weight of a word on another, not rounded. Errors: as TextStore::chunk(), a model without that head.
    double weight(std::int64_t text, std::int32_t word, std::int32_t target);
    /// The case with its exact weights: on its target (of several, the one attended to most or else the one with the largest
    /// weight), and on the word attended to most.
    void complete(WordQuery::Case&, const std::vector<std::int32_t>& targets);

private:
    struct Sentence {
        std::size_t words = 0;
        std::vector<double> attention;  ///< [word, word]
    };
    const Sentence& sentence(std::int64_t text);

    TextStore& texts_;
    std::shared_ptr<const model::Model> model_;
    std::shared_ptr<const headlight::text::Tokenizer> tokenizer_;
    HeadId head_;
    CancelToken cancel_;
    std::map<std::int64_t, Sentence> sentences_;
};

}  // namespace headlight::corpus
