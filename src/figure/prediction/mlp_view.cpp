// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/prediction/mlp_view.h"

#include "headlight/analyze/prediction/logit_lens.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

constexpr std::int64_t kMemories = 20, kTokens = 6;

QString joined(const std::vector<QString>& words) {
    QString all;
    for (const QString& word : words) all += (all.isEmpty() ? QString() : QStringLiteral("   ")) + word;
    return all;
}

}  // namespace

QRectF MlpLayout::row(std::int64_t i) const {
    return {margin - 8, rows_top + static_cast<double>(i) * row_height, width - 2 * margin + 16, row_height};
}

MlpLayout mlp_layout(std::int64_t rows, double available_width) {
    MlpLayout at;
    at.rows = rows;
    at.width = std::max(820.0, available_width);
    at.neuron_x = MlpLayout::margin;
    at.coefficient_x = at.neuron_x + 66;
    at.coefficient_width = 96;
    at.norm_right = at.coefficient_x + at.coefficient_width + 118;
    at.share_x = at.norm_right + 20;
    at.share_width = 84;
    at.raised_x = at.share_x + at.share_width + 68;
    const double rest = at.width - MlpLayout::margin - at.raised_x;
    at.raised_width = rest * 0.58;
    at.lowered_x = at.raised_x + at.raised_width + 16;
    at.lowered_width = at.width - MlpLayout::margin - at.lowered_x;
    at.flow_top = MlpLayout::rows_top + static_cast<double>(rows) * MlpLayout::row_height + 54;
    at.height = at.flow_top;
    return at;
}

MlpFigure::MlpFigure(MlpViewData data) : data_(std::move(data)) {
    coefficient_limit_ = share_limit_ = 1e-9;
    for (const analyze::Memory& m : data_.memories) {
        coefficient_limit_ = std::max(coefficient_limit_, std::abs(m.coefficient));
        share_limit_ = std::max(share_limit_, m.contribution_norm);
    }
    activation_limit_ = std::max(1e-9, static_cast<double>(data_.activations.cwiseAbs().maxCoeff()));
    at_ = mlp_layout(static_cast<std::int64_t>(data_.memories.size()), 1180);
}

QSizeF MlpFigure::layout(QSizeF available, const Style&, const Selection&) {
    at_ = mlp_layout(static_cast<std::int64_t>(data_.memories.size()), available.width());
    const double wide = std::min(at_.width - 2 * MlpLayout::margin, 1100.0);
    at_.height = at_.flow_top + 12 + flow_.layout(data_.labels, {MlpLayout::margin, at_.flow_top + 12}, wide) + 46;
    return {at_.width, at_.height};
}

QString MlpFigure::named(std::int64_t position) const {
    return draw::label_of(data_.labels[static_cast<std::size_t>(position)]).with_position(Position(position));
}

QString MlpFigure::title() const { return QStringLiteral("Memories of layer %1").arg(data_.layer.value); }

QString MlpFigure::description() const {
    return QStringLiteral(
        "An MLP as a memory: each neuron has a key that the token is compared with, a coefficient that says how well "
        "it fits, and "
        "a value that is added to the stream, coefficient times. The rows are the memories that wrote most at this "
        "token. The "
        "tokens beside them are what the value promotes when it is read by the unembedding alone; a negative "
        "coefficient turns "
        "promoted into suppressed, which is already taken in here. Below, one neuron's coefficient along the whole "
        "text. After "
        "Geva et al. 2021, Transformer Feed-Forward Layers Are Key-Value Memories.");
}

void MlpFigure::paint(QPainter& painter, const QRectF& exposed, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    const QFont heading = ui_font(16, QFont::DemiBold), note = ui_font(13), small = ui_font(11.5);
    painter.setRenderHint(QPainter::Antialiasing);
    draw::text(painter, {MlpLayout::margin, 36}, title(), heading, theme.text);
    const double share =
        100.0 * static_cast<double>(data_.active) / static_cast<double>(std::max<std::int64_t>(1, data_.neurons));
    draw::text(painter, {MlpLayout::margin + draw::text_width(title(), heading) + 16, 36},
               QStringLiteral("at %1; %2 of %3 are active (%4 %)")
                   .arg(named(data_.position.value), draw::count_text(data_.active), draw::count_text(data_.neurons))
                   .arg(share, 0, 'f', 1),
               note, theme.muted);
    const double y = MlpLayout::heading_baseline;
    const auto column = [&](double x, const QString& text, draw::Align align = draw::Align::left) {
        draw::text(painter, {x, y}, text, small, theme.muted, align);
    };
    column(at_.neuron_x, QStringLiteral("neuron"));
    column(at_.coefficient_x, QStringLiteral("coefficient m"));
    column(at_.norm_right, QStringLiteral("|v|"), draw::Align::right);
    column(at_.share_x, QStringLiteral("|m| · |v|"));
    if (data_.promoted.empty()) {
        column(at_.raised_x, QStringLiteral("no unembedding: what a memory promotes is not known"));
    } else {
        column(at_.raised_x, QStringLiteral("raises"));
        column(at_.lowered_x, QStringLiteral("lowers"));
    }
    painter.fillRect(QRectF(MlpLayout::margin - 8, y + 8, at_.width - 2 * MlpLayout::margin + 16, 1), theme.line);
    for (std::size_t i = 0; i < data_.memories.size(); ++i) paint_row(painter, i, style);
    paint_flow(painter, exposed, style, selection);
}

void MlpFigure::paint_row(QPainter& painter, std::size_t i, const Style& style) const {
    const Theme& theme = *style.theme;
    const QFont font = ui_font(12.5), strong = ui_font(12.5, QFont::DemiBold), words = ui_font(13), small = ui_font(11);
    const analyze::Memory& m = data_.memories[i];
    const QRectF row = at_.row(static_cast<std::int64_t>(i));
    const bool followed = m.neuron == data_.followed;
    if (followed) draw::box(painter, row.adjusted(0, 1, 0, -1), 6, theme.panel);
    const double baseline = draw::centred_baseline(row.center().y(), font),
                 middle = at_.coefficient_x + at_.coefficient_width / 2;
    draw::text(painter, {at_.neuron_x, baseline}, QString::number(m.neuron.value), followed ? strong : font, theme.text);

    painter.fillRect(QRectF(middle - 0.5, row.top() + 4, 1, row.height() - 8), theme.line);
    const double length = at_.coefficient_width / 2 * std::min(1.0, std::abs(m.coefficient) / coefficient_limit_);
    draw::box(painter,
              QRectF(m.coefficient < 0 ? middle - length : middle, row.top() + 8, std::max(1.0, length), row.height() - 16), 2,
              m.coefficient < 0 ? theme.negative : theme.positive);
    draw::number(painter, {at_.coefficient_x + at_.coefficient_width + 58, baseline}, draw::number_text(m.coefficient), font,
                 theme.muted, draw::Align::right);
    draw::number(painter, {at_.norm_right, baseline}, draw::number_text(m.value_norm), font, theme.muted, draw::Align::right);
    draw::box(painter, QRectF(at_.share_x, row.top() + 8, at_.share_width, row.height() - 16), 2, theme.line);
    draw::box(painter,
              QRectF(at_.share_x, row.top() + 8, std::max(1.0, at_.share_width * m.contribution_norm / share_limit_),
                     row.height() - 16),
              2, theme.muted);
    draw::number(painter, {at_.share_x + at_.share_width + 52, baseline}, draw::number_text(m.contribution_norm), font,
                 theme.text, draw::Align::right);
    if (data_.promoted.empty()) return;
    draw::text(painter, {at_.raised_x, baseline}, draw::elided(joined(data_.raised[i]), words, at_.raised_width), words,
               theme.text);
    draw::text(painter, {at_.lowered_x, baseline}, draw::elided(joined(data_.lowered[i]), words, at_.lowered_width), words,
               theme.muted);
}

void MlpFigure::paint_flow(QPainter& painter, const QRectF& exposed, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    const QFont strong = ui_font(13, QFont::DemiBold), note = ui_font(11.5), small = ui_font(11);
    const double y = at_.flow_top;
    painter.fillRect(QRectF(MlpLayout::margin - 8, y - 28, at_.width - 2 * MlpLayout::margin + 16, 1), theme.line);
    const QString name = QStringLiteral("Neuron %1").arg(data_.followed.value);
    draw::text(painter, {MlpLayout::margin, y}, name, strong, theme.text);
    draw::text(painter, {MlpLayout::margin + draw::text_width(name, strong) + 12, y},
               QStringLiteral("its coefficient along the text"), note, theme.muted);
    flow_.paint(
        painter, exposed, theme,
        [&](std::size_t i) {
            const double m = static_cast<double>(data_.activations[static_cast<Eigen::Index>(i)]) / activation_limit_;
            return std::abs(m) < 0.02 ? QColor() : signed_color(theme, m);
        },
        style.exporting ? std::optional(data_.position) : selection.query());
    const double end = y + 12 + flow_.height() + 14;
    draw::signed_bar(painter, QRectF(MlpLayout::margin, end, 160, 10), activation_limit_, theme);
}

Hit MlpFigure::hit_test(QPointF point, const Style&, const Selection&) const {
    Hit hit;
    for (std::size_t i = 0; i < data_.memories.size(); ++i) {
        const QRectF row = at_.row(static_cast<std::int64_t>(i));
        if (!row.contains(point)) continue;
        const analyze::Memory& m = data_.memories[i];
        hit.kind = Hit::Kind::dimension;
        hit.dimension = m.neuron.value;
        hit.neuron = analyze::NeuronId{data_.layer, m.neuron};
        hit.value = m.coefficient;
        hit.area = row;
        hit.tip = QStringLiteral("L%1 neuron %2  m %3  |v| %4  |m|·|v| %5  %6 %7")
                      .arg(data_.layer.value)
                      .arg(m.neuron.value)
                      .arg(draw::number_text(m.coefficient, 4), draw::number_text(m.value_norm, 4),
                           draw::number_text(m.contribution_norm, 4),
                           data_.gated ? QStringLiteral("gate") : QStringLiteral("x·k + b"), draw::number_text(m.pre, 4));
        if (data_.gated) hit.tip += QStringLiteral("  up ") + draw::number_text(m.up, 4);
        if (data_.experts)
            hit.tip += QStringLiteral("  %1, weight %2")
                           .arg(m.expert >= 0 ? QStringLiteral("expert %1").arg(m.expert) : QStringLiteral("shared expert"),
                                draw::number_text(m.weight, 4));
        if (!data_.promoted.empty())
            hit.tip += QStringLiteral("  value alone: %1 with probability %2")
                           .arg(m.coefficient < 0 ? data_.lowered[i].front() : data_.raised[i].front())
                           .arg(QString::number(data_.promoted[i].max_probability, 'g', 3));
        return hit;
    }
    if (const auto position = flow_.at(point)) {
        hit.kind = Hit::Kind::query;
        hit.query = Position(*position);
        hit.value = static_cast<double>(data_.activations[*position]);
        hit.area = flow_.box(*position);
        hit.tip = QStringLiteral("%1  coefficient of neuron %2: %3")
                      .arg(named(*position))
                      .arg(data_.followed.value)
                      .arg(draw::number_text(*hit.value, 4));
    }
    return hit;
}

Table MlpFigure::table() const {
    Table table;
    table.columns = {"layer",      "position",          "neuron", "coefficient", "pre_activation", "up",
                     "value_norm", "contribution_norm", "raises", "lowers",      "max_probability"};
    for (std::size_t i = 0; i < data_.memories.size(); ++i) {
        const analyze::Memory& m = data_.memories[i];
        auto& row = table.rows.emplace_back();
        row = {data_.layer.value, data_.position.value, m.neuron.value, m.coefficient, m.pre, m.up,
               m.value_norm,      m.contribution_norm};
        if (!data_.promoted.empty()) {
            row.emplace_back(joined(data_.raised[i]).toStdString());
            row.emplace_back(joined(data_.lowered[i]).toStdString());
            row.emplace_back(data_.promoted[i].max_probability);
        }
        row.resize(table.columns.size());
    }
    return table;
}

std::vector<NamedArray> MlpFigure::arrays() const {
    const auto n = static_cast<std::int64_t>(data_.memories.size());
    NamedArray neuron{"neuron", {n}, {}}, coefficient{"coefficient", {n}, {}}, contribution{"contribution_norm", {n}, {}};
    for (const analyze::Memory& m : data_.memories) {
        neuron.values.push_back(static_cast<float>(m.neuron.value));
        coefficient.values.push_back(static_cast<float>(m.coefficient));
        contribution.values.push_back(static_cast<float>(m.contribution_norm));
    }
    const auto& a = data_.activations;
    return {neuron, coefficient, contribution, {"followed_activations", {a.size()}, {a.data(), a.data() + a.size()}}};
}

std::unique_ptr<Figure> mlp_view(TracePtr trace, Layer layer, Position position, const MlpViewOptions& options,
                                 const CancelToken& cancel) {
    const model::ModelConfig& c = trace->config();
    MlpViewData data;
    data.layer = layer;
    data.position = position;
    data.memories = analyze::memories(*trace, layer, position, 0);
    data.neurons = model::mlp_width(c, layer.value);
    data.active =
        std::count_if(data.memories.begin(), data.memories.end(), [](const analyze::Memory& m) { return m.coefficient > 0; });
    data.memories.resize(std::min<std::size_t>(data.memories.size(), kMemories));
    data.followed = options.neuron.value_or(data.memories.front().neuron);
    data.activations = analyze::neuron_activations(*trace, layer, data.followed);
    data.labels = analyze::pattern_axes(*trace, analyze::PatternOptions{}).keys;
    data.gated = c.gated_mlp;
    data.experts = model::has_experts(c, layer.value);
    data.gain = options.gain;
    data.model = c.name;
    if (analyze::unembeds_stream(c)) {
        std::vector<Neuron> neurons;
        for (const analyze::Memory& m : data.memories) neurons.push_back(m.neuron);
        data.promoted = analyze::promoted_tokens(*trace->model(), layer, neurons,
                                                 {.top = kTokens, .gain = options.gain, .watched = {}}, cancel);
        const auto words = [&](const std::vector<analyze::TokenScore>& list) {
            std::vector<QString> out;
            for (const analyze::TokenScore& each : list)
                out.push_back(QString::fromStdString(text::token_label(*trace->tokenizer(), each.id)));
            return out;
        };
        for (std::size_t i = 0; i < data.memories.size(); ++i) {
            const bool turned = data.memories[i].coefficient < 0;
            data.raised.push_back(words(turned ? data.promoted[i].bottom : data.promoted[i].top));
            data.lowered.push_back(words(turned ? data.promoted[i].top : data.promoted[i].bottom));
        }
    }
    return std::make_unique<MlpFigure>(std::move(data));
}

}  // namespace headlight::figure
