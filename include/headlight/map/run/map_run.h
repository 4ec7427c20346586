// SPDX-License-Identifier: GPL-3.0-or-later
// Maps of many heads at once, shown while they are computed.
#pragma once

#include "headlight/base/job.h"
#include "headlight/base/memory_account.h"
#include "headlight/map/options.h"
#include "headlight/map/vectors.h"

#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace headlight::map {

/// One head's picture, step by step. The bytes of a seed are the same on any thread. PCA, and heads with fewer than five
/// counted points, finish immediately. Points that are apart follow the ten nearest of their role.
class HeadRun {
public:
    HeadRun(std::shared_ptr<const MapVectors>, std::size_t head, const MapOptions&, const CancelToken& = {});
    ~HeadRun();
    /// False when finished.
    bool run(int iterations, const CancelToken& = {});
    HeadMap picture() const;  ///< the current state, without quality
    /// With trust, trustworthiness, continuity, faithfulness, divergence, and the reason if it is poor.
    HeadMap measured(const CancelToken& = {});

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Levels below which a head counts as poor.
struct PoorLevels {
    float trustworthiness = 0.65F, faithfulness = 0.1F;
};
/// "Neighbours are not kept (trustworthiness 0.62)"; empty for a good one. NaN does not count as a reason.
std::string poor_reason(const HeadMap&, const PoorLevels& = {});

/// All heads of the vectors. All functions except run() may be called from any thread during the run.
class MapRun {
public:
    /// `cache`: a folder where finished heads are kept; empty: none.
    MapRun(std::shared_ptr<const MapVectors>, const MapOptions&, std::filesystem::path cache = {});

    /// Called from the computing threads when a picture has changed, with the head's index in QueryKeyMap::heads.
    using Changed = std::function<void(std::size_t head)>;
    /// Blocks until all heads are finished or it is cancelled (Cancelled; finished heads stay). First the PCA of all heads,
    /// then t-SNE or UMAP, every head on one thread, with a change every 50 iterations; then its quality. `threads` 0: one for
    /// each core.
    void run(int threads, const CancelToken& = {}, const Progress& = {}, const Changed& = {});

    /// Heads to compute next, in this order, before all others.
    void show_first(std::vector<std::size_t> heads);
    void pause(bool);

    std::size_t heads() const noexcept { return vectors_->heads.size(); }
    /// Under way, or done.
    bool begun(std::size_t head) const;
    HeadMap head(std::size_t) const;
    QueryKeyMap map() const;
    const std::shared_ptr<const MapVectors>& vectors() const noexcept { return vectors_; }
    const MapOptions& options() const noexcept { return options_; }

private:
    bool next(std::size_t& head);
    void finish_head(std::size_t head, const CancelToken&, const Changed&);
    void set(std::size_t head, HeadMap, const Changed&);

    std::shared_ptr<const MapVectors> vectors_;
    MapOptions options_;
    std::filesystem::path cache_;
    MemoryAccount account_{MemoryUse::maps};  ///< of the vectors and the pictures
    mutable std::mutex mutex_;
    std::condition_variable resumed_;
    bool paused_ = false;
    std::vector<HeadMap> maps_;
    std::vector<bool> taken_;
    std::vector<std::size_t> first_;
};

/// A file name from everything that a head's picture depends on: SHA-256 of its vectors, of texts, positions and marks, and of
/// the options.
std::string cache_key(const MapVectors&, std::size_t head, const MapOptions&);
/// Error if the file cannot be written.
void write_cached(const std::filesystem::path& folder, const std::string& key, const HeadMap&);
/// Nothing for a file that is missing, damaged (its checksum), in another version of the format, or not of this head and options.
std::optional<HeadMap> read_cached(const std::filesystem::path& folder, const MapVectors&, std::size_t head, const MapOptions&);

}  // namespace headlight::map
