// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/heads/heads_mosaic.h"

#include "figure/core/draw.h"
#include "figure/pattern/neuron/neuron_view_layout.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

constexpr double mosaic_legend_height = 34;

const QFont& index_font() { return ui_font(10.5); }

/// Every n-th index, so that two digits never touch.
std::int64_t index_step(double pitch) {
    for (const std::int64_t step : {1, 2, 4, 8, 16})
        if (pitch * double(step) >= 15) return step;
    return 32;
}

QString range_number(double x) { return QString::number(x, 'g', 3).replace(u'-', QChar(0x2212)); }

}  // namespace

MosaicLayout mosaic_layout(std::int64_t layers, std::int64_t heads, double available_width) {
    MosaicLayout at;
    at.layers = layers;
    at.heads = heads;
    at.left = 24;
    at.top = 18;
    const double room = available_width - at.left - 4;
    const double fitting = room / double(heads);
    // Whole pixels as long as there are a few of them; the panel does not scroll sideways.
    at.pitch = std::clamp(fitting >= 6 ? std::floor(fitting) : fitting, 2.0, 25.0);
    at.gap = at.pitch >= 18 ? 2 : at.pitch >= 10 ? 1.5 : at.pitch >= 6 ? 1 : 0.5;
    const QRectF grid = at.grid();
    const double legend_width = std::clamp(grid.width(), 120.0, std::max(120.0, room));
    at.legend = {at.left, grid.bottom() + 12, legend_width, mosaic_legend_height};
    at.width = std::max(grid.right(), at.legend.right()) + 4;
    at.height = at.legend.bottom();
    return at;
}

QRectF MosaicLayout::cell(HeadId id) const {
    return {left + double(id.head.value) * pitch, top + double(id.layer.value) * pitch, pitch - gap, pitch - gap};
}

QRectF MosaicLayout::grid() const { return {left, top, double(heads) * pitch - gap, double(layers) * pitch - gap}; }

std::optional<HeadId> MosaicLayout::head_at(QPointF point) const {
    const auto head = static_cast<std::int64_t>(std::floor((point.x() - left) / pitch));
    const auto layer = static_cast<std::int64_t>(std::floor((point.y() - top) / pitch));
    if (head < 0 || head >= heads || layer < 0 || layer >= layers) return std::nullopt;
    return HeadId{Layer{layer}, Head{head}};
}

double MosaicScale::strength(double value) const {
    return high > low ? std::clamp((value - low) / (high - low), 0.0, 1.0) : value > low ? 1.0 : 0.0;
}

MosaicScale mosaic_scale(const analyze::MeasureInfo& measure, const Eigen::MatrixXd& values) {
    double low = NAN, high = NAN;
    for (const double x : values.reshaped())
        if (std::isfinite(x)) low = std::fmin(low, x), high = std::fmax(high, x);
    MosaicScale scale{std::isnan(measure.low) ? low : measure.low, std::isnan(measure.high) ? high : measure.high};
    if (std::isnan(scale.low)) scale.low = 0;
    if (std::isnan(scale.high)) scale.high = scale.low + 1;
    return scale;
}

HeadsMosaic::HeadsMosaic(std::shared_ptr<const analyze::HeadTable> table, std::string measure, std::vector<HeadId> dimmed)
    : table_(std::move(table)), dimmed_(std::move(dimmed)) {
    const auto& all = table_->measures;
    const auto at = std::find_if(all.begin(), all.end(), [&](const auto& m) { return m.id == measure; });
    if (at == all.end()) {
        std::string names;
        for (const auto& m : all) names += (names.empty() ? "" : ", ") + m.id;
        throw Error(ErrorFacts{.problem = "there is no measure of this name", .item = measure, .expected = names});
    }
    measure_ = static_cast<std::size_t>(at - all.begin());
    std::sort(dimmed_.begin(), dimmed_.end());
    scale_ = mosaic_scale(*at, table_->values[measure_]);
    at_ = mosaic_layout(table_->n_layers, table_->n_heads, 228);
}

double HeadsMosaic::value(HeadId id) const { return table_->values[measure_](id.layer.value, id.head.value); }

bool HeadsMosaic::dimmed(HeadId id) const { return std::binary_search(dimmed_.begin(), dimmed_.end(), id); }

QSizeF HeadsMosaic::layout(QSizeF available, const Style&, const Selection&) {
    at_ = mosaic_layout(table_->n_layers, table_->n_heads, available.width());
    return {at_.width, at_.height};
}

void HeadsMosaic::paint(QPainter& painter, const QRectF& exposed, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    painter.setRenderHint(QPainter::Antialiasing);
    for (std::int64_t l = 0; l < at_.layers; ++l)
        for (std::int64_t h = 0; h < at_.heads; ++h) {
            const HeadId id{Layer{l}, Head{h}};
            if (at_.cell(id).adjusted(-3, -3, 3, 3).intersects(exposed)) paint_cell(painter, id, style);
        }
    const auto ring = [&](HeadId id, const QColor& color, double out) {
        if (id.layer.value >= at_.layers || id.head.value >= at_.heads) return;
        draw::box(painter, at_.cell(id).adjusted(-out, -out, out, out), at_.pitch >= 14 ? 4 : 2, {}, color, 2);
    };
    ring(selection.focus, theme.accent, 1);
    if (!style.exporting && selection.hover_head && selection.hover_head != selection.focus)
        ring(*selection.hover_head, theme.muted, 1);
    paint_axes(painter, theme);
    paint_legend(painter, style);
}

void HeadsMosaic::paint_cell(QPainter& painter, HeadId id, const Style& style) const {
    const Theme& theme = *style.theme;
    const QRectF cell = at_.cell(id);
    const double radius = at_.pitch >= 18 ? 3 : at_.pitch >= 10 ? 2 : 1;
    const double x = value(id);
    const double opacity = dimmed(id) ? 0.22 : 1;
    if (std::isfinite(x)) {
        QColor fill = ramp_color(style.ramp, theme, scale_.strength(x));
        const QColor edge = at_.pitch >= 14 ? draw::faded(theme.line, opacity) : QColor();
        draw::box(painter, cell.adjusted(0.5, 0.5, -0.5, -0.5), radius, draw::faded(fill, opacity), edge);
        return;
    }
    // Hatched, lest a missing value pass for the low end.
    painter.save();
    painter.setClipRect(cell.adjusted(1, 1, -1, -1), Qt::IntersectClip);
    painter.setPen(QPen(draw::faded(theme.faint, 0.55 * opacity), 1));
    for (double d = 3; d < 2 * cell.width(); d += 4)
        painter.drawLine(QPointF(cell.left() + d, cell.top()), QPointF(cell.left(), cell.top() + d));
    painter.restore();
    draw::box(painter, cell.adjusted(0.5, 0.5, -0.5, -0.5), radius, {}, draw::faded(theme.line, opacity));
}

void HeadsMosaic::paint_axes(QPainter& painter, const Theme& theme) const {
    const std::int64_t step = index_step(at_.pitch);
    for (std::int64_t h = 0; h < at_.heads; h += step) {
        const QRectF cell = at_.cell({Layer{0}, Head{h}});
        draw::text(painter, {cell.center().x(), at_.top - 6}, QString::number(h), index_font(), theme.muted, draw::Align::center);
    }
    for (std::int64_t l = 0; l < at_.layers; l += step) {
        const QRectF cell = at_.cell({Layer{l}, Head{0}});
        draw::text(painter, {at_.left - 8, draw::centred_baseline(cell.center().y(), index_font())}, QString::number(l),
                   index_font(), theme.muted, draw::Align::right);
    }
}

void HeadsMosaic::paint_legend(QPainter& painter, const Style& style) const {
    const Theme& theme = *style.theme;
    const auto& measure = table_->measures[measure_];
    const QRectF bar(at_.legend.left(), at_.legend.top(), at_.legend.width(), 7);
    const int steps = std::max(2, static_cast<int>(bar.width() / 2));
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    for (int i = 0; i < steps; ++i)
        painter.fillRect(QRectF(bar.left() + bar.width() * i / steps, bar.top(), bar.width() / steps + 0.2, 7),
                         ramp_color(style.ramp, theme, (i + 0.5) / steps));
    painter.restore();
    const double y = bar.bottom() + 14;
    QString name = QString::fromStdString(measure.title);
    if (measure.unit == "nats" || measure.unit == "tokens") name += QStringLiteral(" (%1)").arg(measure.unit.c_str());
    const QString low = range_number(scale_.low), high = range_number(scale_.high);
    const double low_width = draw::text_width(low, index_font()), high_width = draw::text_width(high, index_font());
    const double room = bar.width() - low_width - high_width;  // the name stands between the numbers
    draw::text(painter, {bar.left(), y}, low, index_font(), theme.muted);
    draw::text(painter, {bar.left() + low_width + room / 2, y}, draw::elided(name, index_font(), room - 16), index_font(),
               theme.muted, draw::Align::center);
    draw::text(painter, {bar.right(), y}, high, index_font(), theme.muted, draw::Align::right);
}

Hit HeadsMosaic::hit_test(QPointF point, const Style&, const Selection&) const {
    Hit hit;
    const auto& measure = table_->measures[measure_];
    if (const auto id = at_.head_at(point)) {
        hit.kind = Hit::Kind::head;
        hit.head = id;
        hit.area = at_.cell(*id);
        const double x = value(*id);
        const QString name = QString::fromStdString(measure.title);
        if (std::isfinite(x)) {
            hit.value = x;
            hit.tip = QStringLiteral("%1  %2 %3").arg(head_name(*id), name, fixed(x, 4));
            if (measure.unit == "nats" || measure.unit == "tokens")
                hit.tip += QStringLiteral(" ") + QString::fromStdString(measure.unit);
        } else {
            hit.tip = QStringLiteral("%1  %2: not defined on this text").arg(head_name(*id), name);
        }
        if (dimmed(*id)) hit.tip += QStringLiteral("  (not in the filter)");
    } else if (at_.legend.contains(point)) {
        hit.kind = Hit::Kind::legend;
        hit.area = at_.legend;
        hit.tip = QString::fromStdString(measure.definition);
    }
    return hit;
}

Table HeadsMosaic::table() const {
    Table table;
    table.columns = {"layer", "head", table_->measures[measure_].id, "in_filter"};
    for (std::int64_t l = 0; l < at_.layers; ++l)
        for (std::int64_t h = 0; h < at_.heads; ++h) {
            const HeadId id{Layer{l}, Head{h}};
            const double x = value(id);
            auto& row = table.rows.emplace_back();
            row.emplace_back(l);
            row.emplace_back(h);
            std::isfinite(x) ? row.emplace_back(x) : row.emplace_back();
            row.emplace_back(std::int64_t{dimmed(id) ? 0 : 1});
        }
    return table;
}

std::vector<NamedArray> HeadsMosaic::arrays() const {
    NamedArray array{table_->measures[measure_].id, {at_.layers, at_.heads}, {}};
    for (std::int64_t l = 0; l < at_.layers; ++l)
        for (std::int64_t h = 0; h < at_.heads; ++h) array.values.push_back(static_cast<float>(value({Layer{l}, Head{h}})));
    return {array};
}

QString HeadsMosaic::title() const {
    return QStringLiteral("Heads by %1").arg(QString::fromStdString(table_->measures[measure_].title));
}

QString HeadsMosaic::description() const {
    return QStringLiteral(
               "Every head of the model on this text, one cell each: rows are layers, columns are heads. The tint is "
               "one measure, here %1. Hatched cells have no value on this text; faint ones do not match the filter. "
               "Layers x heads overviews of one measure go back to Vig & Belinkov 2019, Analyzing the Structure of "
               "Attention in a Transformer Language Model.")
        .arg(QString::fromStdString(table_->measures[measure_].title + ": " + table_->measures[measure_].definition));
}

std::unique_ptr<Figure> heads_mosaic(std::shared_ptr<const analyze::HeadTable> table, std::string measure,
                                     std::vector<HeadId> dimmed) {
    return std::make_unique<HeadsMosaic>(std::move(table), std::move(measure), std::move(dimmed));
}

}  // namespace headlight::figure
