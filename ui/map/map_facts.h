// SPDX-License-Identifier: GPL-3.0-or-later
// Computations of the map page about one point, all run in jobs.
#pragma once

#include "headlight/base/job.h"
#include "headlight/map/scale/layout.h"
#include "headlight/map/vectors.h"
#include "headlight/text/tokenizer.h"
#include "headlight/trace/trace.h"
#include "ui/document/open_model.h"

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace headlight::ui {

/// A point of the other role and its nearness: q·k for the preset `scores`, otherwise the preset's distance.
struct NearPoint {
    std::int32_t point = 0;
    double value = 0;
};
/// "q·k" or "distance".
const char* nearness_word(map::Preset) noexcept;

/// The data behind a map, and further facts about its texts.
class MapTexts {
public:
    /// `traces`: the runs of its texts, in their order; empty: a text is run on request.
    MapTexts(std::shared_ptr<const map::MapVectors>, OpenModel, std::vector<std::shared_ptr<const trace::Trace>> traces = {});

    const map::MapVectors& vectors() const { return *vectors_; }
    const std::shared_ptr<const map::MapVectors>& shared_vectors() const { return vectors_; }
    const OpenModel& opened() const { return opened_; }
    std::size_t texts() const { return queries_.size(); }
    /// Tokens of a text in MapVectors::tokens, or with `keys` in key_tokens().
    map::TokenRange range(std::size_t text, bool keys) const { return (keys ? keys_ : queries_).at(text); }
    /// As it was read. Of a file's texts of an encoder-decoder model always the source.
    std::string text(std::size_t text, bool keys) const;
    /// Whether run() returns the run of a text.
    bool can_run() const;
    /// Whether its tokens are patches.
    bool of_pictures() const;
    /// The run of a text; null: the model reads two texts at once, and no run is kept. Runs stay for the next point while they
    /// fit into `budget`; the one asked for longest ago goes first.
    std::shared_ptr<const trace::Trace> run(std::size_t text, const CancelToken&) const;
    void set_budget(std::int64_t bytes) { budget_ = bytes; }
    /// The points of a head before projection; the last ones are kept.
    std::shared_ptr<const map::Placed> placed(std::size_t head, const map::MapOptions&) const;

private:
    std::shared_ptr<const map::MapVectors> vectors_;
    OpenModel opened_;
    std::vector<std::shared_ptr<const trace::Trace>> traces_;
    std::vector<map::TokenRange> queries_, keys_;
    std::int64_t budget_ = std::int64_t{512} << 20;
    mutable std::mutex mutex_;
    struct Kept {
        std::size_t text;
        std::shared_ptr<const trace::Trace> run;
    };
    mutable std::list<Kept> kept_;  ///< the one asked for last comes first
    mutable std::shared_ptr<const map::Placed> placed_;
    mutable std::pair<std::size_t, map::MapOptions> placed_of_;
};

/// The nearest points of the other role by the preset's definition of nearness, before projection; tokens that are apart are
/// excluded unless they count.
std::vector<NearPoint> nearest_before_projection(const MapTexts&, std::size_t head, const map::MapOptions&, std::int32_t point,
                                                 std::size_t most, const CancelToken& = {});

/// How to read the attention of a point.
struct AttentionAsked {
    std::size_t head = 0;    ///< in MapVectors::heads
    std::int32_t point = 0;  ///< queries, then keys, as in a map
    bool by_value = false;   ///< weight times |value|, rows sum to 1
    bool hide_first = false;
    bool over_texts = false;  ///< mean over all texts that have the position
    bool operator==(const AttentionAsked&) const = default;
};
struct AttentionFound {
    AttentionAsked asked;
    std::vector<float> weights;  ///< [token of the point's text, of the other role] a query's attention, or that to a key
    std::int64_t texts = 1;      ///< that the mean is over
    bool from_scores = false;    ///< softmax of q·k, without the effect of masks, windows and positions
};
AttentionFound attention_of(const MapTexts&, const AttentionAsked&, const CancelToken&, const Progress& = {});

}  // namespace headlight::ui
