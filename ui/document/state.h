// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/figure/core/figure.h"
#include "headlight/figure/core/view_spec.h"

#include <QString>

#include <map>
#include <optional>
#include <string>

namespace headlight::ui {

/// Id of a view in figure::view_specs(): "head".
using View = std::string;
QString view_title(const View&);  ///< "Head"

/// A stretch of a text in UTF-16 units, as QString counts.
struct TextRange {
    qsizetype begin = 0, end = 0;
    bool empty() const { return begin >= end; }
    bool operator==(const TextRange&) const = default;
};

/// What is run.
struct PromptText {
    QString text;
    QString pair;            ///< sentence B
    bool has_pair = false;   ///< the second line is open
    QString image{};         ///< a picture's file, for models that read pictures
    TextRange written = {};  ///< of the text: what the model continued it with
    bool operator==(const PromptText&) const = default;
};

/// With a piece more that the model wrote.
PromptText with_piece(PromptText, const QString& piece);

/// Where a stretch of `before` is in `after`. What was edited in it is somebody else's words: it ends there.
TextRange follow_edit(TextRange, const QString& before, const QString& after);

/// An expression of the finder that was given a name.
struct NamedFilter {
    QString name, expression;
    bool operator==(const NamedFilter&) const = default;
};

/// How it is shown; the same for every view.
struct ViewOptions {
    figure::Transfer transfer;
    analyze::PatternOptions pattern;
    /// Which attention of an encoder-decoder model is shown: decoder (its own), encoder or cross. Other models have one.
    model::Stack attention = model::Stack::decoder;
    std::map<View, figure::ViewValues> values;  ///< each view's own options, as far as they are not the default ones
    std::optional<HeadId> detail;               ///< model view: the head whose pane is open
    figure::HeadPalette palette = figure::HeadPalette::category10;
    figure::Ramp ramp = figure::Ramp::ink;
    bool predictions = false;           ///< log-probabilities and ranks under the token strip
    std::string measure = "induction";  ///< of the mosaic and the finder's bar
    QString finder;                     ///< the finder's expression
    QString pool_file;                  ///< a list of texts, one a line, that some views take together with this one
    std::vector<NamedFilter> filters;   ///< in the order of their names; no two of one name
    bool operator==(const ViewOptions&) const = default;
};

/// Names are the same whatever their case.
const NamedFilter* filter_called(const std::vector<NamedFilter>&, const QString& name);
/// With this filter in its place, instead of one of the same name.
std::vector<NamedFilter> with_filter(std::vector<NamedFilter>, const NamedFilter&);
std::vector<NamedFilter> without_filter(std::vector<NamedFilter>, const QString& name);

/// Which views are open.
struct OpenViews {
    View left = "head";
    View right = "matrix";
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
