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
             .basis = Basis::patterns,
             .across_texts = true,
             .options = {without_first_option()},
             .make = [](const TracePtr&, const ViewState& s, const CancelToken& cancel,
                        const Progress&) { return compare_maps_view(*s.beside, compare_options(s), s.view, cancel); },
             .filters = true,
             .compares = true},
            {.id = "compare-head",
             .title = "One head in A and B",
             .basis = Basis::patterns,
             .across_texts = true,
             .needs = {.focus = true},
             .options = {without_first_option()},
             .make = [](const TracePtr&, const ViewState& s, const CancelToken&,
                        const Progress&) { return compare_head_view(*s.beside, s.focus(), compare_options(s)); },
             .compares = true},
            {.id = "compare-layers",
             .title = "Layers that are alike",
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
    const std::vector<std::string> token_pair{"query", "query_token", "key", "key_token"};
    constexpr bool in_order = true;
    const std::vector<std::string> passage{"layer", "from", "from_token", "to", "to_token"};
    // View; columns that name a row, those of them that are positions, the column of numbers, what it is, columns that are shown.
    const std::pair<const char*, ComparedColumn> tables[] = {
        {"neuron", {{"query", "key"}, {"query", "key"}, "score", "Score", token_pair}},
        {"predictions",
         {{"position", "token"}, {"position"}, "log_probability", "Log-probability of each token", {}, {}, in_order}},
        {"attribution",
         {{"component", "layer", "index", "source"}, {"source"}, "contribution", "Contribution to the logit", {}, "token"}},
        {"mlp", {{"neuron"}, {}, "coefficient", "Coefficient of each neuron"}},
        {"picture", {{"panel", "query", "key"}, {"query", "key"}, "weight", "Weight", {"panel", "query_token", "key_token"}}},
        {"focus-1", {{"query", "key"}, {"query", "key"}, "score", "Score", token_pair}},
        {"focus-2", {{"query", "key"}, {"query", "key"}, "score", "Score", token_pair}},
        {"focus-3", {{"key", "term"}, {"key"}, "value", "Terms", {"key", "key_token", "term"}}},
        {"focus-4", {{"layer", "head"}, {}, "value", "Value"}},
        {"focus-5", {{"layer", "head"}, {}, "value", "Value"}},
        {"focus-6", {{"layer", "head"}, {}, "value", "Value"}},
        {"clark-kinds", {{"layer", "head", "kind"}, {}, "average_attention", "Average attention"}},
        {"clark-entropy", {{"layer", "head", "kind"}, {}, "entropy_nats", "Entropy in nats"}},
        {"aggregate", {{"map", "query", "key"}, {"query", "key"}, "weight", "Weight", token_pair}},
        {"rollout", {{"layer", "query", "key"}, {"query", "key"}, "rollout", "Rollout", token_pair}},
        {"rollout-paths", {{"layer", "from", "to"}, {"from", "to"}, "mass", "Mass", passage}},
        {"flow", {{"layer", "query", "key"}, {"query", "key"}, "flow", "Flow", token_pair}},
        {"flow-paths", {{"layer", "from", "to"}, {"from", "to"}, "mass", "Mass", passage}},
        {"refinement",
         {{"layer"}, {}, "residual_probability", "Probability of the final prediction in the residual", {}, {}, in_order}},
        {"contribution-graph",
         {{"layer", "kind", "from", "to", "head"},
          {"from", "to"},
          "contribution",
          "Contribution to the state",
          {"layer", "kind", "head", "from", "from_token", "to", "to_token"}}},
        {"drivers", {{"component", "layer", "index", "source"}, {"source"}, "contribution", "Contribution to the coefficient"}},
        {"neuron-map",
         {{"layer", "neuron", "position"}, {"position"}, "coefficient", "Coefficient", {"neuron", "position", "token"}}},
        {"experts",
         {{"layer", "position", "expert"},
          {"position"},
          "router_logit",
          "Router logit",
          {"layer", "position", "token", "expert"}}},
        {"composition", {{"kind", "from_layer", "from_head", "to_layer", "to_head"}, {}, "score", "Composition score"}},
        {"copy-suppression",
         {{"layer", "head", "destination", "source"},
          {"destination", "source"},
          "logit_change",
          "Change of the source token's logit",
          {"destination", "destination_token", "source", "source_token"}}},
        {"importance", {{"position", "token"}, {"position"}, "gradient_x_input", "Gradient × input", {}, "target", in_order}},
        {"sparsity", {{"layer", "head", "scheme"}, {}, "kept_mass_mean", "Kept mass"}},
    };
    const auto set = [&](const char* id, auto difference) {
        const auto spec = std::ranges::find(specs, id, &ViewSpec::id);
        spec->difference = difference;
    };
    set("head", head_difference);
    set("matrix", matrix_difference);
    set("model", model_difference);
    set("lens", lens_difference);
    for (const auto& [id, compared] : tables)
        set(id, [compared](const Beside& beside, const ViewState& state, const CancelToken& cancel, const Progress& progress) {
            return table_difference(beside, state, compared, cancel, progress);
        });
}

}  // namespace headlight::figure
