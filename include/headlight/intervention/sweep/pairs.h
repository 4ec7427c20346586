// SPDX-License-Identifier: GPL-3.0-or-later
// Texts, answers and files of pairs for a sweep.
#pragma once

#include "headlight/intervention/sweep/sweep.h"

#include <filesystem>
#include <string>
#include <vector>

namespace headlight::intervention {

/// The token that a text is: as it stands, else with a space before it. Error for several tokens, with the split.
std::int64_t answer_id(const text::Tokenizer&, const std::string& answer);

/// `position`: END (the last token; the mask, where the text has one), an index, or a name of `places`. A place is token
/// positions, or words that occur once in the text. END is a place of every text. Errors name what is not there.
struct PlaceText {
    std::vector<std::int64_t> positions{};
    std::string words{};  ///< in place of positions
};
SweepText sweep_text(const text::Tokenizer&, const std::string& text, const std::string& position,
                     const std::map<std::string, PlaceText>& places = {}, bool words_may_lack = false);

/// A pair of texts; positions of the second are those of the first, aligned.
SweepPair sweep_pair(const text::Tokenizer&, const std::string& clean, const std::string& corrupt,
                     const std::vector<std::string>& answers, const std::vector<std::string>& wrong, const std::string& position,
                     const std::map<std::string, PlaceText>& places = {});

/// In an encoder-decoder model the texts of a pair are what the encoder reads; the decoder reads `target`, in which the answer
/// follows.
void put_behind_encoder(SweepPair&, const model::ModelConfig& decoder, const text::Tokenizer&, const std::string& target);

/// Answers that are lacking: the likeliest token of the clean run at the position of the answer is the right one; the wrong one
/// is that of the corrupt run where it is another, else the clean run's second. Where the metric needs none, nothing is done.
void propose_answers(const std::shared_ptr<const model::Model>&, const text::Tokenizer&, SweepPair&, Metric);

/// One pair a line, JSON: {"clean": "…", "corrupt": "…", "answer": " Mary" or ["…"], "wrong": …, "group": "…", "positions":
/// {"IO": [5], "S2": "gave"}}; `corrupt`, `wrong`, `group` and `positions` may be missing. Errors name file, line and field.
std::vector<SweepPair> read_pairs(const std::filesystem::path&, const text::Tokenizer&, const std::string& position);

/// A sweep as a person asks for it, on the command line and in the window.
struct SweepRequest {
    std::string clean{}, corrupt{}, target{};  ///< target: of encoder-decoder models, what the decoder reads
    std::string pairs{};                       ///< a file, in place of texts, answers and places
    std::string over{};                        ///< a file of texts: SweepOptions::over
    std::string position = "END";
    std::vector<std::string> answers{}, wrong{};
    std::vector<std::string> places{};  ///< "subject=The Eiffel Tower", "subject=1-4"
    SweepOptions options{};
    bool operator==(const SweepRequest&) const = default;
};
/// The texts of a file, as a corpus has them (docs/corpus.md), for SweepOptions::over. In an encoder-decoder model they are what
/// the encoder reads. Error: a file without texts.
std::shared_ptr<const std::vector<SweepText>> texts_over(const std::filesystem::path&, const model::ModelConfig&,
                                                         const text::Tokenizer&, const std::string& target,
                                                         const CancelToken& = {});
/// Errors: those of sweep_pair() and read_pairs(); a pair that is to be patched and has one text; a place that is neither of both
/// forms; --position, places and a target that the model does not take.
std::vector<SweepPair> pairs_of(const SweepRequest&, const model::ModelConfig&, const text::Tokenizer&);

}  // namespace headlight::intervention
