// SPDX-License-Identifier: GPL-3.0-or-later
// Probes of trees and of mixed layers: structural probe, attention-only probe, Tenney's mixtures.
#include "figure/corpus/corpus_figures.h"
#include "figure/corpus/layer_panel.h"
#include "figure/table/grid_figure.h"
#include "figure/table/stacked_figure.h"
#include "headlight/figure/core/number_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace headlight::figure {
namespace {

using TreeRole = plot::Color::Role;

/// Of the ranks of a structural probe, the largest one in the accent.
plot::Color rank_color(std::size_t index, std::size_t count) {
    constexpr TreeRole others[] = {TreeRole::clark_orange, TreeRole::clark_sea, TreeRole::clark_purple, TreeRole::clark_grey,
                                   TreeRole::clark_green};
    return index + 1 == count ? plot::Color{TreeRole::accent} : plot::Color{others[index % std::size(others)]};
}

plot::Reference chain_line(double at) {
    return {.name = QStringLiteral("chain of words"), .at = at, .color = {TreeRole::muted}, .dashed = true};
}

/// One quantity by layer, a line for each rank.
plot::Panel tree_panel(const corpus::StructuralResult& result, corpus::Interval corpus::TreeIntervals::*which, const char* title,
                       const char* label) {
    std::map<std::int64_t, std::vector<corpus::Interval>> by_rank;
    for (const corpus::StructuralRow& row : result.rows) by_rank[row.rank].push_back(row.scores.*which);
    plot::Panel panel = layer_panel(title, by_rank.empty() ? 1 : by_rank.begin()->second.size());
    panel.y.label = QString::fromUtf8(label);
    panel.y.high = 1;
    std::size_t index = 0;
    for (const auto& [rank, values] : by_rank)
        add_interval(panel, by_rank.size() > 1 ? "rank " + std::to_string(rank) : std::string("probe"),
                     rank_color(index++, by_rank.size()), values);
    panel.references = {chain_line((result.chain.*which).mean)};
    return panel;
}

QString sentences_words(std::int64_t train, std::int64_t test) {
    return QStringLiteral("%1 training and %2 test sentences").arg(count_text(train), count_text(test));
}

/// Bars of a number by layer, and where its mean layer lies.
plot::Panel bar_panel(const char* title, const char* label, const std::vector<double>& values, double mean,
                      const char* mean_name) {
    plot::Panel panel = layer_panel(title, values.size());
    panel.x.low = -0.5, panel.x.high = static_cast<double>(values.size()) - 0.5;
    panel.y.label = QString::fromUtf8(label);
    panel.y.from_zero = std::ranges::none_of(values, [](double v) { return v < 0; });
    plot::Series& bars = panel.series.emplace_back();
    bars.kind = plot::Series::Kind::bars;
    bars.color = {TreeRole::accent};
    bars.strength = 0.5;  // the mean shows through
    for (std::size_t l = 0; l < values.size(); ++l) {
        if (!std::isfinite(values[l])) continue;
        bars.x.push_back(static_cast<double>(l));
        bars.y.push_back(values[l]);
    }
    bars.tip = [x = bars.x, y = bars.y](std::size_t i) {
        return QStringLiteral("layer %1  %2").arg(x[i], 0, 'f', 0).arg(number_text(y[i], 3));
    };
    if (std::isfinite(mean))
        panel.references.push_back({.name = QStringLiteral("%1 %2").arg(QString::fromUtf8(mean_name), number_text(mean, 2)),
                                    .at = mean,
                                    .color = {TreeRole::clark_orange},
                                    .vertical = true,
                                    .dashed = true});
    return panel;
}

std::unique_ptr<Figure> arc_weights(const corpus::ArcResult& result, const std::vector<double>& weights, const QString& title,
                                    const QString& note) {
    GridData out;
    out.view = "corpus-arcs";
    out.title = title;
    out.note = note;
    out.hint = QStringLiteral("A click selects the head.");
    out.row_word = QStringLiteral("layer");
    out.column_word = QStringLiteral("head");
    out.value_word = QStringLiteral("weight");
    out.is_signed = true;
    out.limit = 0;
    for (const double w : result.probe.to_head) out.limit = std::max(out.limit, std::abs(w));
    for (const double w : result.probe.from_head) out.limit = std::max(out.limit, std::abs(w));
    out.values = weights;
    const std::int64_t heads = result.heads_per_layer, layers = std::ssize(weights) / heads;
    for (std::int64_t l = 0; l < layers; ++l) out.rows.push_back(QString::number(l));
    for (std::int64_t h = 0; h < heads; ++h) out.columns.push_back(QString::number(h));
    for (const double w : weights) out.numbers.push_back(number_text(w, 1));
    out.hit = [weights, heads](std::size_t row, std::size_t column) {
        Hit hit;
        hit.kind = Hit::Kind::head;
        hit.head = HeadId{Layer(static_cast<std::int64_t>(row)), Head(static_cast<std::int64_t>(column))};
        hit.value = weights[row * static_cast<std::size_t>(heads) + column];
        hit.tip = QStringLiteral("%1  weight %2").arg(head_name(*hit.head), number_text(*hit.value, 3));
        return hit;
    };
    return grid_figure(std::move(out));
}

}  // namespace

std::unique_ptr<Figure> structural_figure(const corpus::StructuralResult& result, const QString& words) {
    plot::PlotData out = corpus_plot("corpus-structural", QStringLiteral("Structural probe"),
                                     sentences_words(result.n_train, result.n_test), words);
    out.own_legends = true;
    out.panels = {tree_panel(result, &corpus::TreeIntervals::uuas, "Arcs found", "UUAS"),
                  tree_panel(result, &corpus::TreeIntervals::distance_spearman, "Distances", "Spearman"),
                  tree_panel(result, &corpus::TreeIntervals::root_accuracy, "Roots found", "share of sentences"),
                  tree_panel(result, &corpus::TreeIntervals::depth_spearman, "Depths", "Spearman")};
    out.table = [table = corpus::table_of(result)] { return table; };
    out.description =
        QStringLiteral(
            "Whether a linear map B makes the states of each layer a tree: |B (h_i − h_j)|² is fitted to the distance of two words in the "
            "dependency tree, |B h_i|² to the depth of a word. UUAS is the share of the arcs that the minimum spanning tree of the "
            "distances has; rank correlations are means over sentences of 5 to 50 words. Thin lines: 95 % over texts; dashed: each word "
            "hangs on the one before it. %1. Hewitt & Manning 2019, “A Structural Probe for Finding Syntax in Word Representations”.")
            .arg(words);
    return plot::plot_figure(std::move(out));
}

std::unique_ptr<Figure> mix_figure(const corpus::MixResult& result, const QString& words) {
    const bool edge = result.kind == corpus::ProbeKind::edge;
    const QString name = edge ? QStringLiteral("Edge probe") : QStringLiteral("Mixed layers");
    plot::PlotData out =
        corpus_plot(edge ? "corpus-edge" : "corpus-mix", name + QStringLiteral(": ") + QString::fromStdString(result.task),
                    examples_words(result.n_train, result.n_test, std::ssize(result.classes)), words);
    out.own_legends = true;
    plot::Panel score = layer_panel("Up to each layer", result.rows.size());
    score.y.high = 1;
    std::vector<corpus::Interval> scores;
    std::vector<double> weights, gains;
    for (const corpus::MixRow& row : result.rows) {
        scores.push_back(row.score);
        weights.push_back(row.weight);
        gains.push_back(row.gain.mean);
    }
    add_interval(score, "probe", {TreeRole::accent}, scores);
    score.references = label_baselines(result.unit, result.most_frequent_label, result.majority);
    out.panels = {std::move(score), bar_panel("Weights of all layers", "softmax(s)", weights, result.centre, "centre of gravity"),
                  bar_panel("Gain of each layer", "score − the one before", gains, result.expected.mean, "expected layer")};
    out.table = [table = corpus::table_of(result)] { return table; };
    out.description =
        QStringLiteral(
            "At which layer a model knows a label: %2 reads γ Σ softmax(s)_l h_l over layers 0 to l and learns s. The centre of gravity is Σ l "
            "softmax(s)_l of the mixture of all layers, the expected layer Σ l gain_l / Σ gain_l. States are standardised by layer. Thin lines: 95 % over texts. %1. Tenney, Das, Pavlick 2019, “BERT Rediscovers the Classical NLP "
            "Pipeline”.")
            .arg(words,
                 edge ? QStringLiteral(
                            "a classifier of the tokens of a span with learnt weights and a hidden layer (Tenney et al. 2019, "
                            "“What do you learn from context?”)")
                      : QStringLiteral("a linear classifier"));
    return plot::plot_figure(std::move(out));
}

std::unique_ptr<Figure> arc_figure(const corpus::ArcResult& result, const QString& words) {
    plot::PlotData by_layer = corpus_plot("corpus-arcs", QStringLiteral("Heads of words from attention"),
                                          sentences_words(result.n_train, result.n_test), words);
    by_layer.own_legends = true;
    by_layer.aspect = 0.45;
    std::vector<corpus::Interval> alone;
    corpus::Interval all;
    for (std::size_t i = 0; i < result.rows.size(); ++i)
        if (i == 0)
            all = result.rows[i].accuracy;
        else
            alone.push_back(result.rows[i].accuracy);
    plot::Panel& panel = by_layer.panels.emplace_back(layer_panel("UAS", std::max<std::size_t>(alone.size(), 1)));
    panel.y.label = QStringLiteral("share of words");
    add_interval(panel, "heads of one layer", {TreeRole::accent}, alone);
    panel.references = {{.name = QStringLiteral("all heads %1").arg(with_interval(all)),
                         .at = all.mean,
                         .color = {TreeRole::clark_orange},
                         .dashed = true},
                        {.name = QStringLiteral("word at distance %1%2")
                                     .arg(result.offset > 0 ? QStringLiteral("+") : QString(),
                                          number_text(static_cast<double>(result.offset), 0)),
                         .at = result.baseline.mean,
                         .color = {TreeRole::muted},
                         .dashed = true}};
    StackedParts out;
    out.view = "corpus-arcs";
    out.title = by_layer.title;
    out.description =
        QStringLiteral(
            "How much syntax all heads have together: the head of a word is the candidate with the largest Σ w_k a_k(word, candidate) + "
            "u_k a_k(candidate, word) over heads k, with one weight for each head and direction. Punctuation is learnt from and not "
            "scored. Thin lines: 95 % over sentences. %1. Clark et al. 2019, section 5.")
            .arg(words);
    out.parts.push_back(plot::plot_figure(std::move(by_layer)));
    StackedParts weights;
    weights.view = out.view;
    weights.across = true;
    weights.parts.push_back(
        arc_weights(result, result.probe.to_head, QStringLiteral("Attention to the head"),
                    QStringLiteral("w: weight of the word's attention to its head, in the probe of all heads.")));
    weights.parts.push_back(arc_weights(result, result.probe.from_head, QStringLiteral("Attention from the head"),
                                        QStringLiteral("u: weight of the head's attention to the word.")));
    out.parts.push_back(stacked_figure(std::move(weights)));
    out.table = [table = corpus::table_of(result)] { return table; };
    out.arrays = [arrays = corpus::arrays_of(result)] { return arrays; };
    return stacked_figure(std::move(out));
}

}  // namespace headlight::figure
