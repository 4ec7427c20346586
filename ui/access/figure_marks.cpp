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

std::vector<FigureMark> marks_of(FigureCanvas& canvas) {
    constexpr int step = 5;  // px; labels and cells that can be read are larger
    constexpr std::size_t most = 4000;
    using Kind = figure::Hit::Kind;
    std::vector<FigureMark> marks;
    QSet<QString> seen;
    const QSize room = canvas.viewport()->size();
    for (int y = step / 2; y < room.height() && marks.size() < most; y += step) {
        for (int x = step / 2; x < room.width() && marks.size() < most; x += step) {
            const figure::Hit hit = canvas.hit_at(QPointF(x, y));
            if (hit.kind == Kind::none || hit.kind == Kind::legend || hit.tip.isEmpty()) continue;
            const QRectF inside(canvas.to_viewport(hit.area.topLeft()), canvas.to_viewport(hit.area.bottomRight()));
            const QRect area = inside.isEmpty() ? QRect(x - 2, y - 2, 5, 5) : inside.toAlignedRect();
            const QString key = QStringLiteral("%1 %2").arg(int(hit.kind)).arg(hit.tip);
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
