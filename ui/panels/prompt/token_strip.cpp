// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/prompt/token_strip.h"

#include "headlight/figure/core/number_text.h"
#include "headlight/text/chat.h"
#include "ui/document/subject.h"
#include "ui/style/appearance.h"

#include <QFontMetrics>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QLocale>
#include <QPainter>
#include <QScrollBar>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headlight::ui {

namespace {

constexpr int chip_height = 24, chip_gap = 4, chip_padding = 8, sentence_gap = 12, top = 2;
constexpr int fade_width = 32;  ///< where the line goes on beyond the strip
constexpr int strip_height = 30, prediction_height = 34, role_height = 18;
QFont chip_font() { return figure::ui_font(12.5); }
QFont number_font() { return figure::ui_font(11); }

QString log_text(double log_probability) {
    return std::isfinite(log_probability) ? figure::number_text(log_probability, 2) : QStringLiteral("–");
}

}  // namespace

TokenStrip::TokenStrip(Document& document, QWidget* parent) : QAbstractScrollArea(parent), document_(document) {
    setObjectName(QStringLiteral("TokenStrip"));
    setAccessibleName(QStringLiteral("Tokens"));
    setFrameShape(QFrame::NoFrame);
    setProperty("kind", "canvas");
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFocusPolicy(Qt::StrongFocus);
    setFixedHeight(strip_height);
    viewport()->setMouseTracking(true);
    connect(&document_, &Document::predictions_changed, viewport(), qOverload<>(&QWidget::update));
    connect(&document_, &Document::changed, this, [this](Document::Change change) {
        if (change == Document::Change::options) adopt_height();
        if (change == Document::Change::options || change == Document::Change::views) viewport()->update();
        if (change != Document::Change::trace) return;
        const QRect before = followed_ ? chip_rect(*followed_) : QRect();
        const bool in_sight = before.isValid() && before.left() >= 0 && before.right() <= viewport()->width();
        const bool first = chips_.empty();
        rebuild();
        // While someone types, the strip stays where they look; a pin that was in sight stays in sight.
        follow_pin(first || in_sight);
        // What the model has just written comes into sight.
        const TextRange written = document_.shown_prompt().written;
        if (written != std::exchange(written_, written) && !chips_.empty() && chips_.back().written)
            reveal(Position(std::ssize(chips_) - std::int64_t(first_) - 1));
    });
    connect(&document_.selection(), &SelectionModel::changed, this, [this](bool hover_only) {
        viewport()->update();
        if (!hover_only && !document_.adapting()) follow_pin(true);
    });
    connect(&Appearance::instance(), &Appearance::changed, viewport(), qOverload<>(&QWidget::update));
}

void TokenStrip::adopt_height() {
    if (predicting_ == document_.options().predictions) return viewport()->update();
    predicting_ = document_.options().predictions;
    set_height();
    rebuild();
    if (followed_) reveal(*followed_);
}

void TokenStrip::set_height() {
    setFixedHeight(strip_height + (predicting_ ? prediction_height : 0) + (chat_ ? role_height : 0));
}

TokenStrip::Chip* TokenStrip::add_chip(const text::TokenLabel& label, int least, int sentence) {
    // Tokens of a long text repeat: measuring each of thirty thousand would hold the window up.
    const auto width_of = [this](const QString& text) {
        const auto known = widths_.constFind(text);
        return known != widths_.cend() ? *known : *widths_.insert(text, QFontMetricsF(chip_font()).horizontalAdvance(text));
    };
    Chip chip;
    chip.sentence = sentence;
    chip.faint = QString::fromStdString(label.continuation);
    chip.text = QString::fromStdString(label.text);
    chip.special = label.special;
    chip.faint_width = int(width_of(chip.faint));
    chip.width = std::max(least, int(std::ceil(width_of(chip.text))) + chip.faint_width + 2 * chip_padding);
    if (!chips_.empty() && chips_.back().sentence != sentence) width_ += sentence_gap;
    chip.x = width_;
    width_ += chip.width + chip_gap;
    return &chips_.emplace_back(std::move(chip));
}

void TokenStrip::rebuild() {
    tip_.forget();
    chips_.clear();
    if (widths_.size() > 100'000) widths_.clear();
    first_ = 0;
    width_ = 0;
    // Numbers under the tokens need room of their own; of a masked-word model only one token has some.
    const auto& trace = document_.trace();
    const bool across = trace && trace->across_texts();
    const bool numbers = predicting_ && trace && (across || trace->config().causal);
    const int least = numbers ? 44 : 18;
    if (across) {
        for (const text::TokenLabel& label : trace->key_labels()) {
            Chip* chip = add_chip(label, 18, 0);
            chip->source = true;
            chip->position = std::int64_t(first_++);
            chip->role = QStringLiteral("source");
        }
    }
    if (trace) {
        const auto& sequence = trace->encoding().sequence;
        const std::vector<std::string> roles =
            trace->tokenizer() ? text::chat_roles(*trace->tokenizer(), trace->encoding()) : std::vector<std::string>();
        const PromptText& prompt = document_.shown_prompt();
        const auto bytes_before = [&](qsizetype at) { return std::int64_t(QStringView(prompt.text).left(at).toUtf8().size()); };
        const std::int64_t written_begin = bytes_before(prompt.written.begin), written_end = bytes_before(prompt.written.end);
        const auto& offsets = trace->encoding().offsets;
        int sentence = across ? 1 : 0;
        for (const text::TokenLabel& label : trace->labels()) {
            const std::size_t index = chips_.size() - first_;
            if (index < sequence.size() && sequence[index] == 1) sentence = 1;
            Chip* chip = add_chip(label, least, sentence);
            chip->position = std::int64_t(index);
            if (index < roles.size()) chip->role = QString::fromStdString(roles[index]);
            if (across) chip->role = QStringLiteral("target");
            if (index < offsets.size() && !prompt.written.empty())
                chip->written = offsets[index].begin < written_end && offsets[index].end > written_begin;
        }
        width_ -= chip_gap;
    }
    const bool chat = std::ranges::any_of(chips_, [](const Chip& chip) { return !chip.role.isEmpty(); });
    if (std::exchange(chat_, chat) != chat) set_height();
    update_range();
    viewport()->update();
}

void TokenStrip::follow_pin(bool reveal_it) {
    const auto& pins = document_.selection().get().pinned_queries;
    const auto pin = pins.empty() ? std::nullopt : std::optional(pins.back());
    if (pin != std::exchange(followed_, pin) && pin && reveal_it) reveal(*pin);
}

void TokenStrip::update_range() {
    horizontalScrollBar()->setRange(0, std::max(0, width_ - viewport()->width()));
    horizontalScrollBar()->setPageStep(viewport()->width());
    horizontalScrollBar()->setSingleStep(40);
}

void TokenStrip::resizeEvent(QResizeEvent* event) {
    const QRect chip = followed_ ? chip_rect(*followed_) : QRect();
    const bool in_sight = chip.isValid() && chip.left() >= 0 && chip.right() <= event->oldSize().width();
    update_range();
    if (in_sight) reveal(*followed_);  // the facts beside the strip take room when a run has ended
}

QRect TokenStrip::rect_of(std::size_t index) const {
    const Chip& chip = chips_[index];
    return {chip.x - horizontalScrollBar()->value(), top, chip.width, chip_height};
}

QRect TokenStrip::chip_rect(Position p) const {
    if (p.value < 0 || p.value >= std::ssize(chips_) - std::int64_t(first_)) return {};
    return rect_of(first_ + static_cast<std::size_t>(p.value));
}

QRect TokenStrip::source_rect(Position p) const {
    if (p.value < 0 || p.value >= std::int64_t(first_)) return {};
    return rect_of(static_cast<std::size_t>(p.value));
}

void TokenStrip::reveal(Position p) {
    const QRect rect = chip_rect(p);
    if (rect.isNull()) return;
    QScrollBar* bar = horizontalScrollBar();
    if (rect.left() < 24) bar->setValue(bar->value() + rect.left() - 48);
    if (rect.right() > viewport()->width() - 24) bar->setValue(bar->value() + rect.right() - viewport()->width() + 48);
}

void TokenStrip::centre(Position p) {
    const QRect rect = chip_rect(p);
    if (!rect.isNull())
        horizontalScrollBar()->setValue(horizontalScrollBar()->value() + rect.center().x() - viewport()->width() / 2);
}

std::optional<std::pair<Position, Position>> TokenStrip::in_sight() const {
    const int left = horizontalScrollBar()->value(), right = left + viewport()->width();
    const auto first = std::ranges::partition_point(chips_, [left](const Chip& c) { return c.x + c.width <= left; });
    const auto end = std::ranges::partition_point(chips_, [right](const Chip& c) { return c.x < right; });
    const auto begin = std::max(first, chips_.begin() + std::ptrdiff_t(first_));
    if (begin >= end) return std::nullopt;
    return std::pair(Position(begin->position), Position((end - 1)->position));
}

std::vector<Position> TokenStrip::find(const QString& text) const {
    std::vector<Position> found;
    for (const Chip& chip : chips_) {
        if (!text.isEmpty() && !chip.source && chip.text.contains(text, Qt::CaseInsensitive))
            found.push_back(Position(chip.position));
    }
    return found;
}

const TokenStrip::Chip* TokenStrip::at(QPointF p) const {
    const int x = int(p.x()) + horizontalScrollBar()->value();
    const auto after = std::upper_bound(chips_.begin(), chips_.end(), x, [](int value, const Chip& c) { return value < c.x; });
    if (after == chips_.begin()) return nullptr;
    const Chip& chip = *(after - 1);
    return x < chip.x + chip.width ? &chip : nullptr;
}

void TokenStrip::paint_chip(QPainter& painter, const Chip& chip) const {
    const figure::Theme& theme = Appearance::instance().theme();
    const figure::Selection& s = document_.selection().get();
    const Position here(chip.position);
    const auto has = [&](const std::vector<Position>& pins) { return std::find(pins.begin(), pins.end(), here) != pins.end(); };
    const bool looks = !chip.source, is_looked_at = chip.source || first_ == 0;
    const bool query = looks && (s.hover_query == here || has(s.pinned_queries));
    const bool key = is_looked_at && (s.hover_key == here || has(s.pinned_keys));
    const QRectF box = QRectF(rect_of(std::size_t(&chip - chips_.data()))).adjusted(0.5, 0.5, -0.5, -0.5);
    QColor edge = Qt::transparent;
    if (key) edge = figure::head_color(theme, document_.options().palette, s.focus.head.value);
    if (query) edge = theme.accent;
    painter.setPen(QPen(edge, 1));
    painter.setBrush(query || key ? theme.accent_soft : theme.chip);
    painter.drawRoundedRect(box, 4, 4);
    if (query && key) {  // a token that attends to itself: the key's colour inside the query's
        painter.setPen(QPen(figure::head_color(theme, document_.options().palette, s.focus.head.value), 1));
        painter.drawRoundedRect(box.adjusted(1.5, 1.5, -1.5, -1.5), 3, 3);
    }
    if (compared(chip)) {
        painter.setPen(QPen(theme.negative, 1, Qt::DashLine));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(box, 4, 4);
    }
    if (chip.written) {
        painter.setPen(QPen(theme.muted, 1));
        painter.drawLine(QPointF(box.left() + 3, box.bottom() + 2), QPointF(box.right() - 3, box.bottom() + 2));
    }
    const double text_width = chip.width - 2 * chip_padding;
    QRectF text_box(box.left() + std::max(0.0, (chip.width - text_width) / 2) - 0.5, box.top(), text_width + 2, box.height());
    const bool narrow =
        chip.width - 2 * chip_padding <= QFontMetricsF(chip_font()).horizontalAdvance(chip.text) + chip.faint_width + 0.5 &&
        chip.width <= 18;
    const bool centred = narrow || chip.width == 44;
    if (centred) text_box = box;
    painter.setPen(theme.muted);
    if (!chip.faint.isEmpty()) {
        painter.drawText(text_box, Qt::AlignVCenter | Qt::AlignLeft, chip.faint);
        text_box.adjust(chip.faint_width, 0, 0, 0);
    }
    painter.setPen(chip.special ? theme.muted : theme.text);
    painter.drawText(text_box, (centred ? Qt::AlignHCenter : Qt::AlignLeft) | Qt::AlignVCenter, chip.text);
}

QString TokenStrip::prediction_text(Position p) const {
    const auto& all = document_.predictions().all();
    if (p.value < 0 || p.value >= std::ssize(all)) return {};
    const analyze::TokenPrediction& found = all[static_cast<std::size_t>(p.value)];
    if (found.rank < 0) return {};
    return QStringLiteral("%1, rank %2").arg(log_text(found.log_probability)).arg(found.rank);
}

QString TokenStrip::prediction_tip(Position p) const {
    if (!document_.trace()) return {};
    const auto listed = [this](const std::vector<analyze::TokenScore>& scores) {
        QString list;
        for (const analyze::TokenScore& t : scores)
            list += QStringLiteral("\n%1  %2")
                        .arg(QString::fromStdString(text::token_label(*document_.trace()->tokenizer(), t.id)),
                             figure::number_text(static_cast<double>(t.probability), 4));
        return list;
    };
    if (const auto& masked = document_.predictions().masked(); masked && masked->position == p)
        return QStringLiteral("\nMasked: log-probability %1, rank %2. Candidates:")
                   .arg(log_text(masked->found.log_probability))
                   .arg(masked->found.rank) +
               listed(masked->found.candidates);
    const auto& all = document_.predictions().all();
    if (p.value < 0 || p.value >= std::ssize(all)) return {};
    const analyze::TokenPrediction& found = all[static_cast<std::size_t>(p.value)];
    QString tip = found.rank < 0 ? QStringLiteral("\nNothing before it: not predicted")
                                 : QStringLiteral("\nLog-probability %1 nats, rank %2")
                                       .arg(figure::number_text(found.log_probability, 4))
                                       .arg(found.rank);
    return tip + QStringLiteral("\nNext:") + listed(found.next);
}

/// Log-probability on its strength as a colour, the rank under it.
void TokenStrip::paint_prediction(QPainter& painter, const Chip& chip) const {
    const auto& all = document_.predictions().all();
    const auto index = static_cast<std::size_t>(chip.position);
    if (chip.source || index >= all.size()) return;
    const figure::Theme& theme = Appearance::instance().theme();
    const analyze::TokenPrediction& found = all[index];
    const int x = chip.x - horizontalScrollBar()->value();
    const QRectF first(x, top + chip_height + 3, chip.width, 15), second(x, top + chip_height + 18, chip.width, 14);
    painter.setFont(number_font());
    if (found.rank < 0) {
        painter.setPen(theme.muted);
        painter.drawText(first, Qt::AlignCenter, QStringLiteral("–"));
        return;
    }
    const QColor fill = figure::ramp_color(document_.options().ramp, theme, std::exp(found.log_probability));
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    painter.drawRoundedRect(first.adjusted(0, 0, 0, -1), 3, 3);
    painter.setPen(figure::text_on(theme, fill));
    painter.drawText(first, Qt::AlignCenter, log_text(found.log_probability));
    painter.setPen(found.rank == 0 ? theme.accent : theme.muted);
    const QString rank = QLocale(QLocale::English).toString(qlonglong(found.rank));
    painter.drawText(second, Qt::AlignCenter, painter.fontMetrics().elidedText(rank, Qt::ElideRight, chip.width));
}

/// Candidates of the masked token in one line, beginning under it where there is room.
void TokenStrip::paint_masked(QPainter& painter) const {
    const figure::Theme& theme = Appearance::instance().theme();
    painter.setFont(number_font());
    const QFontMetricsF metrics(number_font());
    const TokenPredictions& predictions = document_.predictions();
    const double y = top + chip_height + 4;
    if (!predictions.line().isEmpty()) {
        painter.setPen(theme.muted);
        painter.drawText(QRectF(2, y, viewport()->width() - 4, 16), Qt::AlignLeft | Qt::AlignVCenter, predictions.line());
        return;
    }
    const auto& masked = predictions.masked();
    if (!masked || chip_rect(masked->position).isNull()) return;
    const QString lead =
        QStringLiteral("masked: %1, rank %2").arg(log_text(masked->found.log_probability)).arg(masked->found.rank);
    std::vector<std::pair<QString, QString>> words;
    double width = metrics.horizontalAdvance(lead) + 16;
    for (const analyze::TokenScore& t : masked->found.candidates) {
        words.emplace_back(QString::fromStdString(text::token_label(*document_.trace()->tokenizer(), t.id)),
                           figure::number_text(static_cast<double>(t.probability), 3));
        width += metrics.horizontalAdvance(words.back().first) + metrics.horizontalAdvance(words.back().second) + 18;
    }
    double x = std::clamp(double(chip_rect(masked->position).left()), 2.0, std::max(2.0, viewport()->width() - width));
    painter.setPen(theme.muted);
    painter.drawText(QPointF(x, y + 12), lead);
    x += metrics.horizontalAdvance(lead) + 16;
    for (const auto& [word, probability] : words) {
        painter.setPen(theme.text);
        painter.drawText(QPointF(x, y + 12), word);
        x += metrics.horizontalAdvance(word) + 4;
        painter.setPen(theme.muted);
        painter.drawText(QPointF(x, y + 12), probability);
        x += metrics.horizontalAdvance(probability) + 14;
    }
}

bool TokenStrip::written(Position p) const {
    return !chip_rect(p).isNull() && chips_[first_ + static_cast<std::size_t>(p.value)].written;
}

QString TokenStrip::role(Position p) const {
    return chip_rect(p).isNull() ? QString() : chips_[first_ + static_cast<std::size_t>(p.value)].role;
}

/// Under each turn a line with the name of who speaks; the name stays in sight while the turn is.
void TokenStrip::paint_roles(QPainter& painter) const {
    const figure::Theme& theme = Appearance::instance().theme();
    painter.setFont(number_font());
    const int shift = horizontalScrollBar()->value(), y = height() - role_height;
    for (std::size_t first = 0; first < chips_.size();) {
        std::size_t end = first + 1;
        while (end < chips_.size() && chips_[end].role == chips_[first].role) ++end;
        const Chip &from = chips_[first], &to = chips_[end - 1];
        const int left = from.x - shift, right = to.x + to.width - shift;
        if (!from.role.isEmpty() && right > 0 && left < viewport()->width()) {
            painter.setPen(QPen(from.role == QStringLiteral("assistant") ? theme.accent : theme.muted, 1));
            painter.drawLine(left, y + 2, right, y + 2);
            const int begin = std::max(left, shift > horizontalScrollBar()->minimum() ? fade_width : 0);
            if (right > begin)
                painter.drawText(QRect(begin, y + 3, right - begin, role_height - 3), Qt::AlignLeft | Qt::AlignVCenter,
                                 painter.fontMetrics().elidedText(from.role, Qt::ElideRight, right - begin));
        }
        first = end;
    }
}

void TokenStrip::paintEvent(QPaintEvent* event) {
    QPainter painter(viewport());
    const figure::Theme& theme = Appearance::instance().theme();
    painter.fillRect(event->rect(), theme.bar);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(chip_font());
    const int from = horizontalScrollBar()->value() + event->rect().left(), to = from + event->rect().width();
    auto first = std::lower_bound(chips_.begin(), chips_.end(), from, [](const Chip& c, int x) { return c.x + c.width < x; });
    for (; first != chips_.end() && first->x <= to; ++first) {
        painter.setFont(chip_font());
        paint_chip(painter, *first);
        if (predicting_) paint_prediction(painter, *first);
    }
    if (predicting_) paint_masked(painter);
    if (chat_) paint_roles(painter);
    // A fade says that the line goes on.
    const auto fade = [&](QRect area, bool left) {
        QLinearGradient gradient(area.topLeft(), area.topRight());
        QColor clear = theme.bar;
        clear.setAlpha(0);
        gradient.setColorAt(0, left ? theme.bar : clear);
        gradient.setColorAt(1, left ? clear : theme.bar);
        painter.fillRect(area, gradient);
    };
    const QScrollBar* bar = horizontalScrollBar();
    if (bar->value() > bar->minimum()) fade(QRect(0, 0, fade_width, height()), true);
    if (bar->value() < bar->maximum()) fade(QRect(viewport()->width() - fade_width, 0, fade_width, height()), false);
}

void TokenStrip::mouseMoveEvent(QMouseEvent* event) {
    if (drag_from_ && event->buttons() & Qt::LeftButton) {
        const int moved = int(event->position().x() - drag_from_->x());
        if (std::abs(moved) > 6) dragging_ = true;
        if (dragging_) return horizontalScrollBar()->setValue(drag_value_ - moved);
    }
    const Chip* chip = at(event->position());
    viewport()->setCursor(chip ? Qt::PointingHandCursor : Qt::ArrowCursor);
    const auto position = chip ? std::optional(Position(chip->position)) : std::nullopt;
    if (chip && chip->source)
        document_.selection().hover(std::nullopt, std::nullopt, position);
    else
        document_.selection().hover_position(position);
}

void TokenStrip::mousePressEvent(QMouseEvent* event) {
    drag_from_ = event->position();
    drag_value_ = horizontalScrollBar()->value();
    dragging_ = false;
}

void TokenStrip::mouseReleaseEvent(QMouseEvent* event) {
    drag_from_.reset();
    if (std::exchange(dragging_, false) || event->button() != Qt::LeftButton) return;
    if (const Chip* chip = at(event->position())) press(int(chip - chips_.data()), event->modifiers());
}

void TokenStrip::press(int index, Qt::KeyboardModifiers modifiers) {
    const Chip& chip = chips_[std::size_t(index)];
    const bool add = modifiers & Qt::ControlModifier;
    // While a weight is explained, a second key is the one that the pinned key is compared with.
    if (modifiers == Qt::ShiftModifier && first_ == 0 && explains_weight(document_) &&
        compare_with_key(document_, Position(chip.position)))
        return;
    if (chip.source || (first_ == 0 && modifiers & Qt::ShiftModifier))
        document_.selection().pin_key(Position(chip.position), add);
    else
        document_.selection().pin_query(Position(chip.position), add);
}

std::optional<std::pair<Position, bool>> TokenStrip::token_at(QPointF point) const {
    const Chip* chip = at(point);
    return chip ? std::optional(std::pair(Position(chip->position), chip->source)) : std::nullopt;
}

bool TokenStrip::pinned(int index) const {
    const Chip& chip = chips_[std::size_t(index)];
    const figure::Selection& s = document_.selection().get();
    const auto& pins = chip.source ? s.pinned_keys : s.pinned_queries;
    return std::ranges::find(pins, Position(chip.position)) != pins.end();
}

/// The pinned key of the weight that is explained is compared with it.
bool TokenStrip::compared(const Chip& chip) const {
    return first_ == 0 && explains_weight(document_) && compared_key(document_) == Position(chip.position);
}

QString TokenStrip::spoken(int index) const {
    const Chip& chip = chips_[std::size_t(index)];
    QString name = QStringLiteral("%1%2, token %3").arg(chip.faint, chip.text).arg(chip.position);
    if (!chip.role.isEmpty()) name += QStringLiteral(", ") + chip.role;
    if (pinned(index)) name += chip.source ? QStringLiteral(", pinned key") : QStringLiteral(", pinned query");
    if (compared(chip)) name += QStringLiteral(", compared with the key");
    if (const QString found = chip.source ? QString() : prediction_text(Position(chip.position)); !found.isEmpty())
        name += QStringLiteral(", log-probability ") + found;
    return name;
}

void TokenStrip::wheelEvent(QWheelEvent* event) {
    const QPoint delta = event->pixelDelta().isNull() ? event->angleDelta() / 2 : event->pixelDelta();
    horizontalScrollBar()->setValue(horizontalScrollBar()->value() - (delta.x() ? delta.x() : delta.y()));
    event->accept();
}

bool TokenStrip::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave) document_.selection().clear_hover();
    if (event->type() == QEvent::ToolTip && document_.trace()) {
        const auto* help = static_cast<QHelpEvent*>(event);
        if (const Chip* chip = at(help->pos())) {
            const auto& encoding = chip->source ? document_.trace()->key_encoding() : document_.trace()->encoding();
            const auto i = static_cast<std::size_t>(chip->position);
            const QString role = chip->role.isEmpty() ? QString()
                                 : first_ > 0         ? QStringLiteral(", in the %1").arg(chip->role)
                                                      : QStringLiteral(", said by: %1").arg(chip->role);
            const QString text = QStringLiteral("%1   position %2, id %3, vocabulary entry %4")
                                     .arg(chip->text, QString::number(chip->position), QString::number(encoding.ids[i]),
                                          QString::fromStdString(encoding.tokens[i])) +
                                 role + (chip->written ? QStringLiteral(", generated by the model") : QString()) +
                                 (predicting_ && !chip->source ? prediction_tip(Position(chip->position)) : QString());
            tip_.show(help->globalPos(), text, viewport(), rect_of(std::size_t(chip - chips_.data())));
        } else {
            tip_.show(help->globalPos(), {}, viewport());
        }
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void TokenStrip::keyPressEvent(QKeyEvent* event) {
    SelectionModel& selection = document_.selection();
    switch (event->key()) {
        case Qt::Key_Left: selection.step_query(-1); break;
        case Qt::Key_Right: selection.step_query(1); break;
        case Qt::Key_Home:
        case Qt::Key_End: {
            if (chips_.empty()) return;
            figure::Selection s = without_hover(selection.get());
            s.pinned_queries = {Position(event->key() == Qt::Key_Home ? 0 : std::int64_t(chips_.size() - first_) - 1)};
            s.found_pins = false;
            selection.set(s);
            break;
        }
        default: return event->ignore();
    }
    if (const auto query = selection.get().query()) reveal(*query);
}

}  // namespace headlight::ui
