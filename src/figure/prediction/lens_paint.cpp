// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/prediction/lens_view.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

const QFont& cell_font() { return ui_font(12); }
/// "#1,234", "#12k" where that is too wide.
QString rank_text(std::int64_t rank, const QFont& font, double width) {
    const QString whole = QStringLiteral("#") + draw::count_text(rank);
    if (rank < 1000 || draw::text_width(whole, font) <= width) return whole;
    return QStringLiteral("#%1k").arg(draw::count_text(rank / 1000));
}

/// Two significant digits: "87 %", "3.1 %", "<0.1 %".
QString probability_text(double p) {
    if (p >= 0.0995) return QString::number(p * 100, 'f', 0) + QStringLiteral(" %");
    if (p >= 0.001) return QString::number(p * 100, 'f', 1) + QStringLiteral(" %");
    return QStringLiteral("<0.1 %");
}

/// What stands at the ends of the bar of colours.
draw::ScaleEnds ends_of(LensColor color, double kl_limit, std::int64_t vocab) {
    const auto nats = [](double x) { return QString::number(x, 'f', 1) + QStringLiteral(" nats"); };
    switch (color) {
        case LensColor::probability: break;
        case LensColor::rank: return {QStringLiteral("last"), QStringLiteral("rank 0")};
        case LensColor::entropy: return {QStringLiteral("0"), nats(std::log(static_cast<double>(vocab)))};
        case LensColor::kl: return {QStringLiteral("0"), QStringLiteral("≥ ") + nats(kl_limit)};
    }
    return {QStringLiteral("0"), QStringLiteral("1")};
}

QString name_of(LensColor color) {
    switch (color) {
        case LensColor::probability: return QStringLiteral("probability of the likeliest token");
        case LensColor::rank: return QStringLiteral("rank of the watched token, logarithmic");
        case LensColor::entropy: return QStringLiteral("entropy");
        case LensColor::kl: return QStringLiteral("KL divergence from the output");
    }
    return {};
}

}  // namespace

QSizeF LensFigure::place(QSizeF available, const Style& style, const Selection&) {
    const QFont font = ui_font(14);
    double widest = 0;
    qsizetype longest = 0;
    for (const analyze::AxisItem& item : data_.labels) longest = std::max(longest, static_cast<qsizetype>(item.label.size()));
    int measured = 0;
    for (const analyze::AxisItem& item : data_.labels)
        if (static_cast<qsizetype>(item.label.size()) + 2 >= longest && measured++ < 64)
            widest = std::max(widest, draw::token_width(draw::label_of(item), font));
    constexpr double narrow_file = 700;  // two columns of a journal
    at_ = lens_layout(data_, available.width(), widest + 4, style.exporting && available.width() < narrow_file);
    return {at_.width, at_.height};
}

LensFigure::Sight LensFigure::in_sight(const QRectF& seen, const Style& style) const {
    const QRectF all(0, 0, at_.width, at_.height);
    Sight now;
    now.seen = style.exporting ? all : seen & all;
    now.left = now.seen.left();
    now.right = std::min(0.0, now.seen.right() - at_.width);
    now.down = std::max(0.0, now.seen.top() - LensLayout::sticky_top);
    now.footer = now.seen.bottom() - LensLayout::footer_height;
    const double first = at_.cells_x + now.left, last = at_.cell_x(at_.layers) + now.right - LensLayout::output_gap;
    now.layers = {first, 0, std::max(0.0, last - first), at_.height};
    return now;
}

double LensFigure::column_x(std::int64_t column, const Sight& now) const {
    return at_.cell_x(column) + (column == at_.layers ? now.right : 0);
}

template <class Draw>
void LensFigure::each_column(const Sight& now, bool layers, Draw each) const {
    if (!layers) return each(at_.layers);
    for (std::int64_t column = at_.first(); column < at_.layers; column += at_.stride)
        if (at_.cell_x(column) < now.layers.right() && at_.cell_x(column) + at_.cell_width > now.layers.left()) each(column);
}

void LensFigure::draw_on(Scene& out, const QRectF& seen, const Style& style, const Selection& selection) const {
    const Sight now = in_sight(seen, style);
    const double rows_top = LensLayout::sticky_top + LensLayout::heading_height + now.down;
    {
        const auto rows = out.clip(QRectF(0, rows_top, at_.width, now.footer - rows_top));
        const double first = std::max(seen.top(), rows_top), last = std::min(seen.bottom(), now.footer);
        const auto each_row = [&](auto draw_it) {
            for (std::int64_t row = 0; row < at_.rows; ++row) {
                const double top = at_.row_top(row);
                if (top > last) break;
                if (top + LensLayout::row_height >= first) draw_it(row);
            }
        };
        each_row([&](std::int64_t row) { draw_row(out, now, row, style, selection); });
        if (at_.opened >= 0) draw_list(out, now, style);
        const auto layers = out.clip(now.layers);
        each_row([&](std::int64_t row) { draw_cells(out, now, row, true, style, selection); });
        if (at_.opened >= 0) draw_candidates(out, now, true, style);
    }
    draw_heading(out, now, style);
    // Where layers go on under the edge of what stays.
    const auto edge = [&](double x) { out.fill(QRectF(x, rows_top - 4, 1, now.footer - rows_top + 4), style.theme->line); };
    if (now.layers.left() > at_.cells_x + 0.5) edge(now.layers.left() - 4);
    if (now.layers.right() < at_.cell_x(at_.layers) - LensLayout::output_gap - 0.5) edge(now.layers.right() + 4);
    draw_footer(out, now, style);
}

void LensFigure::draw_cells(Scene& out, const Sight& now, std::int64_t row, bool layers, const Style& style,
                            const Selection& selection) const {
    const Theme& theme = *style.theme;
    const double top = at_.row_top(row), baseline = draw::centred_baseline(top + LensLayout::row_height / 2, cell_font());
    each_column(now, layers, [&](std::int64_t column) {
        const analyze::LensState& s = state(column, row);
        const double t = strength(s);
        const QRectF cell(column_x(column, now) + 1, top + 1, at_.column_width(column) - 2, LensLayout::row_height - 2);
        const QColor color = std::isnan(t) ? theme.panel : ramp_color(style.ramp, theme, t);
        out.box(cell, 3, color);
        const QString whole = data_.color != LensColor::rank ? word(s.top.front().id)
                              : s.watched_rank < 0           ? QString()
                                                             : QStringLiteral("#") + draw::count_text(s.watched_rank);
        const QString text = draw::elided(whole, cell_font(), cell.width() - (cell.width() < 48 ? 4 : 8));
        out.text({cell.center().x(), baseline}, text, cell_font(), text_on(theme, color), draw::Align::center);
        out.means({column_x(column, now), top, at_.column_width(column), LensLayout::row_height},
                  {.kind = Hit::Kind::pair,
                   .head = HeadId{Layer(std::min(column, at_.layers - 1)), selection.focus.head},
                   .query = Position(row),
                   .value = static_cast<double>(s.top.front().probability)},
                  [this, column, row] { return cell_tip(column, row); });
    });
}

/// What stays beside the layers: the token, the output and the next token; behind all of it the mark of the row.
void LensFigure::draw_row(Scene& out, const Sight& now, std::int64_t row, const Style& style, const Selection& selection) const {
    style.cancel.throw_if_cancelled();
    const Theme& theme = *style.theme;
    const QFont token_font = ui_font(14), small = ui_font(11);
    const double top = at_.row_top(row), baseline = draw::centred_baseline(top + LensLayout::row_height / 2, cell_font());
    const double next_x = at_.next_x + now.right;
    out.means(*row_of_query(Position(row)), {.kind = Hit::Kind::query, .query = Position(row)},
              [this, row] { return named(row); });
    const bool hovered = !style.exporting && selection.hover_query == Position(row);
    const bool pinned = at_.opened == row;
    if (hovered || pinned)
        out.box(QRectF(LensLayout::margin, top + 1, at_.width - 2 * LensLayout::margin, LensLayout::row_height - 2), 6,
                pinned ? theme.accent_soft : theme.chip);
    out.number({now.left + at_.token_x - 10, baseline}, QString::number(row), small, theme.muted, draw::Align::right);
    out.token(QRectF(now.left + at_.token_x, top, at_.token_width, LensLayout::row_height),
              draw::label_of(data_.labels[static_cast<std::size_t>(row)]), token_font, draw::Align::left,
              pinned ? theme.accent : QColor());
    draw_cells(out, now, row, false, style, selection);
    const std::int64_t next = data_.next[static_cast<std::size_t>(row)];
    if (next < 0) return;
    const analyze::LensState& output = state(at_.layers, row);
    const bool right = output.top.front().id == next;
    const QString said = output.watched_rank >= 0 && output.watched.id == next
                             ? probability_text(static_cast<double>(output.watched.probability))
                             : QString();
    const double said_width = said.isEmpty() ? 0 : draw::text_width(said, note_font()) + 10;
    const QString text = draw::elided(word(next), cell_font(), at_.next_width - 24 - said_width);
    out.text({next_x, baseline}, text, cell_font(), right ? theme.text : theme.muted);
    out.text({next_x + draw::text_width(text, cell_font()) + 10, baseline}, said, note_font(), theme.muted);
}

void LensFigure::draw_list(Scene& out, const Sight& now, const Style& style) const {
    const Theme& theme = *style.theme;
    const QFont small = ui_font(11);
    const double top = at_.row_top(at_.opened) + LensLayout::row_height;
    out.fill(QRectF(LensLayout::margin, top + 2, at_.width - 2 * LensLayout::margin, at_.list_height() - 4), theme.panel);
    for (std::int64_t k = 0; k < at_.candidates; ++k) {
        const double baseline = draw::centred_baseline(at_.candidate_top(k) + LensLayout::candidate_height / 2, small);
        out.text({now.left + at_.token_x + at_.token_width, baseline},
                 draw::elided(word(data_.history.ids[static_cast<std::size_t>(k)]), note_font(), at_.token_width + 30),
                 note_font(), theme.text, draw::Align::right);
    }
    draw_candidates(out, now, false, style);
    const auto note = [&](std::int64_t candidate, const QString& text) {
        const double y = at_.candidate_top(candidate) + LensLayout::candidate_height / 2;
        out.text({at_.next_x + now.right, draw::centred_baseline(y, note_font())}, text, note_font(), theme.muted);
    };
    note(0, QStringLiteral("likeliest in layer %1:").arg(data_.opened_layer));
    note(1, QStringLiteral("probability and rank"));
}

void LensFigure::draw_candidates(Scene& out, const Sight& now, bool layers, const Style& style) const {
    const Theme& theme = *style.theme;
    const QFont small = ui_font(11);
    const std::int64_t width = at_.candidates;
    for (std::int64_t k = 0; k < width; ++k) {
        const double y = at_.candidate_top(k), baseline = draw::centred_baseline(y + LensLayout::candidate_height / 2, small);
        each_column(now, layers, [&](std::int64_t column) {
            const auto i = static_cast<std::size_t>(column * width + k);
            const QColor color = ramp_color(style.ramp, theme, static_cast<double>(data_.history.scores[i].probability));
            const QRectF cell(column_x(column, now) + 1, y + 1, at_.column_width(column) - 2, LensLayout::candidate_height - 2);
            out.box(cell, 2, color);
            if (column == data_.opened_layer) out.box(cell, 2, {}, theme.accent);
            const QString rank = rank_text(data_.history.ranks[i], small, cell.width() - 4);
            if (draw::text_width(rank, small) <= cell.width() - 4)
                out.text({cell.center().x(), baseline}, rank, small, text_on(theme, color), draw::Align::center);
            out.means(cell.adjusted(-1, -1, 1, 1), {.kind = Hit::Kind::legend},
                      [this, column, k] { return candidate_tip(column, k); });
        });
    }
}

void LensFigure::draw_heading(Scene& out, const Sight& now, const Style& style) const {
    const Theme& theme = *style.theme;
    const QFont heading = ui_font(16, QFont::DemiBold), note = ui_font(13);
    const double left = now.left;
    out.text({left + LensLayout::margin + 8, LensLayout::title_baseline}, title(), heading, theme.text);
    out.text({left + LensLayout::margin + 24 + draw::text_width(title(), heading), LensLayout::title_baseline},
             QStringLiteral("the model's prediction, read at %1 of each layer")
                 .arg(QLatin1StringView(analyze::name_of(data_.lens->at))),
             note, theme.muted);
    const QRectF strip(0, LensLayout::sticky_top + now.down, at_.width, LensLayout::heading_height);
    if (now.down > 0) out.fill(strip, theme.canvas);
    const double baseline = strip.top() + 20;
    out.text({left + at_.token_x, baseline}, QStringLiteral("token"), note_font(), theme.muted);
    const auto name = [&](std::int64_t column) {
        const QString long_name = QStringLiteral("layer %1").arg(at_.first());
        const bool fits = draw::text_width(long_name, note_font()) <= at_.cell_width;
        const QString text = column == at_.layers            ? QStringLiteral("output")
                             : column == at_.first() && fits ? long_name
                                                             : QString::number(column);
        out.text({column_x(column, now) + at_.column_width(column) / 2, baseline}, text, note_font(), theme.muted,
                 draw::Align::center);
    };
    {
        const auto layers = out.clip(now.layers);
        each_column(now, true, name);
    }
    each_column(now, false, name);
    if (std::ranges::any_of(data_.next, [](std::int64_t id) { return id >= 0; }))  // a picture has no next token
        out.text({at_.next_x + now.right, baseline},
                 data_.causal ? QStringLiteral("next in the text") : QStringLiteral("in the text"), note_font(), theme.muted);
    out.fill(QRectF(LensLayout::margin, strip.bottom() - 5, at_.width - 2 * LensLayout::margin, 1), theme.line);
}

void LensFigure::draw_footer(Scene& out, const Sight& now, const Style& style) const {
    const Theme& theme = *style.theme;
    const double top = now.footer;
    out.fill(QRectF(0, top, at_.width, LensLayout::footer_height), theme.canvas);
    out.fill(QRectF(LensLayout::margin, top, at_.width - 2 * LensLayout::margin, 1), theme.line);
    const double left = now.left + at_.token_x;
    const QRectF bar(left, top + 13, 150, 10);
    const double right = out.ramp_bar(bar, style, ends_of(data_.color, kl_limit_, data_.lens->vocab));
    QString what = name_of(data_.color);
    if (data_.color == LensColor::rank)
        what += data_.lens->watched ? QStringLiteral(" (%1)").arg(word(*data_.lens->watched))
                                    : QStringLiteral(" (the next one in the text)");
    out.text({right + 16, top + 22}, what, note_font(), theme.muted);
    out.text({left, top + 44},
             (at_.stride > 1 ? QStringLiteral("%1 of %2 layers · read by the %3")
                                   .arg(at_.shown())
                                   .arg(at_.layers)
                                   .arg(QString::fromStdString(data_.read_as))
                             : QStringLiteral("read by the %1; the norm's statistics are those of each state")
                                   .arg(QString::fromStdString(data_.read_as))),
             note_font(), theme.muted);
}

}  // namespace headlight::figure
