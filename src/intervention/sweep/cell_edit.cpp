// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/sweep/cell_edit.h"

#include "headlight/intervention/recipe/words.h"
#include "intervention/sweep/work.h"

namespace headlight::intervention {
namespace {

Positions positions_at(const std::vector<std::int64_t>& rows) {
    Positions out;
    for (const std::int64_t row : rows) out.push_back({.first = {{}, row}, .last = {{}, row}});
    return out;
}

Operation operation_of(const SweepOptions& o, const SweepCell& cell) {
    switch (o.ablation) {
        case Ablation::zero: return cell.source >= 0 ? Operation::write : Operation::zero;
        case Ablation::mean: return Operation::mean;
        case Ablation::knockout: return Operation::knockout;
        case Ablation::forbid: return Operation::forbid;
        case Ablation::force: return Operation::force;
        default: return Operation::patch;
    }
}

std::string why_no_edit(const SweepRequest& asked, const SweepCell& cell) {
    const SweepOptions& o = asked.options;
    if (!o.to.empty()) return "A path also freezes all other heads";
    if (o.effect == Effect::direct) return "A direct effect also freezes all other heads";
    if (!o.noise.empty()) return "The text that is run, or its partner, has noise on its embeddings";
    if (o.ablation == Ablation::resample) return "Resampling is a mean over several texts";
    if (o.ablation == Ablation::mean && !asked.pairs.empty() && !o.over)
        return "The mean is that of the texts of a file of pairs";
    if (o.ablation == Ablation::none && !asked.pairs.empty()) return "The texts are those of a file of pairs";
    if (o.ablation == Ablation::none && cell.source >= 0) return "No line of a recipe patches a single weight";
    return {};
}

}  // namespace

const std::string& text_that_runs(const SweepRequest& asked) noexcept {
    return patches(asked.options) && asked.options.direction == Direction::denoise ? asked.corrupt : asked.clean;
}

CellEdit edit_of(const SweepRequest& asked, const SweepPair& pair, const SweepResult& r, const SweepCell& cell) {
    const SweepOptions& o = asked.options;
    if (std::string why = why_no_edit(asked, cell); !why.empty()) return {.why_not = std::move(why)};
    const bool cross = o.attention == model::Stack::cross;
    const auto rows_of = [&](std::int64_t position, bool of_source) {
        if (r.position_names.empty() || of_source) return std::vector{position};
        return base_of(pair, o).places.at(r.position_names[static_cast<std::size_t>(position)]);
    };
    Edit edit{.operation = operation_of(o, cell), .stack = o.attention, .site = cell.site};
    const auto [first, last] = window_layers(cell.layer, o.window, r.axes.layers);
    Place place{.layers = {{first, last - 1}}};
    if (cell.head >= 0) place.units = {{cell.head, cell.head}};
    if (cell.neuron >= 0) place.units = {{cell.neuron, cell.neuron}};
    if (cell.expert >= 0) place.units = {{cell.expert, cell.expert}};
    edit.where = {place};
    edit.groups = cell.head >= 0 && row_of(cell.site).axis == Axis::kv_head;
    const bool of_edges = cell.source >= 0 || edit.operation == Operation::knockout;
    if (of_edges)
        edit.edges = Edges{cell.position < 0 ? Positions() : positions_at(rows_of(cell.position, false)),
                           cell.source < 0 ? Positions() : positions_at(rows_of(cell.source, cross))};
    else if (cell.position >= 0)
        edit.positions = positions_at(rows_of(cell.position, cross && is_of_keys(cell.site)));
    if (edit.operation == Operation::patch)
        edit.source = {
            .from = From::text, .what = o.direction == Direction::denoise ? asked.clean : asked.corrupt, .target = asked.target};
    if (edit.operation == Operation::mean && o.over)
        edit.source = {.from = o.per_position ? From::reference : From::texts, .what = asked.over};
    return {.words = words_of(edit)};
}

}  // namespace headlight::intervention
