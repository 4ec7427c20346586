// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/map/thumbnails.h"

#include "figure/core/draw.h"
#include "figure/map/map_parts.h"
#include "headlight/figure/picture/picture_file.h"
#include "headlight/map/pictures.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace headlight::figure {
namespace {

constexpr int patch_pixels = 48;
constexpr double least_thumbnail = 7, most_thumbnail = 48;  ///< px
constexpr double thumbnail_share = 0.7;                     ///< of the side that a point would have if all filled the plane
constexpr double grey_thumbnail = 0.18, far_thumbnail = 0.25;

}  // namespace

MapThumbnails::MapThumbnails(const map::QueryKeyMap& map) {
    if (!map.pictures) return;
    const auto rows = static_cast<int>(map.pictures->rows), columns = static_cast<int>(map.pictures->columns);
    class_tokens_ = static_cast<std::size_t>(map.pictures->class_tokens);
    for (const trace::PictureShown& shown : map.pictures->shown) {
        const QImage whole =
            seen_of(shown)
                .scaled(columns * patch_pixels, rows * patch_pixels, Qt::IgnoreAspectRatio, Qt::SmoothTransformation)
                .convertToFormat(QImage::Format_RGB32);
        std::vector<QImage>& patches = patches_.emplace_back();
        for (int p = 0; p < rows * columns; ++p)
            patches.push_back(whole.copy(p % columns * patch_pixels, p / columns * patch_pixels, patch_pixels, patch_pixels));
    }
}

QImage MapThumbnails::of(const MapToken& token) const {
    const auto text = static_cast<std::size_t>(token.text()), at = static_cast<std::size_t>(token.position().value);
    if (text >= patches_.size() || at < class_tokens_) return {};
    const std::size_t patch = at - class_tokens_;
    return patch < patches_[text].size() ? patches_[text][patch] : QImage();
}

QImage MapFigure::thumbnail(std::int32_t point) const { return parts_->thumbnails.of(map_token(parts_->map, point)); }

double MapFigure::Parts::thumbnail_side(std::size_t head, double zoom) const {
    if (thumbnails.empty() || !look.thumbnails) return 0;
    const QRectF at = plane_with_border(head);
    const double plane_side = std::min(at.width(), at.height()) * (single() ? zoom : 1);
    const double across = thumbnail_share * plane_side / std::sqrt(static_cast<double>(facts.size()));
    return across < least_thumbnail ? 0 : std::min(across, most_thumbnail);
}

void MapFigure::Parts::paint_thumbnails(const Frame& f, std::size_t head) const {
    const double across = thumbnail_side(head);
    if (across <= 0) return;
    const std::vector<QRgb> palette = map_palette(look.color, f.theme());
    const MapPlane& p = planes[head];
    const CloudView cloud = view(head);
    struct Drawn {
        bool front;
        double order;
        std::size_t point;
    };
    std::vector<Drawn> drawn;
    const bool solid = !p.z.empty();
    for (std::size_t i = 0; i < facts.size(); ++i) {
        const bool front = look.marked && (*look.marked)[i];
        if (colors(head, front)[i] == cloud_hidden) continue;
        drawn.push_back(
            {front, solid ? double(cloud.depth(p.x[i], p.y[i], p.z[i])) : double(shuffled(static_cast<std::uint32_t>(i))), i});
    }
    std::ranges::sort(drawn, {}, [](const Drawn& d) { return std::tuple(d.front, d.order, d.point); });
    f.painter.save();
    f.painter.setRenderHint(QPainter::SmoothPixmapTransform);
    for (const Drawn& d : drawn) {
        const QImage patch = thumbnails.of(map_token(map, static_cast<std::int32_t>(d.point)));
        const auto at = place(head, d.point);
        if (patch.isNull() || !at) continue;
        const double near = solid ? far_thumbnail + (1 - far_thumbnail) * (d.order + 1) / 2 : 1;
        f.painter.setOpacity(look.marked && !d.front ? grey_thumbnail : near);
        const QRectF box(at->x() - across / 2, at->y() - across / 2, across, across);
        f.painter.drawImage(box, patch);
        f.painter.setPen(QPen(QColor::fromRgb(palette[colors(head, d.front)[d.point]]), across < 14 ? 1 : 2));
        f.painter.setBrush(Qt::NoBrush);
        f.painter.drawRect(box);
    }
    f.painter.restore();
}

bool MapFigure::Parts::drawn_as_patch(std::size_t head, std::size_t point) const {
    return thumbnail_side(head) > 0 && !thumbnails.of(map_token(map, static_cast<std::int32_t>(point))).isNull();
}

}  // namespace headlight::figure
