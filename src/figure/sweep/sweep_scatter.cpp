// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/sweep/sweep_scatter.h"

#include "figure/plot/plot_data.h"
#include "figure/sweep/sweep_panels.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace headlight::figure {
namespace {

/// "Farthest from the line: L1H6 −2.21 (direct −0.782), …"
QString farthest_words(const intervention::SweepResult& r) {
    constexpr std::size_t most = 5;
    const auto mediated = [&](std::size_t i) { return std::abs(r.results[i].effect - r.results[i].direct); };
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < r.results.size(); ++i)
        if (mediated(i) > 0) order.push_back(i);
    std::ranges::stable_sort(order, std::ranges::greater(), mediated);
    QStringList words;
    for (std::size_t n = 0; n < std::min(most, order.size()); ++n)
        words << QStringLiteral("%1 %2 (direct %3)")
                     .arg(sweep_cell_words(r, r.cells[order[n]])
                              .section(QStringLiteral("  "), 1)
                              .replace(QStringLiteral("  "), QStringLiteral(" ")),
                          sweep_number(r.results[order[n]].effect), sweep_number(r.results[order[n]].direct));
    return words.isEmpty() ? QString() : QStringLiteral("Farthest from the line: ") + words.join(QStringLiteral(", "));
}

}  // namespace

std::unique_ptr<Figure> sweep_scatter(SweepPtr result) {
    using plot::Color;
    using plot::Series;
    const intervention::SweepResult& r = *result;
    Series cells;
    cells.color = {Color::Role::accent};
    cells.option = "cell";
    double low_direct = 0, high_direct = 0, low_total = 0, high_total = 0;
    for (std::size_t i = 0; i < r.cells.size(); ++i) {
        const intervention::SweepCell& cell = r.cells[i];
        const intervention::SweepCellResult& of = r.results[i];
        cells.x.push_back(of.direct);
        cells.y.push_back(of.effect);
        if (cell.head >= 0) cells.heads.push_back({Layer(cell.layer), Head(cell.head)});
        if (std::isfinite(of.direct))
            low_direct = std::min(low_direct, of.direct), high_direct = std::max(high_direct, of.direct);
        if (std::isfinite(of.effect)) low_total = std::min(low_total, of.effect), high_total = std::max(high_total, of.effect);
    }
    cells.tip = [result](std::size_t i) {
        const intervention::SweepCellResult& of = result->results[i];
        return QStringLiteral("%1  direct %2  total %3  through other heads %4")
            .arg(sweep_cell_words(*result, result->cells[i]), sweep_number(of.direct), sweep_number(of.effect),
                 sweep_number(of.effect - of.direct));
    };
    Series diagonal;
    diagonal.kind = Series::Kind::line;
    diagonal.name = QStringLiteral("total = direct");
    diagonal.color = {Color::Role::faint};
    diagonal.dashed = true;
    // Where both have points: it widens neither axis.
    diagonal.x = diagonal.y = {std::max(low_direct, low_total), std::min(high_direct, high_total)};
    plot::PlotData out;
    out.view = "sweep";
    out.title = sweep_title(r);
    out.subtitle = sweep_words(r);
    out.description = QStringLiteral(
        "One point an edit: its direct effect to the right, where other heads keep their outputs, and its total effect upwards. On the "
        "dashed line other heads change nothing. Nearer to 0 than the line, they make up for the edit (self-repair); farther from 0, "
        "they carry more of it. After McGrath et al. 2023, The Hydra Effect, and Wang et al. 2022, Interpretability in the Wild.");
    out.note = r.complete ? farthest_words(r) : QStringLiteral("Not all cells are computed yet.");
    out.focus_fades = out.focus_in_files = false;
    out.table = [result] { return intervention::table_of(*result); };
    out.arrays = [result] { return intervention::table_of(*result).arrays; };
    plot::Panel panel;
    panel.x.label = QStringLiteral("direct effect");
    panel.y.label = QStringLiteral("total effect");
    panel.references.resize(2);
    panel.references[1].vertical = true;
    panel.series = {diagonal, std::move(cells)};
    out.panels.push_back(std::move(panel));
    return plot::plot_figure(std::move(out));
}

}  // namespace headlight::figure
