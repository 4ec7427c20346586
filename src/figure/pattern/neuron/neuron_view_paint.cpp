// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/wrapped.h"
#include "figure/pattern/neuron/neuron_view_figure.h"
#include "headlight/figure/core/fixed_text.h"

#include <QLinearGradient>

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

const QFont& number_font(bool strong) { return ui_font(12.5, strong ? QFont::DemiBold : QFont::Normal); }

QColor number_color(const Theme& theme, double x, double divisor) {
    QColor color = x >= 0 ? theme.positive : theme.negative;
    color.setAlphaF(static_cast<float>(number_opacity(x, divisor)));
    return color;
}

void rule(QPainter& painter, double left, double right, double y, const QColor& color) {
    painter.fillRect(QRectF(left, y, right - left, 1), color);
}

}  // namespace

QSizeF NeuronFigure::layout(QSizeF available, const Style& style, const Selection&) {
    const QFont font = ui_font(14, QFont::DemiBold);
    // Measuring thousands of labels would be felt: the longest in letters are the widest, but for rare scripts, which
    // are cut with an ellipsis.
    std::vector<QString> labels;
    qsizetype longest = 0;
    for (std::int64_t j = 0; j < data_.rows(); ++j) {
        labels.push_back(token(j));
        longest = std::max(longest, labels.back().size());
    }
    double widest = 0;
    int measured = 0;
    for (const QString& label : labels)
        if (label.size() + 2 >= longest && measured++ < 64) widest = std::max(widest, draw::text_width(label, font));
    at_ = neuron_layout(data_, available.width(), widest + 2, style.exporting && available.width() < least_page,
                        draw::positions_width(data_.labels, font));
    lay_out_footer(style.exporting ? at_.width : std::min(available.width(), at_.width));
    seen_left_ = seen_top_ = 0;
    seen_bottom_ = at_.height;
    return {at_.width, at_.height};
}

void NeuronFigure::paint(QPainter& painter, const QRectF& exposed, const Style& style, const Selection& selection) const {
    const bool whole = style.exporting;
    seen_left_ = whole ? 0 : exposed.left();
    seen_top_ = whole ? 0 : exposed.top();
    seen_bottom_ = whole ? at_.height : std::min(exposed.bottom(), at_.height);
    const double shift = std::max(0.0, seen_top_ - NeuronLayout::sticky_top);
    const double footer = std::min(at_.height, seen_bottom_) - at_.footer_height;
    painter.setRenderHint(QPainter::Antialiasing);

    const QRectF keys(0, NeuronLayout::rows_top - 4 + shift, at_.width, footer - NeuronLayout::rows_top + 4 - shift);
    painter.save();
    painter.setClipRect(keys, Qt::IntersectClip);
    const double first = std::max(exposed.top(), keys.top()), last = std::min(exposed.bottom(), keys.bottom());
    const auto row_of = [](double y) {
        return static_cast<std::int64_t>(std::floor((y - NeuronLayout::rows_top) / NeuronLayout::row_height));
    };
    const std::int64_t from = std::max<std::int64_t>(0, row_of(first)), to = std::min(at_.rows - 1, row_of(last));
    for (std::int64_t key = from; key <= to; ++key) paint_row(painter, key, style, selection);
    painter.restore();

    paint_top(painter, shift, style, selection);
    paint_footer(painter, footer, style);
}

void NeuronFigure::paint_row(QPainter& painter, std::int64_t key, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    const QRectF row = at_.row(key);
    const bool strong = key == strongest_;
    const bool hovered = !style.exporting && selection.hover_key == Position{key};
    const bool pinned = std::ranges::find(selection.pinned_keys, Position{key}) != selection.pinned_keys.end();
    if (strong || hovered || pinned)
        draw::box(painter, row.adjusted(0, 1, 0, -1), 6, pinned ? theme.accent_soft : hovered ? theme.chip : theme.panel);

    // A mark at the edge, as strong as BertViz's connecting lines: heavy keys are found while scrolling past hundreds.
    const double mark = connector_opacity(data_.view.weight[key]);
    if (mark >= 0.1)
        draw::box(painter, QRectF(row.left() + 3, row.top() + 8, 3, 14), 1.5,
                  draw::faded(head_color(theme, style.palette, data_.view.head.head.value), mark));

    const QFont plain = ui_font(14), bold = ui_font(14, QFont::DemiBold);
    const QFont& font = strong ? bold : plain;
    const double baseline = row.top() + 20;
    draw::token(painter, QRectF(at_.token_x, row.top(), at_.token_width, row.height()),
                draw::label_in(data_.labels, static_cast<std::size_t>(key)), font, theme, draw::Align::left,
                pinned ? theme.accent : QColor());

    const auto numbers = static_cast<std::ptrdiff_t>(data_.d_head());
    paint_strip(painter, at_.key_x, row.top() + 7, 16, data_.view.k.data() + key * numbers, vector_divisor_, style);
    paint_strip(painter, at_.product_x, row.top() + 7, 16, data_.view.products.data() + key * numbers, product_divisor_, style);
    paint_numbers(painter, key, baseline, strong, style);
}

void NeuronFigure::paint_numbers(QPainter& painter, std::int64_t key, double baseline, bool strong, const Style& style) const {
    const Theme& theme = *style.theme;
    const auto& view = data_.view;
    std::vector<double> terms, places;
    const auto add = [&](double term, double place) {
        terms.push_back(term);
        places.push_back(place);
    };
    for (std::size_t i = 0; i < view.parts.size(); ++i) add(view.parts[i].values[key], at_.parts_right[i]);
    if (view.parts.empty()) add(view.dot[key], at_.dot_right);
    if (data_.has_position()) add(view.position[static_cast<std::size_t>(key)], at_.position_right);
    for (std::size_t i = 0; i < view.terms.size(); ++i) add(view.terms[i].values[key], at_.terms_right[i]);
    const double unit = std::pow(10, digits_);
    const std::vector<double> shown = round_to_sum(terms, view.score[key], digits_);
    const QColor term = strong ? theme.text : theme.muted;
    for (std::size_t i = 0; i < shown.size(); ++i)
        draw::number(painter, {places[i], baseline}, fixed(shown[i], digits_), number_font(false), term, draw::Align::right);
    draw::number(painter, {at_.score_right, baseline}, fixed(std::round(view.score[key] * unit) / unit, digits_),
                 number_font(strong), theme.text, draw::Align::right);

    const double weight = view.weight[key];
    const QRectF bar(at_.bar_x, baseline - 10, at_.bar_width, 10);
    draw::box(painter, bar, 2, theme.line);
    if (weight > 0) {
        painter.save();
        painter.setClipRect(QRectF(bar.topLeft(), QSizeF(std::max(0.5, bar.width() * weight), bar.height())), Qt::IntersectClip);
        draw::box(painter, bar, 2, head_color(theme, style.palette, view.head.head.value));
        painter.restore();
    }
    draw::number(painter, {at_.weight_x, baseline}, draw::weight_text(weight), number_font(false), term, draw::Align::left);
    if (at_.folded) return;
    draw::number(painter, {at_.value_right, baseline}, fixed(view.value_norm[key], 2), number_font(false), theme.muted,
                 draw::Align::right);
    const double written = view.weighted_value_norm[key];
    draw::number(painter, {at_.weighted_right, baseline},
                 std::isfinite(written) ? draw::fixed_text(written, 2) : fixed(written, 2), number_font(strong), term,
                 draw::Align::right);
}

void NeuronFigure::paint_strip(QPainter& painter, double x, double top, double height, const float* values, double divisor,
                               const Style& style) const {
    const double step = at_.strip_width / double(at_.dimensions);
    // Thin cells stand without a gap; smoothing would draw seams between them.
    const double gap = step >= 3 ? std::min(0.7, step * 0.15) : 0;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, gap > 0);
    for (std::int64_t slot = 0; slot < at_.dimensions; ++slot) {
        const float number = values[order_[static_cast<std::size_t>(slot)]];
        painter.fillRect(QRectF(x + double(slot) * step, top, step - gap, height), number_color(*style.theme, number, divisor));
    }
    if (data_.view.content > 0 && !options_.sorted)  // content ends here, and what rotates begins
        painter.fillRect(QRectF(x + double(data_.view.content) * step - gap / 2 - 0.5, top - 3, 1, height + 6),
                         style.theme->text);
    painter.restore();
}

void NeuronFigure::paint_top(QPainter& painter, double shift, const Style& style, const Selection&) const {
    const Theme& theme = *style.theme;
    const QFont heading = ui_font(16, QFont::DemiBold), note = ui_font(13), small = ui_font(12),
                query_font = ui_font(14, QFont::DemiBold);
    const auto& view = data_.view;
    const QString query = query_token();
    draw::text(painter, {at_.token_x - 6, NeuronLayout::title_baseline}, title(), heading, theme.text);
    const double after = at_.token_x - 6 + draw::text_width(title(), heading) + 16;
    draw::text(painter, {after, NeuronLayout::title_baseline},
               draw::elided(
                   QStringLiteral("why %1“%2” (%3) attends where it does")
                       .arg(data_.words.across ? QStringLiteral("target ") : QString(), query, QString::number(view.query.value)),
                   note, at_.width - NeuronLayout::margin - after),
               note, theme.muted);

    painter.save();
    painter.translate(0, shift);
    if (shift > 0) painter.fillRect(QRectF(0, NeuronLayout::sticky_top, at_.width, 88), theme.canvas);
    const QRectF band(NeuronLayout::margin, NeuronLayout::band_top, at_.width - 2 * NeuronLayout::margin,
                      NeuronLayout::band_height);
    draw::box(painter, band, 8, theme.accent_soft);
    const double baseline = band.top() + 25;
    const double name_width = at_.key_x - at_.token_x - 22;
    draw::text(painter, {at_.token_x, baseline}, draw::elided(query, query_font, name_width), query_font, theme.accent);
    draw::text(painter, {at_.key_x - 9, baseline}, QStringLiteral("q"), small, theme.muted, draw::Align::right);
    paint_strip(painter, at_.key_x, band.top() + 10, 20, view.q.data(), vector_divisor_, style);
    QString numbers = QStringLiteral("query vector, %1 numbers").arg(data_.d_head());
    if (view.content > 0)
        numbers += QStringLiteral(": %1 of content, %2 rotary; score = %3")
                       .arg(view.content)
                       .arg(data_.d_head() - view.content)
                       .arg(dot_heading(view.scale, data_.d_head()));
    const double group = group_note().isEmpty() ? 0 : draw::text_width(group_note(), small) + 16;
    draw::text(painter, {at_.product_x, baseline}, draw::elided(numbers, small, at_.weighted_right - at_.product_x - group),
               small, theme.muted);
    draw::text(painter, {at_.weighted_right, baseline}, group_note(), small, theme.muted, draw::Align::right);

    const double y = NeuronLayout::heading_baseline;
    const auto column = [&](double x, const QString& text, draw::Align align = draw::Align::right) {
        draw::text(painter, {x, y}, text, note_font(), theme.muted, align);
    };
    column(at_.token_x - 6, data_.words.across ? QStringLiteral("source token") : QStringLiteral("key token"), draw::Align::left);
    const auto width_of = [](const char* text) { return draw::text_width(QString::fromUtf8(text), note_font()); };
    column(at_.key_x, width_of("key vector  k") > at_.strip_width ? QStringLiteral("k") : QStringLiteral("key vector  k"),
           draw::Align::left);
    const bool roomy = draw::text_width(product_heading(), note_font()) <= at_.strip_width + 10;
    column(at_.product_x, roomy ? product_heading() : QStringLiteral("q × k"), draw::Align::left);
    for (std::size_t i = 0; i < view.parts.size(); ++i)
        column(at_.parts_right[i], (i > 0 ? QStringLiteral("+ ") : QString()) + QString::fromStdString(view.parts[i].name));
    if (view.parts.empty()) column(at_.dot_right, dot_heading(view.scale, data_.d_head()));
    if (data_.has_position()) column(at_.position_right, QStringLiteral("+ position"));
    for (std::size_t i = 0; i < view.terms.size(); ++i)
        column(at_.terms_right[i], QStringLiteral("+ ") + term_heading(view.terms[i].name));
    column(at_.score_right, QStringLiteral("= score"));
    column(at_.bar_x, QStringLiteral("softmax"), draw::Align::left);
    const double line = 137;
    if (at_.folded) {
        rule(painter, NeuronLayout::margin, at_.width - NeuronLayout::margin, line, theme.line);
        return painter.restore();
    }
    const bool names = width_of("|value|") + 8 <= at_.value_right - at_.bar_x - width_of("softmax") &&
                       width_of("weight · |value|") + 8 <= at_.weighted_right - at_.value_right;
    column(at_.value_right, names ? QStringLiteral("|value|") : QStringLiteral("|v|"));
    column(at_.weighted_right, names ? QStringLiteral("weight · |value|") : QStringLiteral("w · |v|"));
    rule(painter, NeuronLayout::margin, at_.width - NeuronLayout::margin, line, theme.line);
    painter.restore();
}

void NeuronFigure::lay_out_footer(double room) {
    const auto number = [](double x) { return QString::number(x, 'g', 3); };
    const bool same = vector_divisor_ == product_divisor_;
    const QStringList colours = {same ? QStringLiteral("colour: tanh of the number / %1").arg(number(vector_divisor_))
                                      : QStringLiteral("colour: tanh of the number, vectors / %1, products / %2")
                                            .arg(number(vector_divisor_), number(product_divisor_)),
                                 QStringLiteral("a row’s products add up to q·k")};
    QStringList facts;
    if (data_.view.sink > 0)
        facts << QStringLiteral("sink: %1 of the softmax goes to no key")
                     .arg(draw::weight_text(static_cast<double>(data_.view.sink)));
    QStringList of_model{QString::fromStdString(data_.model), QString::fromStdString(data_.dtype), position_note()};
    if (at_.compact) of_model.erase(of_model.begin(), of_model.begin() + 2);  // the line below a file has them
    for (const QString& fact : of_model)
        if (!fact.isEmpty()) facts << fact;
    QStringList right{facts.join(QStringLiteral(" · "))};
    if (const auto masked = data_.masked(); masked > 0)
        right << (masked == 1 ? QStringLiteral("1 later token is masked")
                              : QStringLiteral("%1 later tokens are masked").arg(masked));
    const auto widest = [](const QStringList& lines) {
        double width = 0;
        for (const QString& line : lines) width = std::max(width, draw::text_width(line, note_font()));
        return width;
    };
    footer_ = {at_.key_x, std::min(at_.strip_width, 200.0), at_.product_x, colours, right, false};
    const double end = NeuronLayout::margin + 8;
    if (room < at_.width - 0.5 || widest(colours) + 24 + widest(right) > at_.width - end - at_.product_x) {
        // One below the other, and from the left edge of what is in sight.
        footer_ = {at_.token_x, 100, at_.token_x + 100 + 20, {}, {}, true};
        for (const QStringList& lines : {colours, right})
            for (const QString& line : lines) footer_.left += wrapped(line, note_font(), room - end - footer_.text_x);
    }
    const double before = at_.footer_height;
    at_.footer_height = NeuronLayout::least_footer + 16.0 * double(std::max<qsizetype>(0, footer_.left.size() - 2));
    at_.height += at_.footer_height - before;
}

void NeuronFigure::paint_footer(QPainter& painter, double top, const Style& style) const {
    const Theme& theme = *style.theme;
    const QFont tick = ui_font(10.5);
    painter.fillRect(QRectF(0, top, at_.width, at_.footer_height), theme.canvas);
    rule(painter, NeuronLayout::margin, at_.width - NeuronLayout::margin, top, theme.line);

    const double shift = footer_.stays ? seen_left_ : 0, end = 2 * vector_divisor_;
    const QRectF bar(shift + footer_.bar_x, top + 12, footer_.bar_width, 10);
    QLinearGradient gradient(bar.topLeft(), bar.topRight());
    for (int i = 0; i <= 40; ++i)
        // Blended, not transparent: a gradient with alpha becomes an image in PDF.
        gradient.setColorAt(i / 40.0,
                            signed_color(theme, std::copysign(number_opacity((i - 20) / 20.0 * end, vector_divisor_), i - 20)));
    painter.fillRect(bar, gradient);
    const auto number = [](double x) { return QString::number(x, 'g', 3).replace(u'-', QChar(0x2212)); };
    draw::text(painter, {bar.left(), top + 36}, number(-end), tick, theme.muted);
    draw::text(painter, {bar.center().x(), top + 36}, QStringLiteral("0"), tick, theme.muted, draw::Align::center);
    draw::text(painter, {bar.right(), top + 36}, number(end), tick, theme.muted, draw::Align::right);
    const auto lines = [&](const QStringList& all, double x, draw::Align align) {
        double y = top + 21;
        for (const QString& line : all) {
            draw::text(painter, {x, y}, line, note_font(), theme.muted, align);
            y += 16;
        }
    };
    lines(footer_.left, shift + footer_.text_x, draw::Align::left);
    lines(footer_.right, at_.width - NeuronLayout::margin - 8, draw::Align::right);
}

}  // namespace headlight::figure
