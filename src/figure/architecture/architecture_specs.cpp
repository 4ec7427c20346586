// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the list of views for what is about the model itself, whatever the text.
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

std::vector<ViewSpec> about_model_view_specs() {
    return {
        {.id = "architecture",
         .title = "Architecture",
         .group = "Model",
         .needs = {},
         .make = [](TracePtr trace, const ViewState&, const CancelToken&) { return architecture_view(trace->model()); },
         // A stored reference is run first.
         .quick = [](const trace::Trace& t, const ViewState&) { return !model::reference_file(t.model()->folder()); }},
        {.id = "kv-cache",
         .title = "KV cache",
         .group = "Model",
         .needs = {},
         .options = {{.name = "batch",
                      .kind = OptionKind::integer,
                      .title = "Texts at the same time",
                      .help = "kv-cache: texts at the same time",
                      .initial = "1",
                      .low = 1,
                      .high = 1 << 20},
                     {.name = "cache-bytes",
                      .kind = OptionKind::number,
                      .title = "Bytes of a number",
                      .help = "kv-cache: bytes of a kept number, 4 float32, 2 float16, 1 fp8, 0.5 int4",
                      .initial = "2",
                      .low = 0.125,
                      .high = 16},
                     {.name = "groups",
                      .kind = OptionKind::integer,
                      .title = "Key/value heads of GQA",
                      .help = "kv-cache: key/value heads of GQA, 0: the model's, or a quarter of its heads",
                      .initial = "0",
                      .low = 0,
                      .high = 1 << 16},
                     {.name = "latent",
                      .kind = OptionKind::integer,
                      .title = "Width of MLA's latent",
                      .help = "kv-cache: width of MLA's latent, 0: the model's, or 4 times the width of a head",
                      .initial = "0",
                      .low = 0,
                      .high = 1 << 24}},
         .make = [](TracePtr trace, const ViewState& s,
                    const CancelToken&) { return kv_cache_view(trace->config(), cache_options(s)); },
         .quick = [](const trace::Trace&, const ViewState&) { return true; }},
    };
}

}  // namespace headlight::figure
