// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/prediction/attribution_view.h"

#include "figure/table/stacked_figure.h"
#include "figure/table/table_figure.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/base/error.h"
#include "headlight/trace/whole.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

constexpr std::int64_t many_attributed_layers = 16;  ///< whose map is lower than wide cells would make it
constexpr double least_bar = 80, below_map = 50, above_sources = 34;
constexpr double below_flow = 46, most_flow_kept = 150;  ///< of the tokens, what the map leaves in sight

}  // namespace

std::vector<NamedPart> largest_parts(const analyze::Decomposition& split, std::size_t count) {
    std::vector<NamedPart> parts;
    for (const analyze::Contribution& part : split.parts) {
        NamedPart named{part_name(part.component, part.layer, part.index), part.value, {}};
        named.cross = part.component == analyze::Component::cross_head;
        if (part.component == analyze::Component::mlp) named.mlp = part.layer;
        if (named.cross || part.component == analyze::Component::head) named.head = HeadId{Layer(part.layer), Head(part.index)};
        parts.push_back(std::move(named));
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const NamedPart& a, const NamedPart& b) { return std::abs(a.value) > std::abs(b.value); });
    if (parts.size() <= count + 1) return parts;
    double rest = 0;
    for (std::size_t i = count; i < parts.size(); ++i) rest += parts[i].value;
    const std::size_t others = parts.size() - count;
    parts.resize(count);
    parts.push_back({QStringLiteral("%1 others").arg(draw::count_text(static_cast<std::int64_t>(others))), rest, {}});
    return parts;
}

AttributionLayout attribution_layout(std::int64_t layers, std::int64_t heads, std::int64_t bars, double available_width,
                                     bool cross, double map_height, double above) {
    AttributionLayout at;
    at.layers = layers;
    at.heads = heads;
    at.bars = bars;
    const bool below = available_width < least_beside;
    at.width = below ? std::max(320.0, available_width) : std::max(560.0, available_width);
    at.map_x = AttributionLayout::margin + 34;
    at.map_top = 92 + above;
    const double most = below ? at.width - at.map_x - AttributionLayout::margin : at.width * 0.48 - at.map_x;
    const auto columns = static_cast<double>(heads);
    const double shares = cross ? 2 * columns + 2.5 : columns + 2.0;
    at.cell = std::clamp(most / shares, 7.0, 34.0);
    if (below) {
        at.cell = std::clamp(most / shares, 3.0, 34.0);
    } else if (at.cell * shares > most) {  // many heads: the bars give way first
        const double beside = AttributionLayout::gap + AttributionLayout::name_width + least_bar +
                              AttributionLayout::number_width + AttributionLayout::margin;
        at.cell = std::clamp((at.width - at.map_x - beside) / shares, 3.0, 7.0);
    }
    // At least as tall as the bars beside it.
    const double bars_height = below ? 0 : static_cast<double>(bars + 1) * AttributionLayout::bar_height + 8 - below_map;
    at.row = map_height > 0
                 ? std::clamp(std::max(map_height, bars_height) / static_cast<double>(layers), 5.0, std::max(5.0, at.cell))
                 : at.cell;
    // Two maps leave room between them for the names above.
    at.cross_x = at.map_x + (cross ? columns * at.cell + std::max(at.cell * 0.5, 44 - columns * at.cell) : 0);
    at.mlp_x = at.cross_x + columns * at.cell + std::max(at.cell * 0.4, cross ? 40 - columns * at.cell : 0);
    const double map_end = at.map_top + static_cast<double>(layers) * at.row;
    at.bars_x = below ? AttributionLayout::margin : at.mlp_x + at.cell * 1.6 + AttributionLayout::gap;
    at.bars_top = below ? map_end + below_map + 38 : at.map_top;
    at.bar_x = at.bars_x + AttributionLayout::name_width;
    at.bar_width = std::max(least_bar, at.width - AttributionLayout::margin - AttributionLayout::number_width - at.bar_x);
    at.width = at.bar_x + at.bar_width + AttributionLayout::number_width + AttributionLayout::margin;
    at.map_bottom = map_end;
    const double bars_end = at.bars_top + static_cast<double>(bars + 1) * AttributionLayout::bar_height + 8;
    at.sources_top = std::max(map_end + below_map, bars_end) + above_sources;
    at.height = at.sources_top;
    return at;
}

AttributionFigure::AttributionFigure(AttributionViewData data) : data_(std::move(data)), bars_(largest_parts(data_.split, 14)) {
    const auto largest = [](const auto& values) {
        double most = 0;
        for (Eigen::Index i = 0; i < values.size(); ++i)
            if (std::isfinite(values.data()[i])) most = std::max(most, std::abs(values.data()[i]));
        return most;
    };
    limit_ = std::max({largest(data_.heads), largest(data_.cross), largest(data_.mlps), 1e-9});
    bar_ends_ = {std::min(0.0, data_.split.total), std::max(0.0, data_.split.total)};
    for (const NamedPart& part : bars_) bar_ends_ = {std::min(bar_ends_.low, part.value), std::max(bar_ends_.high, part.value)};
    decimals_ = draw::decimals_for(std::max(limit_, std::abs(data_.split.total)), 3);
    source_limit_ = std::max(data_.sources.cwiseAbs().maxCoeff(), 1e-9);
    at_ = attribution_layout(data_.heads.rows(), data_.heads.cols(), std::ssize(bars_), 1180, data_.cross.size() > 0);
    flow_.layout(data_.labels, {}, 1100);  // measures the tokens: figures are made by a worker, laid out by the window
}

void AttributionFigure::widen(const std::vector<ScaleEnds>& ends) {
    limit_ = ends[0].high;
    source_limit_ = ends[1].high;
    bar_ends_ = ends[2];
    decimals_ = draw::decimals_for(std::max({limit_, bar_ends_.high, -bar_ends_.low}), 3);
}

QSizeF AttributionFigure::place(QSizeF available, const Style&, const Selection&) {
    heading_.clear(), behind_.clear();
    if (available.width() < least_beside) {
        const double room = std::max(320.0, available.width()) - 2 * AttributionLayout::margin;
        heading_ = wrapped(title(), ui_font(16, QFont::DemiBold), room);
        behind_ = wrapped(behind_title(), ui_font(13), room);
    }
    const double above = 20 * double(std::max<qsizetype>(0, heading_.size() - 1)) + 18 * double(behind_.size());
    const auto placed = [&](double map_height) {
        return attribution_layout(data_.heads.rows(), data_.heads.cols(), std::ssize(bars_), available.width(),
                                  data_.cross.size() > 0, map_height, above);
    };
    at_ = placed(0);
    // In a file, which has no height of its own.
    if (data_.heads.rows() > many_attributed_layers) at_ = placed(double(many_attributed_layers) * at_.cell);
    const double wide = std::min(at_.width - 2 * AttributionLayout::margin, 1100.0);
    const auto place_tokens = [&] {
        const double name = draw::text_width(head_part(data_.head, data_.of_cross), ui_font(13, QFont::DemiBold)) + 12;
        said_ = wrapped(sources_text(), note_font(), at_.width - 2 * AttributionLayout::margin - name);
        const QPointF top_left(AttributionLayout::margin, at_.sources_top + said_height());
        return said_height() - 12 + flow_.layout(data_.labels, top_left, wide) + below_flow;
    };
    double tokens = place_tokens();
    if (available.height() > 0) {
        const double kept = std::min(tokens, most_flow_kept) + 12 + above_sources + below_map;
        at_ = placed(std::max(1.0, available.height() - at_.map_top - kept));
        tokens = place_tokens();
    }
    at_.height = at_.sources_top + 12 + tokens;
    return {at_.width, at_.height};
}

QString AttributionFigure::what() const {
    return data_.other ? data_.other->what : QStringLiteral("the logit of ") + data_.target;
}

QString AttributionFigure::behind_title() const {
    return data_.other ? data_.other->behind : QStringLiteral("after %1, split over its writers").arg(data_.at);
}

QString AttributionFigure::title() const {
    if (data_.other) return data_.other->title;
    return (data_.difference ? QStringLiteral("Logit difference ") : QStringLiteral("Logit of ")) + data_.target;
}

QString AttributionFigure::description() const {
    if (data_.other) return data_.other->description;
    return QStringLiteral(
        "Where one prediction comes from. The logit of a token is a sum over everything written into the residual stream at "
        "this position: the embedding, every head, every MLP and the biases, each passed through the final norm at the scale it "
        "had in the run. Blue raises the logit, orange lowers it; the bars list the largest parts and end in their sum, the "
        "logit itself. Click a head to split its part over the tokens it read (attention times value times output matrix): the "
        "coloured text below sums to the head's part. Click an MLP to list its neurons by what each adds. Direct effects only: a component's effect through later ones counts as "
        "theirs. Direct logit attribution, after nostalgebraist's logit lens and Elhage et al. 2021, A Mathematical Framework "
        "for Transformer Circuits.");
}

/// A click shows the tokens a head read. Heads of the other attention belong to another selection: only their numbers are
/// shown.
Hit AttributionFigure::head_hit(HeadId id, bool cross, double value) const {
    if (cross != data_.of_cross) return {.kind = Hit::Kind::legend, .value = value};
    return {.kind = Hit::Kind::head,
            .head = id,
            .neuron = data_.other ? std::optional(data_.other->neuron) : std::nullopt,
            .value = value};
}

QString AttributionFigure::other_attention(bool cross) const {
    if (cross == data_.of_cross || data_.other) return {};
    return cross ? QStringLiteral("  (choose the cross attention to see what it read)")
                 : QStringLiteral("  (choose the decoder's attention to see what it read)");
}

Hit AttributionFigure::mlp_hit(std::int64_t layer, double value) const {
    if (layer < 0 || data_.other) return {.kind = Hit::Kind::legend, .value = value};
    return {.kind = Hit::Kind::option, .options = {{"mlp", std::to_string(layer)}}, .value = value};
}

Table AttributionFigure::table() const {
    return data_.other ? analyze::drivers_table(data_.split, data_.head, data_.sources)
                       : analyze::table_of(data_.split, data_.head, data_.sources, data_.of_cross);
}

std::vector<NamedArray> AttributionFigure::arrays() const {
    using analyze::named_array;
    std::vector<NamedArray> all{named_array("heads", data_.heads), named_array("mlp", data_.mlps),
                                named_array("attn_bias", data_.attn_biases),
                                named_array(data_.of_cross ? "cross_head_sources" : "head_sources", data_.sources)};
    if (data_.cross.size() > 0) all.push_back(named_array("cross_heads", data_.cross));
    return all;
}

std::unique_ptr<AttributionFigure> attribution_figure(TracePtr shown, HeadId head, Position position,
                                                      const AttributionViewOptions& options) {
    // The whole run is split for a cross attention too; its heads are followed into the source.
    const TracePtr trace = trace::whole_of(shown);
    const model::ModelConfig& c = trace->config();
    AttributionViewData data;
    data.of_cross = shown->across_texts();
    analyze::require_unembedding(c, "Attribution to a logit");
    const analyze::AttributionOptions wanted = analyze::logit_asked(*trace, position, options.asked);
    data.split = analyze::attribution(*trace, position, wanted);
    data.heads = data.split.heads(c);
    data.cross = data.split.cross_heads(c);
    data.mlps = Eigen::VectorXd::Zero(c.n_layers);
    data.attn_biases = Eigen::VectorXd::Zero(c.n_layers);
    for (const analyze::Contribution& part : data.split.parts) {
        if (part.component == analyze::Component::mlp) data.mlps[part.layer] = part.value;
        if (part.component == analyze::Component::attn_bias) data.attn_biases[part.layer] = part.value;
    }
    data.head = head;
    if (options.mlp >= 0) data.mlp = Layer(options.mlp);
    data.sources = data.of_cross ? analyze::cross_head_sources(*trace, head, position, wanted)
                                 : analyze::head_sources(*trace, head, position, wanted);
    data.target = logit_name(*trace, wanted);
    data.difference = wanted.minus.has_value();
    const analyze::PatternAxes axes = analyze::pattern_axes(*shown, analyze::PatternOptions{});
    data.labels = axes.keys;
    data.at = label_at(axes.queries, position);
    return std::make_unique<AttributionFigure>(std::move(data));
}

namespace {

constexpr std::int64_t most_neurons = 12;

/// The neurons that add most, of one MLP or of all.
TableData neurons_table(const analyze::AttributionOptions& asked, const std::vector<analyze::Contribution>& neurons,
                        const AttributionViewOptions& options, const trace::Trace& trace, Position position) {
    TableSection section;
    const bool one_layer = options.mlp >= 0;
    section.title =
        one_layer ? QStringLiteral("Neurons of the MLP of layer %1").arg(options.mlp) : QStringLiteral("Neurons of all layers");
    section.note = QStringLiteral("By what each adds to the logit of %1, largest amount first.").arg(logit_name(trace, asked));
    section.hint = QStringLiteral("Click one to follow it in the MLP view and in Drivers") +
                   (one_layer ? QStringLiteral(".") : QStringLiteral(", an MLP above for the neurons of its layer."));
    section.columns = {table_column(ColumnKind::text, "neuron", "neuron"),
                       table_column(ColumnKind::bar, "contribution", "adds to the logit",
                                    "coefficient times value, through the final norm, as every part above"),
                       table_column(ColumnKind::bar, "coefficient", "coefficient m", "of the neuron at this token")};
    for (const analyze::Contribution& part : neurons) {
        const analyze::NeuronId id{Layer(part.layer), Neuron(part.index)};
        TableRow& row = section.rows.emplace_back();
        row.neuron = id;
        row.cells = {TableCell::of(part_name(part.component, part.layer, part.index)), TableCell::of(part.value),
                     TableCell::of(static_cast<double>(analyze::neuron_activations(trace, id.layer, id.neuron)[position.value]))};
    }
    return one_section("attribution", std::move(section));
}

}  // namespace

std::unique_ptr<Figure> attribution_view(TracePtr shown, HeadId head, Position position, const AttributionViewOptions& options,
                                         const CancelToken& cancel, const Progress& progress) {
    const auto step = [&](std::int64_t done) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Attribution", "step", done, 2});
    };
    step(0);
    auto split = attribution_figure(shown, head, position, options);
    const TracePtr trace = trace::whole_of(shown);
    const analyze::AttributionOptions asked = analyze::logit_asked(*trace, position, options.asked);
    const auto layer = options.mlp < 0 ? std::nullopt : std::optional(Layer(options.mlp));
    if (options.mlp >= trace->config().n_layers)
        throw Error({.problem = "There is no such layer",
                     .item = "--mlp",
                     .expected = "0 to " + std::to_string(trace->config().n_layers - 1) + ", or -1 for every layer",
                     .found = std::to_string(options.mlp)});
    step(1);
    const auto neurons = analyze::largest_neurons(*trace, position, asked, layer, most_neurons);
    StackedParts parts;
    parts.view = "attribution";
    parts.title = split->title();
    parts.description = split->description();
    parts.fits_first = true;
    parts.opened = layer ? 1 : 0;
    parts.table = [table = split->table(), neurons]() mutable {
        Table out = table;
        for (const analyze::Contribution& part : neurons)
            out.add({std::string(analyze::name_of(part.component)), part.layer, part.index, part.value});
        return out;
    };
    parts.parts.push_back(std::move(split));
    parts.parts.push_back(table_figure(neurons_table(asked, neurons, options, *trace, position)));
    return stacked_figure(std::move(parts));
}

}  // namespace headlight::figure
