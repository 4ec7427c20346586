// SPDX-License-Identifier: GPL-3.0-or-later
// Probes of a store: accuracy by layer beside its controls, the code's compression, heads, and what is taken for what.
#include "figure/corpus/corpus_figures.h"
#include "figure/corpus/layer_panel.h"
#include "figure/table/grid_figure.h"
#include "figure/table/stacked_figure.h"
#include "figure/table/table_figure.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/figure/core/number_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
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
    plot::PlotData out = corpus_plot("corpus-probe", QStringLiteral("Probes of %1").arg(QString::fromStdString(probe.task)),
                                     examples_words(probe.n_train, std::ssize(probe.tested), std::ssize(probe.classes)), words);
    out.own_legends = true;
    plot::Panel accuracy = layer_panel("accuracy", probe.layers.size());
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
    accuracy.references = label_baselines(probe.unit, probe.most_frequent_label, probe.majority);
    out.panels.push_back(std::move(accuracy));
    if (std::isfinite(probe.layers.front().code.compression)) {
        plot::Panel code = layer_panel("compression", probe.layers.size());
        code.y.label = QStringLiteral("times shorter");
        add_interval(code, "", {Role::accent}, by_layer(probe, [](const corpus::LayerProbe& of) { return of.code.compression; }));
        out.panels.push_back(std::move(code));
    }
    return plot::plot_figure(std::move(out));
}

/// "words", "texts"
QString units_of(const corpus::ProbeResult& probe) { return QString::fromStdString(probe.unit) + u's'; }

QString class_name(const corpus::ProbeResult& probe, std::int32_t label) {
    return QString::fromStdString(probe.classes[static_cast<std::size_t>(label)]);
}

/// The heads with the largest shares of each class's direction.
std::unique_ptr<Figure> heads_of_directions(const corpus::ProbeResult& probe) {
    constexpr std::size_t most = 5;
    const corpus::DirectionHeads& heads = probe.heads;
    TableSection section;
    section.title = QStringLiteral("Heads that write the directions of layer %1").arg(heads.layer);
    section.note =
        QStringLiteral(
            "u = w − mean of w over classes, of length 1; o = z W_O is what a head adds to the stream. Share: o·u, mean over examples of the "
            "class minus mean over the others, divided by the same difference of the stream at layer %1.")
            .arg(heads.layer);
    section.hint = QStringLiteral("A click selects the first head.");
    section.columns = {
        table_column(ColumnKind::text, "class", "class"),
        table_column(ColumnKind::bar, "all_heads", "% of all heads",
                     "sum of the shares of all heads below the layer; the rest is the embedding's and the MLPs'", 1),
        {.kind = ColumnKind::text, .id = "heads", .title = QStringLiteral("largest shares in %"), .stretched = true}};
    for (Eigen::Index c = 0; c < heads.share.rows(); ++c) {
        if (!std::isfinite(heads.stream[c])) continue;
        std::vector<Eigen::Index> order(static_cast<std::size_t>(heads.share.cols()));
        std::iota(order.begin(), order.end(), Eigen::Index{0});
        std::ranges::stable_sort(order, std::greater(), [&](Eigen::Index h) { return heads.share(c, h); });
        order.resize(std::min(order.size(), most));
        const auto id = [&](Eigen::Index h) { return HeadId{Layer(h / heads.n_heads), Head(h % heads.n_heads)}; };
        TableCell list;
        for (const Eigen::Index h : order)
            list.tokens.emplace_back(draw::Label{.continuation = {}, .text = head_name(id(h))}, 100 * heads.share(c, h));
        TableRow& row = section.rows.emplace_back();
        row.head = id(order.front());
        row.cells = {TableCell::of(class_name(probe, static_cast<std::int32_t>(c))),
                     TableCell::of(100 * heads.share.row(c).sum()), std::move(list)};
    }
    section.empty = QStringLiteral("No class has both test examples and others to compare them with.");
    return table_figure(one_section("corpus-probe", std::move(section)));
}

/// Test examples of a label that a layer takes for another (or for itself), by word.
struct Confused {
    std::map<std::string, std::pair<std::int64_t, const corpus::ProbeExample*>> words;  ///< how often, and the first one
    std::int64_t count = 0;
};
using CountedWord = std::pair<std::string, std::pair<std::int64_t, const corpus::ProbeExample*>>;
using Confusions = std::map<std::pair<std::int32_t, std::int32_t>, Confused>;

Confusions confusions_of(const corpus::ProbeResult& probe, const corpus::LayerProbe& layer) {
    Confusions out;
    for (std::size_t i = 0; i < probe.tested.size(); ++i) {
        const corpus::ProbeExample& example = probe.tested[i];
        Confused& cell = out[{example.label, layer.predicted[i]}];
        auto& [count, first] = cell.words[example.type];
        if (count++ == 0) first = &example;
        ++cell.count;
    }
    return out;
}

/// The words of a cell, the most frequent ones first.
std::vector<CountedWord> sorted_words(const Confused& of) {
    std::vector<CountedWord> out(of.words.begin(), of.words.end());
    std::ranges::stable_sort(out, std::greater(), [](const auto& each) { return each.second.first; });
    return out;
}

std::vector<std::pair<std::string, std::string>> click_on(const corpus::ProbeExample& example) {
    std::vector<std::pair<std::string, std::string>> out{{"chunk", std::to_string(example.span.chunk)},
                                                         {"query", std::to_string(example.span.begin)},
                                                         {"query_last", std::to_string(example.span.end - 1)}};
    if (example.other.chunk == example.span.chunk) {
        out.emplace_back("key", std::to_string(example.other.begin));
        out.emplace_back("key_last", std::to_string(example.other.end - 1));
    }
    return out;
}

std::unique_ptr<Figure> confusion_matrix(const corpus::ProbeResult& probe, const corpus::LayerProbe& layer,
                                         const std::optional<std::pair<std::size_t, std::size_t>>& chosen) {
    GridData out;
    out.view = "corpus-probe";
    out.title = QStringLiteral("What is taken for what at layer %1").arg(layer.layer);
    out.note = QStringLiteral("The layer with the highest accuracy. A row is a label: shares of its test examples.");
    out.hint = QStringLiteral("A click on a cell lists its %1.").arg(units_of(probe));
    out.row_word = QStringLiteral("label");
    out.column_word = QStringLiteral("predicted");
    out.value_word = QStringLiteral("share of the label");
    out.chosen = chosen;
    const Eigen::MatrixXd counts = layer.confusion.cast<double>();
    const Eigen::VectorXd sums = counts.rowwise().sum();
    for (std::int32_t c = 0; c < std::ssize(probe.classes); ++c) out.rows.push_back(class_name(probe, c));
    out.columns = out.rows;
    for (Eigen::Index r = 0; r < counts.rows(); ++r)
        for (Eigen::Index c = 0; c < counts.cols(); ++c) {
            out.values.push_back(sums[r] > 0 ? counts(r, c) / sums[r] : kNaN);
            out.numbers.push_back(counts(r, c) > 0 ? count_text(layer.confusion(r, c)) : QString());
        }
    out.hit = [counts, sums, names = out.rows, classes = probe.classes](std::size_t row, std::size_t column) {
        Hit hit;
        const auto r = static_cast<Eigen::Index>(row), c = static_cast<Eigen::Index>(column);
        hit.kind = Hit::Kind::option;
        hit.options = {{"label", classes[row]}, {"predicted", classes[column]}};
        hit.tip = sums[r] > 0
                      ? QStringLiteral("%1 predicted as %2: %3 of %4 (%5 %)")
                            .arg(names[row], names[column], count_text(static_cast<std::int64_t>(counts(r, c))),
                                 count_text(static_cast<std::int64_t>(sums[r])), number_text(100 * counts(r, c) / sums[r], 1))
                      : QStringLiteral("%1: no test examples").arg(names[row]);
        return hit;
    };
    return grid_figure(std::move(out));
}

/// The words of one cell of the matrix.
TableSection words_of_cell(const corpus::ProbeResult& probe, const Confusions& confusions,
                           std::pair<std::size_t, std::size_t> cell) {
    constexpr std::size_t most = 60;
    const auto label = static_cast<std::int32_t>(cell.first), predicted = static_cast<std::int32_t>(cell.second);
    TableSection section;
    section.title = label == predicted
                        ? QStringLiteral("%1, recognised").arg(class_name(probe, label))
                        : QStringLiteral("%1 predicted as %2").arg(class_name(probe, label), class_name(probe, predicted));
    section.columns = {{.kind = ColumnKind::bar, .id = "n", .title = QStringLiteral("examples"), .decimals = 0},
                       {.kind = ColumnKind::text, .id = "word", .title = QString::fromStdString(probe.unit), .stretched = true}};
    section.hint = QStringLiteral("A click opens the first text.");
    section.empty = QStringLiteral("There are none.");
    const auto found = confusions.find({label, predicted});
    if (found == confusions.end()) return section;
    const auto words = sorted_words(found->second);
    section.note = words.size() > most ? QStringLiteral("%1 examples, %2 %3; the %4 most frequent are shown.")
                                             .arg(count_text(found->second.count), count_text(std::ssize(words)), units_of(probe))
                                             .arg(most)
                                       : QString();
    for (std::size_t i = 0; i < std::min(words.size(), most); ++i) {
        TableRow& row = section.rows.emplace_back();
        row.cells = {TableCell::of(static_cast<double>(words[i].second.first)),
                     TableCell::of(QString::fromStdString(words[i].first).simplified())};
        row.click = click_on(*words[i].second.second);
    }
    return section;
}

/// The most frequent errors at a layer, with their words. A click opens the first one's text.
TableSection frequent_errors(const corpus::ProbeResult& probe, const Confusions& confusions) {
    std::vector<std::int64_t> wanted(probe.classes.size());
    std::vector<std::pair<std::pair<std::int32_t, std::int32_t>, const Confused*>> sorted;
    for (const auto& [pair, cell] : confusions) {
        wanted[static_cast<std::size_t>(pair.first)] += cell.count;
        if (pair.first != pair.second) sorted.emplace_back(pair, &cell);
    }
    std::ranges::stable_sort(sorted, std::ranges::greater(), [](const auto& each) { return each.second->count; });
    sorted.resize(std::min(sorted.size(), kConfusions));
    TableSection section;
    section.title = QStringLiteral("Most frequent errors");
    section.note = QStringLiteral("At the layer with the highest accuracy.");
    section.hint = QStringLiteral("A click opens the first text.");
    section.columns = {{.kind = ColumnKind::text, .id = "label", .title = QStringLiteral("label")},
                       {.kind = ColumnKind::text, .id = "predicted", .title = QStringLiteral("predicted")},
                       table_column(ColumnKind::bar, "share", "% of the label", "share of the test examples with this label", 1),
                       {.kind = ColumnKind::number, .id = "n", .title = QStringLiteral("errors"), .decimals = 0},
                       {.kind = ColumnKind::text, .id = "words", .title = units_of(probe), .stretched = true}};
    section.columns[2].limit = 100;
    for (const auto& [pair, cell] : sorted) {
        const auto types = sorted_words(*cell);
        QStringList words;
        for (std::size_t i = 0; i < std::min(types.size(), kWordsOfConfusion); ++i) {
            const QString type = QString::fromStdString(types[i].first).left(40);
            const std::int64_t count = types[i].second.first;
            words << (count > 1 ? QStringLiteral("%1 ×%2").arg(type).arg(count) : type);
        }
        TableRow& row = section.rows.emplace_back();
        row.cells = {TableCell::of(class_name(probe, pair.first)), TableCell::of(class_name(probe, pair.second)),
                     TableCell::of(100 * static_cast<double>(cell->count) /
                                   static_cast<double>(wanted[static_cast<std::size_t>(pair.first)])),
                     TableCell::of(static_cast<double>(cell->count)), TableCell::of(words.join(QStringLiteral(", ")))};
        row.click = click_on(*types.front().second.second);
    }
    section.empty = QStringLiteral("There are none.");
    return section;
}

/// The class of a name; error names the nearest.
std::size_t class_index(const corpus::ProbeResult& probe, const std::string& name) {
    const auto found = std::ranges::find(probe.classes, name);
    if (found == probe.classes.end()) {
        const std::string near = nearest(name, probe.classes);
        throw Error({.problem = "The probe has no such class",
                     .item = "labels " + probe.task,
                     .found = name,
                     .hint = near.empty() ? "" : "Did you mean " + near + "?"});
    }
    return static_cast<std::size_t>(found - probe.classes.begin());
}

}  // namespace

std::unique_ptr<Figure> probe_figure(const corpus::ProbeResult& probe, const std::string& label, const std::string& predicted,
                                     const QString& words) {
    StackedParts out;
    out.view = "corpus-probe";
    out.title = QStringLiteral("Probes of %1").arg(QString::fromStdString(probe.task));
    out.description =
        QStringLiteral(
            "What a linear probe predicts from the residual stream of each layer; layer 0 is what enters the first block. Beside it the "
            "controls: the most frequent label of every %2, a control task that gives every %2 one label at random (Hewitt & Liang "
            "2019), labels at random, and how far an online code compresses the labels (Voita & Titov 2020). %1.")
            .arg(words, QString::fromStdString(probe.unit));
    const corpus::LayerProbe& layer = probe.best();
    const Confusions confusions = confusions_of(probe, layer);
    std::optional<std::pair<std::size_t, std::size_t>> chosen;
    if (!label.empty()) chosen = {class_index(probe, label), class_index(probe, predicted.empty() ? label : predicted)};
    out.parts.push_back(accuracies(probe, words));
    if (!probe.heads.empty()) out.parts.push_back(heads_of_directions(probe));
    out.parts.push_back(confusion_matrix(probe, layer, chosen));
    if (chosen) {
        out.opened = out.parts.size();
        out.parts.push_back(table_figure(one_section("corpus-probe", words_of_cell(probe, confusions, *chosen))));
    }
    out.parts.push_back(table_figure(one_section("corpus-probe", frequent_errors(probe, confusions))));
    out.table = [probe] { return corpus::table_of(probe); };
    out.arrays = [probe] {
        std::vector<NamedArray> arrays = corpus::arrays_of(probe);
        std::ranges::move(corpus::arrays_of(probe.heads), std::back_inserter(arrays));
        return arrays;
    };
    return stacked_figure(std::move(out));
}

}  // namespace headlight::figure
