// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"
#include "headlight/figure/export/export.h"
#include "headlight/figure/pattern/pattern_views.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headlight::figure {

/// Values of a view's own options that are not the default ones, by option name; a flag that is set is "1".
using ViewValues = std::map<std::string, std::string>;

/// Texts that a view takes together with the trace's own (ViewNeeds::texts).
struct TextPool {
    std::vector<TracePtr> traces;  ///< beside the trace's own, of the same model
    std::string file;              ///< where the texts are from, one a line
    bool own_text = true;          ///< false: the trace's own text is the file's first line
};

/// All that decides which figure a view makes of a trace. Two equal states need no second figure.
struct ViewState {
    std::string view = "head";  ///< id in view_specs()
    Layer layer;
    std::vector<Head> heads;                  ///< views of several heads: the active ones; of one head: that one
    std::optional<Position> query, key;       ///< pinned
    std::optional<analyze::NeuronId> neuron;  ///< followed
    std::optional<HeadId> detail;             ///< model view: the head whose pane is open
    analyze::PatternOptions pattern;
    ViewValues values;
    std::shared_ptr<const TextPool> pool;  ///< null: the trace's own text alone
    bool operator==(const ViewState&) const = default;

    HeadId focus() const { return {layer, heads.empty() ? Head(0) : heads.front()}; }
};

/// What `headlight render` is told, and what a view of the window knows about itself. From one request come the figure,
/// the selection painted into it, and the line that makes the same file again.
struct Request : ViewState {
    ExportOptions output;  ///< theme, ramp, palette, transfer function, size
};

/// As `--weighting` and sessions call it: "value-norm".
const char* weighting_word(analyze::Weighting) noexcept;
inline constexpr analyze::Weighting every_weighting[] = {
    analyze::Weighting::attention,     analyze::Weighting::value_norm, analyze::Weighting::output_norm,
    analyze::Weighting::output_length, analyze::Weighting::layer_mix,  analyze::Weighting::layer_mix_residual,
    analyze::Weighting::layer_mix_norm};

/// Error names the layer, head, position or option that the trace does not have, and what it has.
void check(const trace::Trace&, const ViewState&);

/// The trace and the texts pooled with it.
std::vector<TracePtr> pooled_traces(const TracePtr&, const ViewState&);
std::unique_ptr<Figure> make_figure(TracePtr, const ViewState&, const CancelToken& = {});
Selection selection_of(const ViewState&);

/// Options of `headlight render` that say all of the request but what is its default, in a fixed order, without dashes:
/// {"view", "head"}, {"layer", "4"}, {"hide-sinks", ""}.
std::vector<std::pair<std::string, std::string>> options_of(const Request&);

/// The line that makes the same file again.
std::string command_of(const trace::Trace&, const Request&, const std::string& format);

/// Footer and metadata of an export; the same from the window and the command line. `format` is the extension the
/// command writes ("svg").
Provenance provenance_of(const trace::Trace&, const Request&, const std::string& format);

}  // namespace headlight::figure
