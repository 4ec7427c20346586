// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of the matrix view. Everything here is in px on screen: the painter's zoom is taken back first.
#include "figure/core/wrapped.h"
#include "figure/pattern/matrix/matrix_figure.h"
#include "figure/pattern/matrix/matrix_panel.h"
#include "headlight/figure/core/fixed_text.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {

namespace {

constexpr double drawn_cell = 6;      ///< px from which a cell is a rectangle of its own
constexpr double gap_cell = 12;       ///< px from which cells have a gap between them
constexpr double numbered_cell = 28;  ///< px from which a cell shows its number
constexpr double zero_cell = 44;      ///< px from which it also shows one that rounds to zero
constexpr std::int64_t tile_side = 512;
constexpr std::int64_t most_vector_cells = 90'000;

}  // namespace

MatrixFigure::Panel MatrixFigure::panel(std::size_t index, const QRectF& view, double zoom) const {
    Panel p;
    p.index = index;
    p.cell = layout_.cell * zoom;
    p.cells = QRectF(layout_.panels[index].topLeft() * zoom, layout_.panels[index].size() * zoom);
    const QRectF body = view.adjusted(0, MatrixLayout::header_height, 0, -layout_.legend_height);
    const double gap = MatrixLayout::label_gap;
    const double left = std::max(p.cells.left(), body.left() + MatrixLayout::margin + layout_.row_extent + gap);
    const double top = std::max(p.cells.top(), body.top() + MatrixLayout::panel_title + layout_.column_extent + gap);
    const double sums = layout_.sum_extent;
    p.clip = p.cells & body & QRectF(QPointF(left, top), body.bottomRight() - QPointF(sums, layout_.sums_below));
    p.row_strip = QRectF(left - gap - layout_.row_extent, p.clip.top(), layout_.row_extent, p.clip.height());
    p.column_strip = QRectF(p.clip.left(), top - gap - layout_.column_extent, p.clip.width(), layout_.column_extent);
    p.title = QRectF(left, p.column_strip.top() - MatrixLayout::panel_title, p.clip.width(), MatrixLayout::panel_title - 4);
    if (sums > 0) p.row_sums = QRectF(p.clip.right() + gap, p.clip.top(), sums - gap, p.clip.height());
    if (layout_.sums_below > 0)
        p.column_sums = QRectF(p.clip.left(), p.clip.bottom() + gap, p.clip.width(), layout_.sums_below - gap);
    if (p.clip.isEmpty()) return p;
    p.row_begin = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor((p.clip.top() - p.cells.top()) / p.cell)));
    p.row_end = std::min(layout_.rows, static_cast<std::int64_t>(std::ceil((p.clip.bottom() - p.cells.top()) / p.cell)));
    p.col_begin = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor((p.clip.left() - p.cells.left()) / p.cell)));
    p.col_end = std::min(layout_.cols, static_cast<std::int64_t>(std::ceil((p.clip.right() - p.cells.left()) / p.cell)));
    return p;
}

void MatrixFigure::paint(QPainter& painter, const QRectF& exposed, const Style& style, const Selection& selection) const {
    view_ = exposed;
    choose_pyramids(style);
    Style shown = style;
    shown.transfer = (*pyramids_)->transfer;  // the legend is about the cells
    const double zoom = style.zoom;
    painter.save();
    painter.scale(1 / zoom, 1 / zoom);
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    const QRectF view(exposed.topLeft() * zoom, exposed.size() * zoom);
    const Frame f{
        painter, shown, selection, view, draw::on_target(painter, view), draw::device_scale(painter), draw::is_vector(painter)};
    paint_header(f);
    for (std::size_t i = 0; i < data_.weights.size(); ++i) {
        const Panel p = panel(i, view, zoom);
        if (!p.clip.isEmpty()) paint_panel(f, p);
    }
    paint_legend(f);
    painter.restore();
}

void MatrixFigure::paint_header(const Frame& f) const {
    const double y = f.view.top() + 32, room = f.view.width() - 2 * MatrixLayout::margin;
    const QFont font = ui_font(15, QFont::DemiBold), small = ui_font(12);
    const QString name = draw::elided(title(), font, room);
    draw::text(f.painter, {f.view.left() + MatrixLayout::margin, y}, name, font, f.theme().text);
    const double before = draw::text_width(name, font) + 14;
    const QString rows = draw::count_text(layout_.rows), columns = draw::count_text(layout_.cols);
    for (const QString& size : {QStringLiteral("%1 %2, %3 %4").arg(rows, data_.words.queries(), columns, data_.words.keys()),
                                rows + QStringLiteral(" × ") + columns}) {
        if (before + draw::text_width(size, small) > room) continue;
        return draw::text(f.painter, {f.view.left() + MatrixLayout::margin + before, y}, size, small, f.theme().muted);
    }
}

void MatrixFigure::paint_panel(const Frame& f, const Panel& p) const {
    f.painter.save();
    if (p.clip != p.cells) f.painter.setClipRect(p.clip, Qt::IntersectClip);
    if (!data_.absent.empty()) paint_absent(f, p);
    if (p.cell >= drawn_cell || (f.vector && layout_.rows * layout_.cols <= most_vector_cells))
        paint_cells(f, p);
    else
        paint_tiles(f, p);
    if (p.cell >= numbered_cell) paint_numbers(f, p);
    paint_marks(f, p);
    f.painter.restore();
    paint_row_labels(f, p);
    paint_column_labels(f, p);
    paint_captions(f, p);
    if (!row_sums_.empty()) paint_sums(f, p);
}

/// Rows and columns that this map does not have, each run of them hatched as one.
void MatrixFigure::paint_absent(const Frame& f, const Panel& p) const {
    const MatrixViewData::Absent& absent = data_.absent[p.index];
    const auto runs = [](const std::vector<bool>& flags, std::int64_t begin, std::int64_t end, auto take) {
        for (std::int64_t i = begin; i < end; ++i) {
            if (!flags[static_cast<std::size_t>(i)]) continue;
            const std::int64_t first = i;
            while (i + 1 < end && flags[static_cast<std::size_t>(i + 1)]) ++i;
            take(first, i + 1);
        }
    };
    const auto hatch = [&](const QRectF& area) { draw::hatch(f.painter, area & p.cells, 5, draw::faded(f.theme().faint, 0.55)); };
    runs(absent.rows, p.row_begin, p.row_end, [&](std::int64_t first, std::int64_t end) {
        hatch({p.cells.left(), p.cell_rect(first, 0).top(), p.cells.width(), p.cell * static_cast<double>(end - first)});
    });
    runs(absent.columns, p.col_begin, p.col_end, [&](std::int64_t first, std::int64_t end) {
        hatch({p.cell_rect(0, first).left(), p.cells.top(), p.cell * static_cast<double>(end - first), p.cells.height()});
    });
}

// --- cells ----------------------------------------------------------------------------------------------------------

void MatrixFigure::paint_cells(const Frame& f, const Panel& p) const {
    const MipPyramid::Level& level = pyramid(p.index).levels.front();
    const auto ramp = colors(f, p.index);
    const double gap = p.cell < gap_cell ? 0 : f.vector ? 0.75 : 1 / f.scale * std::max(1.0, std::round(f.scale));
    f.painter.setRenderHint(QPainter::Antialiasing, false);
    for (std::int64_t r = p.row_begin; r < p.row_end; ++r) {
        const double top = f.snapped(p.cell_rect(r, 0).top()), bottom = f.snapped(p.cell_rect(r, 0).bottom()) - gap;
        if (bottom < f.visible.top() || top > f.visible.bottom()) continue;
        for (std::int64_t c = p.col_begin; c < p.col_end; ++c) {
            const std::uint8_t cell = level.at(r, c);
            if (cell == 0) continue;
            const QRectF rect = p.cell_rect(r, c);
            const double left = f.snapped(rect.left()), right = f.snapped(rect.right()) - gap;
            const QRgb color = ramp[static_cast<std::size_t>(std::lround((cell - 1) / 254.0 * 255))];
            f.painter.fillRect(QRectF(left, top, right - left, bottom - top), QColor(color));
        }
    }
    f.painter.setRenderHint(QPainter::Antialiasing, true);
}

void MatrixFigure::paint_tiles(const Frame& f, const Panel& p) const {
    const MipPyramid& pyramid = this->pyramid(p.index);
    if (tiles_.theme != f.style.theme || tiles_.ramp != f.style.ramp || tiles_.images.size() > 96 || gives_up_.exchange(false)) {
        tiles_ = {*pyramids_, f.style.theme, f.style.ramp, {}};
        tiles_account_.set(0);
    }
    const std::size_t number = pyramid.level_for(f.cell_pixels(p.cell, std::max(layout_.rows, layout_.cols)));
    const MipPyramid::Level& level = pyramid.levels[number];
    const auto pooled = static_cast<double>(std::int64_t{1} << number);
    const auto span = static_cast<double>(tile_side) * pooled;
    const auto ramp = colors(f, p.index);
    auto tile_image = [&](std::int64_t row, std::int64_t col) {
        const auto rows = std::min(tile_side, level.rows - row * tile_side),
                   cols = std::min(tile_side, level.cols - col * tile_side);
        QImage image(static_cast<int>(cols), static_cast<int>(rows), QImage::Format_ARGB32_Premultiplied);
        for (std::int64_t r = 0; r < rows; ++r) {
            auto* line = reinterpret_cast<QRgb*>(image.scanLine(static_cast<int>(r)));
            for (std::int64_t c = 0; c < cols; ++c) {
                const std::uint8_t cell = level.at(row * tile_side + r, col * tile_side + c);
                line[c] = cell == 0 ? 0 : ramp[cell];
            }
        }
        return image;
    };
    f.painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
    for (auto tr = static_cast<std::int64_t>(static_cast<double>(p.row_begin) / span);
         static_cast<double>(tr) * span < static_cast<double>(p.row_end); ++tr)
        for (auto tc = static_cast<std::int64_t>(static_cast<double>(p.col_begin) / span);
             static_cast<double>(tc) * span < static_cast<double>(p.col_end); ++tc) {
            QImage& image = tiles_.images[{static_cast<std::int64_t>(p.index), static_cast<std::int64_t>(number), tr, tc}];
            if (image.isNull()) {
                image = tile_image(tr, tc);
                tiles_account_.add(image.sizeInBytes());
            }
            const double size = p.cell * pooled;
            const QRectF target(p.cells.left() + static_cast<double>(tc * tile_side) * size,
                                p.cells.top() + static_cast<double>(tr * tile_side) * size, image.width() * size,
                                image.height() * size);
            if (target.intersects(f.visible)) f.painter.drawImage(target, image);
        }
}

void MatrixFigure::paint_numbers(const Frame& f, const Panel& p) const {
    const QFont font = ui_font(p.cell < 34 ? 10 : 11);
    const double wide = draw::number_width(QStringLiteral("0.000"), font) + 6;
    const auto ramp = colors(f, p.index);
    for (std::int64_t r = p.row_begin; r < p.row_end; ++r)
        for (std::int64_t c = p.col_begin; c < p.col_end; ++c) {
            const QRectF rect = p.cell_rect(r, c);
            if (!legal(p.index, r, c) || !rect.intersects(f.visible)) continue;
            const float weight = data_.weights[p.index](r, c);
            const bool is_signed = data_.is_signed(p.index);
            if (p.cell < zero_cell && weight < 0.005F && !is_signed) continue;
            const std::uint8_t cell = pyramid(p.index).levels.front().at(r, c);
            const QColor ground(ramp[static_cast<std::size_t>(std::lround((cell - 1) / 254.0 * 255))]);
            const int decimals = is_signed && data_.diverging->limit > 1 ? 1 : !is_signed && p.cell >= wide ? 3 : 2;
            const bool is_small = is_signed ? std::abs(weight) < 0.5 * std::pow(10, -decimals) : weight < 0.005F;
            // ">−0.01" is too wide for a cell; the tip has the number.
            const QString text = is_signed && is_small && weight != 0 ? QStringLiteral("≈0") : draw::fixed_text(weight, decimals);
            // A zero is there to be found when one looks for it, not to be read first.
            const QColor ink = text_on(f.theme(), ground);
            draw::number(f.painter, {rect.center().x(), draw::centred_baseline(rect.center().y(), font)}, text, font,
                         is_small ? draw::faded(ink, 0.4) : ink, draw::Align::center);
        }
}

// --- marks and labels -----------------------------------------------------------------------------------------------

void MatrixFigure::paint_marks(const Frame& f, const Panel& p) const {
    const auto& s = f.selection;
    auto outline = [&](QRectF rect, const QColor& color, double width) {
        rect &= p.cells;
        f.painter.setPen(QPen(color, width));
        f.painter.setBrush(Qt::NoBrush);
        f.painter.drawRect(rect.adjusted(-0.5, -0.5, 0.5, 0.5));
    };
    auto row_rect = [&](std::int64_t r) { return QRectF(p.cells.left(), p.cell_rect(r, 0).top(), p.cells.width(), p.cell); };
    auto col_rect = [&](std::int64_t c) { return QRectF(p.cell_rect(0, c).left(), p.cells.top(), p.cell, p.cells.height()); };
    if (data_.marks)
        for (std::int64_t r = p.row_begin; r < p.row_end; ++r) {
            const std::int64_t c = data_.marks->columns[static_cast<std::size_t>(r)];
            if (c < p.col_begin || c >= p.col_end) continue;
            const QRectF cell = p.cell_rect(r, c);
            const auto& kind = data_.marks->kinds[data_.marks->kind_of[static_cast<std::size_t>(r)]];
            const QColor color = f.theme().dark ? kind.dark : kind.light;
            if (p.cell >= 8)
                outline(cell.adjusted(1, 1, -1, -1), color, 2);
            else  // too small for an outline: a dot that can be seen
                draw::box(f.painter, QRectF(cell.center().x() - 1.25, cell.center().y() - 1.25, 2.5, 2.5), 0, color);
        }
    if (!f.style.exporting) {
        const QColor quiet = draw::faded(f.theme().accent, 0.55);
        if (s.hover_query)
            if (const auto r = data_.axes.query_row(*s.hover_query); r >= 0) outline(row_rect(r), quiet, 1);
        if (s.hover_key)
            if (const auto c = data_.axes.key_column(*s.hover_key); c >= 0) outline(col_rect(c), quiet, 1);
    }
    const QFont font = ui_font(11, QFont::DemiBold);
    for (Position query : s.pinned_queries) {
        const auto r = data_.axes.query_row(query);
        if (r < 0) continue;
        if (s.pinned_keys.empty()) outline(row_rect(r), f.theme().accent, 1.5);
        for (Position key : s.pinned_keys) {
            const auto c = data_.axes.key_column(key);
            if (c < 0) continue;
            const QRectF rect = p.cell_rect(r, c);
            outline(rect, f.theme().accent, 2);
            if (p.cell >= numbered_cell || !legal(p.index, r, c)) continue;
            // The number stands beside the cell, on whichever side there is room.
            const float value = data_.weights[p.index](r, c);
            const QString text = data_.is_signed(p.index) ? draw::number_text(value, 2) : draw::weight_text(value);
            const double width = draw::number_width(text, font) + 8;
            const bool right = rect.right() + 4 + width <= p.clip.right();
            const QRectF chip(right ? rect.right() + 4 : rect.left() - 4 - width, rect.center().y() - 8, width, 16);
            draw::box(f.painter, chip, 4, f.theme().accent_soft, f.theme().accent);
            draw::number(f.painter, {chip.center().x(), draw::centred_baseline(chip.center().y(), font)}, text, font,
                         f.theme().text, draw::Align::center);
        }
    }
    if (s.pinned_queries.empty())
        for (Position key : s.pinned_keys)
            if (const auto c = data_.axes.key_column(key); c >= 0) outline(col_rect(c), f.theme().accent, 1.5);
}

namespace {

/// Indices whose labels are shown: the chosen tokens are always named, and their neighbours' labels make room for them.
template <class Chosen>
std::vector<std::int64_t> shown_labels(std::int64_t begin, std::int64_t end, std::int64_t stride, double cell, double line,
                                       const Chosen& chosen) {
    auto near = [&](std::int64_t a, std::int64_t b) { return static_cast<double>(std::abs(a - b)) * cell < line; };
    std::vector<std::int64_t> special, out;
    for (std::int64_t i = begin; i < end; ++i)
        if (chosen(i) && (special.empty() || !near(i, special.back()))) special.push_back(i);
    for (std::int64_t i = (begin + stride - 1) / stride * stride; i < end; i += stride)
        if (std::ranges::none_of(special, [&](std::int64_t s) { return near(s, i); })) out.push_back(i);
    out.insert(out.end(), special.begin(), special.end());
    return out;
}

bool is_chosen(const std::optional<Position>& hover, const std::vector<Position>& pinned, const analyze::AxisItem& item) {
    const auto is = [&](Position at) { return covers(item, at); };
    return (hover && is(*hover)) || std::ranges::any_of(pinned, is);
}

}  // namespace

void MatrixFigure::paint_row_labels(const Frame& f, const Panel& p) const {
    const QFont font = ui_font(matrix_label_size), bold = ui_font(matrix_label_size, QFont::DemiBold);
    const double line = QFontMetricsF(font).height();
    const auto fit = draw::fit_rows(query_widths_, p.cell, line, layout_.row_extent);
    const auto hover = f.style.exporting ? std::nullopt : f.selection.hover_query;
    auto chosen = [&](std::int64_t i) {
        return is_chosen(hover, f.selection.pinned_queries, data_.axes.queries[static_cast<std::size_t>(i)]);
    };
    for (std::int64_t r : shown_labels(p.row_begin, p.row_end, fit.stride, p.cell, line, chosen)) {
        double y = p.cell_rect(r, 0).center().y();
        // A tall row that is cut by the edge keeps its label in sight.
        if (p.cell > 2 * line)
            y = std::clamp(y, p.clip.top() + line / 2, std::max(p.clip.top() + line / 2, p.clip.bottom() - line / 2));
        if (y < p.clip.top() || y > p.clip.bottom() || y < f.visible.top() - line || y > f.visible.bottom() + line) continue;
        const bool on = chosen(r);
        const QRectF box(p.row_strip.left(), y - line / 2, p.row_strip.width(), line);
        draw::token(f.painter, box, query_labels_[static_cast<std::size_t>(r)], on ? bold : font, f.theme(), draw::Align::right,
                    on ? f.theme().accent : QColor());
    }
}

void MatrixFigure::paint_column_labels(const Frame& f, const Panel& p) const {
    const QFont font = ui_font(matrix_label_size), bold = ui_font(matrix_label_size, QFont::DemiBold);
    const double line = QFontMetricsF(font).height();
    const auto fit = draw::fit_columns(key_widths_, p.cell, line, layout_.column_extent);
    const auto hover = f.style.exporting ? std::nullopt : f.selection.hover_key;
    auto chosen = [&](std::int64_t i) {
        return is_chosen(hover, f.selection.pinned_keys, data_.axes.keys[static_cast<std::size_t>(i)]);
    };
    // Flat labels are no wider than their cells: none is in another's way.
    const double room = fit.upwards ? line : 0;
    for (std::int64_t c : shown_labels(p.col_begin, p.col_end, fit.stride, p.cell, room, chosen)) {
        const double x = p.cell_rect(0, c).center().x();
        if (x < p.clip.left() || x > p.clip.right()) continue;
        const bool on = chosen(c);
        const draw::Label& label = key_labels_[static_cast<std::size_t>(c)];
        const QColor ink = on ? f.theme().accent : QColor();
        const QRectF upright(x - line / 2, p.column_strip.top(), line, p.column_strip.height());
        const QRectF flat(x - p.cell / 2, p.column_strip.bottom() - line, p.cell, line);
        if (fit.upwards)
            draw::token_upwards(f.painter, upright, label, on ? bold : font, f.theme(), ink);
        else
            draw::token(f.painter, flat, label, on ? bold : font, f.theme(), draw::Align::center, ink);
    }
}

void MatrixFigure::paint_captions(const Frame& f, const Panel& p) const {
    const QFont bold = ui_font(matrix_label_size, QFont::DemiBold), caption = ui_font(11);
    const double y = p.title.center().y() + 4;
    double x = p.title.left();
    if (data_.weights.size() > 1) {
        const QString name = data_.name_of(p.index);
        const bool head = data_.names.empty();
        if (head)
            draw::box(f.painter, QRectF(x, p.title.center().y() - 5, 10, 10), 2,
                      head_color(f.theme(), f.style.palette, data_.heads[p.index].head.value));
        draw::text(f.painter, {x + (head ? 15 : 0), y}, name, bold, f.theme().text);
        x += (head ? 15 : 0) + draw::text_width(name, bold) + 10;
    }
    if (p.index > 0) return;  // the first map explains the others
    draw::text(f.painter, {x, y}, data_.words.key_caption(), caption, f.theme().muted);
    draw::text(f.painter, {p.row_strip.right(), p.clip.top() - 6}, data_.words.query_caption(), caption, f.theme().muted,
               draw::Align::right);
}

std::array<QRgb, 256> MatrixFigure::colors(const Frame& f, std::size_t map) const {
    if (!data_.is_signed(map)) return draw::ramp_table(f.style.ramp, f.theme());
    std::array<QRgb, 256> table{};
    for (int i = 0; i < 256; ++i) table[static_cast<std::size_t>(i)] = signed_color(f.theme(), i / 127.5 - 1).rgb();
    return table;
}

void MatrixFigure::paint_mark_names(const Frame& f, double left, double y) const {
    const QFont font = ui_font(12);
    const QString& lead = data_.marks->lead;
    const double lead_width = lead.isEmpty() ? 0 : draw::text_width(lead, font) + 10;
    double names = 0;
    for (const auto& kind : data_.marks->kinds) names += 15 + draw::text_width(kind.name, font) + 12;
    if (lead_width + names <= f.view.width() - 2 * MatrixLayout::margin) {
        draw::text(f.painter, {left, y}, lead, font, f.theme().muted);
        left += lead_width;
    }
    for (const auto& kind : data_.marks->kinds) {
        draw::box(f.painter, QRectF(left, y - 9, 9, 9), 0, {}, f.theme().dark ? kind.dark : kind.light, 2);
        draw::text(f.painter, {left + 15, y}, kind.name, font, f.theme().muted);
        left += 15 + draw::text_width(kind.name, font) + 12;
    }
}

QStringList MatrixFigure::standing_notes(const Style& style) const {
    QStringList notes;
    if (!data_.is_signed(0)) notes << style.transfer.legend();
    const auto lacks = [](const MatrixViewData::Absent& absent) {
        return std::ranges::count(absent.rows, true) + std::ranges::count(absent.columns, true) > 0;
    };
    if (std::ranges::any_of(data_.absent, lacks)) notes << QStringLiteral("hatched: not in this text");
    if (const QString masked = mask_note(data_.causal, data_.windows); !masked.isEmpty()) notes << masked;
    for (const std::string& each : data_.notes) notes << QString::fromStdString(each);
    return notes;
}

/// At this size of a cell; empty: none is left out.
QStringList MatrixFigure::missing_labels(double cell, std::int64_t rows_in_sight, std::int64_t columns_in_sight) const {
    const double line = QFontMetricsF(ui_font(matrix_label_size)).height();
    const auto rows = draw::fit_rows(query_widths_, cell, line, layout_.row_extent);
    const auto columns = draw::fit_columns(key_widths_, cell, line, layout_.column_extent);
    const auto missing = rows.left_out(rows_in_sight) + columns.left_out(columns_in_sight);
    if (missing <= 0) return {};
    return {QStringLiteral("%1 of %2 labels left out")
                .arg(draw::count_text(missing), draw::count_text(rows_in_sight + columns_in_sight))};
}

void MatrixFigure::paint_legend(const Frame& f) const {
    double y = f.view.bottom() - 30 - MatrixLayout::note_line * (note_lines_ - 1);
    const QFont font = ui_font(12);
    const double left = f.view.left() + MatrixLayout::margin;
    if (data_.marks) paint_mark_names(f, left, y - MatrixLayout::mark_line);
    const QString end_text =
        data_.diverging ? draw::number_text(data_.diverging->limit, data_.diverging->limit < 1 ? 2 : 1) : QString();
    const auto signed_bar = [&](double x) {
        const double lead = draw::number_width(QStringLiteral("−") + end_text, ui_font(11)) + 14;
        const double room = f.view.right() - MatrixLayout::margin - x - lead - 5 - draw::number_width(end_text, ui_font(11));
        return draw::bar(
            f.painter, QRectF(x + lead, y - 9, std::clamp(room, 30.0, 90.0), 10),
            [&](double t) { return signed_color(f.theme(), 2 * t - 1); }, QStringLiteral("−") + end_text, end_text, f.theme());
    };
    auto [low, high] = draw::scale_ends(f.style.transfer);
    if (const double full = (*pyramids_)->full; full != 1 && high == QStringLiteral("1")) high = QStringLiteral("≥ %1").arg(full);
    const bool stacked = stacks_scales(layout_.size.width());
    const double upper = stacked ? y - MatrixLayout::mark_line : y;  // the signed scale stands below it
    draw::text(f.painter, {left, upper}, data_.weight_name, font, f.theme().muted);
    double end = left + draw::text_width(data_.weight_name, font);
    if (!data_.is_signed(0))
        end = draw::ramp_bar(f.painter, QRectF(end + 40, upper - 9, 120, 10), f.style.ramp, low, high, f.theme());
    if (data_.diverging && data_.signed_from > 0) {
        const double x = stacked ? left : end + 20;
        draw::text(f.painter, {x, y}, data_.signed_name, font, f.theme().muted);
        end = x + draw::text_width(data_.signed_name, font);
    }
    if (data_.diverging) end = signed_bar(end);
    QStringList notes = standing_notes(f.style);
    const double cell = layout_.cell * f.style.zoom;
    const double pixels = f.cell_pixels(cell, std::max(layout_.rows, layout_.cols));
    if (const auto side = std::int64_t{1} << pyramid(0).level_for(pixels); side > 1)
        notes << QStringLiteral("a pixel is the %2 of %1 × %1 pairs")
                     .arg(side)
                     .arg(data_.is_signed(0) ? QStringLiteral("farthest") : QStringLiteral("largest"));
    const Panel first = panel(0, f.view, f.style.zoom);
    notes << missing_labels(cell, first.row_end - first.row_begin, first.col_end - first.col_begin);
    const QString note = notes.join(QStringLiteral(" · "));
    const double room = f.view.right() - MatrixLayout::margin - (end + 16);
    if (draw::text_width(note, font) <= room) return draw::text(f.painter, {end + 16, y}, note, font, f.theme().muted);
    QStringList lines = wrapped(note, font, layout_.size.width() - 2 * MatrixLayout::margin);
    for (int i = 0; i < std::min<int>(note_lines_, static_cast<int>(lines.size())); ++i) {
        const bool cut = i + 1 == note_lines_ && lines.size() > note_lines_;  // what a zoom adds has no line of its own
        const QString words = cut ? lines.mid(i).join(u' ') : lines[i];
        draw::text(f.painter, {left, y + 18 + MatrixLayout::note_line * i},
                   draw::elided(words, font, f.view.width() - 2 * MatrixLayout::margin), font, f.theme().muted);
    }
}

}  // namespace headlight::figure
