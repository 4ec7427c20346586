// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/recipe.h"

namespace headlight::ui {

namespace {

/// Weights that are computed in less than a frame, also in a build without optimisation of the surroundings.
constexpr std::int64_t quick_weights = 2'000'000;

}  // namespace

Recipe recipe_for(figure::TracePtr trace, View view, const figure::Selection& s, const ViewOptions& options) {
    Recipe r;
    r.view = view;
    const std::int64_t last = trace->tokens() - 1;
    r.trace = std::move(trace);
    switch (view) {
        case View::head:
            r.layer = s.layer;
            r.heads = s.heads;
            r.pattern = options.pattern;
            break;
        case View::matrix:
            r.layer = s.layer;
            r.heads = s.heads;
            r.pattern = options.pattern;
            break;
        case View::model:
            r.pattern = options.pattern;
            r.model_view = options.model_view;
            break;
        case View::neuron:
            r.focus = s.focus;
            r.neuron_view = options.neuron_view;
            if (const auto query = s.query()) {
                r.query = *query;
            } else {
                r.query = Position(last);
                r.neuron_view.expanded = false;
            }
            break;
    }
    return r;
}

bool is_quick(const Recipe& r) {
    const std::int64_t tokens = r.trace->tokens();
    const auto& config = r.trace->config();
    switch (r.view) {
        case View::head:
        case View::matrix: return static_cast<std::int64_t>(r.heads.size()) * tokens * tokens <= quick_weights;
        case View::model: return config.n_layers * config.n_heads * tokens * tokens <= quick_weights;
        case View::neuron: return tokens * config.d_head <= quick_weights;
    }
    return false;
}

std::unique_ptr<figure::Figure> make_figure(const Recipe& r) {
    switch (r.view) {
        case View::head: return figure::head_view(r.trace, r.layer, r.heads, r.pattern);
        case View::matrix: {
            std::vector<HeadId> heads;
            for (const Head h : r.heads) heads.push_back({r.layer, h});
            return figure::matrix_view(r.trace, heads, r.pattern);
        }
        case View::model: return figure::model_view(r.trace, r.pattern, r.model_view);
        case View::neuron: return figure::neuron_view(r.trace, r.focus, r.query, r.neuron_view);
    }
    return {};
}

figure::Request request_for(const Recipe& r, const figure::Selection& s, const figure::ExportOptions& output) {
    using Kind = figure::Request::View;
    figure::Request request;
    request.view = r.view == View::head     ? Kind::head
                   : r.view == View::matrix ? Kind::matrix
                   : r.view == View::model  ? Kind::model
                                            : Kind::neuron;
    request.layer = r.view == View::neuron ? r.focus.layer : r.layer;
    request.heads = r.view == View::neuron ? std::vector<Head>{r.focus.head} : r.heads;
    if (!s.pinned_queries.empty()) request.query = s.pinned_queries.back();
    if (!s.pinned_keys.empty()) request.key = s.pinned_keys.back();
    if (r.view == View::neuron) request.query = r.query;
    request.pattern = r.pattern;
    request.model = r.model_view;
    request.neuron = r.neuron_view;
    request.output = output;
    return request;
}

figure::Style style_for(const figure::Theme& theme, const ViewOptions& options) {
    figure::Style style;
    style.theme = &theme;
    style.palette = options.palette;
    style.ramp = options.ramp;
    style.transfer = options.transfer;
    return style;
}

}  // namespace headlight::ui
