// SPDX-License-Identifier: GPL-3.0-or-later
// The list of views. The command line, the window's tabs and menus, sessions and the documentation's tests read it:
// a new view is a row here and nothing there.
#pragma once

#include "headlight/base/job.h"
#include "headlight/figure/core/request.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headlight::figure {

enum class OptionKind { flag, integer, number, choice, text };

/// A choice that a view offers beside the shared ones: an option of `headlight render`, an entry of the window's menu.
/// Options of the same name in several views are the same option and must be described alike.
struct ViewOption {
    std::string name;  ///< "sort-idx": the command line's --sort-idx, the key in sessions
    OptionKind kind = OptionKind::flag;
    std::string title;    ///< in the window: "Rank of the target"
    std::string help;     ///< on the command line: "0: the largest score of a row, 1: the second …"
    std::string initial;  ///< the default as text; flags: empty is off
    std::vector<std::pair<std::string, std::string>> choices{};  ///< word and its title in the window
    double low = 0, high = 0;                                    ///< of a number; both 0: any
    bool slider = false;                                         ///< a number that is worth a slider of its own above the view
};

/// Which parts of the selection and of the shared options make another figure necessary. What is only painted into a
/// figure (pins, hover) is not among them.
struct ViewNeeds {
    bool layer = false;
    bool heads = false;    ///< the active heads of the layer
    bool focus = false;    ///< the one head
    bool query = false;    ///< the pinned query
    bool hover = false;    ///< once one is pinned, the hovered one before it
    bool key = false;      ///< the pinned key
    bool neuron = false;   ///< the followed neuron
    bool pattern = false;  ///< PatternOptions and the transfer function
    bool texts = false;    ///< the texts that are pooled
    bool operator==(const ViewNeeds&) const = default;
};

/// One view.
struct ViewSpec {
    std::string id;     ///< "focus-3": on the command line, in sessions, in documentation
    std::string title;  ///< "Bias against position"
    std::string group;  ///< "Focus": views of a group stand together in the menu of views
    bool tab = false;   ///< has a tab of its own
    ViewNeeds needs;
    bool all_heads = false;  ///< drawn of all heads of the layer unless heads are named
    /// What happens up to a layer: the last one, unless it is named or the option "up-to" says "chosen".
    bool last_layer = false;
    std::vector<ViewOption> options{};
    /// May be slow: the window calls it in a job. Beside it the window needs to know whether it is quick.
    std::function<std::unique_ptr<Figure>(TracePtr, const ViewState&, const CancelToken&)> make;
    /// True: made within a frame. Empty: never.
    std::function<bool(const trace::Trace&, const ViewState&)> quick{};
    /// Why this model or text has no such picture, and what to do; empty text: it has. Empty function: always has.
    std::function<std::string(const trace::Trace&)> missing{};
    bool filters = false;  ///< paints heads outside Style::filter faintly

    const ViewOption* option(std::string_view name) const noexcept;
};

/// All views, tabs first, in the order of the window.
std::span<const ViewSpec> view_specs();
const ViewSpec* find_view(std::string_view id) noexcept;
/// Error names the nearest.
const ViewSpec& view_spec(std::string_view id);

/// A view's own option as it stands: the state's value, or the default.
std::string text_value(const ViewState&, std::string_view option);
bool flag_value(const ViewState&, std::string_view option);
std::int64_t integer_value(const ViewState&, std::string_view option);
double number_value(const ViewState&, std::string_view option);
/// Keeps only values that the view has and that differ from their default.
ViewValues tidy(const ViewSpec&, const ViewValues&);
/// Error names the option and the offending value.
void check_values(const ViewSpec&, const ViewValues&);

}  // namespace headlight::figure
