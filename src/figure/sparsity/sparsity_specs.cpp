// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/view_fields.h"
#include "figure/core/view_tables.h"
#include "figure/sparsity/sparsity_views.h"

namespace headlight::figure {

std::vector<ViewSpec> sparsity_view_specs() {
    return {{.id = "sparsity",
             .title = "Sparse attention",
             .basis = Basis::patterns,
             .needs = {.focus = true},
             .options = options_of<analyze::SparsityOptions>(),
             .make =
                 [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                     return sparsity_view(std::move(trace), s.focus(), request_of<analyze::SparsityOptions>(s), cancel, progress);
                 },
             .missing = analyze::sparsity_missing}};
}

}  // namespace headlight::figure
