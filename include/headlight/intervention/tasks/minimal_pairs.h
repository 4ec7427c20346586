// SPDX-License-Identifier: GPL-3.0-or-later
// Pairs of an acceptable sentence and an unacceptable one that differs from it minimally (BLiMP, Warstadt et al. 2020,
// arXiv:1912.00582): which of both does the model find likelier?
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/job.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/model/model.h"
#include "headlight/text/tokenizer.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace headlight::intervention {

struct SentencePair {
    std::string good, bad;
};
/// The pairs of one file.
struct Paradigm {
    std::string name, field, term;  ///< UID, field and linguistics_term of its first line; without UID the file's name
    std::vector<SentencePair> pairs;
};
/// JSONL as BLiMP's: every line an object with "sentence_good" and "sentence_bad". Errors name file, line and field.
Paradigm read_paradigm(const std::filesystem::path&);
/// The files that these paths are, of a folder all that end in .jsonl, by name. Errors: no such path, a folder without such
/// files.
std::vector<std::filesystem::path> paradigm_files(const std::vector<std::string>& paths);

/// log P of a sentence, nats: the sum over its tokens behind the beginning-of-text token. Where a tokenizer adds none,
/// <|endoftext|> stands in for it; without that one too the first token counts as given. `tokens`: log P of each token, 0 of a
/// first one that is given.
struct SentenceLikelihood {
    std::vector<std::int64_t> ids{};
    std::vector<double> tokens{};
    double sum() const;
};
/// Error for a model that does not predict the next token.
SentenceLikelihood likelihood_of(const model::Model&, const text::Tokenizer&, const std::string& sentence,
                                 const CancelToken& = {});

struct ParadigmResult {
    std::string name, field, term;
    std::int64_t pairs = 0;
    corpus::Interval accuracy;     ///< share of pairs with log P(good) > log P(bad), Wilson's interval of 95 %
    double difference = kNaN;      ///< mean log P(good) - log P(bad), nats
    corpus::Interval first_token;  ///< the same share for the first token at which the two differ, given what is before it
};
ParadigmResult run_paradigm(const Paradigm&, const model::Model&, const text::Tokenizer&, const CancelToken& = {},
                            const Progress& = {});

/// paradigm, field, term, pairs, accuracy, low, high, difference, first_token; of several paradigms last a line `mean`, their
/// mean accuracy, as BLiMP reports it.
analyze::Table table_of(const std::vector<ParadigmResult>&);

}  // namespace headlight::intervention
