// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/map/point_cloud.h"

#include "figure/core/parallel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace headlight::figure {
namespace {

constexpr double pixel_below = 0.75;     ///< px of radius under which a point is one pixel
constexpr float far_strength = 0.25F;    ///< of the farthest point of a 3-D map, of its cover
constexpr int rows_at_once = 64;         ///< of a large area, painted by one thread
constexpr std::size_t table_steps = 16;  ///< of a point, in the table of opacities
constexpr std::size_t table_points = 96;

/// Shares of pixels that a disc covers, in units of cloud_unit, for its middle in one of 4 x 4 parts of a pixel.
struct Disc {
    int left = 0, side = 0;  ///< the first pixel relative to the middle's
    std::array<std::vector<std::uint8_t>, 16> cover;
};

Disc make_disc(double radius) {
    Disc disc;
    const int reach = static_cast<int>(std::ceil(radius + 0.5));
    disc.left = -reach;
    disc.side = 2 * reach + 1;
    constexpr int samples = 8;
    for (std::size_t part = 0; part < 16; ++part) {
        const double mx = (static_cast<double>(part % 4) + 0.5) / 4, my = (static_cast<double>(part / 4) + 0.5) / 4;
        for (int y = 0; y < disc.side; ++y)
            for (int x = 0; x < disc.side; ++x) {
                int inside = 0;
                for (int j = 0; j < samples; ++j)
                    for (int i = 0; i < samples; ++i) {
                        const double dx = x - reach + (i + 0.5) / samples - mx, dy = y - reach + (j + 0.5) / samples - my;
                        inside += dx * dx + dy * dy <= radius * radius;
                    }
                disc.cover[part].push_back(
                    static_cast<std::uint8_t>(std::lround(inside * static_cast<double>(cloud_unit) / (samples * samples))));
            }
    }
    return disc;
}

/// Discs of sixteenths of a pixel of radius, kept for the next picture.
const Disc& disc_of(double radius) {
    thread_local std::map<int, Disc> known;
    const int key = std::clamp(static_cast<int>(std::lround(radius * 16)), 1, 16 * 64);
    const auto found = known.find(key);
    return found != known.end() ? found->second : known.emplace(key, make_disc(key / 16.0)).first->second;
}

/// The contribution of one point to a pixel per unit of cover: its colour and 1.
using Shade = std::uint32_t __attribute__((vector_size(16)));

void add(CloudSum& sum, const Shade& shade) {
    Shade now;
    std::memcpy(&now, &sum, sizeof now);
    now += shade;
    std::memcpy(static_cast<void*>(&sum), &now, sizeof now);
}

/// Opacity of a pixel, 0 to 255, by its cover in sixteenths of a point.
std::vector<std::uint8_t> opacities(double strength) {
    std::vector<std::uint8_t> table(table_steps * table_points + 1);
    const double rest_of_step = std::pow(1 - std::min(strength, 0.999), 1.0 / table_steps);
    double rest = 1;
    for (std::uint8_t& opacity : table) {
        opacity = static_cast<std::uint8_t>(std::lround(255 * (1 - rest)));
        rest *= rest_of_step;
    }
    return table;
}

void tone(const std::vector<CloudSum>& sums, const std::vector<std::uint8_t>& table, const QRect& area, int first, int last,
          const CloudImage& image) {
    for (int y = first; y < last; ++y) {
        const CloudSum* sum = sums.data() + static_cast<std::ptrdiff_t>(y) * area.width();
        auto* line = reinterpret_cast<QRgb*>(image.bits + image.bytes_per_line * (area.top() + y)) + area.left();
        for (int x = 0; x < area.width(); ++x) {
            const CloudSum& s = sum[x];
            if (s.cover == 0) {
                line[x] = 0;
                continue;
            }
            const std::size_t step = std::min<std::size_t>(s.cover * table_steps / cloud_unit, table.size() - 1);
            const std::uint32_t alpha = table[step];
            // Mean colour times opacity, rounded.
            const float share = static_cast<float>(alpha) / (255.0F * static_cast<float>(s.cover));
            const auto channel = [share](std::uint32_t v) {
                return static_cast<std::uint32_t>(static_cast<float>(v) * share + 0.5F);
            };
            line[x] = alpha << 24 | channel(s.red) << 16 | channel(s.green) << 8 | channel(s.blue);
        }
    }
}

}  // namespace

QPointF CloudView::place(float x, float y, float z) const {
    float px = turn[0][0] * x + turn[0][1] * y + turn[0][2] * z, py = turn[1][0] * x + turn[1][1] * y + turn[1][2] * z;
    if (to_border) px = std::clamp(px, -1.0F, 1.0F), py = std::clamp(py, -1.0F, 1.0F);
    return {origin.x() + static_cast<double>(px) * scale, origin.y() - static_cast<double>(py) * scale};
}

float CloudView::depth(float x, float y, float z) const {
    return std::clamp(turn[2][0] * x + turn[2][1] * y + turn[2][2] * z, -1.0F, 1.0F);
}

void count_points(const CloudPoints& points, const CloudView& view, const CloudLook& look, const QRect& area,
                  std::vector<CloudSum>& sums) {
    sums.assign(static_cast<std::size_t>(area.width()) * static_cast<std::size_t>(area.height()), CloudSum());
    std::array<Shade, 256> shades{}, full_shades{};
    for (std::size_t i = 0; i < look.palette.size(); ++i) {
        const QRgb c = look.palette[i];
        shades[i] = Shade{static_cast<unsigned>(qRed(c)), static_cast<unsigned>(qGreen(c)), static_cast<unsigned>(qBlue(c)), 1};
        full_shades[i] = shades[i] * cloud_unit;
    }
    const bool pixels = look.radius < pixel_below && points.sizes.empty();
    const bool solid = !points.z.empty();
    const Disc* disc = pixels || !points.sizes.empty() ? nullptr : &disc_of(look.radius);
    const auto& turn = view.turn;
    const auto scale = static_cast<float>(view.scale);
    const float ox = static_cast<float>(view.origin.x()) - static_cast<float>(area.left());
    const float oy = static_cast<float>(view.origin.y()) - static_cast<float>(area.top());
    const auto width = static_cast<float>(area.width()), height = static_cast<float>(area.height());
    const auto reach = static_cast<float>(pixels ? 0 : 4 * look.radius + 2);
    for (std::size_t i = 0; i < points.x.size(); ++i) {
        const std::uint8_t color = points.colors[i];
        if (color == cloud_hidden) continue;
        float x = points.x[i], y = points.y[i];
        std::uint32_t full = cloud_unit;
        if (solid) {
            const float z = points.z[i], x0 = x, y0 = y;
            x = turn[0][0] * x0 + turn[0][1] * y0 + turn[0][2] * z;
            y = turn[1][0] * x0 + turn[1][1] * y0 + turn[1][2] * z;
            const float near = (view.depth(x0, y0, z) + 1) / 2;
            full = static_cast<std::uint32_t>(
                std::lround((far_strength + (1 - far_strength) * near) * static_cast<float>(cloud_unit)));
        }
        if (view.to_border) x = std::clamp(x, -1.0F, 1.0F), y = std::clamp(y, -1.0F, 1.0F);
        float px = ox + x * scale, py = oy - y * scale;
        if (!(px >= -reach && py >= -reach && px <= width + reach && py <= height + reach)) continue;  // also NaN
        if (pixels) {
            // The right and lower border belong to the last pixel.
            const int column = std::min(static_cast<int>(px), area.width() - 1),
                      row = std::min(static_cast<int>(py), area.height() - 1);
            add(sums[static_cast<std::size_t>(row) * static_cast<std::size_t>(area.width()) + static_cast<std::size_t>(column)],
                solid ? shades[color] * full : full_shades[color]);
            continue;
        }
        const Disc& mask = disc ? *disc : disc_of(std::max(0.5, look.radius * static_cast<double>(points.sizes[i])));
        const float fx = std::floor(px), fy = std::floor(py);
        const auto part = static_cast<std::size_t>((px - fx) * 4) + 4 * static_cast<std::size_t>((py - fy) * 4);
        const std::vector<std::uint8_t>& cover = mask.cover[std::min<std::size_t>(part, 15)];
        const int left = static_cast<int>(fx) + mask.left, top = static_cast<int>(fy) + mask.left;
        const int x0 = std::max(0, -left), x1 = std::min(mask.side, area.width() - left);
        for (int v = std::max(0, -top); v < std::min(mask.side, area.height() - top); ++v) {
            CloudSum* line = sums.data() + static_cast<std::ptrdiff_t>(top + v) * area.width() + left;
            for (int u = x0; u < x1; ++u)
                if (const std::uint32_t c = cover[static_cast<std::size_t>(v * mask.side + u)])
                    add(line[u], shades[color] * (c * full / cloud_unit));
        }
    }
}

void paint_points(const CloudPoints& points, const CloudView& view, const CloudLook& look, const QRect& area,
                  const CloudImage& image) {
    if (area.isEmpty()) return;
    thread_local std::vector<CloudSum> sums;  // kept: a frame has a hundred cells of one size
    count_points(points, view, look, area, sums);
    const std::vector<std::uint8_t> table = opacities(look.strength);
    const int rows = area.height();
    const auto parts = static_cast<std::size_t>((rows + rows_at_once - 1) / rows_at_once);
    const std::vector<CloudSum>& counted = sums;  // this thread's, also inside of the loop
    in_parallel(parts, parts > 4, [&](std::size_t part) {
        const int first = static_cast<int>(part) * rows_at_once;
        tone(counted, table, area, first, std::min(first + rows_at_once, rows), image);
    });
}

}  // namespace headlight::figure
