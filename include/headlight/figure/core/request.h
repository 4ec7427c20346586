// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/enum_table.h"
#include "headlight/base/job.h"
#include "headlight/figure/export/export.h"
#include "headlight/figure/pattern/pattern_views.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headlight::corpus {
struct CorpusHeads;  // corpus/heads/corpus_heads.h
}

namespace headlight::intervention {
struct RunPair;  // intervention/compare/comparison.h
}

namespace headlight::figure {

/// Values of a view's own options that are not the default ones, by option name; a flag that is set is "1".
using ViewValues = std::map<std::string, std::string>;

/// Texts that a view takes together with the trace's own (ViewNeeds::texts).
struct TextBatch {
    std::vector<TracePtr> traces;  ///< beside the trace's own, of the same model
    std::string file;              ///< where the texts come from, one a line
    bool own_text = true;          ///< false: the trace's own text is the file's first line
};

/// Which of two runs a view shows.
enum class Side { a, b, difference };
inline constexpr EnumRow<Side> sides[] = {{Side::a, "a", "A"}, {Side::b, "b", "B"}, {Side::difference, "difference", "B − A"}};
constexpr const auto& enum_rows(Side) { return sides; }

/// The run beside the trace (A), of the same part of its model: another text, another model, or the same text edited.
struct Beside {
    std::shared_ptr<const intervention::RunPair> pair;         ///< A is the trace itself
    std::vector<std::pair<std::string, std::string>> options;  ///< of the command line, by which B is made again: {"with", "…"}
    std::string words;                                         ///< for people: "with: The nurse said she was late."
};

/// Id of the n-th view: tabs come first.
const std::string& view_id(std::size_t n);

/// Everything that decides which figure a view makes of a trace. Equal states make equal figures.
struct ViewState {
    std::string view = view_id(0);  ///< in view_specs()
    Layer layer{};
    std::vector<Head> heads{};                  ///< views of several heads: the active ones; of one head: that one
    std::optional<Position> query{}, key{};     ///< pinned
    std::optional<analyze::NeuronId> neuron{};  ///< followed
    std::optional<HeadId> detail{};             ///< of ViewSpec::opens_detail: the head whose pane is open
    analyze::PatternOptions pattern{};
    ViewValues values{};
    std::shared_ptr<const TextBatch> batch{};             ///< null: the trace's own text alone
    std::shared_ptr<const corpus::CorpusHeads> corpus{};  ///< whose measures the values or the filter name; null: they name none
    std::shared_ptr<const Beside> beside{};               ///< null: one run
    Side side = Side::a;                                  ///< of two; views of the comparison itself show both
    bool operator==(const ViewState&) const = default;

    HeadId focus() const { return {layer, heads.empty() ? Head(0) : heads.front()}; }
};

/// Everything needed to make a figure, from the command line or from the window: the figure itself, the selection painted
/// into it, and the command that makes the same file again.
struct Request : ViewState {
    ExportOptions output;  ///< theme, ramp, palette, transfer function, size
};

/// Error names the layer, head, position or option that the trace does not have, and what it has.
void check(const trace::Trace&, const ViewState&);

/// What is B beside A, from the traces: another model, another text, edits. Errors as intervention::pair_of().
std::shared_ptr<const Beside> beside(const TracePtr& a, const TracePtr& b);
/// The state as it is for B: pins move with their tokens, and what B does not have goes.
ViewState state_of_b(const Beside&, ViewState);
/// The trace and the others of its batch.
std::vector<TracePtr> batch_traces(const TracePtr&, const ViewState&);
std::unique_ptr<Figure> make_figure(TracePtr, const ViewState&, const CancelToken& = {}, const Progress& = {});
Selection selection_of(const ViewState&);

/// Options of `headlight render` that describe the request, without defaults and dashes, in a fixed order:
/// {"view", "head"}, {"layer", "4"}, {"hide-sinks", ""}.
std::vector<std::pair<std::string, std::string>> options_of(const Request&);

/// One word for a POSIX shell, quoted if necessary.
std::string shell_word(const std::string& text);
/// The command line that makes the same file again.
std::string command_of(const trace::Trace&, const Request&, const std::string& format);

/// Footer and metadata of an export; the same from the window and the command line. `format` is the extension the
/// command writes ("svg").
Provenance provenance_of(const trace::Trace&, const Request&, const std::string& format);

}  // namespace headlight::figure
