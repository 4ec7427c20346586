// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/map/sentence_view.h"

#include "headlight/figure/core/number_text.h"
#include "headlight/figure/core/theme.h"
#include "ui/style/appearance.h"

#include <QFontMetricsF>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headlight::ui {
namespace {

constexpr double line_height = 34, token_height = 20, pad = 3, number_size = 10;
constexpr double most_patch = 36;  ///< px

QFont token_font() { return figure::ui_font(13); }

QString weight_words(float weight) { return figure::number_text(100 * static_cast<double>(weight), weight < 0.1F ? 1 : 0); }
QString number_words(float weight) { return weight_words(weight) + u'%'; }

/// Below its token.
QRectF number_place(const QRectF& token, float weight) {
    const double width = QFontMetricsF(figure::ui_font(number_size)).horizontalAdvance(number_words(weight)) + 2;
    return {token.center().x() - width / 2, token.bottom() + 1, width, 12};
}

}  // namespace

SentenceView::SentenceView(QWidget* parent) : QWidget(parent) {
    setMouseTracking(true);
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void SentenceView::set_content(Content content) {
    tip_.forget();
    content_ = std::move(content);
    QStringList strong;
    for (const int i : content_.lines)
        strong << QStringLiteral("%1 %2 %").arg(content_.tokens.value(i), weight_words(content_.weights[std::size_t(i)]));
    setAccessibleDescription(content_.tokens.join(QString()) + QStringLiteral(". ") + strong.join(QStringLiteral(", ")));
    updateGeometry();
    update();
}

std::vector<QRectF> SentenceView::flow(double width) const {
    const QFontMetricsF metrics(token_font());
    std::vector<QRectF> out;
    double x = 0, y = 0;
    const auto first_patch = std::ranges::find_if(content_.patches, [](const QImage& patch) { return !patch.isNull(); });
    const auto words = first_patch == content_.patches.end() ? content_.tokens.size() : first_patch - content_.patches.begin();
    for (const QString& token : content_.tokens.first(words)) {
        const double w = metrics.horizontalAdvance(token) + 2 * pad;
        if (x > 0 && x + w > width) x = 0, y += line_height;
        out.emplace_back(x, y, w, token_height);
        x += w + 1;
    }
    if (words > 0) y += line_height;
    const double side = std::min(most_patch, std::floor(width / std::max(1, content_.columns)));
    for (qsizetype i = words; i < content_.tokens.size(); ++i) {
        const auto patch = int(i - words);
        out.emplace_back(patch % content_.columns * side, y + patch / content_.columns * side, side, side);
    }
    return out;
}

int SentenceView::heightForWidth(int width) const {
    const std::vector<QRectF> places = flow(width);
    return places.empty() ? 0 : int(std::ceil(places.back().top() + std::max(line_height, places.back().height() + 4)));
}

QSize SentenceView::sizeHint() const { return {220, heightForWidth(std::max(width(), 220))}; }

QRectF SentenceView::place(int token) const {
    const std::vector<QRectF> places = flow(width());
    return token >= 0 && token < int(places.size()) ? places[std::size_t(token)] : QRectF();
}

int SentenceView::token_at(QPointF at) const {
    const std::vector<QRectF> places = flow(width());
    const auto hit = std::ranges::find_if(places, [&](const QRectF& box) { return box.contains(at); });
    return hit == places.end() ? -1 : int(hit - places.begin());
}

/// A patch, covered by as much colour as it has of the largest weight.
void SentenceView::paint_patch(QPainter& painter, int token, const QRectF& box, double share) const {
    const figure::Theme& theme = Appearance::instance().theme();
    QColor tint = content_.keys ? theme.negative : theme.positive, ground = theme.canvas;
    painter.drawImage(box, content_.patches[std::size_t(token)]);
    if (!content_.weights.empty()) {
        ground.setAlphaF(0.45F);
        painter.fillRect(box, ground);
        tint.setAlphaF(float(0.85 * share));
        painter.fillRect(box, tint);
    }
    const bool line = std::ranges::find(content_.lines, token) != content_.lines.end();
    if (!line && token != content_.chosen) return;
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(token == content_.chosen ? theme.text : content_.keys ? theme.negative : theme.positive, 2));
    painter.drawRect(box.adjusted(1, 1, -1, -1));
}

void SentenceView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHints(QPainter::Antialiasing | QPainter::SmoothPixmapTransform);
    const figure::Theme& theme = Appearance::instance().theme();
    const QColor role = content_.keys ? theme.negative : theme.positive;
    const std::vector<QRectF> places = flow(width());
    const QFont font = token_font(), number = figure::ui_font(number_size);
    const float most = content_.weights.empty() ? 0 : std::ranges::max(content_.weights);
    for (int i = 0; i < int(places.size()); ++i) {
        const QRectF& box = places[std::size_t(i)];
        const bool line = std::ranges::find(content_.lines, i) != content_.lines.end();
        const float weight = std::size_t(i) < content_.weights.size() ? content_.weights[std::size_t(i)] : 0;
        if (std::size_t(i) < content_.patches.size() && !content_.patches[std::size_t(i)].isNull()) {
            paint_patch(painter, i, box, most > 0 ? double(weight / most) : 0);
            continue;
        }
        if (most > 0 && weight > 0) {
            QColor tint = role;
            tint.setAlphaF(0.45F * std::sqrt(weight / std::max(most, 0.2F)));
            painter.setPen(Qt::NoPen);
            painter.setBrush(tint);
            painter.drawRoundedRect(box, 3, 3);
        }
        if (i == content_.chosen) {
            painter.setPen(QPen(theme.text, 1.5));
            painter.setBrush(Qt::NoBrush);
            painter.drawRoundedRect(box.adjusted(0.75, 0.75, -0.75, -0.75), 3, 3);
        }
        painter.setFont(font);
        painter.setPen(theme.text);
        painter.drawText(box, Qt::AlignCenter, content_.tokens[i]);
        if (!line) continue;
        painter.setPen(QPen(role, 1.5));
        painter.drawLine(box.bottomLeft() + QPointF(2, 1), box.bottomRight() + QPointF(-2, 1));
    }
    painter.setFont(number);
    painter.setPen(theme.muted);
    for (const int token : numbered(places))
        painter.drawText(number_place(places[std::size_t(token)], content_.weights[std::size_t(token)]), Qt::AlignCenter,
                         number_words(content_.weights[std::size_t(token)]));
}

/// Numbers are wider than short tokens: those of the largest weights go first, and none covers another. Tips have them all.
std::vector<int> SentenceView::numbered(const std::vector<QRectF>& places) const {
    std::vector<int> by_weight, shown;
    for (const int token : content_.lines)
        if (std::size_t(token) < content_.weights.size() && std::size_t(token) < places.size() &&
            (std::size_t(token) >= content_.patches.size() || content_.patches[std::size_t(token)].isNull()))
            by_weight.push_back(token);
    std::ranges::stable_sort(by_weight, std::greater<>(), [&](int token) { return content_.weights[std::size_t(token)]; });
    std::vector<QRectF> taken;
    for (const int token : by_weight) {
        const QRectF place = number_place(places[std::size_t(token)], content_.weights[std::size_t(token)]);
        if (std::ranges::any_of(taken, [&](const QRectF& other) { return other.intersects(place); })) continue;
        taken.push_back(place);
        shown.push_back(token);
    }
    return shown;
}

std::vector<int> SentenceView::numbered() const { return numbered(flow(width())); }

void SentenceView::mouseMoveEvent(QMouseEvent* event) {
    setCursor(token_at(event->position()) >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

void SentenceView::mouseReleaseEvent(QMouseEvent* event) {
    if (const int token = token_at(event->position()); token >= 0 && event->button() == Qt::LeftButton)
        Q_EMIT token_clicked(token);
}

bool SentenceView::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const int token = token_at(help->pos());
    if (token < 0) {
        tip_.show(help->globalPos(), {}, this);
    } else {
        QString words = QStringLiteral("%1 (%2)").arg(content_.tokens[token]).arg(token);
        if (std::size_t(token) < content_.weights.size())
            words += QStringLiteral("  ") + figure::value_text(double(content_.weights[std::size_t(token)]));
        tip_.show(help->globalPos(), words, this, place(token).toAlignedRect());
    }
    return true;
}

}  // namespace headlight::ui
