// SPDX-License-Identifier: GPL-3.0-or-later
// A store opened for reading, for questions and figures. No model is needed.
#pragma once

#include "headlight/base/results.h"
#include "headlight/corpus/store/manifest.h"
#include "headlight/corpus/store/segments.h"
#include "headlight/model/model.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::corpus {

/// The content of a store at one moment. Immutable; shared by pointer.
struct StoredCorpus {
    std::filesystem::path folder;
    Manifest manifest;
    Merged merged;
    std::vector<std::int64_t> text_of_chunk;
    /// Cached results: intervals, the word index, tables.
    std::shared_ptr<Results> results = std::make_shared<Results>();

    /// Whether one of accumulator_kinds() was gathered.
    bool has(std::string_view kind) const noexcept;
    /// Error if it was not, with the kinds that were and how to gather it.
    void require(std::string_view kind) const;
    /// Error if the model is not the one that ran the texts, naming both.
    void require_model(const model::Model&) const;
};
/// Errors: no store there, nothing has been run yet, a damaged file.
std::shared_ptr<const StoredCorpus> read_store(const std::filesystem::path& folder);

/// The same from the segments written so far, during a run; null before the first one.
std::shared_ptr<const StoredCorpus> read_finished(const std::filesystem::path& folder, const AccumulatorContext&);

/// "novella-7m over 2,001 texts", or "... 640 of 2,001 texts" while some have not been run.
std::string corpus_words(const StoredCorpus&);

}  // namespace headlight::corpus
