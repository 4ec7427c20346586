// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/sweep/plan.h"

#include "intervention/sweep/edits.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace headlight::intervention {
namespace {

using model::HookPoint;

/// What is put at a position changes that position alone until the next attention; where heads are frozen, until the end.
bool stays_at_its_position(Site site, bool frozen) {
    return site != Site::k && site != Site::v && (frozen || site != Site::resid_pre);
}

}  // namespace

std::pair<std::int64_t, std::int64_t> window_layers(std::int64_t layer, std::int64_t window, std::int64_t layers) {
    const std::int64_t before = window / 2, after = window - window / 2;
    return {std::max<std::int64_t>(0, layer - before), std::min(layers, layer + after)};
}

bool SweepPlan::is_last(std::int64_t layer) const { return layer == config.n_layers - 1 && !has_convolution(config, layer); }

bool SweepPlan::reaches_receiver(Site site, std::int64_t layer) const {
    if (receivers.empty()) return true;
    const std::int64_t last = site == Site::resid_pre ? layer : layer + 1;  // in which it can be read
    return std::ranges::any_of(receivers, [&](const Receiver& r) { return r.point.layer.value >= last; });
}

/// Rows of the cell in a layer that have a partner and can change what the metric reads.
std::vector<std::int64_t> SweepPlan::rows_of(const SweepCell& cell, std::int64_t layer, Rows& found) const {
    const bool source = of_source(cell.site);
    const std::vector<std::int64_t>& there = source ? source_from : from;
    std::vector<std::int64_t> rows(there.size());
    std::iota(rows.begin(), rows.end(), 0);
    if (cell.position >= 0) rows = source ? std::vector{cell.position} : position_rows[static_cast<std::size_t>(cell.position)];
    const auto has_partner = [&](std::int64_t row) { return there[static_cast<std::size_t>(row)] >= 0; };
    found.aligned = found.aligned || std::ranges::any_of(rows, has_partner);
    if (!source) {
        // After the last attention, and where all are frozen, a position is by itself.
        const bool queries_of_last = std::ranges::all_of(
            receivers, [&](const Receiver& r) { return r.point.hook == model::Hook::q && is_last(r.point.layer.value); });
        const bool alone = (frozen ? !has_convolution(config, layer) : is_last(layer)) && queries_of_last &&
                           stays_at_its_position(cell.site, frozen);
        std::erase_if(rows, [&](std::int64_t row) {
            if (config.causal && (row >= last_asked || row < same)) return true;
            return alone && (row < first_asked || row >= last_asked);
        });
    }
    if (!reaches_receiver(cell.site, layer)) rows.clear();
    found.lost = found.lost || !std::ranges::all_of(rows, has_partner);
    std::erase_if(rows, [&](std::int64_t row) { return !has_partner(row); });
    return rows;
}

/// Keys of the weights that a cell edits: all, or those of its place.
std::vector<std::int64_t> SweepPlan::key_rows(const SweepCell& cell) const {
    if (cell.source >= 0) return of_cross() ? std::vector{cell.source} : position_rows[static_cast<std::size_t>(cell.source)];
    std::vector<std::int64_t> rows(cell.site == Site::pattern ? keys_from().size() : 0);
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
}

std::vector<trace::Edit> SweepPlan::edits(const SweepCell& cell, const Tensors* source, Rows& found, std::int64_t window) const {
    std::vector<trace::Edit> edits;
    const auto [first, last] = window_layers(cell.layer, window, config.n_layers);
    const std::int64_t unit = std::max({cell.head, cell.neuron, cell.expert});
    const std::vector<std::int64_t>& source_rows = of_source(cell.site) ? source_from : from;
    for (std::int64_t l = first; l < last; ++l) {
        const std::vector<std::int64_t> rows = rows_of(cell, l, found);
        if (rows.empty()) continue;
        if (cell.expert >= 0 && !has_experts(config, l)) continue;
        const HookPoint point{hook_of(cell.site, options), Layer(l)};
        const at::Tensor put = source ? source->at(point) : at::Tensor();
        std::vector<std::pair<std::int64_t, std::int64_t>> pairs, keys;
        for (const std::int64_t row : rows) pairs.emplace_back(row, source_rows[static_cast<std::size_t>(row)]);
        std::vector<std::int64_t> own_keys = key_rows(cell);
        if (config.causal && cell.source >= 0 && !of_cross())
            std::erase_if(own_keys, [&](std::int64_t j) { return j > rows.back(); });
        for (const std::int64_t j : own_keys)
            if (const std::int64_t there = keys_from()[static_cast<std::size_t>(j)]; there >= 0) keys.emplace_back(j, there);
        if (options.ablation == Ablation::knockout) {
            if (!own_keys.empty()) edits.push_back(knock_out(point, cell.head, rows, own_keys));
        } else if (options.ablation == Ablation::forbid || options.ablation == Ablation::force) {
            edits.push_back(choose_expert(point, cell.expert, rows, options.ablation == Ablation::force));
        } else if (cell.site == Site::pattern && other_length) {
            if (!keys.empty()) edits.push_back(copy_aligned(point, cell.head, pairs, keys, put));
        } else if (cell.source >= 0) {
            if (!keys.empty()) edits.push_back(copy_weights(point, cell.head, pairs, keys, put));
        } else {
            edits.push_back(copy_rows(point, runs_of(pairs), unit, put));
            if (of_source(cell.site)) edits.back().first = 0;  // every target position reads it
        }
    }
    return edits;
}

/// Every head but the edited ones keeps its output. An edited head, whose queries, keys, values or pattern are edited, keeps what
/// else it reads, so that in a window no edit reaches the answer through an attention of a later layer.
void SweepPlan::freeze_heads(Site site, std::vector<trace::Edit>& edits) const {
    const std::int64_t first = config.causal ? std::ranges::min(edits, {}, &trace::Edit::first).first : 0;
    std::set<std::int64_t> edited;
    for (const trace::Edit& edit : edits) edited.insert(edit.point.layer.value);
    const std::int64_t first_layer = *edited.begin();
    std::vector<trace::Edit> frozen_heads;
    for (const auto& [point, t] : own) {
        const std::int64_t layer = point.layer.value;
        const bool output = point.hook == model::Hook::z || point.hook == model::Hook::cross_z;
        const bool cross = point.hook == model::Hook::cross_z;
        // Within a layer the cross attention comes last.
        const bool after = layer > first_layer || (layer == first_layer && (site == Site::resid_pre || (cross && !of_cross())));
        const bool of_edited = is_within_head(site) && edited.contains(layer) && (!output || cross == of_cross());
        if (after && output != of_edited) frozen_heads.push_back(copy_rows(point, {{first, first, tokens - first}}, -1, t));
    }
    // Before the cell's own edits, which change some of these tensors.
    edits.insert(edits.begin(), frozen_heads.begin(), frozen_heads.end());
}

SweepPlan::Cell SweepPlan::cell(const SweepCell& cell) const {
    Cell out;
    Rows found;
    const std::size_t count = std::max<std::size_t>(sources.size(), 1);
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<trace::Edit> made = edits(cell, sources.empty() ? nullptr : &sources[i], found, options.window);
        if (!made.empty() && frozen) freeze_heads(cell.site, made);
        if (!made.empty()) out.variants.push_back({.edits = std::move(made)});
    }
    if (out.variants.empty()) out.state = found.aligned && !found.lost ? CellState::certain : CellState::missing;
    if (cell.source >= 0 && found.aligned &&
        std::ranges::none_of(key_rows(cell), [&](std::int64_t j) { return keys_from()[static_cast<std::size_t>(j)] >= 0; }))
        out.state = CellState::missing;
    return out;
}

}  // namespace headlight::intervention
