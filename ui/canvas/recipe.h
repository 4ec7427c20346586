// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/view_spec.h"
#include "headlight/figure/export/export.h"
#include "ui/document/document.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace headlight::ui {

/// Which figure a view is to show: everything that makes another figure necessary, and nothing else, so that two equal
/// recipes need no second figure.
struct Recipe {
    figure::TracePtr trace;
    figure::TracePtr run;  ///< that the trace is a part of: a view may ask for the others (trace::whole_of)
    figure::ViewState state;
    bool operator==(const Recipe&) const = default;
};

/// A figure that can be exported: how to make it anew for a file, in a job.
struct Exportable {
    QString name;  ///< of the file that is proposed, without the format
    figure::Selection selection;
    std::function<std::shared_ptr<figure::Figure>(const CancelToken&)> figure;
    /// Of that figure, with what the file looks like.
    std::function<figure::Provenance(const figure::Figure&, const figure::ExportOptions&, const std::string& format)> provenance;
    bool filtered = true;  ///< heads that the finder leaves out are painted faintly
};

/// Without what this trace does not have: options outlive the model and text they were chosen for.
analyze::PatternOptions fitted(analyze::PatternOptions, const trace::Trace&);
/// Of what the document shows, with this view and selection.
/// `side`: of the two runs, where it is not the one that the document shows.
Recipe recipe_for(const Document&, const View&, const figure::Selection&, std::optional<figure::Side> side = std::nullopt);
/// Made at once, within about a frame; never where that may recompute a layer or convert weights.
bool is_quick(const Recipe&);
/// Why there is no such picture of this model or text; empty: there is.
QString missing(const Recipe&);

/// The same of the text that the document shows.
QString why_no_view(const Document&, const View&);

/// The document's selection with the positions of the run that the figure is of.
figure::Selection selection_for(const Recipe&, const figure::Selection&);
/// The request that `headlight render` would get, for exports and "Copy as command".
figure::Request request_for(const Recipe&, const figure::Selection&, const figure::ExportOptions&);
/// Everything but the data: looks, and the heads that the finder leaves faint.
figure::Style style_for(const figure::Theme&, const Document&);

}  // namespace headlight::ui
