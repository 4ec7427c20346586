// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/plot/plot_data.h"
#include "headlight/figure/architecture/architecture_views.h"

#include <algorithm>

namespace headlight::figure {
namespace {

QString short_number(double x) { return QString::number(x, 'g', 4).replace(u'-', u'−'); }

}  // namespace

std::unique_ptr<Figure> tensor_histogram(const model::TensorStats& s) {
    plot::PlotData out;
    out.view = "tensor-histogram";
    out.title = QString::fromStdString(s.name);
    QStringList sizes;
    for (const std::int64_t size : s.shape) sizes << QString::number(size);
    out.subtitle = QStringLiteral("%1 [%2]").arg(QString::fromStdString(s.dtype), sizes.join(QStringLiteral(", ")));
    if (!s.counts.empty())
        out.subtitle += QStringLiteral(" · %1 to %2 · mean %3 · std %4")
                            .arg(short_number(s.min), short_number(s.max), short_number(s.mean), short_number(s.deviation));
    if (s.nan > 0) out.subtitle += QStringLiteral(" · %1 NaN").arg(draw::count_text(s.nan));
    if (s.infinite > 0) out.subtitle += QStringLiteral(" · %1 infinite").arg(draw::count_text(s.infinite));
    out.description = QStringLiteral(
        "How many of the tensor's numbers lie in each of the bins of equal width, on a logarithmic scale; an empty bin "
        "has no bar.");
    out.columns = {"low", "high", "count"};
    out.aspect = 0.42;
    plot::Panel& panel = out.panels.emplace_back();
    panel.x.label = QStringLiteral("value");
    panel.x.tight = true;
    panel.y.label = QStringLiteral("numbers");
    panel.y.log = true;
    panel.y.low = 0.5;  // a bin with one number still stands out
    if (s.counts.empty()) {
        panel.empty = s.elements == 0 ? QStringLiteral("no numbers") : QStringLiteral("no finite numbers");
    } else {
        plot::Series& bins = panel.series.emplace_back();
        bins.kind = plot::Series::Kind::steps;
        bins.color = {plot::Color::Role::accent};
        bins.x = s.edges;
        for (const std::int64_t count : s.counts) bins.y.push_back(std::max(0.5, static_cast<double>(count)));
        panel.y.high = 2.0 * static_cast<double>(*std::ranges::max_element(s.counts));
        bins.tip = [s](std::size_t i) {
            return QStringLiteral("%1 to %2: %3")
                .arg(short_number(s.edges[i]), short_number(s.edges[i + 1]), draw::count_text(s.counts[i]));
        };
        bins.row = [s](std::size_t i) { return std::vector<Table::Cell>{s.edges[i], s.edges[i + 1], s.counts[i]}; };
    }
    return plot::plot_figure(std::move(out));
}

}  // namespace headlight::figure
