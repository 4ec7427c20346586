// SPDX-License-Identifier: GPL-3.0-or-later
// Plots of something by layer, with intervals.
#pragma once

#include "figure/plot/plot_data.h"
#include "headlight/base/ids.h"
#include "headlight/corpus/statistics/bootstrap.h"

#include <string>
#include <vector>

namespace headlight::figure {

/// A plot of a corpus. `what` its marks are, and `words`: the source of its numbers.
plot::PlotData corpus_plot(const char* view, const QString& title, const QString& what, const QString& words);
/// "900 training and 100 test examples of 17 classes"
QString examples_words(std::int64_t training, std::int64_t test, std::int64_t classes);
/// How often the most frequent label of each unit ("word", "text") is right, and the most frequent label of all.
std::vector<plot::Reference> label_baselines(const std::string& unit, double of_unit, double of_all);
/// "thin lines: 95 % interval over texts", or that there is none.
QString thin_lines(const std::vector<corpus::Interval>&, const QString& over);

/// An empty panel with the layers to the right and a share upwards.
plot::Panel layer_panel(const char* title, std::size_t layers);
/// A line with its interval as two thin ones, which are absent where low and high are NaN. [layer], or what else `place` names in
/// the tips.
void add_interval(plot::Panel&, const std::string& name, plot::Color, const std::vector<corpus::Interval>&,
                  const QString& place = QStringLiteral("layer"));

/// A number of a head with its interval.
struct HeadDot {
    HeadId head;
    corpus::Interval value;
};
/// A dot for each head by layer and a line through the layers' means; `even`: a dashed line for uniform attention, unless NaN.
plot::Panel head_panel(const std::vector<HeadDot>&, const QString& title, const QString& label, double even);

/// "0.12 (0.11 to 0.13)"
QString with_interval(const corpus::Interval&);

}  // namespace headlight::figure
