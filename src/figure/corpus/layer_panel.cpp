// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/corpus/layer_panel.h"

#include "headlight/figure/core/number_text.h"

namespace headlight::figure {

void add_interval(plot::Panel& panel, const std::string& name, plot::Color color, const std::vector<corpus::Interval>& values) {
    const auto line = [&](double corpus::Interval::*which, bool main) {
        plot::Series s;
        s.kind = plot::Series::Kind::line;
        s.color = color;
        s.marked = main;
        s.width = main ? 1.75 : 0.75;
        s.strength = main ? 1 : 0.6;
        if (main) s.name = QString::fromStdString(name);
        for (std::size_t l = 0; l < values.size(); ++l) s.x.push_back(static_cast<double>(l)), s.y.push_back(values[l].*which);
        s.tip = [values, label = QString::fromStdString(name)](std::size_t l) {
            return QStringLiteral("layer %1  %2 %3 (%4 to %5)")
                .arg(l)
                .arg(label, draw::number_text(values[l].mean, 3), draw::number_text(values[l].low, 3),
                     draw::number_text(values[l].high, 3));
        };
        panel.series.push_back(std::move(s));
    };
    line(&corpus::Interval::low, false);
    line(&corpus::Interval::high, false);
    line(&corpus::Interval::mean, true);
}

plot::Panel layer_panel(const char* title, std::size_t layers) {
    plot::Panel panel;
    panel.title = QString::fromUtf8(title);
    panel.x.label = QStringLiteral("layer");
    panel.x.integer = true;
    panel.x.low = -0.2, panel.x.high = static_cast<double>(layers) - 0.8;
    panel.y.label = QStringLiteral("share of examples");
    panel.y.from_zero = true;
    return panel;
}

}  // namespace headlight::figure
