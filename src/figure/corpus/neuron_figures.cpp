// SPDX-License-Identifier: GPL-3.0-or-later
// Neurons over a corpus: the trigger card of one, and how layers arrive at the model's predictions (Geva et al. 2021).
#include "figure/corpus/corpus_figures.h"
#include "figure/corpus/layer_panel.h"
#include "figure/plot/plot_data.h"
#include "figure/table/stacked_figure.h"
#include "figure/table/table_figure.h"
#include "headlight/analyze/prediction/refinement.h"
#include "headlight/corpus/store/place.h"
#include "headlight/figure/core/number_text.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headlight::figure {
namespace {

using plot::Color;
using plot::Series;

QString neuron_title(analyze::NeuronId id) {
    return QStringLiteral("Layer %1, neuron %2").arg(id.layer.value).arg(id.neuron.value);
}

/// Two digits that count: neighbouring bins differ by a fifth.
QString bin_text(double middle) {
    const int digits = 1 - static_cast<int>(std::floor(std::log10(std::abs(middle))));
    return draw::number_text(middle, std::max(0, digits));
}

/// Coefficients of a neuron: bins are logarithmic on both sides of 0 and are placed by number.
std::unique_ptr<Figure> histogram_of(const corpus::Neurons& neurons, analyze::NeuronId id, const QString& words) {
    const auto counts = neurons.histogram(id.layer, id.neuron);
    constexpr std::int64_t half = corpus::kCoefficientBins / 2;
    const double active = static_cast<double>(neurons.active(id.layer, id.neuron)) /
                          static_cast<double>(std::max<std::int64_t>(neurons.tokens(), 1));
    plot::PlotData out = corpus_plot(
        "corpus-neuron", neuron_title(id),
        QStringLiteral("m > 0 at %1 % of %2 tokens").arg(100 * active, 0, 'f', 1).arg(count_text(neurons.tokens())), words);
    out.columns = {"coefficient", "tokens"};
    out.aspect = 0.25;
    plot::Panel& panel = out.panels.emplace_back();
    panel.x.label = QStringLiteral("coefficient m");
    panel.x.integer = true;
    panel.y.label = QStringLiteral("tokens");
    panel.y.from_zero = true;
    Series& bars = panel.series.emplace_back();
    bars.kind = Series::Kind::bars;
    bars.color = {Color::Role::accent};
    std::vector<double> middles;
    const auto add = [&](std::int64_t bin) {
        middles.push_back(corpus::coefficient_of(bin));
        bars.x.push_back(static_cast<double>(middles.size() - 1));
        bars.y.push_back(static_cast<double>(counts[static_cast<std::size_t>(bin)]));
        panel.x.labels.push_back({{}, bin_text(middles.back()), false});
    };
    // From the most negative coefficient to the largest; the empty bins of both ends are left out.
    std::vector<std::int64_t> order;
    for (std::int64_t b = half - 1; b >= 0; --b) order.push_back(b);
    for (std::int64_t b = half; b < corpus::kCoefficientBins; ++b) order.push_back(b);
    const auto filled = [&](std::int64_t bin) { return counts[static_cast<std::size_t>(bin)] > 0; };
    const auto first = std::ranges::find_if(order, filled);
    const auto last = std::find_if(order.rbegin(), std::make_reverse_iterator(first), filled).base();
    for (auto bin = first; bin < last; ++bin) add(*bin);
    const auto y = bars.y;
    bars.tip = [middles, y](std::size_t i) {
        return QStringLiteral("m about %1: %2 tokens")
            .arg(draw::number_text(middles[i], 3), count_text(static_cast<qint64>(y[i])));
    };
    bars.row = [middles, y](std::size_t i) { return std::vector<Table::Cell>{middles[i], static_cast<std::int64_t>(y[i])}; };
    if (middles.empty()) panel.empty = QStringLiteral("no token of the corpus was counted");
    return plot::plot_figure(std::move(out));
}

std::vector<corpus::Example> examples_of(const std::vector<corpus::Trigger>& triggers, std::size_t most) {
    std::vector<corpus::Example> out;
    for (const corpus::Trigger& t : triggers)
        if (out.size() < most && t.text >= 0) out.push_back({t.value, t.text, t.position, -1});
    return out;
}

/// The relative change of m at each trigger without one of its tokens, and the mean.
std::unique_ptr<Figure> removal_of(const corpus::NeuronRemoval& neuron, corpus::TextStore& texts) {
    plot::PlotData out;
    out.view = "corpus-neuron";
    out.title = QStringLiteral("Triggers without a token");
    out.subtitle = QStringLiteral("one dot a trigger, bars are means over %1 triggers").arg(neuron.triggers.size());
    out.aspect = 0.25;
    plot::Panel& panel = out.panels.emplace_back();
    panel.x.integer = true;
    panel.x.low = -0.5, panel.x.high = static_cast<double>(corpus::kRemoved) - 0.5;
    panel.y.label = QStringLiteral("change of m in %");
    panel.references.push_back({.name = {}, .at = 0, .color = {Color::Role::faint}});
    Series bars, dots;
    bars.kind = Series::Kind::bars;
    bars.color = {Color::Role::accent};
    bars.strength = 0.35;
    dots.color = {Color::Role::text};
    dots.radius = 2.5;
    std::vector<QString> tips, means;
    for (const auto& row : corpus::removed_tokens) {
        const auto r = static_cast<std::size_t>(row.value);
        panel.x.labels.push_back({{}, QString::fromUtf8(row.title), false});
        double sum = 0;
        std::int64_t n = 0;
        for (const corpus::TriggerRemoval& of : neuron.triggers) {
            const double change = 100 * of.change(row.value);
            if (!std::isfinite(change)) continue;
            constexpr std::int64_t beside = 7;  // dots of equal height stand beside one another
            dots.x.push_back(static_cast<double>(r) + 0.04 * static_cast<double>(n % beside - beside / 2));
            dots.y.push_back(change);
            const corpus::Chunk& chunk = texts.chunk(of.trigger.text);
            const corpus::Place place = corpus::place_in(chunk, texts.text(chunk.text), of.position[r], 0, 0);
            tips.push_back(QStringLiteral("without “%1”: m %2 → %3 (%4 %)")
                               .arg(QString::fromStdString(place.token).simplified(), draw::number_text(of.whole, 3),
                                    draw::number_text(of.left[r], 3), draw::number_text(change, 0)));
            sum += change, ++n;
        }
        bars.x.push_back(static_cast<double>(r));
        bars.y.push_back(n > 0 ? sum / static_cast<double>(n) : kNaN);
        means.push_back(QStringLiteral("mean of %1 triggers: %2 %").arg(n).arg(draw::number_text(bars.y.back(), 1)));
    }
    bars.tip = [means](std::size_t i) { return means[i]; };
    dots.tip = [tips](std::size_t i) { return tips[i]; };
    panel.series = {std::move(bars), std::move(dots)};
    out.table = [table = corpus::table_of(neuron, texts)] { return table; };
    return plot::plot_figure(std::move(out));
}

}  // namespace

std::unique_ptr<Figure> removal_figure(const std::vector<corpus::LayerRemoval>& layers, const QString& words) {
    std::int64_t neurons = 0, triggers = 0;
    for (const corpus::LayerRemoval& of : layers) neurons += of.neurons, triggers += of.triggers;
    const auto changes = [&](std::size_t removed) {
        std::vector<corpus::Interval> values;
        for (const corpus::LayerRemoval& of : layers) values.push_back(of.change[removed]);
        return values;
    };
    plot::PlotData out =
        corpus_plot("corpus-removal", QStringLiteral("Triggers without a token"),
                    QStringLiteral("means over %1 neurons with %2 triggers, %3")
                        .arg(count_text(neurons), count_text(triggers), thin_lines(changes(0), QStringLiteral("neurons"))),
                    words);
    plot::Panel& panel = out.panels.emplace_back(layer_panel("", layers.size()));
    panel.y.label = QStringLiteral("relative change of m");
    panel.y.from_zero = false;
    panel.references.push_back({.name = {}, .at = 0, .color = {Color::Role::faint}});
    constexpr std::array<Color::Role, corpus::kRemoved> colors{Color::Role::clark_blue, Color::Role::clark_orange,
                                                               Color::Role::clark_grey};
    for (const auto& row : corpus::removed_tokens) {
        const auto r = static_cast<std::size_t>(row.value);
        add_interval(panel, std::string(row.title) + " removed", {colors[r]}, changes(r));
    }
    out.table = [table = corpus::table_of(layers)] { return table; };
    out.description = QStringLiteral(
        "How much of a coefficient m a token is worth: the texts that trigger a neuron most are run again up to the trigger, without their "
        "first token, without their last one, which is the trigger itself, or without a random one between; m is read at the last token "
        "that is left. −1: the memory is silent. The mean over a neuron's triggers counts once. Geva et al. 2021, “Transformer Feed-Forward "
        "Layers Are Key-Value Memories”, figure 3.");
    return plot::plot_figure(std::move(out));
}

std::unique_ptr<Figure> neuron_figure(const corpus::Neurons& neurons, analyze::NeuronId id, NeuronParts parts,
                                      corpus::TextStore& texts, const QString& words) {
    constexpr std::size_t shown = 20;
    StackedParts out;
    out.view = "corpus-neuron";
    out.title = neuron_title(id);
    out.description =
        QStringLiteral(
            "What triggers a neuron over a corpus: how its coefficients m are distributed (bins double every four), the chunks of texts with its largest "
            "and most negative coefficients, and tokens drawn at random from levels of activity, so that the rule is seen and not only the "
            "exceptions. %1. Geva et al. 2021, “Transformer Feed-Forward Layers Are Key-Value Memories”, section 3.")
            .arg(words);
    std::vector<ExampleList> lists{
        {QStringLiteral("Largest coefficients"), QStringLiteral("One token a chunk."),
         examples_of(neurons.largest(id.layer, id.neuron), shown)},
        {QStringLiteral("Most negative coefficients"), {}, examples_of(neurons.smallest(id.layer, id.neuron), shown / 2)},
        {QStringLiteral("Drawn at random, by level of activity"), QStringLiteral("Up to two tokens a level."), {}, false}};
    // From the most active level down to coefficients around 0.
    for (std::int64_t level = corpus::kActivityLevels - 1; level >= corpus::kActivityLevels / 2; --level)
        for (const corpus::Example& each : examples_of(neurons.samples(id.layer, id.neuron, level), 2))
            lists.back().examples.push_back(each);
    auto examples = examples_figure(lists, texts, "corpus-neuron", QStringLiteral("Examples"), out.description);
    const auto table = std::make_shared<Table>(examples->table());
    out.parts.push_back(histogram_of(neurons, id, words));
    if (parts.value) {
        StackedParts top;
        top.view = out.view;
        top.across = true;
        top.parts.push_back(std::move(out.parts.back()));
        top.parts.push_back(std::move(parts.value));
        out.parts.back() = stacked_figure(std::move(top));
        out.description += QStringLiteral(" Its value is read with the unembedding and the final norm's gain.");
    }
    if (parts.removed && !parts.removed->triggers.empty()) {
        out.description += QStringLiteral(
            " The test of removal (figure 3) runs each trigger's text up to the trigger again without its first token, its last one, "
            "which is the trigger, or a random one between.");
        out.parts.push_back(removal_of(*parts.removed, texts));
    }
    out.parts.push_back(std::move(examples));
    out.table = [table] { return *table; };
    return stacked_figure(std::move(out));
}

std::unique_ptr<Figure> token_neurons_figure(const corpus::TokenNeurons& of, const QString& words) {
    const QString token = QString::fromStdString(of.token).replace(u' ', QChar(0x00b7));
    TableSection section;
    section.title = QStringLiteral("Neurons that fire on “%1”").arg(token);
    section.note =
        QStringLiteral(
            "%1: the token is %2 of %3 tokens, and among the triggers of %4 neurons; lines are 95 % intervals, ticks the token's share of all tokens")
            .arg(words, count_text(of.occurrences), count_text(of.tokens), count_text(of.found));
    section.hint = QStringLiteral("a click follows the neuron");
    section.columns = {table_column(ColumnKind::text, "neuron", "neuron"),
                       table_column(ColumnKind::bar, "share", "share", "triggers that are the token", 2),
                       table_column(ColumnKind::number, "triggers", "triggers", "chunks with its largest coefficients", 0),
                       table_column(ColumnKind::number, "mean", "mean m", "coefficient at the triggers that are the token", 2)};
    section.columns[1].limit = 1;
    section.columns[1].sorted = true;
    for (const corpus::TokenNeuron& neuron : of.neurons) {
        const corpus::Interval share = neuron.share();
        TableRow& row = section.rows.emplace_back();
        row.neuron = neuron.id;
        TableCell bar = TableCell::of(share.mean);
        bar.low = share.low, bar.high = share.high;
        bar.baseline = static_cast<double>(of.occurrences) / static_cast<double>(of.tokens);
        row.cells = {TableCell::of(QStringLiteral("L%1 neuron %2").arg(neuron.id.layer.value).arg(neuron.id.neuron.value)), bar,
                     TableCell::of(static_cast<double>(neuron.triggers)), TableCell::of(neuron.mean)};
    }
    section.empty = of.token.empty() ? QStringLiteral("name a token, with its space: “ Mr”")
                                     : QStringLiteral("no neuron has the token among its triggers");
    if (of.token.empty()) section.title = QStringLiteral("Neurons of a token"), section.note = words;
    TableData data = one_section("corpus-token", std::move(section));
    data.description = QStringLiteral(
        "Neurons by the token that they fire on: of the chunks with a neuron's largest positive coefficients, one token each, the share "
        "whose token is the one asked for, sorted by the lower end of its interval (Wilson).");
    data.table = [of] { return corpus::table_of(of); };
    data.arrays = [] { return std::vector<NamedArray>(); };
    return table_figure(std::move(data));
}

std::unique_ptr<Figure> agreement_figure(const std::vector<corpus::LayerAgreement>& layers, const QString& words) {
    using L = corpus::LayerAgreement;
    const auto column = [&](const corpus::Interval L::*member) {
        std::vector<corpus::Interval> values;
        for (const L& layer : layers) values.push_back(layer.*member);
        return values;
    };
    plot::PlotData out = corpus_plot("corpus-agreement", QStringLiteral("How layers arrive at the predictions"),
                                     thin_lines(column(&L::active), QStringLiteral("texts")), words);
    out.own_legends = true;
    using Role = Color::Role;
    plot::Panel active = layer_panel("active memories", layers.size());
    active.y.label = QStringLiteral("share of memories");
    add_interval(active, "m > 0", {Role::accent}, column(&L::active));
    plot::Panel zero = layer_panel("the layer's token is no memory's", layers.size());
    add_interval(zero, "no active memory's value", {Role::accent}, column(&L::zero_agreement));
    add_interval(zero, "no memory's value", {Role::clark_orange}, column(&L::zero_agreement_any));
    plot::Panel residual = layer_panel("the stream already has the prediction", layers.size());
    add_interval(residual, "likeliest token", {Role::accent}, column(&L::residual_final));
    add_interval(residual, "its probability", {Role::clark_orange}, column(&L::residual_probability));
    plot::Panel parts = layer_panel("source of the layer's final token", layers.size());
    constexpr std::array<Role, 4> colors{Role::clark_grey, Role::clark_blue, Role::clark_orange, Role::clark_sea};
    constexpr std::array<const char*, 4> kinds{"both have it", "the stream's token", "the layer's token", "another token"};
    for (std::size_t part = 0; part < colors.size(); ++part) {
        Series& bars = parts.series.emplace_back();
        bars.kind = Series::Kind::stacked;
        bars.name = QString::fromUtf8(kinds[part]);
        bars.color = {colors[part]};
        for (std::size_t l = 0; l < layers.size(); ++l) {
            bars.x.push_back(static_cast<double>(l));
            bars.y.push_back(layers[l].parts[part].mean);
        }
    }
    parts.y.high = 1;
    for (plot::Panel* panel : {&active, &zero, &residual, &parts}) out.panels.push_back(std::move(*panel));
    out.table = [layers] { return corpus::table_of(layers); };
    out.description = QStringLiteral(
        "How MLP layers build the model's predictions, at tokens drawn from a corpus: memories with a positive coefficient (figure 6), outputs "
        "whose likeliest token is that of none of the values they are made of (figure 8), streams that have the model's prediction before the "
        "layer (figures 9 and 10), and whether the stream behind a layer keeps its token, takes the layer's, or a third one (figure 11). Geva et "
        "al. 2021, “Transformer Feed-Forward Layers Are Key-Value Memories”, sections 4 and 5.");
    return plot::plot_figure(std::move(out));
}

}  // namespace headlight::figure
