// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/head/line_pictures.h"

#include "figure/core/draw.h"
#include "figure/core/parallel.h"
#include "figure/pattern/head/line_raster.h"
#include "headlight/base/memory_account.h"

#include <QElapsedTimer>
#include <QImage>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <ranges>

namespace headlight::figure {
namespace {

constexpr double least_fade = 0.05;  ///< of lines that leave the view
constexpr double band_height = 64;   ///< device pixels: a wheel step needs one more band
constexpr std::size_t spare_bands = 160;
constexpr std::ptrdiff_t frame_lines = 1'000'000;  ///< that a frame may look through
constexpr double no_limit = LinePictures::no_limit;
constexpr int bands_ms = 50;
constexpr std::size_t sharpened_at_once = 4;

double band_units(const LineScene& s) { return band_height / s.scale; }

/// Rows whose lines can reach into a band.
struct BandRows {
    std::int64_t index = 0;
    std::int32_t first = 0, last = 0;
    bool meets(const RowSpan& span) const { return span.last >= first && span.first <= last; }
};

BandRows rows_of(const LineScene& s, std::int64_t band) {
    constexpr double farthest = 1e9;
    const double top = static_cast<double>(band) * band_units(s);
    const auto row = [&](double y) { return std::clamp((y - s.first_y) / s.row_height, -farthest, farthest); };
    return {band, static_cast<std::int32_t>(std::ceil(row(top - LineScene::width))),
            static_cast<std::int32_t>(std::floor(row(top + band_units(s) + LineScene::width)))};
}

/// Pixels that a line covers in a band.
double pixels_of(const LineScene& s, const HeadLine& line) {
    const double dx = (s.x1 - s.x0) * s.scale, dy = std::abs(s.y(line.query) - s.y(line.key)) * s.scale;
    const double length = std::hypot(dx, dy), thickness = s.width * s.scale;
    if (dy > dx) return std::min(dy, band_height) * (thickness * length / dy + 1);
    return dx * std::min(1.0, (band_height + thickness) / std::max(dy, 1.0)) * (thickness * length / dx + 1);
}

struct Gathered {
    std::vector<std::vector<std::uint32_t>> lines;  ///< of each band, strongest first
    bool whole = true;
};

Gathered gather(const LineScene& s, const std::vector<BandRows>& bands, double pixels, const CancelToken& cancel) {
    Gathered out;
    out.lines.resize(bands.size());
    const HeadLines& all = *s.lines;
    const std::vector<std::uint32_t>& order = s.only ? *s.only : all.faint_first;
    const BandRows together{0, bands.front().first, bands.back().last};
    const std::ptrdiff_t end = pixels < no_limit ? std::max<std::ptrdiff_t>(0, std::ssize(order) - frame_lines) : 0;
    for (std::ptrdiff_t i = std::ssize(order) - 1; i >= end; --i) {
        if ((i & 0xfff) == 0) cancel.throw_if_cancelled();
        const RowSpan span = s.only ? span_of(all.lines[order[std::size_t(i)]]) : all.spans[std::size_t(i)];
        if (!together.meets(span)) continue;
        const HeadLine& line = all.lines[order[std::size_t(i)]];
        if (s.opacity(line) < least_opacity) continue;
        const double each = pixels < no_limit ? pixels_of(s, line) : 0;
        for (std::size_t b = 0; b < bands.size(); ++b) {
            if (!bands[b].meets(span)) continue;
            out.lines[b].push_back(order[std::size_t(i)]);
            pixels -= each;
        }
        if (pixels < 0) {
            out.whole = false;
            return out;
        }
    }
    out.whole = end == 0;
    return out;
}

double left_of(const LineScene& s) { return std::floor(s.x0) - 2; }

QImage picture_of(const LineScene& s, std::int64_t band, const std::vector<std::uint32_t>& strongest_first,
                  const CancelToken& cancel) {
    if (strongest_first.empty()) return {};
    const double left = left_of(s), top = static_cast<double>(band) * band_units(s);
    LineRaster raster(static_cast<int>(std::ceil((std::ceil(s.x1) + 2 - left) * s.scale)), static_cast<int>(band_height));
    for (const std::uint32_t i : std::views::reverse(strongest_first)) {  // strong lines lie on top
        cancel.throw_if_cancelled();
        const HeadLine& line = s.lines->lines[i];
        raster.line((s.x0 - left) * s.scale, (s.y(line.query) - top) * s.scale, (s.x1 - left) * s.scale,
                    (s.y(line.key) - top) * s.scale, s.width * s.scale, s.hues[static_cast<std::size_t>(line.head)],
                    s.opacity(line));
    }
    return raster.image();
}

QImage whole_picture(const LineScene& s, std::int64_t band, const CancelToken& cancel) {
    return picture_of(s, band, gather(s, {rows_of(s, band)}, no_limit, cancel).lines.front(), cancel);
}

}  // namespace

double LineScene::opacity(const HeadLine& line) const {
    const double height = std::abs(y(line.query) - y(line.key));
    return line.opacity * (room <= 0 || height <= room ? 1 : std::max(least_fade, room / height));
}

struct LinePictures::Bands {
    struct Band {
        QImage image;
        bool whole = true;
    };
    LineScene scene;
    std::map<std::int64_t, Band> known;
    std::vector<std::int64_t> wanted;    ///< by the last paint
    std::weak_ptr<const void> busy;      ///< held by the sharpening that is at work
    std::atomic<bool> gives_up = false;  ///< the next paint begins without pictures: only the thread that paints touches them
    MemoryAccount account{MemoryUse::pictures, [this](std::int64_t) {
                              gives_up = true;
                              return account.bytes();
                          }};

    void keep(std::int64_t band, Band made) {
        Band& place = known[band];
        account.add(made.image.sizeInBytes() - place.image.sizeInBytes());
        place = std::move(made);
    }
    void clear() {
        known.clear();
        account.set(0);
    }
    void keep_only(std::int64_t first, std::int64_t last) {
        std::erase_if(known, [&](const auto& band) {
            const bool goes = band.first < first || band.first > last;
            if (goes) account.add(-band.second.image.sizeInBytes());
            return goes;
        });
    }
};

LinePictures::LinePictures() : bands_(std::make_shared<Bands>()) {}

void LinePictures::clear() {
    bands_->clear();
    bands_->wanted.clear();
    bands_->scene = {};
}

bool LinePictures::refining() const { return !bands_->wanted.empty(); }

void LinePictures::paint(QPainter& painter, LineScene scene, double top, double bottom, double pixels,
                         const CancelToken& cancel) {
    Bands& bands = *bands_;
    const bool patient = pixels == no_limit;
    bands.wanted.clear();
    if (bands.gives_up.exchange(false) || !(bands.scene == scene)) bands.clear();
    bands.scene = std::move(scene);
    const LineScene& s = bands.scene;
    const auto first = static_cast<std::int64_t>(std::floor(top / band_units(s)));
    const auto last = static_cast<std::int64_t>(std::floor(bottom / band_units(s)));
    if (bands.known.size() > static_cast<std::size_t>(last - first) + spare_bands) bands.keep_only(first, last);
    std::vector<BandRows> missing;
    for (std::int64_t i = first; i <= last; ++i)
        if (const auto known = bands.known.find(i); known == bands.known.end() || (patient && !known->second.whole))
            missing.push_back(rows_of(s, i));
    if (patient) {
        std::vector<QImage> made(missing.size());
        in_parallel(missing.size(), s.lines->lines.size() > 5000,
                    [&](std::size_t i) { made[i] = whole_picture(s, missing[i].index, cancel); });
        for (std::size_t i = 0; i < missing.size(); ++i) bands.keep(missing[i].index, {std::move(made[i])});
    } else if (!missing.empty()) {
        const Gathered found = gather(s, missing, pixels, cancel);
        for (std::size_t i = 0; i < missing.size(); ++i)
            bands.keep(missing[i].index, {picture_of(s, missing[i].index, found.lines[i], cancel), found.whole});
    }
    for (std::int64_t i = first; i <= last; ++i) {
        const Bands::Band& band = bands.known[i];
        if (!band.whole) bands.wanted.push_back(i);
        if (!band.image.isNull()) draw::device_image(painter, {left_of(s), static_cast<double>(i) * band_units(s)}, band.image);
    }
}

Sharpening LinePictures::sharpening() {
    if (bands_->wanted.empty() || !bands_->busy.expired()) return {};
    const auto busy = std::make_shared<char>();
    bands_->busy = busy;
    return [bands = bands_, wanted = bands_->wanted, scene = bands_->scene,
            busy](const CancelToken& cancel) -> std::function<void()> {
        QElapsedTimer clock;
        clock.start();
        std::vector<QImage> made;
        while (made.size() < wanted.size() && (made.empty() || clock.elapsed() < bands_ms)) {
            const std::size_t done = made.size();
            made.resize(std::min(wanted.size(), done + sharpened_at_once));
            in_parallel(made.size() - done, true,
                        [&](std::size_t i) { made[done + i] = whole_picture(scene, wanted[done + i], cancel); });
        }
        return [bands, wanted, scene, busy, made = std::move(made)] {
            if (!(bands->scene == scene)) return;
            for (std::size_t i = 0; i < made.size(); ++i) bands->keep(wanted[i], {made[i]});
        };
    };
}

}  // namespace headlight::figure
