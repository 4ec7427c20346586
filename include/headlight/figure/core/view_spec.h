// SPDX-License-Identifier: GPL-3.0-or-later
// The list of views. The command line, the window, sessions and the documentation's tests read it: a new view is a row here, and
// one in view_places.cpp.
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

/// A choice that a view offers beside the common ones: an option of `headlight render`, an entry of the window's menu.
/// Options of the same name in several views are the same option and must be described alike.
struct ViewOption {
    std::string name{};    ///< "sort-idx": the command line's --sort-idx, the key in sessions
    std::string former{};  ///< an earlier name, which both still read
    OptionKind kind = OptionKind::flag;
    std::string title{};    ///< in the window: "Rank of the target"
    std::string help{};     ///< on the command line: "0: the largest score of a row, 1: the second …"
    std::string initial{};  ///< the default as text; flags: empty is off
    std::vector<std::pair<std::string, std::string>> choices{};  ///< word and its title in the window
    bool measure = false;                    ///< a choice among measures of heads: also "corpus_" and a measure
    double low = 0, high = 0;                ///< of a number; both 0: any
    double slider_low = 0, slider_high = 0;  ///< of a number: the ends of a slider above the view; both 0: it has none
    bool token = false;     ///< a text that names one token: by id, as the vocabulary writes it, or as running text
    bool next = false;      ///< of a token: also the word "next", the one that the text has there
    bool list = false;      ///< a text that lists numbers: "0,2,5-7"
    std::string example{};  ///< of a text, shown in the empty field
    /// Whether it changes anything, as the other options are; empty: always.
    std::function<bool(const ViewState&)> relevant{};
    std::string only{};  ///< when it does: "--scheme nsa"
};

/// Which parts of the selection and of the common options make another figure necessary. What is only painted into a
/// figure (pins, hover) is not among them.
struct ViewNeeds {
    bool layer = false;
    bool only_with_query = false;  ///< of the layer: without a query it changes nothing
    bool heads = false;            ///< the active heads of the layer
    bool focus = false;            ///< the one head
    bool query = false;            ///< the pinned query
    bool hover = false;            ///< once one is pinned, the hovered one before it
    bool chosen = false;           ///< a query counts only where a person has pinned it: else the view starts at the last token
    bool key = false;              ///< the pinned key
    bool neuron = false;           ///< the followed neuron
    bool pattern = false;          ///< PatternOptions and the transfer function
    bool texts = false;            ///< the batch of texts
    bool operator==(const ViewNeeds&) const = default;

    bool layer_counts(bool with_query) const noexcept { return layer && (with_query || !only_with_query); }
};

/// What a figure is computed from.
enum class Basis {
    patterns,  ///< attention patterns alone: also of a saved trace without its model
    model,     ///< the model's weights too
    terms,     ///< the model, and scores that are sums of terms, as they are without a relative position bias
};

/// One view.
struct ViewSpec {
    std::string id;          ///< "focus-3": on the command line, in sessions, in documentation
    std::string title;       ///< "Bias against position"
    std::string known_as{};  ///< in papers, where that is another name: the palette finds it too
    Basis basis = Basis::model;
    bool any_mixer = false;        ///< also of models with layers that have no softmax (model::has_implied_maps)
    bool across_texts = false;     ///< also of cross attention, whose queries are of another text than its keys
    bool of_layer = false;         ///< in the window one chosen head stands for its whole layer
    bool of_pictures = false;      ///< of models that read pictures alone, and what they show first
    bool reads_class = false;      ///< of a picture it reads the class token unless another one is pinned
    bool reads_head = false;       ///< of a classifier of texts the row that its head reads, whichever is pinned
    bool skips_special = false;    ///< it starts at the last token that is not special: others predict nothing of interest
    bool opens_detail = false;     ///< a click on a head opens ViewState::detail
    bool offers_examples = false;  ///< the window offers example sentences
    ViewNeeds needs{};
    trace::HeadOverview overview = trace::no_overview;  ///< what it reads of a run's overview
    bool all_heads = false;                             ///< drawn of all heads of the layer unless heads are named
    /// Shows what happens up to a layer: the last one, unless one is named or the option "up-to" says "chosen".
    bool last_layer = false;
    std::vector<ViewOption> options{};
    /// May be slow: the window calls it in a job, and shows the steps it reports.
    std::function<std::unique_ptr<Figure>(TracePtr, const ViewState&, const CancelToken&, const Progress&)> make;
    /// True: made within a frame, so that no job is needed. Empty: never.
    std::function<bool(const trace::Trace&, const ViewState&)> quick{};
    /// Why this model or text has no such figure, and what to do; empty text: it has one. Empty function: every one has.
    std::function<std::string(const trace::Trace&)> missing{};
    bool filters = false;   ///< paints heads outside Style::filter faintly
    bool compares = false;  ///< is of two runs (ViewState::beside); `missing` says so of one
    /// B - A of two runs, on one scale symmetric around 0. Empty: the view shows A or B.
    std::function<std::unique_ptr<Figure>(const Beside&, const ViewState&, const CancelToken&, const Progress&)> difference{};

    const ViewOption* option(std::string_view name) const noexcept;
};

/// Why this trace, or two runs, have no such figure; empty: they have.
std::string why_missing(const ViewSpec&, const trace::Trace&, const ViewState&);

/// All views; view_places.h says where the window has them.
std::span<const ViewSpec> view_specs();
const ViewSpec* find_view(std::string_view id) noexcept;
/// Error names the nearest.
const ViewSpec& view_spec(std::string_view id);

/// The position that a view of a prediction reads where none is pinned.
Position default_position(const trace::Trace&, const ViewSpec&);
/// The token whose prediction such a view shows: the pinned one or the default; of a classifier of texts
/// always the one that its head reads.
Position head_position(const trace::Trace&, const ViewSpec&, std::optional<Position> pinned);

/// The title of one of its choices; that of a corpus begins with the word.
std::string choice_title(const ViewOption&, std::string_view value);
/// A view's own option as it stands: the state's value, or the default.
std::string text_value(const ViewState&, std::string_view option);
/// The view's option to combine several heads is set.
bool combines_heads(const ViewState&);
/// Values under earlier names of the view's options under today's.
ViewValues renamed(const ViewSpec&, ViewValues);
/// Keeps only values that the view has and that differ from their default.
ViewValues tidy(const ViewSpec&, const ViewValues&);
/// Of those the ones that change the figure, as the others are.
ViewValues in_use(const ViewSpec&, const ViewValues&);
/// Error names the option and the offending value.
void check_values(const ViewSpec&, const ViewValues&);

}  // namespace headlight::figure
