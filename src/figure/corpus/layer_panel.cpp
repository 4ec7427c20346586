// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/corpus/layer_panel.h"

#include "headlight/corpus/statistics/least_texts.h"
#include "headlight/figure/core/number_text.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {

plot::PlotData corpus_plot(const char* view, const QString& title, const QString& what, const QString& words) {
    plot::PlotData out;
    out.view = view;
    out.title = title;
    out.subtitle = plot::joined_words({what, words});
    return out;
}

QString examples_words(std::int64_t training, std::int64_t test, std::int64_t classes) {
    return QStringLiteral("%1 training and %2 test examples of %3 classes")
        .arg(count_text(training), count_text(test), count_text(classes));
}

QString thin_lines(const std::vector<corpus::Interval>& values, const QString& over) {
    if (std::ranges::any_of(values, [](const corpus::Interval& of) { return std::isfinite(of.low); }))
        return QStringLiteral("thin lines: 95 % interval over %1").arg(over);
    return QStringLiteral("no intervals: fewer than %1 %2").arg(corpus::kLeastTexts).arg(over);
}

std::vector<plot::Reference> label_baselines(const std::string& unit, double of_unit, double of_all) {
    using Role = plot::Color::Role;
    return {{.name = QStringLiteral("most frequent label of the %1").arg(QString::fromStdString(unit)),
             .at = of_unit,
             .color = {Role::clark_sea},
             .dashed = true},
            {.name = QStringLiteral("most frequent label"), .at = of_all, .color = {Role::muted}, .dashed = true}};
}

void add_interval(plot::Panel& panel, const std::string& name, plot::Color color, const std::vector<corpus::Interval>& values,
                  const QString& place) {
    const auto line = [&](double corpus::Interval::*which, bool main) {
        plot::Series& s = panel.series.emplace_back();
        s.kind = plot::Series::Kind::line;
        s.color = color;
        s.marked = main;
        s.width = main ? 1.75 : 0.75;
        s.strength = main ? 1 : 0.6;
        if (main) s.name = QString::fromStdString(name);
        for (std::size_t l = 0; l < values.size(); ++l) s.x.push_back(static_cast<double>(l)), s.y.push_back(values[l].*which);
        s.tip = [values, place, label = QString::fromStdString(name)](std::size_t l) {
            return QStringLiteral("%1 %2  %3 %4").arg(place).arg(l).arg(label, with_interval(values[l]));
        };
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

QString with_interval(const corpus::Interval& of) {
    const QString mean = number_text(of.mean, 3);
    if (!std::isfinite(of.low)) return mean;
    return QStringLiteral("%1 (%2 to %3)").arg(mean, number_text(of.low, 3), number_text(of.high, 3));
}

plot::Panel head_panel(const std::vector<HeadDot>& heads, const QString& title, const QString& label, double even) {
    const std::int64_t layers = heads.empty() ? 1 : heads.back().head.layer.value + 1;
    plot::Panel panel = layer_panel("", static_cast<std::size_t>(layers));
    panel.title = title;
    panel.y.label = label;
    plot::Series dots, line;
    dots.color = line.color = {plot::Color::Role::accent};
    line.kind = plot::Series::Kind::line;
    line.width = 1.75;
    std::vector<double> sums(static_cast<std::size_t>(layers)), counts = sums;
    for (const HeadDot& of : heads) {
        dots.x.push_back(static_cast<double>(of.head.layer.value));
        dots.y.push_back(of.value.mean);
        dots.heads.push_back(of.head);
        if (!std::isfinite(of.value.mean)) continue;
        sums[static_cast<std::size_t>(of.head.layer.value)] += of.value.mean;
        ++counts[static_cast<std::size_t>(of.head.layer.value)];
    }
    for (std::size_t l = 0; l < sums.size(); ++l) {
        line.x.push_back(static_cast<double>(l));
        line.y.push_back(counts[l] > 0 ? sums[l] / counts[l] : kNaN);
    }
    dots.tip = [heads, even](std::size_t i) {
        return QStringLiteral("%1  %2%3")
            .arg(head_name(heads[i].head), with_interval(heads[i].value),
                 std::isfinite(even) ? QStringLiteral(" · even attention %1").arg(number_text(even, 3)) : QString());
    };
    line.tip = [means = line.y](std::size_t i) {
        return QStringLiteral("layer %1  mean %2").arg(i).arg(number_text(means[i], 3));
    };
    panel.series.push_back(std::move(line));
    panel.series.push_back(std::move(dots));
    if (std::isfinite(even))
        panel.references.push_back(
            {.name = QStringLiteral("even attention"), .at = even, .color = {plot::Color::Role::muted}, .dashed = true});
    return panel;
}

}  // namespace headlight::figure
