// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the list of views for the Attention Focus Plots.
#include "figure/core/shared_options.h"
#include "figure/core/view_tables.h"
#include "headlight/figure/heads/head_plots.h"

#include <array>

namespace headlight::figure {
namespace {

const ViewOption sort_idx = integer_option(
    "sort-idx", "Rank of the target", "focus-2: which target of a row is split, 0 the one with the largest score, 1 the second …",
    "0", 0, 1'000'000);
const ViewOption five_terms = flag("five-terms", "Five terms", "focus-2: the key's bias split as well");
const ViewOption absolute =
    flag("absolute-positions", "Absolute positions", "focus-2: ALiBi as m·j, as transformers adds it, in place of −m·(i − j)");
const ViewOption probability = flag("probability", "Weights, not scores", "focus-1: softmax weights in place of scores");
const ViewOption first_row = flag("include-first-row", "Count the first token",
                                  "focus-4 and -5: count row 0 of a causal model, which can only attend to itself");
const ViewOption literal = flag("literal", "Before W_O", "focus-7, -9, -10: |z| / |h| in place of |u| / |h|");
const ViewOption log_magnitude = flag("log-magnitude", "Logarithmic magnitude", "focus-7, -9, -10: logarithmic axis");
const ViewOption bins = integer_option("bins", "Bins", "focus-7 and -8: bins of the histograms", "50", 2, 500);

bool has(const ViewSpec& spec, const char* name) { return spec.option(name) != nullptr; }

FocusFigureOptions focus_options(const ViewState& state, int figure) {
    const ViewSpec& spec = view_spec(state.view);
    const auto is = [&](const char* name) { return has(spec, name) && flag_value(state, name); };
    FocusFigureOptions o;
    o.figure = figure;
    o.head = state.focus();
    if (has(spec, "sort-idx")) o.sort_idx = integer_value(state, "sort-idx");
    o.terms = {.five_terms = is("five-terms"), .absolute_positions = is("absolute-positions")};
    o.probability = is("probability");
    o.include_first_row = is("include-first-row");
    o.literal = is("literal");
    o.log_magnitude = is("log-magnitude");
    if (has(spec, "bins")) o.bins = integer_value(state, "bins");
    return o;
}

struct FocusRow {
    const char* title;
    std::vector<ViewOption> options;
    bool from_numbers = false;  ///< that a run gathers of its heads
};

}  // namespace

std::vector<ViewSpec> focus_view_specs() {
    const ViewNeeds needs{.focus = true};  // the head that stands out in all of them
    const std::array<FocusRow, 11> rows{{
        {"Focus", {sort_idx, five_terms, absolute, probability, first_row, literal, log_magnitude, bins}},
        {"1  Scores and their maxima", {probability}},
        {"2  Terms of the score", {sort_idx, five_terms, absolute}},
        {"3  Bias against position", {}, true},
        {"4  Largest weight on itself", {first_row}, true},
        {"5  Largest weight on the first token", {first_row}, true},
        {"6  Largest minus second weight", {first_row}, true},
        {"7  Magnitudes of updates", {literal, log_magnitude, bins}},
        {"8  Orientations of updates", {bins}},
        {"9  Magnitude against orientation", {literal, log_magnitude}},
        {"10  Magnitude over the text", {literal, log_magnitude}},
    }};
    std::vector<ViewSpec> out;
    for (int i = 0; i < static_cast<int>(rows.size()); ++i) {
        const FocusRow& row = rows[static_cast<std::size_t>(i)];
        ViewSpec& spec = out.emplace_back();
        spec.id = i == 0 ? "focus" : "focus-" + std::to_string(i);
        spec.title = row.title;
        spec.basis = Basis::terms;
        spec.offers_examples = true;
        spec.needs = needs;
        spec.options = row.options;
        spec.make = [i](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
            return focus_figure(batch_traces(trace, s), focus_options(s, i), cancel, progress);
        };
        spec.needs.texts = i == 0 || i >= 4;                 // 1 to 3 are about the rows of one text
        spec.filters = i == 0 || i >= 4;                     // figures of every head
        spec.overview.numbers = i == 0 || row.from_numbers;  // 0: all ten
        if (row.from_numbers) spec.quick = few_texts;
    }
    return out;
}

}  // namespace headlight::figure
