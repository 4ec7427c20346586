// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/recipe.h"

#include "headlight/analyze/contribution/value_mix.h"
#include "headlight/figure/core/sides.h"
#include "headlight/intervention/compare/comparison.h"
#include "headlight/model/as_used.h"
#include "headlight/trace/remade.h"

#include <algorithm>

namespace headlight::ui {

namespace {

std::optional<Position> last(const std::vector<Position>& pins) {
    return pins.empty() ? std::nullopt : std::optional(pins.back());
}

/// Options outlive the model and text they were chosen for (undo, sessions): drops those that this trace does not have.
void fit(figure::ViewState& state, const trace::Trace& trace) {
    const auto& config = trace.config();
    if (state.detail && (state.detail->layer.value >= config.n_layers || state.detail->head.value >= config.n_heads))
        state.detail.reset();
    if (state.neuron &&
        (state.neuron->layer.value < 0 || state.neuron->layer.value >= config.n_layers || state.neuron->neuron.value < 0 ||
         state.neuron->neuron.value >= model::mlp_width(config, state.neuron->layer.value)))
        state.neuron.reset();
    state.pattern = fitted(state.pattern, trace);
}

}  // namespace

analyze::PatternOptions fitted(analyze::PatternOptions pattern, const trace::Trace& trace) {
    if (pattern.weighting == analyze::Weighting::layer_mix_norm && !trace.config().post_norm)
        pattern.weighting = analyze::Weighting::layer_mix_residual;
    if (trace.across_texts() && analyze::of_whole_layer(pattern.weighting)) pattern.weighting = analyze::Weighting::attention;
    if (!trace.has_sentence_pair()) pattern.filter = analyze::PairFilter::all;
    return pattern;
}

Recipe recipe_for(const Document& document, const View& view, const figure::Selection& s, std::optional<figure::Side> of) {
    const ViewOptions& options = document.options();
    const figure::ViewSpec& spec = figure::view_spec(view);
    Recipe r{.trace = document.trace(), .run = document.run_trace(), .state = {}};
    figure::ViewState& state = r.state;
    state.view = view;
    // A hover alone makes no other figure: it would change under the pointer.
    const bool chosen = !(spec.needs.chosen && s.found_pins);
    if (spec.needs.query && chosen)
        state.query = spec.needs.hover && !s.pinned_queries.empty() ? s.query() : last(s.pinned_queries);
    if (spec.needs.layer_counts(state.query.has_value())) state.layer = s.layer;
    if (spec.needs.heads) {
        state.layer = s.layer;
        state.heads = s.heads;
        if (spec.of_layer && s.heads.size() == 1) {
            state.heads.clear();
            for (std::int64_t h = 0; h < r.trace->config().n_heads; ++h) state.heads.emplace_back(h);
        }
    }
    if (spec.needs.focus) {
        state.layer = s.focus.layer;
        state.heads = {s.focus.head};
    }
    if (spec.needs.key && chosen) state.key = spec.needs.hover && !s.pinned_keys.empty() ? s.key() : last(s.pinned_keys);
    if (spec.needs.neuron) state.neuron = s.neuron;
    if (spec.needs.pattern) state.pattern = options.pattern;
    if (spec.opens_detail) state.detail = options.detail;
    if (const auto found = options.values.find(view); found != options.values.end())
        state.values = figure::in_use(spec, found->second);
    if (spec.needs.texts) state.batch = document.batch();
    const bool of_corpus =
        std::ranges::any_of(state.values, [](const auto& value) { return analyze::is_of_corpus(value.second); });
    if (of_corpus || (spec.filters && document.finder().asks_corpus())) state.corpus = document.corpus().found();
    const figure::Side side = of.value_or(options.side);
    if (spec.compares || side != figure::Side::a) state.beside = document.beside();
    if (state.beside && !spec.compares) state.side = side;
    if (spec.last_layer) {
        if (figure::text_value(state, "up-to") == "last") state.layer = Layer(r.trace->config().n_layers - 1);
        state.values.erase("up-to");  // the layer says it
    }
    fit(state, *r.trace);
    return r;
}

bool is_quick(const Recipe& r) {
    const figure::ViewSpec& spec = figure::view_spec(r.state.view);
    if (!spec.quick) return false;
    const bool of_b = figure::shows_b(r.state);
    if (r.state.beside && !of_b) return false;
    const trace::Trace& trace = of_b ? *r.state.beside->pair->b : *r.trace;
    if (trace::remade_now(trace).any || model::bytes_as_used(*trace.model()) > 0) return false;
    return spec.quick(trace, of_b ? figure::state_of_b(*r.state.beside, r.state) : r.state);
}

QString missing(const Recipe& r) {
    const figure::ViewSpec& spec = figure::view_spec(r.state.view);
    return QString::fromStdString(figure::why_missing(spec, *r.trace, r.state));
}

QString why_no_view(const Document& document, const View& view) {
    if (!document.trace()) return {};
    Recipe recipe = recipe_for(document, view, document.selection().get());
    recipe.state.side = figure::Side::a;  // a view that only lacks the difference can be shown, and says so
    return missing(recipe);
}

figure::Selection selection_for(const Recipe& r, const figure::Selection& s) {
    return figure::shows_b(r.state) ? figure::SidePlaces(*r.state.beside).in_b(s) : s;
}

figure::Request request_for(const Recipe& r, const figure::Selection& s, const figure::ExportOptions& output) {
    figure::Request request{r.state, output};
    if (!request.query && !figure::view_spec(r.state.view).needs.chosen) request.query = last(s.pinned_queries);
    if (!request.key) request.key = last(s.pinned_keys);
    if (!request.neuron) request.neuron = s.neuron;
    return request;
}

figure::Style style_for(const figure::Theme& theme, const Document& document) {
    const ViewOptions& options = document.options();
    figure::Style style;
    style.theme = &theme;
    style.palette = options.palette;
    style.ramp = options.ramp;
    style.transfer = options.transfer;
    style.filter = document.finder().filter();
    return style;
}

}  // namespace headlight::ui
