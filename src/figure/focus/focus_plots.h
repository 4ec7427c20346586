// SPDX-License-Identifier: GPL-3.0-or-later
// Data of the Attention Focus Plots 2 to 10: from the numbers of analyze/focus.h to a plot.
#pragma once

#include "figure/plot/plot_data.h"
#include "headlight/figure/heads/head_plots.h"

namespace headlight::figure {

/// The tokens of the first text: what marks are called.
using TokenLabels = std::vector<draw::Label>;
TokenLabels token_labels(const trace::Trace&);

plot::PlotData focus_breakdown_plot(const analyze::FocusBreakdown&, const TokenLabels&);
plot::PlotData focus_trend_plot(const analyze::FocusTrend&, const TokenLabels&);
/// Figures 4 to 6; `figure` is the number.
plot::PlotData focus_shares_plot(const analyze::FocusShares&, int figure);
/// Figures 7 and 8.
plot::PlotData focus_histogram_plot(const analyze::FocusUpdates&, bool orientation, std::int64_t bins, bool log);
plot::PlotData focus_scatter_plot(const analyze::FocusUpdates&, const TokenLabels&, bool log);
plot::PlotData focus_tokens_plot(const analyze::FocusUpdates&, const TokenLabels&, bool log);

/// Figure 1 as a map.
std::unique_ptr<Figure> focus_map_figure(TracePtr, const FocusFigureOptions&, const CancelToken&);
/// Several figures under each other, or in two columns, under the text's tokens.
/// `texts`: how many figures 4 to 10 are of.
std::unique_ptr<Figure> focus_page(TokenLabels, std::vector<std::unique_ptr<Figure>>, std::int64_t texts = 1);

}  // namespace headlight::figure
