// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the list of views for two runs, and the differences of the other rows.
#include "figure/compare/compare_views.h"
#include "figure/core/view_fields.h"
#include "figure/core/view_tables.h"
#include "headlight/analyze/heads/head_table.h"

#include <utility>

namespace headlight::figure {
namespace {

namespace iv = headlight::intervention;

struct CompareHeadsRequest {
    std::string by = "js";
    iv::CompareOptions asked{};
};
void describe(Describes<CompareHeadsRequest> auto& r, const auto& field) {
    field(Field{"by", "Heads by", "the distance, or the measure whose difference heads are sorted by"}.as(FieldKind::measure),
          r.by);
    describe(r.asked, field);
}

std::vector<ViewOption> compare_heads_options() {
    std::vector<ViewOption> options = options_of<CompareHeadsRequest>();
    offer_measures(options.front(), {{"js", "JS of attention"},
                                     {"js_max", "largest JS of a row"},
                                     {"tv", "attention that moved"},
                                     {"z_cosine", "cosine of z"},
                                     {"z_relative_l2", "change of z"}});
    options.front().measure = false;  // none of a corpus
    return options;
}

}  // namespace

std::vector<ViewSpec> compare_view_specs() {
    return {
        {.id = "compare-heads",
         .title = "Heads that differ",
         .basis = Basis::patterns,
         .across_texts = true,
         .overview = {.pooled = false},
         .options = compare_heads_options(),
         .make =
             [](const TracePtr&, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 const auto [by, asked] = request_of<CompareHeadsRequest>(s);
                 return compare_heads_view(*s.beside, by, asked, cancel, progress);
             },
         .filters = true,
         .compares = true},
        {.id = "compare-maps",
         .title = "Differences of all heads",
         .basis = Basis::patterns,
         .across_texts = true,
         .options = options_of<iv::CompareOptions>(),
         .make = [](const TracePtr&, const ViewState& s, const CancelToken& cancel,
                    const Progress&) { return compare_maps_view(*s.beside, request_of<iv::CompareOptions>(s), s.view, cancel); },
         .filters = true,
         .compares = true},
        {.id = "compare-head",
         .title = "One head in A and B",
         .basis = Basis::patterns,
         .across_texts = true,
         .needs = {.focus = true},
         .options = options_of<iv::CompareOptions>(),
         .make = [](const TracePtr&, const ViewState& s, const CancelToken&,
                    const Progress&) { return compare_head_view(*s.beside, s.focus(), request_of<iv::CompareOptions>(s)); },
         .compares = true},
        {.id = "compare-layers",
         .title = "Layers that are alike",
         .options = options_of<iv::LayerOptions>(),
         .make =
             [](const TracePtr&, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 return compare_layers_view(*s.beside, request_of<iv::LayerOptions>(s), cancel, progress);
             },
         .compares = true}};
}

void add_differences(std::vector<ViewSpec>& specs) {
    const std::vector<std::string> token_pair{"query", "query_token", "key", "key_token"};
    const std::vector<std::string> passage{"layer", "from", "from_token", "to", "to_token"};
    const std::pair<const char*, ComparedColumn> tables[] = {
        {"neuron",
         {.names = {"query", "key"}, .positions = {"query", "key"}, .value = "score", .what = "Score", .shown = token_pair}},
        {"predictions",
         {.names = {"position", "token"},
          .positions = {"position"},
          .value = "log_probability",
          .what = "Log-probability of each token",
          .in_order = true}},
        {"attribution",
         {.names = {"component", "layer", "index", "source"},
          .positions = {"source"},
          .value = "contribution",
          .what = "Contribution to the logit",
          .token_option = "token",
          .parts = true}},
        {"mlp", {.names = {"neuron"}, .value = "coefficient", .what = "Coefficient of each neuron"}},
        {"picture",
         {.names = {"panel", "query", "key"},
          .positions = {"query", "key"},
          .value = "weight",
          .what = "Weight",
          .shown = {"panel", "query_token", "key_token"}}},
        {"focus-1",
         {.names = {"query", "key"}, .positions = {"query", "key"}, .value = "score", .what = "Score", .shown = token_pair}},
        {"focus-2",
         {.names = {"query", "key"}, .positions = {"query", "key"}, .value = "score", .what = "Score", .shown = token_pair}},
        {"focus-3",
         {.names = {"key", "term"},
          .positions = {"key"},
          .value = "value",
          .what = "Terms",
          .shown = {"key", "key_token", "term"}}},
        {"focus-4", {.names = {"layer", "head"}, .value = "value", .what = "Value"}},
        {"focus-5", {.names = {"layer", "head"}, .value = "value", .what = "Value"}},
        {"focus-6", {.names = {"layer", "head"}, .value = "value", .what = "Value"}},
        {"clark-kinds", {.names = {"layer", "head", "kind"}, .value = "average_attention", .what = "Average attention"}},
        {"clark-entropy", {.names = {"layer", "head", "kind"}, .value = "entropy_nats", .what = "Entropy in nats"}},
        {"aggregate",
         {.names = {"map", "query", "key"},
          .positions = {"query", "key"},
          .value = "weight",
          .what = "Weight",
          .shown = token_pair}},
        {"rollout",
         {.names = {"layer", "query", "key"},
          .positions = {"query", "key"},
          .value = "rollout",
          .what = "Rollout",
          .shown = token_pair}},
        {"rollout-paths",
         {.names = {"layer", "from", "to"}, .positions = {"from", "to"}, .value = "mass", .what = "Mass", .shown = passage}},
        {"flow",
         {.names = {"layer", "query", "key"},
          .positions = {"query", "key"},
          .value = "flow",
          .what = "Flow",
          .shown = token_pair}},
        {"flow-paths",
         {.names = {"layer", "from", "to"}, .positions = {"from", "to"}, .value = "mass", .what = "Mass", .shown = passage}},
        {"refinement",
         {.names = {"layer"},
          .value = "residual_probability",
          .what = "Probability of the final prediction in the residual",
          .in_order = true}},
        {"contribution-graph",
         {.names = {"layer", "kind", "from", "to", "head"},
          .positions = {"from", "to"},
          .value = "contribution",
          .what = "Contribution to the state",
          .shown = {"layer", "kind", "head", "from", "from_token", "to", "to_token"}}},
        {"drivers",
         {.names = {"component", "layer", "index", "source"},
          .positions = {"source"},
          .value = "contribution",
          .what = "Contribution to the coefficient",
          .parts = true}},
        {"neuron-map",
         {.names = {"layer", "neuron", "position"},
          .positions = {"position"},
          .value = "coefficient",
          .what = "Coefficient",
          .shown = {"neuron", "position", "token"}}},
        {"experts",
         {.names = {"layer", "position", "expert"},
          .positions = {"position"},
          .value = "router_logit",
          .what = "Router logit",
          .shown = {"layer", "position", "token", "expert"}}},
        {"composition",
         {.names = {"kind", "from_layer", "from_head", "to_layer", "to_head"}, .value = "score", .what = "Composition score"}},
        {"copy-suppression",
         {.names = {"layer", "head", "destination", "source"},
          .positions = {"destination", "source"},
          .value = "logit_change",
          .what = "Change of the source token's logit",
          .shown = {"destination", "destination_token", "source", "source_token"}}},
        {"importance",
         {.names = {"position", "token"},
          .positions = {"position"},
          .value = "gradient_x_input",
          .what = "Gradient × input",
          .token_option = "target",
          .in_order = true}},
        {"sparsity", {.names = {"layer", "head", "scheme"}, .value = "kept_mass_mean", .what = "Kept mass"}},
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
