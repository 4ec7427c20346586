// SPDX-License-Identifier: GPL-3.0-or-later
// Collects queries and keys from traces, or by running texts.
#pragma once

#include "headlight/base/job.h"
#include "headlight/corpus/reading/read_texts.h"
#include "headlight/map/vectors.h"
#include "headlight/model/model.h"
#include "headlight/text/tokenizer.h"
#include "headlight/trace/trace.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headlight::map {

struct GatherOptions {
    bool rotated = false;                      ///< after the rotation, in models that rotate
    model::Stack stack = model::Stack::whole;  ///< encoder-decoder models: the attention to map; whole: the decoder's own
    std::vector<HeadId> heads{};               ///< empty: all
    std::int64_t budget = 2500;                ///< tokens; 0: all texts
    std::uint64_t seed = 0;                    ///< of the choice of texts

    bool operator==(const GatherOptions&) const = default;
};

/// Numbers of the used texts, in their order, and their total number of tokens.
struct ChosenTexts {
    std::vector<std::int64_t> texts;
    std::int64_t tokens = 0, left_out = 0;
};
/// Takes whole texts in a random order given by the seed, each that still fits; `tokens_of` is called for as few as needed. The
/// choice ends after 100 consecutive texts that do not fit. Error if none fits.
ChosenTexts choose_texts(std::int64_t texts, const std::function<std::int64_t(std::int64_t)>& tokens_of, std::int64_t budget,
                         std::uint64_t seed);

/// Queries and keys of runs that kept them, of one model. Keys of a head are those of its key/value head; MLA gives the content
/// part unless `rotated`. The budget is not applied: all runs are used. Errors: no run, a stack or a head that the model does
/// not have, hooks that were not kept.
std::shared_ptr<const MapVectors> gather(const std::vector<std::shared_ptr<const trace::Trace>>&, const GatherOptions& = {});

/// The texts chosen by budget and seed, run only for their queries and keys. A text longer than the model's context is read in
/// parts that count as texts. Encoder-decoder models: a text is "source TAB target". Errors: those of a run, memory.
std::shared_ptr<const MapVectors> gather_texts(const std::shared_ptr<const model::Model>&,
                                               const std::shared_ptr<const headlight::text::Tokenizer>&,
                                               const std::vector<corpus::Text>&, const GatherOptions& = {},
                                               const CancelToken& = {}, const Progress& = {});

/// The same for pictures, with their runs, which keep values as well.
struct GatheredPictures {
    std::shared_ptr<const MapVectors> vectors;
    std::vector<std::shared_ptr<const trace::Trace>> runs;
};
/// `read` decodes a file. Errors: a model that reads texts, those of `read` and of a run.
GatheredPictures gather_pictures(const std::shared_ptr<const model::Model>&,
                                 const std::shared_ptr<const headlight::text::Tokenizer>&, const std::vector<std::string>& files,
                                 const std::function<std::shared_ptr<const model::Picture>(const std::string& file)>& read,
                                 const GatherOptions& = {}, const CancelToken& = {}, const Progress& = {});

/// The texts of a file or folder (corpus::read_texts, line by line) or of a corpus store. Errors as there.
std::vector<corpus::Text> texts_of(const std::filesystem::path& file_or_store,
                                   const std::function<void(corpus::LeftOut)>& left_out = {}, const CancelToken& = {});

}  // namespace headlight::map
