// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern_view.h"
#include "headlight/figure/figure.h"
#include "headlight/figure/views.h"

#include <QString>

#include <string>

namespace headlight::ui {

enum class View { head, matrix, model, neuron };
inline constexpr View all_views[] = {View::head, View::matrix, View::model, View::neuron};
QString view_title(View);       ///< "Head"
std::string view_name(View);    ///< "head": in sessions and on the command line
std::optional<View> view_of(const std::string& name);

/// What is run.
struct PromptText {
    QString text;
    QString pair;            ///< sentence B
    bool has_pair = false;   ///< the second line is open
    bool operator==(const PromptText&) const = default;
};

/// How it is shown; the same for every view.
struct ViewOptions {
    figure::Transfer transfer;
    analyze::PatternOptions pattern;
    figure::ModelViewOptions model_view;
    figure::NeuronViewOptions neuron_view;
    figure::HeadPalette palette = figure::HeadPalette::category10;
    figure::Ramp ramp = figure::Ramp::ink;
    std::string measure = "induction";  ///< of the mosaic and the finder's bar
    QString finder;                     ///< the finder's expression
    bool operator==(const ViewOptions&) const = default;
};

/// Which views are open.
struct OpenViews {
    View left = View::head;
    View right = View::matrix;
    bool split = false;
    bool operator==(const OpenViews&) const = default;
};

/// Everything that undo brings back.
struct State {
    PromptText prompt;
    ViewOptions options;
    figure::Selection selection;  ///< without hover
    bool operator==(const State&) const = default;
};

}  // namespace headlight::ui
