// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/shared_options.h"
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
         .options = {choice("of", "Panels",
                            "picture: a panel for each head, or one of their mean, their maximum, or the rollout up to the layer",
                            PictureViewOptions::What::heads),
                     {.name = "over",
                      .kind = OptionKind::choice,
                      .title = "Over the picture",
                      .help = "picture: weights as a colour over the grey picture, or as how much of the picture is seen",
                      .initial = "colour",
                      .choices = {{"colour", "A colour"}, {"reveal", "Only what is attended to"}}}},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress&) {
                 const PictureViewOptions options{.what = choice_value<PictureViewOptions::What>(s, "of"),
                                                  .reveal = text_value(s, "over") == "reveal"};
                 return picture_view(std::move(trace), s.layer, s.heads, s.query.value_or(Position(0)), s.pattern, options,
                                     cancel);
             },
         .missing = [](const trace::Trace& trace) -> std::string {
             return trace.picture().pixels
                        ? ""
                        : "This model reads text: there is no picture to lay attention over. The other views of attention work.";
         },
         .filters = true}};
}

}  // namespace headlight::figure
