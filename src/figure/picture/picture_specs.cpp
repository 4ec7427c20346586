// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/view_fields.h"
#include "figure/core/view_tables.h"
#include "figure/picture/picture_figure.h"

namespace headlight::figure {

std::vector<ViewSpec> picture_view_specs() {
    return {
        {.id = "picture",
         .title = "Picture",
         .of_pictures = true,
         .needs = {.layer = true, .heads = true, .query = true, .pattern = true},
         .all_heads = true,
         .options = options_of<PictureViewOptions>(),
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress&) {
                 return picture_view(std::move(trace), s.layer, s.heads, s.query.value_or(Position(0)), s.pattern,
                                     request_of<PictureViewOptions>(s), cancel);
             },
         .missing = [](const trace::Trace& trace) -> std::string {
             return trace.picture().pixels
                        ? ""
                        : "This model reads text: there is no picture to lay attention over. The other views of attention work.";
         },
         .filters = true}};
}

}  // namespace headlight::figure
