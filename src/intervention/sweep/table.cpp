// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/sweep/sweep.h"

#include <algorithm>

namespace headlight::intervention {
namespace {

using analyze::Table;

std::string place_name(const SweepResult& r, const SweepCell& cell) {
    const std::int64_t position = cell.position;
    if (position < 0) return {};
    if (r.axes.sources > 0 && is_of_keys(cell.site))
        return r.source_labels.empty() ? std::string() : analyze::token_name(r.source_labels, position);
    if (!r.position_names.empty()) return r.position_names[static_cast<std::size_t>(position)];
    return r.labels.empty() ? std::string() : analyze::token_name(r.labels, position);
}

/// The columns of places that some cell has.
struct PlaceColumn {
    const char* name;
    std::int64_t SweepCell::*index;
};
constexpr PlaceColumn place_columns[] = {{"layer", &SweepCell::layer},       {"head", &SweepCell::head},
                                         {"position", &SweepCell::position}, {"source", &SweepCell::source},
                                         {"neuron", &SweepCell::neuron},     {"expert", &SweepCell::expert}};

}  // namespace

Table table_of(const SweepResult& r) {
    Table table;
    const bool every = sites_of(r.options.grid).size() > 1, several = r.effects.size() > 1;
    std::vector<PlaceColumn> places;
    for (const PlaceColumn& column : place_columns)
        if (std::ranges::any_of(r.cells, [&](const SweepCell& cell) { return cell.*column.index >= 0; }))
            places.push_back(column);
    const bool tokens = has_position(r.options.grid) && (!r.labels.empty() || !r.position_names.empty());
    if (every) table.columns.emplace_back("site");
    for (const PlaceColumn& column : places) table.columns.emplace_back(column.name);
    if (tokens) table.columns.emplace_back("token");
    for (const char* name : {"value", "effect", "normalized"}) table.columns.emplace_back(name);
    if (several)
        for (const char* name : {"stderr", "low", "high", "agreeing", "pairs", "band_low", "band_high"})
            table.columns.emplace_back(name);
    const bool both = r.options.method == Method::both;
    if (both)
        for (const char* name : {"estimate", "error"}) table.columns.emplace_back(name);
    const bool with_direct = r.options.effect == Effect::both;
    if (with_direct)
        for (const char* name : {"direct", "mediated"}) table.columns.emplace_back(name);
    table.columns.emplace_back("state");
    for (std::size_t i = 0; i < r.cells.size(); ++i) {
        const SweepCell& cell = r.cells[i];
        const SweepCellResult& of = r.results[i];
        std::vector<Table::Cell> row;
        if (every) row.emplace_back(std::string(row_of(cell.site).word));
        for (const PlaceColumn& column : places) row.push_back(analyze::index_cell(cell.*column.index));
        if (tokens) row.emplace_back(place_name(r, cell));
        for (const double value : {of.value, of.effect, of.normalized}) row.emplace_back(value);
        if (several) {
            for (const double value : {of.stderr_, of.low, of.high}) row.emplace_back(value);
            row.emplace_back(of.agreeing);
            row.emplace_back(of.pairs);
            row.emplace_back(of.band_low);
            row.emplace_back(of.band_high);
        }
        if (both)
            for (const double value : {of.estimate, of.estimate - of.effect}) row.emplace_back(value);
        if (with_direct)
            for (const double value : {of.direct, of.effect - of.direct}) row.emplace_back(value);
        row.emplace_back(std::string(enum_word(of.state)));
        table.add(std::move(row));
    }
    const bool patch = r.options.ablation == Ablation::none;
    const bool estimated = estimates_alone(r.options.method);
    table.definitions = {
        {"value", "the metric after the edit, mean over pairs"},
        {"effect", r.options.method == Method::graddrop
                       ? "sum of the sizes of the estimates without each layer, divided by the number of layers - 1"
                   : estimated ? "estimate of the change of the metric from one backward pass"
                               : "value minus the metric of the unedited run"},
        {"estimate", "of the effect, from one backward pass"},
        {"error", "estimate minus effect"},
        {"direct", "the effect where all heads but the edited ones keep their outputs"},
        {"mediated", "effect minus direct: what other heads add to it or, of the other sign, make up for"},
        {"normalized",
         patch ? "mean effect / mean gap: 0 is the run that is edited, 1 the other run; empty where the gap is too small"
               : "empty: an ablation has no second run"},
        {"stderr",
         "standard error of the effect over pairs, clustered by group: pairs of one group (noise draws of one text) count together"},
        {"low", "lower end of the effect's bootstrap interval"},
        {"high", "upper end of it"},
        {"agreeing", "pairs whose effect has the sign of the mean effect"},
        {"band_low", "lower end of an interval of the effect that holds for all cells at once"},
        {"band_high", "upper end of it"},
        {"state",
         "computed; certain: nothing that the metric reads depends on the cell, so the effect is 0; missing: no aligned position; "
         "pending: not computed yet"}};
    if (has_head(r.options.grid) && r.axes.kv_heads != r.axes.heads)
        table.definitions.emplace_back("head", "of keys and values the key/value head, which several query heads read");
    const auto cells_array = [&](const char* name, const std::vector<std::vector<double>>& pairs) {
        analyze::NamedArray array{name, {std::ssize(pairs), std::ssize(r.cells)}};
        for (const auto& pair : pairs)
            for (const double value : pair) array.values.push_back(static_cast<float>(value));
        table.arrays.push_back(std::move(array));
    };
    cells_array("effects", r.effects);
    if (both) cells_array("estimates", r.estimates);
    if (with_direct) cells_array("directs", r.directs);
    const auto metric_array = [&](const char* name, const std::vector<double>& values) {
        analyze::NamedArray array{name, {std::ssize(values)}};
        for (const double value : values) array.values.push_back(static_cast<float>(value));
        if (!values.empty()) table.arrays.push_back(std::move(array));
    };
    const auto length = r.noise.empty() ? std::size_t{0} : r.noise.front().size();
    if (length > 0 && std::ranges::all_of(r.noise, [&](const auto& of) { return of.size() == length; })) {
        const auto rows = std::max<std::int64_t>(std::ssize(r.labels), 1), all = static_cast<std::int64_t>(length);
        analyze::NamedArray array{"noise", {std::ssize(r.noise), rows, all / rows}};
        for (const auto& of : r.noise) array.values.insert(array.values.end(), of.begin(), of.end());
        table.arrays.push_back(std::move(array));
    }
    metric_array("clean_metric", r.clean);
    metric_array("corrupt_metric", r.corrupt);
    return table;
}

}  // namespace headlight::intervention
