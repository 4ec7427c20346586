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

/// One pair a line, JSON: {"clean": "…", "corrupt": "…", "answer": " Mary" or ["…"], "wrong": …, "group": "…", "positions":
/// {"IO": [5], "S2": "gave"}}; `corrupt`, `wrong`, `group` and `positions` may be missing. Errors name file, line and field.
std::vector<SweepPair> read_pairs(const std::filesystem::path&, const text::Tokenizer&, const std::string& position);

}  // namespace headlight::intervention
