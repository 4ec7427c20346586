// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/sweep/cumulative_figure.h"

#include "figure/core/command_words.h"
#include "figure/plot/plot_data.h"
#include "headlight/figure/core/number_text.h"
#include "headlight/figure/sweep/sweep_figure.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

namespace iv = headlight::intervention;
using plot::Color;
using plot::Series;

QString unit_text(const iv::SweepCell& cell) {
    return cell.layer < 0 ? QStringLiteral("none") : QStringLiteral("L%1H%2").arg(cell.layer).arg(cell.head);
}

QString metric_words_of(const iv::CumulativeResult& of) {
    iv::SweepResult named;
    named.options = of.options;
    named.answer_words = of.answer_words;
    named.wrong_words = of.wrong_words;
    return sweep_metric_words(named);
}

double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double x : values) sum += x;
    return values.empty() ? kNaN : sum / static_cast<double>(values.size());
}

/// A line over the steps; `number` gives the metric at each.
template <class Number>
Series line_of(const iv::CumulativeResult& of, const QString& name, Color color, bool main, Number number) {
    Series line;
    line.kind = Series::Kind::line;
    line.name = name;
    line.color = color;
    line.marked = main;
    line.width = main ? 1.75 : 0.75;
    line.strength = main ? 1 : 0.6;
    for (std::size_t i = 0; i < of.steps.size(); ++i) {
        line.x.push_back(static_cast<double>(i));
        line.y.push_back(number(of.steps[i]));
    }
    std::vector<QString> tips;
    for (std::size_t i = 0; i < of.steps.size(); ++i)
        tips.push_back(QStringLiteral("%1 %2 (%3)  %4")
                           .arg(i)
                           .arg(i == 1 ? QStringLiteral("head") : QStringLiteral("heads"),
                                i == 0 ? QStringLiteral("unedited") : QStringLiteral("+ ") + unit_text(of.steps[i].added),
                                value_text(line.y[i])));
    line.tip = [tips](std::size_t i) { return tips[i]; };
    return line;
}

}  // namespace

std::unique_ptr<Figure> cumulative_figure(std::shared_ptr<const iv::CumulativeResult> of) {
    const QString metric = metric_words_of(*of);
    const bool patched = !of->corrupt.empty();
    const bool intervals =
        std::ranges::any_of(of->steps, [](const iv::CumulativeStep& s) { return std::isfinite(s.effect.low); });
    plot::PlotData out;
    out.view = "sweep";
    out.title = QStringLiteral("Heads edited at once");
    const auto pairs = static_cast<std::int64_t>(of->clean.size());
    out.subtitle = plot::joined_words({patched ? QString::fromUtf8(enum_row(of->options.direction).title.data())
                                               : QString::fromUtf8(enum_row(of->options.ablation).title.data()),
                                       QString::fromUtf8(enum_row(of->options.grid).title.data()).toLower(),
                                       pairs > 1 ? QStringLiteral("means over %1 pairs").arg(count_text(pairs)) : QString(),
                                       intervals ? QStringLiteral("thin lines: 95 % intervals") : QString()});
    out.note = QStringLiteral("control: as many heads drawn at random from %1, mean and middle 95 % of %2 draws, seed %3%4")
                   .arg(count_text(of->units))
                   .arg(of->asked.controls)
                   .arg(of->asked.seed)
                   .arg(of->asked.order.empty() ? QStringLiteral("; heads are in the order of their own effect on these texts")
                                                : QString());
    plot::Panel& panel = out.panels.emplace_back();
    panel.x.label = QStringLiteral("heads edited, one more at each step");
    panel.x.integer = true;
    panel.x.low = -0.3, panel.x.high = static_cast<double>(of->steps.size()) - 0.7;
    for (const iv::CumulativeStep& step : of->steps)
        panel.x.labels.push_back({{}, (step.added.layer < 0 ? QString() : QStringLiteral("+")) + unit_text(step.added), false});
    panel.y.label = metric;
    const Color own{Color::Role::accent}, control{Color::Role::muted};
    using Step = iv::CumulativeStep;
    const double base = of->base;
    panel.series.push_back(line_of(*of, {}, control, false, [=](const Step& s) { return base + s.control_low; }));
    panel.series.push_back(line_of(*of, {}, control, false, [=](const Step& s) { return base + s.control_high; }));
    panel.series.push_back(
        line_of(*of, QStringLiteral("random heads"), control, true, [=](const Step& s) { return base + s.control; }));
    panel.series.back().dashed = true;
    if (intervals) {
        panel.series.push_back(line_of(*of, {}, own, false, [=](const Step& s) { return base + s.effect.low; }));
        panel.series.push_back(line_of(*of, {}, own, false, [=](const Step& s) { return base + s.effect.high; }));
    }
    panel.series.push_back(
        line_of(*of, QStringLiteral("heads of the order"), own, true, [=](const Step& s) { return base + s.effect.mean; }));
    panel.references.push_back({.name = patched ? QStringLiteral("clean run") : QStringLiteral("unedited"),
                                .at = mean(of->clean),
                                .color = {Color::Role::clark_sea},
                                .dashed = true});
    if (patched)
        panel.references.push_back({.name = QStringLiteral("corrupt run"),
                                    .at = mean(of->corrupt),
                                    .color = {Color::Role::clark_orange},
                                    .dashed = true});
    out.table = [of] { return iv::table_of(*of); };
    out.arrays = [] { return std::vector<NamedArray>(); };
    out.description =
        QStringLiteral(
            "The %1 after the first head of an order is edited, after the first two are, and so on. The control edits as "
            "many heads drawn at random, in orders of their own; its band holds the middle 95 % of the draws. What the "
            "heads do together is not the sum of what each does alone.")
            .arg(metric);
    return plot::plot_figure(std::move(out));
}

Provenance cumulative_provenance(const model::Model& model, const iv::SweepRequest& asked, const iv::CumulativeRequest& heads,
                                 const std::string& dtype, const ExportOptions& output, const std::string& format) {
    return sweep_provenance(model, asked, dtype, output, format, changed_fields(heads));
}

}  // namespace headlight::figure
