// SPDX-License-Identifier: GPL-3.0-or-later
// Texts, answers and files of pairs for a sweep.
#pragma once

#include "headlight/intervention/sweep/sweep.h"
#include "headlight/model/picture.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headlight::intervention {

/// In an encoder-decoder model the texts of a pair are what the encoder reads; the decoder reads `target`, in which the answer
/// follows.
void put_behind_encoder(SweepPair&, const model::ModelConfig& decoder, const text::Tokenizer&, const std::string& target);

/// Probability of every token (or class) where the answer of a text is read.
std::vector<double> answer_chances(const std::shared_ptr<const model::Model>&, const SweepText&);

/// Answers that are lacking: the likeliest token of the clean run at the position of the answer is the right one; the wrong one
/// is that of the corrupt run where it is another, else the clean run's second. Where the metric needs none, nothing is done.
void propose_answers(const std::shared_ptr<const model::Model>&, const text::Tokenizer&, SweepPair&, Metric);

/// A token in the words of a request's answers: its text where that is read as this token, else its name in figures; of a class
/// of pictures its name, or its number where several have that name.
std::string answer_text(const model::Model&, const text::Tokenizer&, std::int64_t id);

/// A sweep as a person asks for it, on the command line and in the window.
struct SweepRequest {
    std::string clean{}, corrupt{};  ///< texts, or the files of pictures
    std::string target{};            ///< of encoder-decoder models, what the decoder reads
    std::string pairs{};             ///< a file (or a task, task_pairs.h), in place of texts, answers and places
    std::string over{};              ///< a file of texts, or a list of pictures: texts_over()
    std::string position = "END";
    std::vector<std::string> answers{}, wrong{};
    std::vector<std::string> places{};  ///< "subject=The Eiffel Tower", "subject=1-4"
    SweepOptions options{};
    bool operator==(const SweepRequest&) const = default;
};
/// Whether named positions change anything: cells, the position of the answer or noise have them.
inline bool uses_places(const SweepRequest& r) { return r.options.by_name || !r.options.noise.empty() || r.position != "END"; }
/// Reads the file of a picture; error: what is wrong with it.
using PictureReader = std::function<std::shared_ptr<const model::Picture>(const std::filesystem::path&)>;
/// SweepOptions::over of a request: the texts of its file, as a corpus has them (docs/corpus.md), in an encoder-decoder model
/// what the encoder reads; for a model that reads pictures those that a list names, one file a line, from the list's folder.
/// Error: a file without texts.
std::shared_ptr<const std::vector<SweepText>> texts_over(const SweepRequest&, const model::Model&, const text::Tokenizer&,
                                                         const PictureReader& = {}, const CancelToken& = {});
/// The pair of a request, or those of its file: one a line, JSON: {"clean": "…", "corrupt": "…", "answer": " Mary" or ["…"],
/// "wrong": …, "group": "…", "positions": {"IO": [5], "S2": "gave"}}; `corrupt`, `wrong`, `group` and `positions` may be missing.
/// Errors name file, line and field: an answer of several tokens, with the split; a class that the model lacks; a position that
/// is not there; a pair that is to be patched and has one text; a place that is neither of both forms; --position, places and a
/// target that the model does not take; a model of pictures without classes.
std::vector<SweepPair> pairs_of(const SweepRequest&, const model::Model&, const text::Tokenizer&, const PictureReader& = {});

/// For every position of a text of the request's pairs the position of another text of the model, or -1: aligned as the texts of
/// a pair are, with the positions of the answer as partners.
std::vector<std::int64_t> positions_in(const text::Encoding&, const SweepText& of, const SweepRequest&, const model::Model&,
                                       const text::Tokenizer&);

/// How the typed answers were understood, and where the same text after a space is the likelier token; of a file of pairs, how
/// many have such an answer.
std::vector<std::string> answer_notes(const std::shared_ptr<const model::Model>&, const text::Tokenizer&, const SweepRequest&,
                                      const std::vector<SweepPair>&);

}  // namespace headlight::intervention
