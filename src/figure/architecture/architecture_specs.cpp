// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the list of views about the model itself, whatever the text.
#include "figure/core/view_fields.h"
#include "figure/core/view_tables.h"
#include "headlight/figure/architecture/architecture_views.h"
#include "headlight/model/reference.h"
#include "headlight/trace/trace.h"

namespace headlight::figure {
std::vector<ViewSpec> architecture_view_specs() {
    return {
        {.id = "architecture",
         .title = "Architecture",
         .any_mixer = true,
         .across_texts = true,
         .make = [](TracePtr trace, const ViewState&, const CancelToken&,
                    const Progress&) { return architecture_view(trace->model()); },
         // A stored reference is run first.
         .quick = [](const trace::Trace& t, const ViewState&) { return !model::reference_file(t.model()->folder()); }},
        {.id = "kv-cache",
         .title = "KV cache",
         .options = options_of<analyze::KvCacheOptions>(),
         .make = [](TracePtr trace, const ViewState& s, const CancelToken&,
                    const Progress&) { return kv_cache_view(trace->config(), request_of<analyze::KvCacheOptions>(s)); },
         .quick = [](const trace::Trace&, const ViewState&) { return true; }},
    };
}

}  // namespace headlight::figure
