// SPDX-License-Identifier: GPL-3.0-or-later
// The factories of the Attention Focus Plots.
#include "figure/focus/focus_plots.h"
#include "headlight/base/error.h"

#include <optional>

namespace headlight::figure {
namespace {

/// The page's figures 7 to 10 are of the same numbers.
using SharedUpdates = std::optional<analyze::FocusUpdates>;

std::unique_ptr<Figure> one_figure(const std::vector<TracePtr>& traces, const TokenLabels& labels, const FocusFigureOptions& o,
                                   SharedUpdates& known, bool on_first, const CancelToken& cancel, const Progress& progress) {
    using analyze::FocusShare;
    const analyze::Traces first(traces.data(), 1), all(traces);
    const auto updates = [&]() -> const analyze::FocusUpdates& {
        if (!known)
            known = analyze::focus_updates(all, o.head.layer, {.literal = o.literal, .on_first = on_first}, cancel, progress);
        return *known;
    };
    const auto shares = [&](FocusShare share) { return analyze::focus_shares(all, share, o.include_first_row); };
    switch (o.figure) {
        case 1: return focus_map_figure(traces.front(), o, cancel);
        case 2: {
            const auto found = analyze::focus_breakdown(first, o.head, o.sort_idx, o.terms, cancel, progress);
            plot::PlotData plot = focus_breakdown_plot(found, labels);
            plot.table = [found, trace = traces.front()] { return analyze::table_of(found, trace->labels()); };
            return plot::plot_figure(std::move(plot));
        }
        case 3: return plot::plot_figure(focus_trend_plot(analyze::focus_trend(*traces.front(), o.head), labels));
        case 4: return plot::plot_figure(focus_shares_plot(shares(FocusShare::argmax_self), 4));
        case 5: return plot::plot_figure(focus_shares_plot(shares(FocusShare::argmax_first), 5));
        case 6: return plot::plot_figure(focus_shares_plot(shares(FocusShare::top1_minus_top2), 6));
        case 7:
        case 8: return plot::plot_figure(focus_histogram_plot(updates(), o.figure == 8, o.bins, o.log_magnitude));
        case 9: return plot::plot_figure(focus_scatter_plot(updates(), labels, o.log_magnitude));
        default: return plot::plot_figure(focus_tokens_plot(updates(), labels, o.log_magnitude));
    }
}

}  // namespace

std::unique_ptr<Figure> focus_figure(std::vector<TracePtr> traces, const FocusFigureOptions& options, const CancelToken& cancel,
                                     const Progress& progress) {
    if (traces.empty()) throw Error("A focus plot needs a text");
    if (options.figure < 0 || options.figure > 10)
        throw Error({.problem = "There is no such focus plot",
                     .item = "figure " + std::to_string(options.figure),
                     .expected = "1 to 10, or 0 for all of them"});
    const TokenLabels labels = token_labels(*traces.front());
    SharedUpdates updates;
    if (options.figure > 0) return one_figure(traces, labels, options, updates, options.figure == 10, cancel, progress);
    std::vector<std::unique_ptr<Figure>> figures;
    for (FocusFigureOptions each = options; each.figure < 10;) {
        ++each.figure;
        cancel.throw_if_cancelled();
        figures.push_back(one_figure(traces, labels, each, updates, true, cancel, progress));
    }
    return focus_page(labels, std::move(figures), static_cast<std::int64_t>(traces.size()));
}

}  // namespace headlight::figure
