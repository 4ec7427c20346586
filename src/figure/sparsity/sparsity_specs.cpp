// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/shared_options.h"
#include "figure/core/view_tables.h"
#include "figure/sparsity/sparsity_views.h"

namespace headlight::figure {
namespace {

constexpr double most_keys = 1 << 16;

ViewOption count_option(const char* name, const char* title, const char* help, std::int64_t initial, double low = 1) {
    return integer_option(name, title, help, std::to_string(initial).c_str(), low, most_keys);
}

}  // namespace

std::vector<ViewSpec> sparsity_view_specs() {
    const analyze::SparsityOptions usual;
    return {
        {.id = "sparsity",
         .title = "Sparse attention",
         .basis = Basis::patterns,
         .needs = {.focus = true},
         .options = {choice("scheme", "Scheme", "sparsity: which keys a query reads", usual.scheme),
                     count_option("block", "Compressed block", "sparsity: nsa: keys of a compressed block", usual.block),
                     count_option("stride", "Stride", "sparsity: nsa: keys from one compressed block to the next", usual.stride),
                     count_option("select", "Selected block", "sparsity: nsa: keys of a selected block", usual.select),
                     count_option("top", "Selected blocks",
                                  "sparsity: nsa: selected blocks, the first and two local ones among them", usual.top, 3),
                     count_option("window", "Window", "sparsity: nsa, window, sinks: the last keys", usual.window),
                     count_option("sinks", "Sinks", "sparsity: sinks: the first keys", usual.sinks),
                     count_option("budget", "Largest keys", "sparsity: topk: keys with the largest weights of a row",
                                  usual.budget)},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 const analyze::SparsityOptions options{.scheme = choice_value<analyze::SparseScheme>(s, "scheme"),
                                                        .block = integer_value(s, "block"),
                                                        .stride = integer_value(s, "stride"),
                                                        .select = integer_value(s, "select"),
                                                        .top = integer_value(s, "top"),
                                                        .window = integer_value(s, "window"),
                                                        .sinks = integer_value(s, "sinks"),
                                                        .budget = integer_value(s, "budget")};
                 return sparsity_view(std::move(trace), s.focus(), options, cancel, progress);
             },
         .missing = analyze::sparsity_missing}};
}

}  // namespace headlight::figure
