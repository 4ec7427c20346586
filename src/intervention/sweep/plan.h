// SPDX-License-Identifier: GPL-3.0-or-later
// Which variants of one pair's text give the cells of a sweep.
#pragma once

#include "headlight/intervention/sweep/sweep.h"
#include "headlight/text/alignment.h"
#include "headlight/trace/variants.h"

#include <map>
#include <vector>

namespace headlight::intervention {

/// Where a path ends before it goes on to the answer: a head's queries, or a key/value head's keys or values.
struct Receiver {
    model::HookPoint point{};
    std::int64_t unit = 0;
};
/// Of SweepOptions::to. Errors: words that cannot be read, other sites, heads that do not exist.
std::vector<Receiver> receivers_of(const std::vector<std::string>& words, const model::ModelConfig&);

/// As the decoder calls it: a cross attention's queries are cross_q.
inline model::Hook hook_of(Site site, const SweepOptions& o) {
    const model::Hook own = row_of(site).hook;
    return o.attention == model::Stack::cross ? model::in_decoder(own).value_or(own) : own;
}

/// What a head is made of: an edit of it changes this head's output and no other one's.
constexpr bool is_within_head(Site site) noexcept {
    return site == Site::q || site == Site::k || site == Site::v || site == Site::pattern;
}

using Tensors = std::map<model::HookPoint, at::Tensor>;

inline trace::TokenIds token_ids(const SweepText& text) {
    trace::TokenIds ids{text.ids, text.type_ids, text.pixels, text.source};
    if (!text.noise.empty()) ids.added = at::tensor(text.noise).view({std::ssize(text.ids), -1});
    return ids;
}

/// For every position of a text its partner in another one, or -1; the positions of the answer are partners.
inline std::vector<std::int64_t> partners_in(const SweepText& text, const SweepText& other) {
    return text::align_positions(text.ids, other.ids, text::TextEnds{text.end, other.end});
}

/// One pair of a sweep: what is run, what is put in, and which positions of it the metric reads.
struct SweepPlan {
    const model::ModelConfig& config;
    const SweepOptions& options;
    std::vector<std::int64_t> from{};                          ///< [position] in the other text, -1: not aligned
    std::vector<std::vector<std::int64_t>> position_rows{};    ///< of each place of the position axis
    std::vector<std::int64_t> source_from{};                   ///< likewise of the source, in a sweep of a cross attention
    std::int64_t tokens = 0, first_asked = 0, last_asked = 0;  ///< of the text that is run; asked: what the metric depends on
    std::int64_t same = 0;                                     ///< leading positions at which both runs have the same tensors
    bool other_length = false;  ///< partners are not position by position: texts (or their sources) that differ in length
    bool shifted = false;       ///< some position's partner in the other text (or its source) is another position
    std::vector<Receiver> receivers{};
    Tensors own{};        ///< of the run that is edited: outputs of all heads and, in windows, what they read; for direct effects
    bool frozen = false;  ///< heads keep them, but for the edited ones
    std::vector<Tensors> sources{};  ///< of the other run; of resampling one of each donor; empty: 0, or a knockout

    struct Cell {
        CellState state = CellState::computed;
        std::vector<trace::Variant> variants{};  ///< their mean is the cell
    };
    Cell cell(const SweepCell&) const;
    /// What the alignment leaves of a cell's rows.
    struct Rows {
        bool aligned = false;  ///< some row has a partner
        bool lost = false;     ///< the metric depends on some row that has none
    };
    /// Of so many layers around the cell's.
    std::vector<trace::Edit> edits(const SweepCell&, const Tensors* source, Rows&, std::int64_t window) const;

    bool of_cross() const { return options.attention == model::Stack::cross; }
    bool of_source(Site site) const { return of_cross() && is_of_keys(site); }

private:
    const std::vector<std::int64_t>& keys_from() const { return of_cross() ? source_from : from; }
    std::vector<std::int64_t> key_rows(const SweepCell&) const;
    bool is_last(std::int64_t layer) const;
    bool reaches_receiver(Site, std::int64_t layer) const;
    std::vector<std::int64_t> rows_of(const SweepCell&, std::int64_t layer, Rows&) const;
    void freeze_heads(Site, std::vector<trace::Edit>&) const;
};

/// Layers of a window around one: `range(max(0, l - w / 2), min(L, l - (-w / 2)))` with floors, as Geva et al. and ROME cut it.
std::pair<std::int64_t, std::int64_t> window_layers(std::int64_t layer, std::int64_t window, std::int64_t layers);

}  // namespace headlight::intervention
