// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the list of views for the Attention Focus Plots.
#include "figure/core/view_fields.h"
#include "figure/core/view_tables.h"
#include "headlight/figure/heads/head_plots.h"

#include <array>

namespace headlight::figure {
namespace {

struct FocusRow {
    const char* title;
    bool from_numbers = false;  ///< that a run gathers of its heads
};

}  // namespace

std::vector<ViewSpec> focus_view_specs() {
    const ViewNeeds needs{.focus = true};  // the head that stands out in all of them
    const std::array<FocusRow, 11> rows{{
        {"Focus"},
        {"1  Scores and their maxima"},
        {"2  Terms of the score"},
        {"3  Bias against position", true},
        {"4  Largest weight on itself", true},
        {"5  Largest weight on the first token", true},
        {"6  Largest minus second weight", true},
        {"7  Magnitudes of updates"},
        {"8  Orientations of updates"},
        {"9  Magnitude against orientation"},
        {"10  Magnitude over the text"},
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
        spec.options = options_of<FocusFigureOptions>({.figure = i, .head = {}, .terms = {}});
        spec.make = [i](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
            return focus_figure(batch_traces(trace, s),
                                request_of<FocusFigureOptions>(s, {.figure = i, .head = s.focus(), .terms = {}}), cancel,
                                progress);
        };
        spec.needs.texts = i == 0 || i >= 4;                 // 1 to 3 are about the rows of one text
        spec.filters = i == 0 || i >= 4;                     // figures of every head
        spec.overview.numbers = i == 0 || row.from_numbers;  // 0: all ten
        if (row.from_numbers) spec.quick = few_texts;
    }
    return out;
}

}  // namespace headlight::figure
