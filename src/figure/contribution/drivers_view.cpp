// SPDX-License-Identifier: GPL-3.0-or-later
// What drives a neuron: the attribution figure of its pre-activation, and tables of the neurons that the shown head drives
// and of those that promote a token.
#include "figure/contribution/contribution_views.h"
#include "figure/core/shared_options.h"
#include "figure/prediction/attribution_view.h"
#include "figure/table/stacked_figure.h"
#include "figure/table/table_figure.h"
#include "headlight/analyze/contribution/drivers.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/base/numbers.h"
#include "headlight/text/tokenizer.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace headlight::figure {
namespace {

using analyze::Component;
using analyze::NeuronId;

constexpr std::int64_t most_downstream = 15, most_promoting = 10, most_drivers = 4;

QString name_of(NeuronId id) { return QStringLiteral("L%1 neuron %2").arg(id.layer.value).arg(id.neuron.value); }

/// The head that drives most, either way.
HeadId strongest_head(const analyze::Decomposition& split) {
    HeadId best;
    double most = -1;
    for (const analyze::Contribution& part : split.parts)
        if (part.component == Component::head && std::abs(part.value) > most) {
            most = std::abs(part.value);
            best = {Layer(part.layer), Head(part.index)};
        }
    return best;
}

std::unique_ptr<Figure> downstream_table(const trace::Trace& trace, HeadId head, Position position) {
    TableSection section;
    section.title = QStringLiteral("What %1 drives").arg(head_name(head));
    section.note = QStringLiteral(
        "Neurons of this and later layers whose pre-activation the head's output at this token changes most along the direct "
        "path.");
    section.hint = QStringLiteral("Click one to see what drives it.");
    section.columns = {
        table_column(ColumnKind::text, "neuron", "neuron"), table_column(ColumnKind::bar, "contribution", "the head adds"),
        table_column(ColumnKind::bar, "pre_activation", "pre-activation", "the whole input of the activation function")};
    for (const analyze::NeuronScore& found : analyze::downstream_neurons(trace, head, position, most_downstream)) {
        TableRow& row = section.rows.emplace_back();
        row.neuron = found.id;
        row.cells = {TableCell::of(name_of(found.id)), TableCell::of(found.value), TableCell::of(found.pre)};
    }
    return table_figure(one_section("drivers", std::move(section)));
}

/// Neurons whose value is most aligned with a token's column of the unembedding, and the heads that drive them here.
std::unique_ptr<Figure> promoting_table(const trace::Trace& trace, std::optional<std::int64_t> token, Position position) {
    const std::int64_t id = token ? *token : analyze::next_tokens(trace, position, 1).front().id;
    TableSection section;
    section.title = QStringLiteral("Neurons that add most to the logit of %1")
                        .arg(QString::fromStdString(text::token_label(*trace.tokenizer(), id)));
    section.note = (token ? QString() : QStringLiteral("The likeliest token here. ")) +
                   QStringLiteral(
                       "Neurons of all layers by what they add to its logit here, with the heads that drive their "
                       "pre-activation most.");
    section.hint = QStringLiteral("Click one to see all that drives it.");
    section.columns = {
        table_column(ColumnKind::text, "neuron", "neuron"),
        table_column(ColumnKind::bar, "adds", "adds to the logit", "coefficient times value, read as the model reads the stream"),
        table_column(ColumnKind::bar, "score", "value · token",
                     "inner product of the neuron's value with the token's column of the unembedding"),
        table_column(ColumnKind::bar, "coefficient", "coefficient",
                     "of the neuron at this token; below 0 it writes against the token"),
        table_column(ColumnKind::text, "heads", "heads that drive it",
                     "with their parts of the pre-activation, largest amount first", 2)};
    const auto neurons = analyze::next_token_drivers(trace, id, position, most_promoting, most_drivers);
    double& full = section.columns[3].limit = 1;  // inactive neurons get no long bars
    for (const analyze::NextTokenNeuron& found : neurons) full = std::max(full, std::abs(found.coefficient));
    for (const analyze::NextTokenNeuron& found : neurons) {
        TableCell heads;
        for (const auto& [head, part] : found.heads) heads.tokens.emplace_back(draw::Label{{}, head_name(head), false}, part);
        TableRow& row = section.rows.emplace_back();
        row.neuron = found.id;
        row.cells = {TableCell::of(name_of(found.id)), TableCell::of(found.adds), TableCell::of(found.score),
                     TableCell::of(found.coefficient), std::move(heads)};
    }
    return table_figure(one_section("drivers", std::move(section)));
}

}  // namespace

std::unique_ptr<Figure> drivers_view(TracePtr trace, Layer layer, Position position, const DriversViewOptions& options,
                                     const CancelToken& cancel, const Progress& progress) {
    const auto step = [&](std::int64_t done) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Drivers", "step", done, 3});
    };
    step(0);
    const model::ModelConfig& c = trace->config();
    NeuronId id = options.neuron.value_or(NeuronId{layer, {}});
    if (!options.neuron) id.neuron = analyze::memories(*trace, layer, position, 1).front().neuron;
    const analyze::Branch branch = options.up ? analyze::Branch::up : analyze::Branch::gate;
    AttributionViewData data;
    data.split = analyze::neuron_drivers(*trace, id, position, branch);
    // Later layers cannot drive it; MLPs of its own layer come after it.
    data.heads = data.split.heads(c).topRows(id.layer.value + 1);
    if (has_cross_attention(c)) data.cross = data.split.cross_heads(c).topRows(id.layer.value + 1);
    data.mlps = Eigen::VectorXd::Constant(id.layer.value + 1, kNaN);
    data.attn_biases = Eigen::VectorXd::Zero(id.layer.value + 1);
    for (const analyze::Contribution& part : data.split.parts) {
        if (part.layer < 0 || part.layer > id.layer.value) continue;
        if (part.component == Component::mlp) data.mlps[part.layer] = part.value;
        if (part.component == Component::attn_bias) data.attn_biases[part.layer] = part.value;
    }
    const bool usable = options.neuron && options.head.layer.value <= id.layer.value;
    data.head = usable ? options.head : strongest_head(data.split);
    data.sources = analyze::neuron_sources(*trace, id, data.head, position, branch);
    data.labels = analyze::pattern_axes(*trace, analyze::PatternOptions{}).keys;
    data.at = draw::label_of(data.labels[static_cast<std::size_t>(position.value)]).with_position(position);
    const QString which = options.up ? QStringLiteral("linear branch of ") : QString();
    const double m = static_cast<double>(analyze::neuron_activations(*trace, id.layer, id.neuron)[position.value]);
    data.other = AttributionViewData::Other{
        .view = "drivers",
        .title = QStringLiteral("What drives ") + which + name_of(id),
        .description = QStringLiteral(
            "Where a neuron's pre-activation at one token comes from. An MLP reads the sum of everything written into the "
            "residual stream before it, so each head, MLP, embedding and bias adds its part, passed through the norm before the "
            "MLP at the scale it had in the run. Blue drives the neuron up, orange down; the bars end in the sum, the "
            "pre-activation itself. Click a head: the text below shows the tokens through which it drives the neuron, and the "
            "list the other neurons it drives. The last list has the neurons that promote one token, with the heads behind "
            "them. Neo et al. 2024, Interpreting Context Look-ups in Transformers."),
        .behind = QStringLiteral("at %1; coefficient %2").arg(data.at, draw::number_text(m, 3)),
        .what = QStringLiteral("the pre-activation of ") + which + name_of(id),
        .sum = QStringLiteral("sum = pre-act."),
        .neuron = id};
    const HeadId head = data.head;
    auto split = std::make_unique<AttributionFigure>(std::move(data));
    StackedParts parts;
    parts.view = "drivers";
    parts.title = split->title();
    parts.description = split->description();
    parts.fits_first = true;
    parts.parts.push_back(std::move(split));
    step(1);
    parts.parts.push_back(downstream_table(*trace, head, position));
    step(2);
    // Except with narrow embeddings behind a separate head (ALBERT, ELECTRA): there W_U does not read the stream.
    if (analyze::unembeds_stream(c))
        parts.parts.push_back(promoting_table(*trace, token_called(*trace, options.promotes, "--promotes"), position));
    return stacked_figure(std::move(parts));
}

}  // namespace headlight::figure
