// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/shared_options.h"
#include "figure/core/view_tables.h"
#include "figure/reach/reach_views.h"

namespace headlight::figure {

std::vector<ViewSpec> reach_view_specs() {
    return {
        {.id = "reach",
         .title = "Reach",
         .basis = Basis::patterns,
         .needs = {.focus = true, .key = true},
         .options = {text_option("passage", "Passage",
                                 "reach: the needle: FIRST-LAST by position, or words of the text; by default the paragraph of "
                                 "the pinned key",
                                 "120-140, or words of the text"),
                     integer_option("moved", "Pairs listed", "reach: how many pairs of tokens are listed", "40", 1, 1000)},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 const ReachViewOptions options{
                     .passage = text_value(s, "passage"), .key = s.key, .moved = integer_value(s, "moved")};
                 return reach_view(std::move(trace), s.focus(), options, cancel, progress);
             },
         .missing = [](const trace::Trace& trace) -> std::string {
             return model::reads_pictures(trace.config()) ? "This view needs a text. The picture view shows where heads attend."
                                                          : "";
         }}};
}

}  // namespace headlight::figure
