// SPDX-License-Identifier: GPL-3.0-or-later
// Probes of a store: accuracy by layer beside its controls, the code's compression, and what is taken for what.
#include "figure/corpus/corpus_figures.h"
#include "figure/corpus/layer_panel.h"
#include "figure/table/stacked_figure.h"
#include "figure/table/table_figure.h"
#include "headlight/figure/core/number_text.h"

#include <algorithm>
#include <map>
#include <utility>

namespace headlight::figure {
namespace {

constexpr std::size_t kConfusions = 20, kWordsOfConfusion = 8;

std::vector<corpus::Interval> by_layer(const corpus::ProbeResult& probe, const auto& value) {
    std::vector<corpus::Interval> out;
    for (const corpus::LayerProbe& layer : probe.layers) out.push_back({.mean = value(layer)});
    return out;
}

std::unique_ptr<Figure> accuracies(const corpus::ProbeResult& probe, const QString& words) {
    using Role = plot::Color::Role;
    plot::PlotData out;
    out.view = "corpus-probe";
    out.title = QStringLiteral("Probes of %1").arg(QString::fromStdString(probe.task));
    out.subtitle = plot::joined_words(
        {QStringLiteral("%1 training and %2 test examples of %3 classes")
             .arg(count_text(probe.n_train), count_text(std::ssize(probe.tested)), count_text(std::ssize(probe.classes))),
         words});
    out.own_legends = true;
    plot::Panel accuracy = layer_panel("accuracy", probe.layers.size());
    accuracy.y.label = QStringLiteral("share of examples");
    accuracy.y.high = 1;
    std::vector<corpus::Interval> values;
    for (const corpus::LayerProbe& layer : probe.layers) values.push_back(layer.accuracy);
    add_interval(accuracy, "probe", {Role::accent}, values);
    if (std::isfinite(probe.layers.front().control)) {
        add_interval(accuracy, "control task", {Role::clark_orange},
                     by_layer(probe, [](const corpus::LayerProbe& of) { return of.control; }));
        add_interval(accuracy, "random labels", {Role::clark_grey},
                     by_layer(probe, [](const corpus::LayerProbe& of) { return of.random_label; }));
    }
    accuracy.references = {
        {.name = QStringLiteral("most frequent label of the word"),
         .at = probe.most_frequent_label,
         .color = {Role::clark_sea},
         .dashed = true},
        {.name = QStringLiteral("most frequent label"), .at = probe.majority, .color = {Role::muted}, .dashed = true}};
    out.panels.push_back(std::move(accuracy));
    if (std::isfinite(probe.layers.front().code.compression)) {
        plot::Panel code = layer_panel("compression", probe.layers.size());
        code.y.label = QStringLiteral("uniform code / online code");
        add_interval(code, "", {Role::accent}, by_layer(probe, [](const corpus::LayerProbe& of) { return of.code.compression; }));
        out.panels.push_back(std::move(code));
    }
    return plot::plot_figure(std::move(out));
}

/// The most frequent errors at a layer, with their words. A click opens the first one's text.
std::unique_ptr<Figure> confusions(const corpus::ProbeResult& probe, const corpus::LayerProbe& layer) {
    struct Error {
        std::map<std::string, std::int64_t> words;
        const corpus::ProbeExample* first = nullptr;
        std::int64_t count = 0;
    };
    std::map<std::pair<std::int32_t, std::int32_t>, Error> found;
    std::vector<std::int64_t> wanted(probe.classes.size());
    for (std::size_t i = 0; i < probe.tested.size(); ++i) {
        const corpus::ProbeExample& example = probe.tested[i];
        ++wanted[static_cast<std::size_t>(example.label)];
        if (layer.predicted[i] == example.label) continue;
        Error& error = found[{example.label, layer.predicted[i]}];
        ++error.words[example.type];
        ++error.count;
        if (!error.first) error.first = &example;
    }
    std::vector<std::pair<std::pair<std::int32_t, std::int32_t>, const Error*>> sorted;
    for (const auto& [pair, error] : found) sorted.emplace_back(pair, &error);
    std::ranges::stable_sort(sorted, std::ranges::greater(), [](const auto& each) { return each.second->count; });
    sorted.resize(std::min(sorted.size(), kConfusions));

    TableData out;
    out.view = "corpus-probe";
    out.title = QStringLiteral("What is taken for what at layer %1").arg(layer.layer);
    TableSection section;
    section.title = QStringLiteral("Most frequent errors");
    section.note = QStringLiteral("At the layer with the highest accuracy.");
    section.hint = QStringLiteral("A click opens the first text.");
    section.columns = {{.kind = ColumnKind::text, .id = "label", .title = QStringLiteral("label")},
                       {.kind = ColumnKind::text, .id = "predicted", .title = QStringLiteral("predicted")},
                       {.kind = ColumnKind::bar,
                        .id = "share",
                        .title = QStringLiteral("% of the label"),
                        .tip = QStringLiteral("share of the test examples with this label"),
                        .decimals = 1,
                        .limit = 100},
                       {.kind = ColumnKind::number, .id = "n", .title = QStringLiteral("errors"), .decimals = 0},
                       {.kind = ColumnKind::text, .id = "words", .title = QStringLiteral("words"), .stretched = true}};
    const auto name = [&](std::int32_t label) { return QString::fromStdString(probe.classes[static_cast<std::size_t>(label)]); };
    for (const auto& [pair, error] : sorted) {
        std::vector<std::pair<std::int64_t, std::string>> types;
        for (const auto& [type, count] : error->words) types.emplace_back(-count, type);
        std::ranges::sort(types);
        QStringList words;
        for (std::size_t i = 0; i < std::min(types.size(), kWordsOfConfusion); ++i) {
            const QString type = QString::fromStdString(types[i].second).left(40);
            words << (types[i].first < -1 ? QStringLiteral("%1 ×%2").arg(type).arg(-types[i].first) : type);
        }
        TableRow row;
        row.cells = {TableCell::of(name(pair.first)), TableCell::of(name(pair.second)),
                     TableCell::of(100 * static_cast<double>(error->count) /
                                   static_cast<double>(wanted[static_cast<std::size_t>(pair.first)])),
                     TableCell::of(static_cast<double>(error->count)), TableCell::of(words.join(QStringLiteral(", ")))};
        row.click = {{"chunk", std::to_string(error->first->span.chunk)}, {"query", std::to_string(error->first->span.begin)}};
        section.rows.push_back(std::move(row));
    }
    section.empty = QStringLiteral("There are none.");
    out.sections.push_back(std::move(section));
    return table_figure(std::move(out));
}

}  // namespace

std::unique_ptr<Figure> probe_figure(const corpus::ProbeResult& probe, const QString& words) {
    StackedParts out;
    out.view = "corpus-probe";
    out.title = QStringLiteral("Probes of %1").arg(QString::fromStdString(probe.task));
    out.description =
        QStringLiteral(
            "What a linear probe predicts from the residual stream of each layer; layer 0 is what enters the first block. Beside it the "
            "controls: the most frequent label of every word, a control task that gives every word one label at random (Hewitt & Liang "
            "2019), labels at random, and how far an online code compresses the labels (Voita & Titov 2020). %1.")
            .arg(words);
    out.parts.push_back(accuracies(probe, words));
    out.parts.push_back(confusions(probe, probe.best()));
    out.table = [probe] { return corpus::table_of(probe); };
    out.arrays = [probe] { return corpus::arrays_of(probe); };
    return stacked_figure(std::move(out));
}

}  // namespace headlight::figure
