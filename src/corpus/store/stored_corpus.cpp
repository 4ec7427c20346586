// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/store/stored_corpus.h"

#include "headlight/base/accounted.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/store/text_store.h"

#include <algorithm>

namespace headlight::corpus {

bool StoredCorpus::has(std::string_view kind) const noexcept {
    return std::ranges::find(manifest.options.measures, kind) != manifest.options.measures.end();
}

void StoredCorpus::require(std::string_view kind) const {
    if (has(kind)) return;
    throw Error({.problem = "The store lacks the requested data",
                 .file = folder.string(),
                 .expected = std::string(kind),
                 .found = manifest.measures_text(),
                 .hint = "Create a store with headlight corpus run --measure " + std::string(kind) +
                         (kind == "words" || kind == "tags" ? ", over texts with words (CoNLL-U, CorefUD)"
                          : kind == "mentions" ? ", over texts with mentions of entities (CorefUD, CoNLL-2012, GAP, WinoBias)"
                                               : "")});
}

void StoredCorpus::require_model(const model::Model& model) const {
    if (model.hash() == manifest.model_hash) return;
    throw Error({.problem = "The store is of another model",
                 .file = folder.string(),
                 .expected = manifest.model + " " + manifest.model_hash,
                 .found = model.config().name + " " + model.hash(),
                 .hint = "Give --model " + manifest.model_path});
}

namespace {

std::shared_ptr<const StoredCorpus> in_the_account(StoredCorpus stored) {
    const Merged& m = stored.merged;
    const std::int64_t numbers = std::ssize(m.blocks) + std::ssize(stored.text_of_chunk);
    const std::int64_t bytes = m.arrays.bytes() + numbers * std::int64_t{sizeof(std::int64_t)};
    return accounted(std::move(stored), MemoryUse::results, bytes);
}

}  // namespace

std::shared_ptr<const StoredCorpus> read_store(const std::filesystem::path& folder) {
    StoredCorpus stored{.folder = folder, .manifest = read_manifest(folder), .merged = {}, .text_of_chunk = {}};
    stored.merged = read_merged(folder, stored.manifest);
    stored.text_of_chunk = TextStore(folder, stored.manifest).text_of_chunk();
    return in_the_account(std::move(stored));
}

std::shared_ptr<const StoredCorpus> read_finished(const std::filesystem::path& folder, const AccumulatorContext& context) {
    if (!is_store(folder)) return nullptr;
    StoredCorpus stored{.folder = folder, .manifest = read_manifest(folder), .merged = {}, .text_of_chunk = {}};
    const Gathered fresh(stored.manifest.options.measures, context);
    const std::vector<Segment> segments = segments_of(folder, stored.manifest);
    if (segments.empty()) return nullptr;
    stored.merged = merge_segments(segments, stored.manifest, fresh);
    stored.text_of_chunk = TextStore(folder, stored.manifest).text_of_chunk();
    return in_the_account(std::move(stored));
}

std::string corpus_words(const StoredCorpus& stored) {
    const Manifest& m = stored.manifest;
    const std::string all = with_commas(m.chunks());
    const std::string chunks = stored.merged.chunks < m.chunks() ? with_commas(stored.merged.chunks) + " of " + all : all;
    const bool cut = m.chunks() != m.texts();
    return m.model + " over " + chunks + (cut ? " chunks of " + with_commas(m.texts()) + " texts" : " texts");
}

}  // namespace headlight::corpus
