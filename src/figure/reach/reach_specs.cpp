// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/view_fields.h"
#include "figure/core/view_tables.h"
#include "figure/reach/reach_views.h"

namespace headlight::figure {

std::vector<ViewSpec> reach_view_specs() {
    return {{.id = "reach",
             .title = "Reach",
             .basis = Basis::patterns,
             .needs = {.focus = true, .key = true},
             .options = options_of<ReachViewOptions>(),
             .make =
                 [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                     return reach_view(std::move(trace), s.focus(), request_of<ReachViewOptions>(s, {.key = s.key}), cancel,
                                       progress);
                 },
             .missing = [](const trace::Trace& trace) -> std::string {
                 return model::reads_pictures(trace.config())
                            ? "This view needs a text. The picture view shows where heads attend."
                            : "";
             }}};
}

}  // namespace headlight::figure
