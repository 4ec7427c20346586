// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/prompt/text_ruler.h"

#include "headlight/figure/core/number_text.h"
#include "headlight/figure/core/round_step.h"
#include "ui/panels/prompt/token_strip.h"
#include "ui/style/appearance.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace headlight::ui {

namespace {

constexpr int bar_height = 12, ruler_height = 30, side = 1;
constexpr double number_room = 64, least_section = 2;  ///< px: narrower paragraphs are drawn as one
constexpr const char* passage_option = "passage";

/// The one that asks about a passage.
const View& passage_view() {
    static const View id = std::ranges::find_if(figure::view_specs(), [](const figure::ViewSpec& spec) {
                               return spec.option(passage_option) != nullptr;
                           })->id;
    return id;
}

QFont ruler_font() { return figure::ui_font(11); }

}  // namespace

TextRuler::TextRuler(Document& document, TokenStrip& strip, QWidget* parent)
    : QWidget(parent), document_(document), strip_(strip) {
    setObjectName(QStringLiteral("TextRuler"));
    setAccessibleName(QStringLiteral("Ruler of the text"));
    setAccessibleDescription(QStringLiteral("Left and right arrow keys: previous and next paragraph"));
    setFixedHeight(ruler_height);
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::PointingHandCursor);
    setVisible(false);
    const auto repaint = qOverload<>(&QWidget::update);
    connect(&document_, &Document::changed, this, [this](Document::Change change) {
        if (change == Document::Change::trace) adopt_text();
        if (change == Document::Change::options) update();
    });
    connect(&document_.selection(), &SelectionModel::changed, this, repaint);
    connect(strip_.horizontalScrollBar(), &QScrollBar::valueChanged, this, repaint);
    connect(strip_.horizontalScrollBar(), &QScrollBar::rangeChanged, this, repaint);
    connect(&Appearance::instance(), &Appearance::changed, this, repaint);
}

void TextRuler::adopt_text() {
    const auto& trace = document_.trace();
    const bool shown = trace && trace->tokens() >= figure::long_text && !model::reads_pictures(trace->config());
    tokens_ = shown ? trace->tokens() : 0;
    sections_ = shown ? analyze::text_sections(*trace) : std::vector<analyze::TextSection>();
    marking_from_.reset();
    setVisible(shown);
    update();
}

double TextRuler::x_of(std::int64_t position) const {
    return side + double(position) * (width() - 2 * side) / double(std::max<std::int64_t>(1, tokens_));
}

std::optional<Position> TextRuler::position_at(double x) const {
    if (tokens_ == 0) return std::nullopt;
    const double at = (x - side) / (width() - 2 * side) * double(tokens_);
    return Position(std::clamp<std::int64_t>(std::int64_t(std::floor(at)), 0, tokens_ - 1));
}

std::optional<std::pair<Position, Position>> TextRuler::passage() const {
    if (marking_from_ && marking_to_) return std::minmax(*marking_from_, *marking_to_);
    const auto& values = document_.options().values;
    const auto of_view = values.find(passage_view());
    if (of_view == values.end()) return std::nullopt;
    const auto value = of_view->second.find(passage_option);
    if (value == of_view->second.end()) return std::nullopt;
    std::int64_t first = 0, last = 0;
    const char *begin = value->second.data(), *end = begin + value->second.size();
    auto read = std::from_chars(begin, end, first);
    if (read.ec != std::errc() || read.ptr == end || *read.ptr != '-') return std::nullopt;
    read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || read.ptr != end || last < first || last >= tokens_) return std::nullopt;
    return std::pair(Position(first), Position(last));
}

void TextRuler::mark(Position first, Position last) {
    ViewOptions options = document_.options();
    set_view_value(options, passage_view(), passage_option, std::to_string(first.value) + "-" + std::to_string(last.value));
    document_.set_options(options);
}

void TextRuler::paintEvent(QPaintEvent*) {
    if (tokens_ == 0) return;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const figure::Theme& theme = Appearance::instance().theme();
    // Paragraphs, in turn darker and lighter; those narrower than a pixel or two would only flicker.
    double drawn_to = 0;
    bool dark = false;
    for (const analyze::TextSection& section : sections_) {
        const double left = x_of(section.first.value), right = x_of(section.last().value + 1);
        dark = !dark;
        if (right < drawn_to + least_section) continue;
        painter.fillRect(QRectF(std::max(left, drawn_to), 0, right - std::max(left, drawn_to), bar_height),
                         dark ? theme.chip : theme.line);
        drawn_to = right;
    }
    const auto mark = [&](Position p, const QColor& color) {
        painter.fillRect(QRectF(x_of(p.value) - 0.5, 0, std::max(2.0, x_of(p.value + 1) - x_of(p.value)), bar_height), color);
    };
    if (const auto marked = passage()) {
        const double left = x_of(marked->first.value), right = x_of(marked->second.value + 1);
        painter.fillRect(QRectF(left, bar_height - 3, std::max(2.0, right - left), 3), theme.negative);
    }
    const figure::Selection& s = document_.selection().get();
    for (const Position p : s.pinned_keys) mark(p, figure::head_color(theme, document_.options().palette, s.focus.head.value));
    for (const Position p : s.pinned_queries) mark(p, theme.accent);
    if (const auto seen = strip_.in_sight()) {
        const double left = x_of(seen->first.value), right = x_of(seen->second.value + 1);
        painter.setPen(QPen(theme.accent, 1.5));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(QRectF(left, 0.75, std::max(4.0, right - left), bar_height - 1.5), 2, 2);
    }
    painter.setFont(ruler_font());
    const QFontMetricsF metrics(ruler_font());
    const std::int64_t step = figure::round_step(tokens_, width() - 2 * side, number_room);
    double free_from = 0;
    for (std::int64_t i = 0; i < tokens_; i += step) {
        const QString number = figure::count_text(i);
        const double wide = metrics.horizontalAdvance(number);
        const double x = std::clamp(x_of(i) - wide / 2, 0.0, std::max(0.0, width() - wide));
        if (x < free_from) continue;
        free_from = x + wide + 8;
        painter.setPen(QPen(theme.line, 1));
        painter.drawLine(QPointF(x_of(i), bar_height), QPointF(x_of(i), bar_height + 3));
        painter.setPen(theme.muted);
        painter.drawText(QPointF(x, ruler_height - 4), number);
    }
}

void TextRuler::mousePressEvent(QMouseEvent* event) {
    const auto at = position_at(event->position().x());
    if (!at || event->button() != Qt::LeftButton) return;
    if (event->modifiers() & Qt::ShiftModifier)
        marking_from_ = marking_to_ = at;
    else
        strip_.centre(*at);
}

void TextRuler::mouseMoveEvent(QMouseEvent* event) {
    const auto at = position_at(event->position().x());
    if (!at || !(event->buttons() & Qt::LeftButton)) return;
    if (marking_from_) {
        marking_to_ = at;
        update();
    } else {
        strip_.centre(*at);
    }
}

void TextRuler::mouseReleaseEvent(QMouseEvent*) {
    if (!marking_from_ || !marking_to_) return;
    Position first = std::min(*marking_from_, *marking_to_), last = std::max(*marking_from_, *marking_to_);
    if (first == last) {  // a click: the paragraph
        const auto& section = sections_[std::size_t(analyze::section_of(sections_, first))];
        first = section.first, last = section.last();
    }
    marking_from_.reset();
    mark(first, last);
}

void TextRuler::go_to_section(std::int64_t step) {
    const auto seen = strip_.in_sight();
    if (!seen || sections_.empty()) return;
    const Position middle((seen->first.value + seen->second.value) / 2);
    const std::int64_t here = analyze::section_of(sections_, middle);
    strip_.centre(sections_[std::size_t(std::clamp<std::int64_t>(here + step, 0, std::ssize(sections_) - 1))].first);
}

void TextRuler::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
        case Qt::Key_Left: return go_to_section(-1);
        case Qt::Key_Right: return go_to_section(1);
        case Qt::Key_Home: return strip_.centre(Position(0));
        case Qt::Key_End: return strip_.centre(Position(tokens_ - 1));
        default: event->ignore();
    }
}

QString TextRuler::tip(Position at) const {
    const auto index = analyze::section_of(sections_, at);
    const analyze::TextSection& section = sections_[std::size_t(index)];
    return QStringLiteral(
               "Token %1, paragraph %2 of %3, tokens %4 to %5\n%6\nClick: go there. Shift+click: mark the paragraph as the "
               "passage of the view Reach; Shift+drag: mark tokens")
        .arg(figure::count_text(at.value), figure::count_text(index + 1), figure::count_text(std::ssize(sections_)),
             figure::count_text(section.first.value), figure::count_text(section.last().value),
             QString::fromStdString(section.title));
}

bool TextRuler::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        if (const auto at = position_at(help->pos().x())) QToolTip::showText(help->globalPos(), tip(*at), this);
        return true;
    }
    return QWidget::event(event);
}

}  // namespace headlight::ui
