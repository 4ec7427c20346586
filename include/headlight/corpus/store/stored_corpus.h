// SPDX-License-Identifier: GPL-3.0-or-later
// A store that is read, not run: what questions and figures take. No model is needed.
#pragma once

#include "headlight/base/results.h"
#include "headlight/corpus/store/manifest.h"
#include "headlight/corpus/store/segments.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::corpus {

/// What a store holds at a moment. Immutable; shared by pointer.
struct StoredCorpus {
    std::filesystem::path folder;
    Manifest manifest;
    Merged merged;
    std::vector<std::int64_t> text_of_chunk;
    /// What was computed from it: intervals, the word index, tables.
    std::shared_ptr<Results> results = std::make_shared<Results>();

    /// One of accumulator_kinds() was gathered.
    bool has(std::string_view kind) const noexcept;
};
/// Errors: no store there, nothing of it has been run yet, a file that is damaged.
std::shared_ptr<const StoredCorpus> read_store(const std::filesystem::path& folder);

/// The same of what the segments hold together now, while a run goes on; null before the first one.
std::shared_ptr<const StoredCorpus> read_finished(const std::filesystem::path& folder, const AccumulatorContext&);

/// "novella-7m over 2,001 texts", or "... 640 of 2,001 texts" while some have not been run.
std::string corpus_words(const StoredCorpus&);

}  // namespace headlight::corpus
