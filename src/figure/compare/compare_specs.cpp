// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the list of views for two runs, and the differences of the other rows.
#include "figure/compare/compare_views.h"
#include "figure/core/shared_options.h"
#include "figure/core/view_tables.h"
#include "headlight/analyze/heads/head_table.h"

#include <utility>

namespace headlight::figure {
namespace {

namespace iv = headlight::intervention;

ViewOption without_first_option() {
    return flag("without-first", "Without the first key",
                "compare-*: leave out the first key, on which much attention rests, and renormalise the others");
}

iv::CompareOptions compare_options(const ViewState& state) { return {.without_first = flag_value(state, "without-first")}; }

ViewOption by_option() {
    ViewOption option{.name = "by",
                      .kind = OptionKind::choice,
                      .title = "Heads by",
                      .help = "compare-heads: the distance, or the measure whose difference heads are sorted by",
                      .initial = "js",
                      .choices = {{"js", "JS of attention"},
                                  {"js_max", "largest JS of a row"},
                                  {"tv", "attention that moved"},
                                  {"z_cosine", "cosine of z"},
                                  {"z_relative_l2", "change of z"}}};
    for (const auto& measure : analyze::head_measures()) option.choices.emplace_back(measure.id, measure.title);
    return option;
}

}  // namespace

std::vector<ViewSpec> compare_view_specs() {
    return {{.id = "compare-heads",
             .title = "Heads that differ",
             .group = "Comparison",
             .basis = Basis::patterns,
             .across_texts = true,
             .options = {by_option(), without_first_option()},
             .make =
                 [](const TracePtr&, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                     return compare_heads_view(*s.beside, text_value(s, "by"), compare_options(s), cancel, progress);
                 },
             .compares = true},
            {.id = "compare-maps",
             .title = "Differences of all heads",
             .group = "Comparison",
             .basis = Basis::patterns,
             .across_texts = true,
             .options = {without_first_option()},
             .make = [](const TracePtr&, const ViewState& s, const CancelToken& cancel,
                        const Progress&) { return compare_maps_view(*s.beside, compare_options(s), s.view, cancel); },
             .filters = true,
             .compares = true},
            {.id = "compare-head",
             .title = "One head in A and B",
             .group = "Comparison",
             .basis = Basis::patterns,
             .across_texts = true,
             .needs = {.focus = true},
             .options = {without_first_option()},
             .make = [](const TracePtr&, const ViewState& s, const CancelToken&,
                        const Progress&) { return compare_head_view(*s.beside, s.focus(), compare_options(s)); },
             .compares = true},
            {.id = "compare-layers",
             .title = "Layers that are alike",
             .group = "Comparison",
             .options = {choice("similarity", "Similarity", "compare-layers: how streams are compared", iv::Similarity::cka),
                         flag("with-first", "With position 0", "compare-layers: include position 0")},
             .make =
                 [](const TracePtr&, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                     const iv::LayerOptions options{.kind = choice_value<iv::Similarity>(s, "similarity"),
                                                    .with_first = flag_value(s, "with-first")};
                     return compare_layers_view(*s.beside, options, cancel, progress);
                 },
             .compares = true}};
}

void add_differences(std::vector<ViewSpec>& specs) {
    const auto by_column = [](ComparedColumn compared) {
        return [compared](const Beside& beside, const ViewState& state, const CancelToken& cancel, const Progress& progress) {
            return table_difference(beside, state, compared, cancel, progress);
        };
    };
    const std::pair<const char*, decltype(ViewSpec::difference)> differences[] = {
        {"head", head_difference},
        {"matrix", matrix_difference},
        {"model", model_difference},
        {"lens", lens_difference},
        {"predictions", by_column({.names = {"position", "token"},
                                   .positions = {"position"},
                                   .value = "log_probability",
                                   .what = QStringLiteral("Log-probability of each token"),
                                   .in_order = true})},
        {"attribution", by_column({.names = {"component", "layer", "index", "source"},
                                   .positions = {"source"},
                                   .value = "contribution",
                                   .what = QStringLiteral("Contribution to the logit"),
                                   .of_token = true})},
        {"mlp", by_column({.names = {"neuron"},
                           .positions = {},
                           .value = "coefficient",
                           .what = QStringLiteral("Coefficient of each neuron")})},
        {"focus-1", by_column({.names = {"query", "key"},
                               .positions = {"query", "key"},
                               .value = "score",
                               .what = QStringLiteral("Score"),
                               .shown = {"query", "query_token", "key", "key_token"}})},
        {"focus-2", by_column({.names = {"query", "key"},
                               .positions = {"query", "key"},
                               .value = "score",
                               .what = QStringLiteral("Score"),
                               .shown = {"query", "query_token", "key", "key_token"}})}};
    for (const auto& [id, difference] : differences)
        for (ViewSpec& spec : specs)
            if (spec.id == id) spec.difference = difference;
}

}  // namespace headlight::figure
