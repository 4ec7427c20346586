// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the list of views about the model itself, whatever the text.
#include "figure/core/shared_options.h"
#include "figure/core/view_tables.h"
#include "headlight/figure/architecture/architecture_views.h"
#include "headlight/model/reference.h"
#include "headlight/trace/trace.h"

namespace headlight::figure {
namespace {

analyze::KvCacheOptions cache_options(const ViewState& s) {
    return {.batch = integer_value(s, "batch"),
            .bytes_per_element = number_value(s, "cache-bytes"),
            .groups = integer_value(s, "groups"),
            .latent = integer_value(s, "latent")};
}

}  // namespace

std::vector<ViewSpec> architecture_view_specs() {
    return {
        {.id = "architecture",
         .title = "Architecture",
         .across_texts = true,
         .make = [](TracePtr trace, const ViewState&, const CancelToken&,
                    const Progress&) { return architecture_view(trace->model()); },
         // A stored reference is run first.
         .quick = [](const trace::Trace& t, const ViewState&) { return !model::reference_file(t.model()->folder()); }},
        {.id = "kv-cache",
         .title = "KV cache",
         .options = {integer_option("batch", "Texts at the same time", "kv-cache: texts at the same time", "1", 1, 1 << 20),
                     number_option("cache-bytes", "Bytes of a number",
                                   "kv-cache: bytes of a kept number, 4 float32, 2 float16, 1 fp8, 0.5 int4", "2", 0.125, 16),
                     integer_option("groups", "Key/value heads of GQA",
                                    "kv-cache: key/value heads of GQA, 0: the model's, or a quarter of its heads", "0", 0,
                                    1 << 16),
                     integer_option("latent", "Width of MLA's latent",
                                    "kv-cache: width of MLA's latent, 0: the model's, or 4 times the width of a head", "0", 0,
                                    1 << 24)},
         .make = [](TracePtr trace, const ViewState& s, const CancelToken&,
                    const Progress&) { return kv_cache_view(trace->config(), cache_options(s)); },
         .quick = [](const trace::Trace&, const ViewState&) { return true; }},
    };
}

}  // namespace headlight::figure
