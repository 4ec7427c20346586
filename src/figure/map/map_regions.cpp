// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/map/map_regions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

namespace headlight::figure {
namespace {

constexpr double prior = 50;          ///< points
constexpr int grid_side = 64;         ///< cells of the density
constexpr double least_share = 0.01;  ///< of the points, in a region with a name
constexpr double clear = 3.0;         ///< z of a token that names a region
constexpr std::size_t most_named_tokens = 3;
constexpr const char* kind_words[] = {"token", "role", "position", "text", "part of speech"};

/// Bands of positions: 0, 1–4, 5–9, 10–19, 20–39 …
QString position_band(std::int32_t position) {
    if (position == 0) return QStringLiteral("0");
    std::int64_t first = 1, next = 5;
    while (position >= next) first = next, next *= 2;
    return QStringLiteral("%1–%2").arg(first).arg(next - 1);
}

using Density = std::vector<double>;  ///< [grid_side, grid_side]

/// A binomial kernel twice along each side: about a Gaussian of 1.4 cells.
void blur(Density& density) {
    Density out(density.size());
    for (int pass = 0; pass < 4; ++pass) {
        const int step = pass % 2 == 0 ? 1 : grid_side;
        for (int i = 0; i < grid_side * grid_side; ++i) {
            const int along = pass % 2 == 0 ? i % grid_side : i / grid_side;
            const auto at = [&](int by) {
                return along + by < 0 || along + by >= grid_side ? 0.0 : density[static_cast<std::size_t>(i + by * step)];
            };
            out[static_cast<std::size_t>(i)] = (at(-2) + 4 * at(-1) + 6 * at(0) + 4 * at(1) + at(2)) / 16;
        }
        density.swap(out);
    }
}

/// The cell where steepest ascent from each cell ends.
std::vector<int> peaks_of(const Density& density) {
    std::vector<int> up(density.size());
    for (int i = 0; i < grid_side * grid_side; ++i) {
        int best = i;
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) {
                const int x = i % grid_side + dx, y = i / grid_side + dy, to = y * grid_side + x;
                if (x < 0 || y < 0 || x >= grid_side || y >= grid_side) continue;
                const auto higher = [&](int a, int b) {
                    const double da = density[static_cast<std::size_t>(a)], db = density[static_cast<std::size_t>(b)];
                    return da != db ? da > db : a < b;
                };
                if (higher(to, best)) best = to;
            }
        up[static_cast<std::size_t>(i)] = best;
    }
    for (int& to : up)
        while (up[static_cast<std::size_t>(to)] != to) to = up[static_cast<std::size_t>(to)];
    return up;
}

}  // namespace

MapShares::MapShares(const map::QueryKeyMap& map) {
    std::map<std::pair<std::size_t, QString>, std::int32_t> known;
    std::unordered_map<std::string, std::int32_t> tokens;
    const auto value = [&](std::size_t kind, const QString& words) {
        const auto [at, fresh] = known.try_emplace({kind, words}, static_cast<std::int32_t>(values_.size()));
        if (fresh) values_.push_back({kind, words});
        return at->second;
    };
    const std::size_t n = map::point_count(map);
    for (std::size_t i = 0; i < n; ++i) {
        const MapToken token = map_token(map, static_cast<std::int32_t>(i));
        const auto [text, fresh] = tokens.try_emplace(token.of.tokens[token.at], -1);
        if (fresh) text->second = value(0, map_token_text(token.of.tokens[token.at]));
        values_of_.push_back({text->second, value(1, token.key ? QStringLiteral("keys") : QStringLiteral("queries")),
                              value(2, position_band(token.of.position[token.at])),
                              token.of.names.size() > 1 ? value(3, QString::number(token.text())) : -1,
                              token.at < token.of.tags.size() && !token.of.tags[token.at].empty()
                                  ? value(4, QString::fromStdString(token.of.tags[token.at]))
                                  : -1});
    }
    count();
}

void MapShares::count(const std::vector<std::uint8_t>& drawn) {
    counted_ = 0;
    for (Value& value : values_) value.count = 0;
    for (std::size_t i = 0; i < values_of_.size(); ++i) {
        if (!drawn.empty() && !drawn[i]) continue;
        ++counted_;
        for (const std::int32_t v : values_of_[i])
            if (v >= 0) ++values_[static_cast<std::size_t>(v)].count;
    }
}

std::vector<MapShare> MapShares::of(const std::vector<std::int32_t>& points, double least) const {
    std::vector<std::int64_t> counts(values_.size());
    for (const std::int32_t point : points)
        for (const std::int32_t v : values_of_.at(static_cast<std::size_t>(point)))
            if (v >= 0) ++counts[static_cast<std::size_t>(v)];
    const auto all = static_cast<double>(counted_), inside = static_cast<double>(points.size()), rest = all - inside;
    std::vector<MapShare> shares;
    if (points.empty() || rest <= 0) return shares;
    for (std::size_t v = 0; v < values_.size(); ++v) {
        if (counts[v] < 2) continue;
        const auto in = static_cast<double>(counts[v]), out = static_cast<double>(values_[v].count) - in;
        const double alpha = prior * static_cast<double>(values_[v].count) / all;
        const auto odds = [&](double y, double of) { return std::log((y + alpha) / std::max(1e-9, of + prior - y - alpha)); };
        const double z = (odds(in, inside) - odds(out, rest)) / std::sqrt(1 / (in + alpha) + 1 / (out + alpha));
        if (z > least)
            shares.push_back(
                {QString::fromUtf8(kind_words[values_[v].kind]), values_[v].words, counts[v], in / inside, out / rest, z});
    }
    std::ranges::stable_sort(shares, [](const MapShare& a, const MapShare& b) { return a.z > b.z; });
    return shares;
}

std::vector<MapShare> over_represented(const map::QueryKeyMap& map, const std::vector<std::int32_t>& points,
                                       const std::vector<std::uint8_t>& drawn, double least) {
    MapShares shares(map);
    shares.count(drawn);
    return shares.of(points, least);
}

std::vector<MapRegion> map_regions(const MapPlane& plane, const CloudView& view, const std::vector<std::uint8_t>& drawn,
                                   std::size_t most) {
    CloudView box = view;  // the same turn, onto the cells
    box.origin = {grid_side / 2.0, grid_side / 2.0};
    box.scale = grid_side / 2.0;
    box.to_border = false;
    std::vector<int> cell_of(plane.size(), -1);
    Density density(static_cast<std::size_t>(grid_side * grid_side));
    std::int64_t count = 0;
    for (std::size_t i = 0; i < plane.size(); ++i) {
        if (!drawn[i]) continue;
        const QPointF at = box.place(plane.x[i], plane.y[i], plane.z.empty() ? 0 : plane.z[i]);
        if (!(at.x() >= 0 && at.y() >= 0 && at.x() < grid_side && at.y() < grid_side)) continue;
        cell_of[i] = static_cast<int>(at.y()) * grid_side + static_cast<int>(at.x());
        density[static_cast<std::size_t>(cell_of[i])] += 1;
        ++count;
    }
    blur(density);
    const std::vector<int> peak = peaks_of(density);
    std::map<int, MapRegion> basins;
    for (std::size_t i = 0; i < plane.size(); ++i)
        if (cell_of[i] >= 0) {
            const int top = peak[static_cast<std::size_t>(cell_of[i])];
            // Slopes far from a peak do not belong to the region.
            if (density[static_cast<std::size_t>(cell_of[i])] * 8 < density[static_cast<std::size_t>(top)]) continue;
            basins[top].points.push_back(static_cast<std::int32_t>(i));
        }
    std::vector<MapRegion> regions;
    for (auto& [top, region] : basins) {
        if (static_cast<double>(region.points.size()) < std::max(5.0, least_share * static_cast<double>(count))) continue;
        region.at = {static_cast<float>((top % grid_side + 0.5) / (grid_side / 2.0) - 1),
                     static_cast<float>(1 - (top / grid_side + 0.5) / (grid_side / 2.0)), 0};
        regions.push_back(std::move(region));
    }
    std::ranges::stable_sort(regions, std::greater(), [](const MapRegion& r) { return r.points.size(); });
    if (regions.size() > most) regions.resize(most);
    return regions;
}

void name_regions(std::vector<MapRegion>& regions, const MapShares& shares) {
    for (MapRegion& region : regions) {
        QStringList tokens;
        QString band;
        for (const MapShare& share : shares.of(region.points, clear)) {
            // A token that makes up a twentieth of the region says little about it.
            if (share.kind == QLatin1String("token") && std::size(tokens) < static_cast<qsizetype>(most_named_tokens) &&
                share.share > 0.05)
                tokens << share.value;
            if (share.kind == QLatin1String("position") && band.isEmpty() && share.share > 0.4)
                band = (share.value.contains(u'–') ? QStringLiteral("positions ") : QStringLiteral("position ")) + share.value;
        }
        region.words = tokens.isEmpty() ? band : tokens.join(QStringLiteral("  "));
    }
}

}  // namespace headlight::figure
