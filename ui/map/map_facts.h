// SPDX-License-Identifier: GPL-3.0-or-later
// What the page of a map computes about one point. All of it in jobs.
#pragma once

#include "headlight/base/job.h"
#include "headlight/map/options.h"
#include "headlight/map/vectors.h"
#include "headlight/text/tokenizer.h"
#include "headlight/trace/trace.h"
#include "ui/document/open_model.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace headlight::ui {

/// A point of the other role, and how near it is: q·k of preset `scores`, the preset's distance otherwise.
struct NearPoint {
    std::int32_t point = 0;
    double value = 0;
};
/// The nearest points of the other role by what the preset takes for near, before they were projected; tokens that stand apart
/// are none unless they count.
std::vector<NearPoint> nearest_before_projection(const map::MapVectors&, std::size_t head, const map::MapOptions&,
                                                 std::int32_t point, std::size_t most);
/// "q·k" or "distance".
const char* nearness_word(map::Preset) noexcept;

/// What a map is made of, and what more can be learnt about its texts.
class MapTexts {
public:
    /// `traces`: the runs of its texts, in their order; empty: a text is run when it is asked for.
    MapTexts(std::shared_ptr<const map::MapVectors>, OpenModel, std::vector<std::shared_ptr<const trace::Trace>> traces = {});

    const map::MapVectors& vectors() const { return *vectors_; }
    const std::shared_ptr<const map::MapVectors>& shared_vectors() const { return vectors_; }
    const OpenModel& opened() const { return opened_; }
    std::size_t texts() const { return queries_.size(); }
    /// Tokens of a text in MapVectors::tokens, or with `keys` in key_tokens().
    map::TokenRange range(std::size_t text, bool keys) const { return (keys ? keys_ : queries_).at(text); }
    /// As the tokenizer spells it out, without special tokens.
    std::string text(std::size_t text, bool keys) const;
    /// run() gives the run of a text.
    bool can_run() const;
    /// Its tokens are patches.
    bool of_pictures() const;
    /// Of a text; null: the model reads two texts at once, and none is kept.
    std::shared_ptr<const trace::Trace> run(std::size_t text, const CancelToken&) const;

private:
    std::shared_ptr<const map::MapVectors> vectors_;
    OpenModel opened_;
    std::vector<std::shared_ptr<const trace::Trace>> traces_;
    std::vector<map::TokenRange> queries_, keys_;
    mutable std::mutex mutex_;
    mutable std::size_t last_text_ = 0;
    mutable std::shared_ptr<const trace::Trace> last_;
};

/// How the attention of a point is read.
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
    std::vector<float> weights;  ///< [token of the point's text, of the other role] a query's attention, or what a key receives
    std::int64_t texts = 1;      ///< that the mean is over
    bool from_scores = false;    ///< softmax of q·k: what masks, windows and positions change is not in it
};
AttentionFound attention_of(const MapTexts&, const AttentionAsked&, const CancelToken&, const Progress& = {});

}  // namespace headlight::ui
