// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/request.h"
#include "headlight/figure/views.h"
#include "ui/document/state.h"

#include <memory>

namespace headlight::ui {

/// Which figure a view is to show: everything that makes another figure necessary, and nothing else, so that two equal
/// recipes need no second figure.
struct Recipe {
    figure::TracePtr trace;
    View view = View::head;
    Layer layer;
    std::vector<Head> heads;
    HeadId focus;
    Position query;
    analyze::PatternOptions pattern;
    figure::ModelViewOptions model_view;
    figure::NeuronViewOptions neuron_view;
    bool operator==(const Recipe&) const = default;
};

Recipe recipe_for(figure::TracePtr, View, const figure::Selection&, const ViewOptions&);
/// Made at once without anybody noticing (about a frame).
bool is_quick(const Recipe&);
std::unique_ptr<figure::Figure> make_figure(const Recipe&);

/// The same as `headlight render` is told it, for exports and "Copy as command".
figure::Request request_for(const Recipe&, const figure::Selection&, const figure::ExportOptions&);
figure::Style style_for(const figure::Theme&, const ViewOptions&);

}  // namespace headlight::ui
