// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/model/model_view_figure.h"

#include "figure/pattern/model/model_view_frame.h"
#include "figure/pattern/neuron/neuron_view_layout.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace headlight::figure {
namespace {

/// Every n-th index, so that numbers never touch.
std::int64_t label_step(double pitch_px) {
    for (const std::int64_t step : {1, 2, 4, 8, 16})
        if (pitch_px * double(step) >= 18) return step;
    return 32;
}

}  // namespace

ModelFigure::ModelFigure(std::shared_ptr<ModelViewStore> store, const ModelViewOptions& options)
    : store_(std::move(store)), options_(options), at_(model_layout(shape(), {960, 640})) {
    seen_ = {0, 0, at_.width, at_.height};
}

QSizeF ModelFigure::layout(QSizeF available, const Style& style, const Selection&) {
    // Files are made beside the window: they must not paint with the pixels that the window paints with.
    if (style.exporting && !own_store_) {
        store_ = std::make_shared<ModelViewStore>(store_->data());
        own_store_ = true;
    }
    at_ = model_layout(shape(), available);
    if (options_.detail) at_.height = std::max(at_.height, detail_size(shape(), at_.height).height() + 24);
    seen_ = {0, 0, at_.width, at_.height};
    return {at_.width, at_.height};
}

double ModelFigure::max_zoom() const {
    // A pair of a map is then about 80 px, a row of lines about 40.
    const double cells = double(std::max(shape().rows, shape().columns));
    return std::max(8.0, (shape().lines ? 40.0 : 80.0) * cells / at_.cell.height());
}

void ModelFigure::paint(QPainter& painter, const QRectF& exposed, const Style& style, const Selection& selection) const {
    seen_ = exposed & QRectF(0, 0, at_.width, at_.height);
    Frame frame{painter,
                seen_,
                draw::on_target(painter, exposed),
                style,
                selection,
                draw::device_scale(painter),
                1 / style.zoom,
                draw::is_vector(painter)};
    store_->begin({style.theme, style.ramp, style.palette, style.transfer, options_.mean}, style.exporting);
    painter.setRenderHint(QPainter::Antialiasing);
    paint_title(frame);
    if (shape().rows == 0 || shape().columns == 0) {
        frame.text(at_.grid().topLeft() + QPointF(0, 20), QStringLiteral("every token is hidden"), ui_font(13),
                   frame.theme().muted);
        return;
    }
    const auto seen = at_.touching(frame.seen);
    const auto in_sight = (seen.last_layer - seen.first_layer + 1) * (seen.last_head - seen.first_head + 1);
    frame.real_maps = in_sight + (options_.detail ? 1 : 0) <= store_->real_capacity();
    paint_bands(frame);
    const auto range = at_.touching(frame.target);
    for (auto l = range.first_layer; l <= range.last_layer; ++l)
        for (auto h = range.first_head; h <= range.last_head; ++h) paint_cell(frame, {Layer{l}, Head{h}});
    paint_rings(frame);
    paint_axes(frame);
    paint_legend(frame);
    if (options_.detail) paint_detail(frame);
    paint_miniature(frame);
}

/// Every second ten of many layers on a ground of its own, beyond the cells far enough to be seen beside them.
void ModelFigure::paint_bands(Frame& frame) const {
    if (shape().layers <= 2 * layers_of_band) return;
    const double out = 5 * frame.unit;
    for (std::int64_t band = 1; band * layers_of_band < shape().layers; band += 2) {
        const QRectF rect = layer_band(at_, band).adjusted(-out, -out, out, out);
        frame.painter.fillRect(at_.across ? QRectF(rect.left() + out, rect.top(), rect.width() - 2 * out, rect.height())
                                          : QRectF(rect.left(), rect.top() + out, rect.width(), rect.height() - 2 * out),
                               frame.theme().chip);
    }
}

/// Where in the whole one is, once a part of the grid is out of sight.
void ModelFigure::paint_miniature(Frame& frame) const {
    const QRectF grid = at_.grid();
    if (frame.style.exporting || options_.detail || frame.seen.contains(grid)) return;
    constexpr double longest = 96, inset = 12;
    const double scale = longest / std::max(grid.width(), grid.height());
    const QSizeF size = grid.size() * scale;
    const QPointF corner(frame.seen.right() - (size.width() + inset) * frame.unit,
                         std::min(at_.height, frame.seen.bottom()) - (size.height() + at_.legend_height + inset) * frame.unit);
    frame.at(corner, [&] {
        QPainter& painter = frame.painter;
        const Theme& theme = frame.theme();
        const auto small = [&](const QRectF& rect) {
            return QRectF((rect.topLeft() - grid.topLeft()) * scale, rect.size() * scale);
        };
        draw::box(painter, QRectF({}, size).adjusted(-5, -5, 5, 5), 4, theme.panel, theme.line);
        for (std::int64_t band = 0; band * layers_of_band < shape().layers; ++band)
            painter.fillRect(small(layer_band(at_, band) & grid), band % 2 ? theme.line : theme.chip);
        if (const auto head = marked(frame); head && head->layer.value < at_.layers && head->head.value < at_.heads) {
            const QPointF at = small(at_.cell_rect(*head)).center();
            painter.fillRect(QRectF(at - QPointF(2, 2), QSizeF(4, 4)), theme.accent);
        }
        draw::box(painter, small(frame.seen & grid), 1, {}, theme.accent, 1.5);
    });
}

void ModelFigure::paint_cell(Frame& frame, HeadId head) const {
    const QRectF cell = at_.cell_rect(head);
    const CellParts parts = cell_parts(shape(), cell, frame.style.zoom);
    const bool open = options_.detail == head;
    const QColor back = open ? frame.theme().accent_soft : frame.theme().panel;
    if (cell.width() >= 24 * frame.unit)
        draw::box(frame.painter, cell, 3 * frame.unit, back);
    else
        frame.painter.fillRect(cell, back);
    frame.strength = frame.style.dims(head) ? dimmed_strength : 1;
    frame.painter.setOpacity(frame.strength);
    if (shape().lines) {
        paint_lines(frame, head, parts.area, std::clamp(parts.row_px * 0.28, 0.8, 2.2));
        if (parts.labelled) paint_line_labels(frame, cell, parts);
    } else {
        paint_map(frame, head, parts.area);
        if (parts.labelled) paint_map_labels(frame, cell, parts);
    }
    frame.painter.setOpacity(1);
}

void ModelFigure::paint_lines(Frame& frame, HeadId head, const QRectF& area, double line_px) const {
    QPainter& painter = frame.painter;
    const auto& selection = frame.selection;
    const bool one_token = frame.hover() && (selection.hover_query || selection.hover_key);
    // Sizes double from zoom to zoom and are scaled in between, so that zooming does not make pictures every frame.
    const double dense = frame.device * frame.unit;
    const double doubled = std::exp2(std::max(0.0, std::ceil(std::log2(frame.style.zoom) - 1e-6)));
    const QSize size = (area.size() * dense * doubled).toSize();
    if (frame.vector || double(size.width()) * size.height() > 3e6) {
        const auto drawn = strengths(store_->pattern_now(head), frame.style.transfer);
        const QColor color = store_->color(head);
        for (Eigen::Index i = 0; i < drawn.rows(); ++i)
            for (Eigen::Index j = 0; j < drawn.cols(); ++j) {
                const double strength = double(drawn(i, j)) * (one_token && !is_hovered(selection, i, j) ? 0.2 : 1);
                if (strength < least_drawn) continue;
                painter.setPen(QPen(draw::faded(color, strength), line_px * frame.unit, Qt::SolidLine, Qt::FlatCap));
                painter.drawLine(QPointF(area.left(), row_middle(area, i, shape().rows)),
                                 QPointF(area.right(), row_middle(area, j, shape().columns)));
            }
        return;
    }
    const QImage* image = store_->lines(head, size, line_px * dense);
    painter.setOpacity(frame.strength * (one_token ? 0.2 : 1));
    paint_image(frame, area, *image);
    painter.setOpacity(frame.strength);
    if (!one_token) return;
    analyze::Matrix drawn = strengths(store_->pattern_now(head), frame.style.transfer);
    for (Eigen::Index i = 0; i < drawn.rows(); ++i)
        for (Eigen::Index j = 0; j < drawn.cols(); ++j)
            if (!is_hovered(selection, i, j)) drawn(i, j) = 0;
    const QColor color = store_->color(head);
    paint_image(frame, area, lines_image(drawn, (area.size() * frame.device).toSize(), line_px * dense, color));
}

bool ModelFigure::is_hovered(const Selection& selection, std::int64_t row, std::int64_t column) const {
    return (!selection.hover_query || covers(axes().queries[static_cast<std::size_t>(row)], *selection.hover_query)) &&
           (!selection.hover_key || covers(axes().keys[static_cast<std::size_t>(column)], *selection.hover_key));
}

void ModelFigure::paint_map(Frame& frame, HeadId head, const QRectF& area) const {
    const double wanted = std::max(area.width(), area.height()) * frame.device;
    const bool more = std::max(shape().rows, shape().columns) > store_->full_side();
    const QImage* image = nullptr;
    std::shared_ptr<const RealMap> real;
    if (more && frame.real_maps && wanted > 1.5 * store_->full_side() && (real = store_->real(head))) {
        auto level = real->levels.begin();
        while (std::next(level) != real->levels.end() && std::next(level)->width() >= wanted) ++level;
        image = &*level;
    }
    if (!image) image = store_->map(head, static_cast<int>(wanted));
    if (!image) return;
    frame.pooled_side = std::max(frame.pooled_side, std::max(image->width(), image->height()));
    frame.pooled |= std::max(image->width(), image->height()) < std::max(shape().rows, shape().columns);
    paint_image(frame, area, *image);
    const double row_px = area.height() / frame.unit / double(shape().rows);
    if ((real || !more) && row_px >= 30) paint_numbers(frame, head, area);
}

void ModelFigure::paint_image(Frame& frame, const QRectF& area, const QImage& image) const {
    QPainter& painter = frame.painter;
    const QSizeF on_device = area.size() * frame.device;
    if (frame.vector) {
        // Viewers smooth images in files: cells are made large enough to keep their edges.
        const int times = std::max(1, static_cast<int>(std::ceil(3 * area.width() / image.width())));
        painter.drawImage(area, shape().lines || times == 1 ? image : image.scaled(image.size() * times));
        return;
    }
    if (std::abs(on_device.width() - image.width()) < 1 && std::abs(on_device.height() - image.height()) < 1) {
        draw::device_image(painter, area.topLeft(), image);
        return;
    }
    const QRectF shown = area & frame.target;
    if (shown.isEmpty()) return;
    // Only the cells in sight, whole ones, so that their edges do not move while panning.
    const double x = area.width() / image.width(), y = area.height() / image.height();
    const int left = static_cast<int>(std::floor((shown.left() - area.left()) / x));
    const int top = static_cast<int>(std::floor((shown.top() - area.top()) / y));
    const int right = std::min(image.width(), static_cast<int>(std::ceil((shown.right() - area.left()) / x)));
    const int bottom = std::min(image.height(), static_cast<int>(std::ceil((shown.bottom() - area.top()) / y)));
    painter.setRenderHint(QPainter::SmoothPixmapTransform, shape().lines || on_device.width() < image.width());
    painter.drawImage(QRectF(area.left() + left * x, area.top() + top * y, (right - left) * x, (bottom - top) * y), image,
                      QRectF(left, top, right - left, bottom - top));
}

std::optional<HeadId> ModelFigure::marked(const Frame& frame) const {
    return frame.style.exporting ? options_.detail : std::optional(frame.selection.focus);
}

void ModelFigure::paint_rings(Frame& frame) const {
    const auto ring = [&](HeadId head, const QColor& color) {
        if (head.layer.value >= at_.layers || head.head.value >= at_.heads) return;
        const double out = 1.5 * frame.unit;
        draw::box(frame.painter, at_.cell_rect(head).adjusted(-out, -out, out, out), 4 * frame.unit, {}, color, 2 * frame.unit);
    };
    if (const auto head = marked(frame)) ring(*head, frame.theme().accent);
    if (frame.hover() && frame.selection.hover_head && *frame.selection.hover_head != frame.selection.focus)
        ring(*frame.selection.hover_head, frame.theme().muted);
}

void ModelFigure::paint_title(Frame& frame) const {
    const QFont heading = ui_font(15, QFont::DemiBold), note = ui_font(13);
    const QPointF at(ModelLayout::margin, ModelLayout::title_baseline);
    frame.text(at, title(), heading, frame.theme().text);
    const auto tokens = std::max(shape().rows, shape().columns);
    const auto count = [](std::int64_t n, const QString& one) {
        return draw::count_text(n) + u' ' + one + (n == 1 ? QString() : QStringLiteral("s"));
    };
    const QString facts = QStringLiteral("%1 × %2, %3")
                              .arg(count(shape().layers, QStringLiteral("layer")), count(shape().heads, QStringLiteral("head")),
                                   words().across ? QStringLiteral("%1 target and %2 source tokens")
                                                        .arg(draw::count_text(shape().rows), draw::count_text(shape().columns))
                                                  : count(tokens, QStringLiteral("token")));
    QString line = facts;
    std::map<QString, std::int64_t> layers_of;
    for (const QString& label : store_->data().labels)
        if (!label.isEmpty()) ++layers_of[label];
    for (const auto& [label, layers] : layers_of)
        line += QStringLiteral(" · %1: %2").arg(label, count(layers, QStringLiteral("layer")));
    if (const auto& filter = frame.style.filter)
        line += QStringLiteral(" · %1 in the filter %2")
                    .arg(draw::count_text(filter->matching), QString::fromStdString(filter->expression));
    const double x = draw::text_width(title(), heading) + 14;
    const double room = frame.seen.width() / frame.unit - ModelLayout::margin * 2 - x;
    frame.text(at + QPointF(x * frame.unit, 0), draw::elided(line, note, std::max(room, 40.0)), note, frame.theme().muted);
}

void ModelFigure::paint_axes(Frame& frame) const {
    const double unit = frame.unit;
    const QRectF grid = at_.grid();
    const Theme& theme = frame.theme();
    // Indices stand at the grid, or at the edge of what is seen when that has scrolled away.
    const bool top_gone = frame.seen.top() > grid.top() - 22 * unit, left_gone = frame.seen.left() > grid.left() - 26 * unit;
    const double top = top_gone ? frame.seen.top() + 22 * unit : grid.top();
    const double left = left_gone ? frame.seen.left() + 26 * unit : grid.left();
    const QColor veil = theme.canvas;
    if (top_gone) frame.painter.fillRect(QRectF(frame.seen.left(), frame.seen.top(), frame.seen.width(), 22 * unit), veil);
    if (left_gone) frame.painter.fillRect(QRectF(frame.seen.left(), frame.seen.top(), 26 * unit, frame.seen.height()), veil);

    const auto range = at_.touching(frame.target.adjusted(-at_.pitch.width(), -at_.pitch.height(), 0, 0));
    const auto color = [&](bool focused) { return focused ? theme.accent : theme.muted; };
    const auto mark = marked(frame);
    const auto columns = label_step(at_.pitch.width() / unit), rows = label_step(at_.pitch.height() / unit);
    const auto inside = [](double low, double high, double from, double to) {
        const double a = std::max(low, from), b = std::min(high, to);
        return b > a ? (a + b) / 2 : (low + high) / 2;
    };
    const bool across = at_.across;
    const auto axis = [&](bool of_layers, std::int64_t step, auto put) {
        const auto first = of_layers ? range.first_layer : range.first_head,
                   last = of_layers ? range.last_layer : range.last_head;
        for (auto i = first / step * step; i <= last; i += step) {
            if (step > 1 && i + step > last && shape().together) i = last;
            const bool own = i < (of_layers ? shape().layers : shape().heads);
            const bool chosen = mark && (of_layers ? mark->layer.value : mark->head.value) == i;
            put(at_.cell_rect(of_layers ? HeadId{Layer{i}, Head{0}} : HeadId{Layer{0}, Head{i}}),
                own ? QString::number(i) : store_->data().together, color(chosen));
        }
    };
    axis(across, columns, [&](const QRectF& cell, const QString& name, const QColor& ink) {
        const double x = inside(cell.left(), cell.right(), frame.seen.left(), frame.seen.right());
        if (!left_gone || x >= left) frame.text({x, top - 7 * unit}, name, small_font(), ink, draw::Align::center);
    });
    axis(!across, rows, [&](const QRectF& cell, const QString& name, const QColor& ink) {
        const double y = inside(cell.top(), cell.bottom(), frame.seen.top(), frame.seen.bottom());
        if (!top_gone || y >= top) frame.text({left - 6 * unit, y + 4 * unit}, name, small_font(), ink, draw::Align::right);
    });
    const bool groups = shape().group_size() > 1;
    const QString heads = QStringLiteral("Heads"), layers = QStringLiteral("Layers");
    const double above = grid.top() - (groups && !across ? 46 : 26) * unit;
    frame.text({grid.center().x(), above}, across ? layers : heads, note_font(), theme.muted, draw::Align::center);
    frame.at({grid.left() - (groups && across ? 64 : 34) * unit, grid.center().y()}, [&] {
        frame.painter.rotate(-90);
        draw::text(frame.painter, {0, 0}, across ? heads : layers, note_font(), theme.muted, draw::Align::center);
    });
    if (groups) paint_groups(frame);
}

void ModelFigure::paint_groups(Frame& frame) const {
    // Which query heads read the same keys and values. Drawn along a row of heads; turned where heads run down.
    const double unit = frame.unit, tick = 4 * unit;
    const QFont font = ui_font(10);
    const auto cell = [&](std::int64_t h) { return at_.cell_rect({Layer{0}, Head{h}}); };
    for (std::int64_t g = 0; g < shape().kv_heads; ++g) {
        const QRectF a = cell(g * shape().group_size()), b = cell((g + 1) * shape().group_size() - 1);
        const double from = at_.across ? a.top() : a.left(), to = at_.across ? b.bottom() : b.right();
        const double line = at_.across ? at_.left - 30 * unit : at_.top - 26 * unit;
        const auto point = [&](double along, double beside) {
            return at_.across ? QPointF(line + beside, along) : QPointF(along, line + beside);
        };
        const QPointF bracket[] = {point(from, tick), point(from, 0), point(to, 0), point(to, tick)};
        frame.painter.setPen(QPen(frame.theme().faint, unit));
        frame.painter.setBrush(Qt::NoBrush);
        frame.painter.drawPolyline(bracket, 4);
        const QString name = QStringLiteral("kv %1").arg(g);
        if (draw::text_width(name, font) * unit >= to - from) continue;
        frame.at(point((from + to) / 2, -4 * unit), [&] {
            if (at_.across) frame.painter.rotate(-90);
            draw::text(frame.painter, {0, 0}, name, font, frame.theme().muted, draw::Align::center);
        });
    }
}

void ModelFigure::paint_legend(Frame& frame) const {
    const double height = at_.legend_height, unit = frame.unit;
    const double top = std::min(at_.height, frame.seen.bottom()) - height * unit;
    const Theme& theme = frame.theme();
    frame.painter.fillRect(QRectF(frame.seen.left(), top, frame.seen.width(), height * unit), theme.canvas);
    frame.at({frame.seen.left() + ModelLayout::margin * unit, top + 22 * unit}, [&] {
        QPainter& painter = frame.painter;
        const Transfer& transfer = frame.style.transfer;
        QString what = QStringLiteral("one line a pair, opacity = %1").arg(draw::amount_name(transfer)), more;
        if (!shape().lines) {
            const auto most = std::max(shape().rows, shape().columns);
            const auto pairs = frame.pooled_side > 0 ? (most + frame.pooled_side - 1) / frame.pooled_side : 1;
            what = frame.pooled ? QStringLiteral("%1 of %2 × %2 pairs a cell, %3 down, %4 across")
                                      .arg(options_.mean ? QStringLiteral("mean weight") : QStringLiteral("largest weight"))
                                      .arg(pairs)
                                      .arg(words().query(), words().key())
                                : QStringLiteral("one cell a pair, %1 down, %2 across").arg(words().query(), words().key());
        } else {
            const auto count = store_->count();
            more = QStringLiteral("%1 of %2 pairs left out, under 1/255")
                       .arg(draw::count_text(count.left_out), draw::count_text(count.all));
        }
        const bool two_lines = at_.legend_height > 40;
        const double width = frame.seen.width() / unit - 2 * ModelLayout::margin;
        draw::text(painter, {0, 0}, draw::elided(what, note_font(), width), note_font(), theme.muted);
        const QRectF bar(two_lines ? 12 : draw::text_width(what, note_font()) + 34, two_lines ? 9 : -9, two_lines ? 80 : 120, 9);
        const auto [low, high] = draw::scale_ends(transfer);
        const double end = shape().lines ? draw::opacity_bar(painter, bar, theme.text, low, high, theme)
                                         : draw::ramp_bar(painter, bar, frame.style.ramp, low, high, theme);
        QStringList notes{transfer.legend()};
        for (const QString& note : {store_->data().weight_name, more})
            if (!note.isEmpty()) notes << note;
        const QString curve = notes.join(QStringLiteral(" · "));
        draw::text(painter, {end + 14, bar.bottom()}, draw::elided(curve, note_font(), width - end - 14), note_font(),
                   theme.muted);
    });
}

}  // namespace headlight::figure
