// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/plot/stamp.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure::plot {

QPainterPath marker_path(Marker marker, double r) {
    QPainterPath path;
    switch (marker) {
        case Marker::disc: path.addEllipse(QPointF(0, 0), r, r); break;
        case Marker::square: path.addRect(-0.9 * r, -0.9 * r, 1.8 * r, 1.8 * r); break;
        case Marker::triangle_up:
            path.addPolygon(QPolygonF({{-1.1 * r, 0.9 * r}, {1.1 * r, 0.9 * r}, {0, -1.1 * r}, {-1.1 * r, 0.9 * r}}));
            break;
        case Marker::triangle_right:
            path.addPolygon(QPolygonF({{-0.9 * r, -1.1 * r}, {-0.9 * r, 1.1 * r}, {1.1 * r, 0}, {-0.9 * r, -1.1 * r}}));
            break;
        case Marker::triangle_left:
            path.addPolygon(QPolygonF({{0.9 * r, -1.1 * r}, {0.9 * r, 1.1 * r}, {-1.1 * r, 0}, {0.9 * r, -1.1 * r}}));
            break;
        case Marker::letter_c:
        case Marker::letter_s: {
            const QFont font = ui_font(std::max(8.0, r * 3), QFont::Bold);
            const QString letter = marker == Marker::letter_c ? QStringLiteral("C") : QStringLiteral("S");
            path.addText(-draw::text_width(letter, font) / 2, draw::centred_baseline(0, font), font, letter);
            break;
        }
    }
    return path;
}

const Stamps::Mask& Stamps::mask(const Key& key) {
    // Neighbours in a series differ only in where in its pixel a point lies.
    if (key[0] != like_[0] || key[1] != like_[1]) near_.fill(nullptr), like_ = {key[0], key[1]};
    const Mask*& known = near_[static_cast<std::size_t>(key[2] * 4 + key[3])];
    if (known) return *known;
    auto found = masks_.find(key);
    if (found == masks_.end()) {
        const QPainterPath path = marker_path(static_cast<Marker>(key[0]), key[1] / 16.0);
        const QRectF box = path.boundingRect();
        Mask mask;
        mask.left = static_cast<int>(std::floor(box.left())) - 1, mask.top = static_cast<int>(std::floor(box.top())) - 1;
        mask.width = static_cast<int>(std::ceil(box.right())) + 2 - mask.left;
        mask.height = static_cast<int>(std::ceil(box.bottom())) + 2 - mask.top;
        QImage image(mask.width, mask.height, QImage::Format_ARGB32_Premultiplied);
        image.fill(Qt::transparent);
        QPainter painter(&image);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.translate(key[2] / 4.0 - mask.left, key[3] / 4.0 - mask.top);
        painter.fillPath(path, Qt::black);
        painter.end();
        for (int y = 0; y < mask.height; ++y)
            for (int x = 0; x < mask.width; ++x) mask.alpha.push_back(static_cast<std::uint8_t>(qAlpha(image.pixel(x, y))));
        found = masks_.emplace(key, std::move(mask)).first;
    }
    known = &found->second;
    return *known;
}

void Stamps::stamp(QImage& image, Marker marker, double radius, QPointF at, const QColor& color) {
    const double fx = std::floor(at.x()), fy = std::floor(at.y());
    const Mask& m = mask({static_cast<int>(marker), static_cast<int>(std::lround(radius * 16)),
                          static_cast<int>((at.x() - fx) * 4), static_cast<int>((at.y() - fy) * 4)});
    const int left = static_cast<int>(fx) + m.left, top = static_cast<int>(fy) + m.top;
    const int x0 = std::max(0, -left), x1 = std::min(m.width, image.width() - left);
    const int y0 = std::max(0, -top), y1 = std::min(m.height, image.height() - top);
    if (x0 >= x1 || y0 >= y1) return;
    const auto a = static_cast<unsigned>(color.alpha());
    const unsigned over = color.rgb();  // its own alpha is in the cover
    uchar* const pixels = image.bits();
    for (int y = y0; y < y1; ++y) {
        auto* line = reinterpret_cast<QRgb*>(pixels + (top + y) * image.bytesPerLine()) + left;
        const std::uint8_t* alpha = m.alpha.data() + static_cast<std::size_t>(y * m.width);
        for (int x = x0; x < x1; ++x) {
            if (!alpha[x]) continue;
            const unsigned cover = alpha[x] * a / 255, rest = 255 - cover;
            // Two channels at once, (over * cover + under * rest) / 255 rounded.
            const auto mixed = [cover, rest](unsigned above, unsigned below) {
                const unsigned sum = (above & 0xff00ff) * cover + (below & 0xff00ff) * rest;
                return ((sum + ((sum >> 8) & 0xff00ff) + 0x800080) >> 8) & 0xff00ff;
            };
            const QRgb under = line[x];
            line[x] = mixed(over, under) | mixed(over >> 8, under >> 8) << 8;
        }
    }
}

}  // namespace headlight::figure::plot
