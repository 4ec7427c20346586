// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/export.h"
#include "headlight/figure/views.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headlight::figure {

/// All that decides what a picture of a trace shows and how: what `headlight render` is told, and what a view of the
/// window knows about itself. From one request come the figure, the selection painted into it, and the line that makes
/// the same file again.
struct Request {
    enum class View { head, matrix, model, neuron } view = View::head;
    Layer layer;
    std::vector<Head> heads;             ///< head view: the active ones; matrix: the maps; neuron: the first
    std::optional<Position> query, key;  ///< pinned
    analyze::PatternOptions pattern;
    ModelViewOptions model;
    NeuronViewOptions neuron;
    ExportOptions output;  ///< theme, ramp, palette, transfer function, size
};

/// Error names the layer, head or position that the trace does not have, and how many it has.
void check(const trace::Trace&, const Request&);

std::unique_ptr<Figure> make_figure(TracePtr, const Request&);
Selection selection_of(const Request&);

/// Options of `headlight render` that say all of the request but what is its default, in a fixed order, without dashes:
/// {"view", "head"}, {"layer", "4"}, {"hide-sinks", ""}.
std::vector<std::pair<std::string, std::string>> options_of(const Request&);

/// Footer and metadata of an export; the same from the window and the command line. `format` is the extension the
/// command writes ("svg").
Provenance provenance_of(const trace::Trace&, const Request&, const std::string& format);

}  // namespace headlight::figure
