// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of heads over a corpus: means with their intervals, distances, the map of heads, and examples.
#include "figure/core/axis_words.h"
#include "figure/corpus/corpus_figures.h"
#include "figure/corpus/layer_panel.h"
#include "figure/table/table_figure.h"
#include "headlight/base/error.h"
#include "headlight/corpus/distances/head_map.h"
#include "headlight/corpus/heads/heads.h"
#include "headlight/corpus/store/place.h"
#include "headlight/figure/heads/head_plots.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

using plot::Color;
using plot::Series;

QString bin_words(std::int64_t bin) {
    const std::int64_t first = corpus::first_distance(bin);
    if (bin + 1 >= corpus::kDistanceBins) return QStringLiteral("%1+").arg(draw::count_text(first));
    const std::int64_t last = corpus::first_distance(bin + 1) - 1;
    return last == first ? QString::number(first) : QStringLiteral("%1–%2").arg(first).arg(last);
}

constexpr std::int64_t kContextBytes = 36;  // on either side of a place, so that a row stays one line

QString one_line(const std::string& bytes) { return QString::fromStdString(bytes).simplified(); }

}  // namespace

std::unique_ptr<Figure> interval_figure(const corpus::HeadMeans& means, const std::string& measure, const QString& words) {
    const auto found = std::ranges::find(means.measures, measure);
    if (found == means.measures.end()) {
        std::string names;
        for (const std::string& id : means.measures) names += (names.empty() ? "" : ", ") + id;
        throw Error({.problem = "The store has no measure of this name", .expected = names, .found = measure});
    }
    const auto m = static_cast<std::size_t>(found - means.measures.begin());
    const auto& all = analyze::head_measures();
    const auto info = std::ranges::find(all, measure, &analyze::MeasureInfo::id);
    const QString title = capitalized(QString::fromStdString(info == all.end() ? measure : info->title));
    std::vector<HeadId> heads;
    for (std::int64_t l = 0; l < means.layers; ++l)
        for (std::int64_t h = 0; h < means.heads; ++h) heads.push_back({Layer(l), Head(h)});
    const auto at = [&](HeadId id) { return means.index(m, id.layer.value, id.head.value); };
    std::erase_if(heads, [&](HeadId id) { return !std::isfinite(means.by_text[at(id)].mean); });
    std::ranges::stable_sort(heads, std::greater(), [&](HeadId id) { return means.by_text[at(id)].mean; });
    TableData out;
    out.view = "corpus-intervals";
    out.title = title;
    out.description =
        QStringLiteral(
            "%1 of every head over a corpus, largest first, with the 95 % interval of a bootstrap over texts. Each text has "
            "weight one; “by query” gives every query the same weight, as where texts are joined. %2.")
            .arg(title, words);
    TableSection& section = out.sections.emplace_back();
    section.title = title;
    section.note = words + QStringLiteral(". Over a bar: its interval.");
    section.columns = {table_column(ColumnKind::text, "head", "head"),
                       {.kind = ColumnKind::bar, .id = "mean", .title = QStringLiteral("mean"), .sorted = true},
                       table_column(ColumnKind::number, "low", "low"),
                       table_column(ColumnKind::number, "high", "high"),
                       table_column(ColumnKind::number, "by_query", "by query", "every query has the same weight"),
                       table_column(ColumnKind::number, "texts", "texts", "that have the measure", 0)};
    for (const HeadId id : heads) {
        const corpus::Interval& of = means.by_text[at(id)];
        TableRow& row = section.rows.emplace_back();
        row.head = id;
        row.cells = {TableCell::of(head_name(id)),
                     {.value = of.mean, .low = of.low, .high = of.high},
                     TableCell::of(of.low),
                     TableCell::of(of.high),
                     TableCell::of(means.by_query[at(id)]),
                     TableCell::of(static_cast<double>(means.with[at(id)]))};
    }
    section.empty = QStringLiteral("No text of the corpus has this measure.");
    out.table = [means] { return corpus::table_of(means); };
    return table_figure(std::move(out));
}

std::unique_ptr<Figure> distance_figure(const Eigen::MatrixXd& weights, std::int64_t layers, HeadId chosen,
                                        const QString& words) {
    const std::int64_t heads = weights.rows() / layers, bins = weights.cols();
    plot::PlotData out = corpus_plot("corpus-distance", QStringLiteral("Attention by distance"),
                                     QStringLiteral("shares of all attention, lines are layer means"), words);
    out.focus_fades = out.focus_in_files = false;
    out.columns = {"layer", "head", "distance", "share"};
    plot::Panel& panel = out.panels.emplace_back();
    panel.x.label = QStringLiteral("distance in tokens");
    panel.x.integer = true;
    panel.y.label = QStringLiteral("share of attention");
    panel.y.from_zero = true;
    std::int64_t last = 0;
    for (std::int64_t b = 0; b < bins; ++b)
        if (weights.col(b).sum() > 0) last = b;
    for (std::int64_t b = 0; b <= last; ++b) panel.x.labels.push_back({{}, bin_words(b), false});
    const Eigen::VectorXd totals = weights.rowwise().sum();
    const auto line_of = [&](const QString& name, const Eigen::RowVectorXd& share, std::optional<HeadId> head, Color color,
                             std::int64_t layer) {
        Series& line = panel.series.emplace_back();
        line.kind = Series::Kind::line;
        line.name = name;
        line.color = color;
        line.head = head;
        line.marked = head.has_value();
        line.width = head ? 2 : 1.25;
        for (std::int64_t b = 0; b <= last; ++b) line.x.push_back(static_cast<double>(b)), line.y.push_back(share[b]);
        const auto y = line.y;
        const std::int64_t index = head ? head->head.value : -1;
        line.tip = [=](std::size_t i) {
            return QStringLiteral("%1  distance %2: %3")
                .arg(name, bin_words(static_cast<std::int64_t>(i)), draw::number_text(y[i], 3));
        };
        line.row = [=](std::size_t i) {
            return std::vector<Table::Cell>{layer, analyze::index_cell(index),
                                            bin_words(static_cast<std::int64_t>(i)).toStdString(), y[i]};
        };
    };
    for (std::int64_t l = 0; l < layers; ++l) {
        Eigen::RowVectorXd mean = Eigen::RowVectorXd::Zero(bins);
        std::int64_t n = 0;
        for (std::int64_t h = 0; h < heads; ++h)
            if (totals[l * heads + h] > 0) mean += weights.row(l * heads + h) / totals[l * heads + h], ++n;
        if (n > 0) mean /= static_cast<double>(n);
        const double strength = layers > 1 ? 0.25 + 0.75 * static_cast<double>(l) / static_cast<double>(layers - 1) : 1;
        line_of(QStringLiteral("layer %1").arg(l), mean, std::nullopt, {Color::Role::ramp, strength}, l);
    }
    const std::int64_t row = chosen.layer.value * heads + chosen.head.value;
    if (row >= 0 && row < weights.rows() && chosen.head.value < heads && totals[row] > 0)
        line_of(head_name(chosen), weights.row(row) / totals[row], chosen, {Color::Role::accent}, chosen.layer.value);
    out.scale = plot::ColorScale{QStringLiteral("layer"), QStringLiteral("0"), QString::number(layers - 1)};
    for (Series& series : panel.series)
        if (!series.head) series.name.clear();  // the scale names them
    out.description = QStringLiteral(
        "How far heads attend: the share of all their attention that goes to keys at a distance, in bins that double. Lines are the means "
        "of layers; the marked line is the chosen head.");
    return plot::plot_figure(std::move(out));
}

std::unique_ptr<Figure> map_figure(const Eigen::MatrixXd& divergences, const analyze::HeadTable& known, const QString& words) {
    const corpus::Scaling scaling = corpus::metric_scaling(divergences);
    auto table = std::make_shared<analyze::HeadTable>(known);
    const std::pair<const char*, const char*> axes[] = {{"map_x", "first axis"}, {"map_y", "second axis"}};
    for (Eigen::Index axis = 0; axis < 2; ++axis) {
        table->measures.push_back(
            {.id = axes[axis].first, .title = axes[axis].second, .definition = {}, .unit = "nats", .low = kNaN, .high = kNaN});
        Eigen::MatrixXd& values = table->values.emplace_back(table->n_layers, table->n_heads);
        for (std::int64_t l = 0; l < table->n_layers; ++l)
            for (std::int64_t h = 0; h < table->n_heads; ++h) values(l, h) = scaling.coordinates(l * table->n_heads + h, axis);
    }
    return head_scatter(table, {.x = "map_x",
                                .y = "map_y",
                                .color = known.measures.empty() ? "layer" : "behaviour",
                                .title = "Heads by their divergences",
                                .words = words.toStdString() + ", relative stress " +
                                         draw::number_text(scaling.relative_stress, 3).toStdString()});
}

std::unique_ptr<Figure> examples_figure(const std::vector<ExampleList>& lists, corpus::TextStore& texts, const char* view,
                                        const QString& title, const QString& description) {
    TableData out;
    out.view = view;
    out.title = title;
    out.description = description;
    Table data;
    data.columns = {"list", "value", "text", "query", "key", "query_token", "key_token", "before", "after"};
    for (const ExampleList& list : lists) {
        TableSection& section = out.sections.emplace_back();
        section.title = list.title;
        section.note = list.note;
        const bool pairs = std::ranges::any_of(list.examples, [](const corpus::Example& e) { return e.key >= 0; });
        section.columns = {{.kind = ColumnKind::bar, .id = "value", .title = QStringLiteral("value"), .sorted = list.sorted}};
        if (pairs)
            section.columns.push_back({.kind = ColumnKind::text, .id = "key_token", .title = QStringLiteral("attends to")});
        section.columns.push_back(
            {.kind = ColumnKind::text, .id = "before", .title = QStringLiteral("before"), .stretched = true, .muted = true});
        section.columns.push_back(
            {.kind = ColumnKind::text, .id = "token", .title = pairs ? QStringLiteral("query") : QStringLiteral("token")});
        section.columns.push_back(
            {.kind = ColumnKind::text, .id = "after", .title = QStringLiteral("after"), .stretched = true, .muted = true});
        for (const corpus::Example& example : list.examples) {
            const corpus::Chunk chunk = texts.chunk(example.text);
            const corpus::Text& text = texts.text(chunk.text);
            if (example.query < 0 || example.query >= chunk.encoding.size() || example.key >= chunk.encoding.size()) continue;
            const corpus::Place place = corpus::place_in(chunk, text, example.query, kContextBytes, kContextBytes);
            const QString ellipsis = QStringLiteral("…"), token = one_line(place.token),
                          before = (place.cut_before ? ellipsis + u' ' : QString()) + one_line(place.before),
                          after = one_line(place.after) + (place.cut_after ? u' ' + ellipsis : QString()),
                          key = example.key >= 0 ? one_line(corpus::place_in(chunk, text, example.key, 0, 0).token) : QString();
            TableRow& row = section.rows.emplace_back();
            row.click = {{"chunk", std::to_string(example.text)}, {"query", std::to_string(example.query)}};
            if (example.key >= 0) row.click.emplace_back("key", std::to_string(example.key));
            row.tip = QStringLiteral("%1, token %2").arg(QString::fromStdString(text.id)).arg(example.query);
            row.cells = {TableCell::of(static_cast<double>(example.value))};
            if (pairs) row.cells.push_back(TableCell::of(key));
            for (const QString& words : {before, token, after}) row.cells.push_back(TableCell::of(words));
            data.add({list.title.toStdString(), static_cast<double>(example.value), text.id, std::int64_t{example.query},
                      analyze::index_cell(example.key), token.toStdString(), key.toStdString(), before.toStdString(),
                      after.toStdString()});
        }
        section.empty = QStringLiteral("There are none.");
    }
    out.table = [data] { return data; };
    return table_figure(std::move(out));
}

}  // namespace headlight::figure
