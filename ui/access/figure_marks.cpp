// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/access/figure_marks.h"

#include <QRegularExpression>
#include <QSet>

#include <algorithm>

namespace headlight::ui {

QString FigureMark::name() const {
    static const QRegularExpression gap(QStringLiteral("\\s*\\n\\s*|\\s{2,}"));
    return QString(hit.tip).trimmed().replace(gap, QStringLiteral(", "));
}

namespace {

constexpr std::size_t most_marks_told = 4000;

bool says_what_it_is(const figure::Hit& hit) {
    using Kind = figure::Hit::Kind;
    return hit.kind != Kind::none && hit.kind != Kind::legend && !hit.tip.isEmpty();
}

QString mark_key(const figure::Hit& hit) { return QStringLiteral("%1 %2").arg(int(hit.kind)).arg(hit.tip); }

}  // namespace

std::vector<FigureMark> marks_of(FigureCanvas& canvas) {
    constexpr int step = 5;  // px; labels and cells that can be read are larger
    std::vector<FigureMark> marks;
    QSet<QString> seen;
    const QSize room = canvas.viewport()->size();
    if (auto listed = canvas.marks()) {
        for (figure::MarkPlace& place : *listed) {
            figure::Hit& hit = place.hit;
            const QRect area = canvas.in_viewport(hit.area).toAlignedRect();
            if (marks.size() >= most_marks_told || !says_what_it_is(hit) || !area.intersects(QRect(QPoint(0, 0), room))) continue;
            const QString key = mark_key(hit);
            if (seen.contains(key)) continue;
            seen.insert(key);
            marks.push_back({std::move(hit), area});
        }
        return marks;
    }
    for (int y = step / 2; y < room.height() && marks.size() < most_marks_told; y += step) {
        for (int x = step / 2; x < room.width() && marks.size() < most_marks_told; x += step) {
            const figure::Hit hit = canvas.hit_at(QPointF(x, y));
            if (!says_what_it_is(hit)) continue;
            const QRectF inside(canvas.to_viewport(hit.area.topLeft()), canvas.to_viewport(hit.area.bottomRight()));
            const QRect area = inside.isEmpty() ? QRect(x - 2, y - 2, 5, 5) : inside.toAlignedRect();
            const QString key = mark_key(hit);
            if (!seen.contains(key)) {
                seen.insert(key);
                marks.push_back({hit, area});
            }
            if (!inside.isEmpty() && inside.right() > x) x = std::max(x, int(inside.right()) - step / 2);
        }
    }
    return marks;
}

}  // namespace headlight::ui
