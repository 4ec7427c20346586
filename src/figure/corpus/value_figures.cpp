// SPDX-License-Identifier: GPL-3.0-or-later
// The values of MLP neurons beside what triggers their keys (Geva et al. 2021, section 4).
#include "figure/corpus/corpus_figures.h"
#include "figure/corpus/layer_panel.h"
#include "figure/plot/plot_data.h"
#include "figure/table/table_figure.h"
#include "headlight/figure/core/number_text.h"
#include "headlight/text/tokenizer.h"

#include <algorithm>

namespace headlight::figure {
namespace {

using plot::Color;

/// Ranks from the 1st on a logarithmic axis: the median and the quartiles.
void add_ranks(plot::Panel& panel, const std::vector<corpus::LayerValues>& layers) {
    std::vector<corpus::Interval> ranks;
    for (const corpus::LayerValues& layer : layers)
        ranks.push_back({layer.rank.median + 1, layer.rank.lower + 1, layer.rank.upper + 1});
    add_interval(panel, "median and quartiles", {Color::Role::accent}, ranks);
    panel.y.label = QStringLiteral("rank of the next token");
    panel.y.from_zero = false;
    panel.y.log = true;
}

void add_tenths(plot::Panel& panel, const std::array<corpus::ProbabilityTenth, 10>& tenths) {
    std::vector<corpus::Interval> rates;
    for (const corpus::ProbabilityTenth& tenth : tenths) {
        rates.push_back(tenth.rate());
        panel.x.labels.push_back({{}, draw::number_text(tenth.highest, 4), false});
    }
    add_interval(panel, "agree", {Color::Role::accent}, rates, QStringLiteral("tenth"));
    panel.x.label = QStringLiteral("tenths of the values by the probability of their likeliest token, up to");
    panel.y.label = QStringLiteral("share of values");
}

}  // namespace

std::unique_ptr<Figure> values_figure(const corpus::ValueAgreement& found, const QString& words) {
    std::int64_t triggered = 0, agreeing = 0;
    for (const corpus::LayerValues& layer : found.layers) triggered += layer.triggered, agreeing += layer.agreeing;
    plot::PlotData out = corpus_plot("corpus-values", QStringLiteral("Values and the tokens after their triggers"),
                                     QStringLiteral("%1 of %2 values agree, thin lines: 95 % intervals or quartiles")
                                         .arg(count_text(agreeing), count_text(triggered)),
                                     words);
    out.own_legends = true;
    plot::Panel rate = layer_panel("the value's likeliest token followed its strongest trigger", found.layers.size());
    rate.y.label = QStringLiteral("share of values");
    std::vector<corpus::Interval> rates;
    for (const corpus::LayerValues& layer : found.layers) rates.push_back(layer.rate());
    add_interval(rate, "agree", {Color::Role::accent}, rates);
    plot::Panel rank = layer_panel("the token after the strongest trigger among the value's", found.layers.size());
    add_ranks(rank, found.layers);
    plot::Panel tenths = layer_panel("agreement by the value's confidence", found.by_probability.size());
    add_tenths(tenths, found.by_probability);
    for (plot::Panel* panel : {&rate, &rank, &tenths}) out.panels.push_back(std::move(*panel));
    out.table = [found] { return corpus::table_of(found); };
    out.description = QStringLiteral(
        "Whether a neuron's value predicts what follows the texts that trigger its key: how often the value's likeliest token followed the "
        "strongest trigger (figure 4), the rank of the token that did in the value's distribution, 1 is the likeliest (figure 5), and the "
        "agreement of the least to the most confident values (figure 7). Intervals of shares: Wilson's. Geva et al. 2021, “Transformer "
        "Feed-Forward Layers Are Key-Value Memories”, section 4.");
    return plot::plot_figure(std::move(out));
}

std::unique_ptr<Figure> value_figure(const corpus::Neurons& neurons, analyze::NeuronId id, const analyze::Promoted& value,
                                     const text::Tokenizer& tokenizer) {
    TableData out;
    out.view = "corpus-neuron";
    out.title = QStringLiteral("Its value");
    const std::vector<corpus::Trigger> triggers = neurons.largest(id.layer, id.neuron);
    const auto followed = std::ranges::count_if(triggers, [](const corpus::Trigger& t) { return t.next >= 0; });
    TableSection& section = out.sections.emplace_back();
    section.title = QStringLiteral("Its value promotes");
    section.note = QStringLiteral("Probability in softmax(v E), and of the %1 recorded triggers those that the token follows.")
                       .arg(followed);
    section.columns = {
        {.kind = ColumnKind::text, .id = "token", .title = QStringLiteral("token")},
        {.kind = ColumnKind::bar, .id = "probability", .title = QStringLiteral("probability"), .decimals = 4, .sorted = true},
        {.kind = ColumnKind::number, .id = "follows", .title = QStringLiteral("follows"), .decimals = 0}};
    for (const analyze::TokenScore& token : value.top) {
        const auto follows = std::ranges::count(triggers, token.id, &corpus::Trigger::next);
        section.rows.emplace_back().cells = {TableCell::of(QString::fromStdString(text::token_label(tokenizer, token.id))),
                                             TableCell::of(static_cast<double>(token.probability)),
                                             TableCell::of(static_cast<double>(follows))};
    }
    return table_figure(std::move(out));
}

}  // namespace headlight::figure
