// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/heads/heads_mosaic.h"

#include "figure/core/axis_words.h"
#include "figure/core/draw.h"
#include "figure/pattern/neuron/neuron_view_layout.h"
#include "headlight/base/error.h"
#include "headlight/figure/core/round_step.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

constexpr double mosaic_legend_height = 34, above_legend = 12, most_pitch = 34;
constexpr double heading_margin = 16, heading_height = 64, most_pitch_alone = 72, least_pitch_of_numbers = 44;

const QFont& index_font() { return ui_font(10.5); }

QString range_number(double x) { return QString::number(x, 'g', 3).replace(u'-', QChar(0x2212)); }

}  // namespace

MosaicLayout mosaic_layout(std::int64_t layers, std::int64_t heads, QSizeF available, bool alone) {
    MosaicLayout at;
    at.layers = layers;
    at.heads = heads;
    at.left = 24 + (alone ? heading_margin : 0);
    at.top = 18 + (alone ? heading_height : 0);
    const double room = available.width() - at.left - 4;
    const auto whole = [least = MosaicLayout::least_of(layers), most = alone ? most_pitch_alone : most_pitch](double pitch) {
        return std::clamp(std::floor(pitch), least, most);
    };
    const double across = room / double(heads);
    const double down =
        available.height() > 0 ? (available.height() - at.top - above_legend - mosaic_legend_height) / double(layers) : across;
    // Many layers make flat cells: twice as wide as high at most, so that they still read as a grid.
    at.pitch = {whole(std::min(across, 2 * whole(down))), whole(std::min(across, down))};
    const double least = std::min(at.pitch.width(), at.pitch.height());
    at.gap = least >= 18 ? 2 : least >= 10 ? 1.5 : least >= 5 ? 1 : 0;
    const QRectF grid = at.grid();
    at.legend = {at.left, grid.bottom() + above_legend, std::max(120.0, std::min(grid.width(), room)), mosaic_legend_height};
    at.width = std::max(grid.right(), at.legend.right()) + 4;
    at.height = at.legend.bottom() + at.gap;  // as much as cells of this pitch are counted to need
    return at;
}

QRectF MosaicLayout::cell(HeadId id) const {
    return {left + double(id.head.value) * pitch.width(), top + double(id.layer.value) * pitch.height(), pitch.width() - gap,
            pitch.height() - gap};
}

QRectF MosaicLayout::grid() const {
    return {left, top, double(heads) * pitch.width() - gap, double(layers) * pitch.height() - gap};
}

double MosaicScale::strength(double value) const {
    return high > low ? std::clamp((value - low) / (high - low), 0.0, 1.0) : value > low ? 1.0 : 0.0;
}

QColor MosaicScale::color(Ramp ramp, const Theme& theme, double strength) const {
    return is_signed ? signed_color(theme, 2 * strength - 1) : ramp_color(ramp, theme, strength);
}

MosaicScale mosaic_scale(const analyze::MeasureInfo& measure, const Eigen::MatrixXd& values, bool to_data) {
    double low = NAN, high = NAN;
    for (const double x : values.reshaped())
        if (std::isfinite(x)) low = std::fmin(low, x), high = std::fmax(high, x);
    if (measure.group == kDifferenceGroup) {
        double limit = std::fmax(std::abs(low), std::abs(high));
        if (!(limit > 0)) limit = 1;
        return {.low = -limit, .high = limit, .is_signed = true};
    }
    if (to_data && low < high) return {.low = low, .high = high};
    MosaicScale scale{.low = std::isnan(measure.low) ? low : measure.low, .high = std::isnan(measure.high) ? high : measure.high};
    if (std::isnan(scale.low)) scale.low = 0;
    if (std::isnan(scale.high)) scale.high = scale.low + 1;
    return scale;
}

HeadsMosaic::HeadsMosaic(std::shared_ptr<const analyze::HeadTable> table, std::string measure, std::vector<HeadId> dimmed,
                         bool to_data, std::optional<QString> subtitle)
    : table_(std::move(table)), dimmed_(std::move(dimmed)), subtitle_(std::move(subtitle)) {
    const auto& all = table_->measures;
    const auto at = std::ranges::find(all, measure, &analyze::MeasureInfo::id);
    if (at == all.end()) {
        std::string names;
        for (const auto& m : all) names += (names.empty() ? "" : ", ") + m.id;
        throw Error(ErrorFacts{.problem = "There is no measure of this name", .item = measure, .expected = names});
    }
    measure_ = static_cast<std::size_t>(at - all.begin());
    std::sort(dimmed_.begin(), dimmed_.end());
    scale_ = mosaic_scale(*at, table_->values[measure_], to_data);
    at_ = mosaic_layout(table_->n_layers, table_->n_heads, {228, 0});
}

double HeadsMosaic::value(HeadId id) const { return table_->values[measure_](id.layer.value, id.head.value); }

bool HeadsMosaic::dimmed(HeadId id) const { return std::binary_search(dimmed_.begin(), dimmed_.end(), id); }

QSizeF HeadsMosaic::place(QSizeF available, const Style&, const Selection&) {
    at_ = mosaic_layout(table_->n_layers, table_->n_heads, available, subtitle_.has_value());
    return {at_.width, at_.height};
}

QRectF HeadsMosaic::legend_in(const QRectF& seen) const {
    const double width = std::min(at_.legend.width(), std::max(120.0, seen.width() - at_.left - 4));
    return {seen.left() + at_.left, std::min(at_.legend.top(), seen.bottom() - at_.legend.height()), width, at_.legend.height()};
}

QRectF HeadsMosaic::cells_in(const QRectF& seen) const {
    const double around = 3;  // a ring
    const QPointF corner(seen.left() + at_.left - around, seen.top() + at_.top - around);
    return {corner, QPointF(seen.right(), legend_in(seen).top() - above_legend + around)};
}

void HeadsMosaic::draw_on(Scene& out, const QRectF& seen, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    const QRectF room = cells_in(seen);
    {
        const auto clip = out.clip(room);
        for (std::int64_t l = 0; l < at_.layers; ++l)
            for (std::int64_t h = 0; h < at_.heads; ++h) {
                const HeadId id{Layer{l}, Head{h}};
                if (at_.cell(id).adjusted(-3, -3, 3, 3).intersects(room)) draw_cell(out, id, style);
            }
        const auto ring = [&](HeadId id, const QColor& color, double around) {
            if (id.layer.value < 0 || id.layer.value >= at_.layers || id.head.value >= at_.heads) return;
            out.box(at_.cell(id).adjusted(-around, -around, around, around), short_side() >= 14 ? 4 : 2, {}, color, 2);
        };
        if (!style.exporting) ring(selection.focus, theme.accent, 1);
        if (!style.exporting && selection.hover_head && selection.hover_head != selection.focus)
            ring(*selection.hover_head, theme.muted, 1);
    }
    if (subtitle_) draw_heading(out, seen, theme);
    draw_axes(out, seen, theme, style.exporting ? std::nullopt : std::optional(selection.focus));
    draw_legend(out, seen, style);
}

void HeadsMosaic::draw_heading(Scene& out, const QRectF& seen, const Theme& theme) const {
    const QFont &large = ui_font(15, QFont::DemiBold), &small = ui_font(12);
    const QString title = capitalized(QString::fromStdString(table_->measures[measure_].title));
    const double room = seen.width() - 2 * heading_margin;
    const QPointF at = seen.topLeft() + QPointF(heading_margin, 32);
    out.text(at, draw::elided(title, large, room), large, theme.text);
    out.text(at + QPointF(0, 20), draw::elided(*subtitle_, small, room), small, theme.muted);
}

void HeadsMosaic::draw_cell(Scene& out, HeadId id, const Style& style) const {
    const Theme& theme = *style.theme;
    const QRectF cell = at_.cell(id);
    const double radius = short_side() >= 18 ? 3 : short_side() >= 10 ? 2 : 1;
    const double x = value(id);
    const double opacity = dimmed(id) ? 0.22 : 1;
    const auto of = out.of(id);
    out.means({cell.topLeft(), at_.pitch},
              {.kind = Hit::Kind::head, .head = id, .value = std::isfinite(x) ? std::optional(x) : std::nullopt},
              [this, id] { return tip_of(id); });
    if (std::isfinite(x)) {
        QColor fill = scale_.color(style.ramp, theme, scale_.strength(x));
        if (at_.gap == 0) return out.fill(cell, draw::faded(fill, opacity));  // thousands of cells of a few pixels
        const QColor edge = short_side() >= 14 ? draw::faded(theme.line, opacity) : QColor();
        out.box(cell.adjusted(0.5, 0.5, -0.5, -0.5), radius, draw::faded(fill, opacity), edge);
        if (!subtitle_ || short_side() < least_pitch_of_numbers) return;
        out.text({cell.center().x(), draw::centred_baseline(cell.center().y(), index_font())},
                 draw::number_text(x, std::abs(x) >= 10 ? 1 : 2), index_font(), draw::faded(text_on(theme, fill), opacity),
                 draw::Align::center);
        return;
    }
    // Hatched, lest a missing value pass for the low end.
    out.hatch(cell.adjusted(1, 1, -1, -1), 4, draw::faded(theme.faint, 0.55 * opacity));
    out.box(cell.adjusted(0.5, 0.5, -0.5, -0.5), radius, {}, draw::faded(theme.line, opacity));
}

QString HeadsMosaic::tip_of(HeadId id) const {
    const auto& measure = table_->measures[measure_];
    const double x = value(id);
    const QString name = QString::fromStdString(measure.title);
    QString tip;
    if (std::isfinite(x)) {
        tip = QStringLiteral("%1  %2 %3").arg(head_name(id), name, fixed(x, 4));
        if (measure.unit == "nats" || measure.unit == "tokens") tip += QStringLiteral(" ") + QString::fromStdString(measure.unit);
        if (const std::string repeats = analyze::repeats_text(*table_, measure.id); !repeats.empty())
            tip += QStringLiteral(", %1").arg(QString::fromStdString(repeats));
    } else {
        tip = QStringLiteral("%1  %2: not defined on %3").arg(head_name(id), name, texts());
    }
    return dimmed(id) ? tip + QStringLiteral("  (not in the filter)") : tip;
}

/// Beside the cells in sight, every so many; the selected head's own numbers always, and none that would touch them.
void HeadsMosaic::draw_axes(Scene& out, const QRectF& seen, const Theme& theme, std::optional<HeadId> focus) const {
    const QRectF room = cells_in(seen);
    const QString widest = QString::number(at_.heads - 1);
    const double wide = draw::text_width(widest, index_font()) + 6, tall = 15;
    const auto axis = [&](std::int64_t count, std::optional<std::int64_t> chosen, double pitch, double label, auto put) {
        const std::int64_t step = round_step(count, pitch * double(count), label);  // so that the numbers never touch
        for (std::int64_t i = 0; i < count; ++i) {
            const bool own = i == chosen;
            const bool free = !chosen || double(std::abs(i - *chosen)) * pitch >= label;
            if (own || (i % step == 0 && free)) put(i, own ? theme.accent : theme.muted);
        }
    };
    std::optional<std::int64_t> own_head, own_layer;
    if (focus && focus->layer.value >= 0) own_head = focus->head.value, own_layer = focus->layer.value;
    axis(at_.heads, own_head, at_.pitch.width(), wide, [&](std::int64_t h, const QColor& color) {
        const double x = at_.cell({Layer{0}, Head{h}}).center().x();
        if (x >= room.left() && x <= room.right())
            out.text({x, seen.top() + at_.top - 6}, QString::number(h), index_font(), color, draw::Align::center);
    });
    axis(at_.layers, own_layer, at_.pitch.height(), tall, [&](std::int64_t l, const QColor& color) {
        const double y = at_.cell({Layer{l}, Head{0}}).center().y();
        if (y >= room.top() && y <= room.bottom())
            out.text({seen.left() + at_.left - 8, draw::centred_baseline(y, index_font())}, QString::number(l), index_font(),
                     color, draw::Align::right);
    });
}

void HeadsMosaic::draw_legend(Scene& out, const QRectF& seen, const Style& style) const {
    const Theme& theme = *style.theme;
    const auto& measure = table_->measures[measure_];
    const QRectF legend = legend_in(seen), bar(legend.left(), legend.top(), legend.width(), 7);
    out.picture(bar, [this, bar, &theme, ramp = style.ramp](QPainter& painter) {
        const int steps = std::max(2, static_cast<int>(bar.width() / 2));
        painter.setRenderHint(QPainter::Antialiasing, false);
        for (int i = 0; i < steps; ++i)
            painter.fillRect(QRectF(bar.left() + bar.width() * i / steps, bar.top(), bar.width() / steps + 0.2, 7),
                             scale_.color(ramp, theme, (i + 0.5) / steps));
    });
    out.means(legend, {.kind = Hit::Kind::legend, .tip = QString::fromStdString(measure.definition)});
    const double y = bar.bottom() + 14;
    const QString bare = QString::fromStdString(measure.title);
    QString name = bare;
    if (measure.unit == "nats" || measure.unit == "tokens") name += QStringLiteral(" (%1)").arg(measure.unit.c_str());
    if (const std::string repeats = analyze::repeats_text(*table_, measure.id); !repeats.empty())
        name += QStringLiteral(" (%1)").arg(QString::fromStdString(repeats));
    const QString low = range_number(scale_.low), high = range_number(scale_.high);
    const double low_width = draw::text_width(low, index_font()), high_width = draw::text_width(high, index_font());
    const double room = bar.width() - low_width - high_width;           // the name stands between the numbers
    if (draw::text_width(name, index_font()) > room - 16) name = bare;  // the tip has the unit
    out.text({bar.left(), y}, low, index_font(), theme.muted);
    out.text({bar.left() + low_width + room / 2, y}, draw::elided(name, index_font(), room - 16), index_font(), theme.muted,
             draw::Align::center);
    out.text({bar.right(), y}, high, index_font(), theme.muted, draw::Align::right);
}

Table HeadsMosaic::table() const {
    Table table;
    table.columns = {"layer", "head", table_->measures[measure_].id, "in_filter"};
    for (std::int64_t l = 0; l < at_.layers; ++l)
        for (std::int64_t h = 0; h < at_.heads; ++h) {
            const HeadId id{Layer{l}, Head{h}};
            table.add({l, h, finite_cell(value(id)), std::int64_t{dimmed(id) ? 0 : 1}});
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
               "Every head of the model on %2, one cell each: rows are layers, columns are heads. The tint is "
               "one measure, here %1. Hatched cells have no value there; faint ones do not match the filter. "
               "Layers x heads overviews of one measure go back to Vig & Belinkov 2019, Analyzing the Structure of "
               "Attention in a Transformer Language Model.")
        .arg(QString::fromStdString(table_->measures[measure_].title + ": " + table_->measures[measure_].definition), texts());
}

QString HeadsMosaic::texts() const { return subtitle_ ? QStringLiteral("these texts") : QStringLiteral("this text"); }

double mosaic_height(std::int64_t layers, std::int64_t heads, double width) {
    return mosaic_layout(layers, heads, {width, 0}).height;
}

std::unique_ptr<Figure> heads_mosaic(std::shared_ptr<const analyze::HeadTable> table, std::string measure,
                                     std::vector<HeadId> dimmed, bool to_data) {
    return std::make_unique<HeadsMosaic>(std::move(table), std::move(measure), std::move(dimmed), to_data);
}

}  // namespace headlight::figure
