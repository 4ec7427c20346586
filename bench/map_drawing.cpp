// SPDX-License-Identifier: GPL-3.0-or-later
// Frames of a map of 1.44 million points: 144 heads, 5,000 queries and 5,000 keys each, at 1920 x 1080.
#include "bench/bench.h"
#include "cli/offscreen.h"
#include "headlight/figure/map/map_figure.h"

#include <QImage>
#include <QPolygonF>

#include <cmath>
#include <random>

namespace headlight::bench {
namespace {

using namespace figure;

constexpr int kMapFrames = 24;

map::QueryKeyMap random_map(int dims) {
    map::QueryKeyMap map;
    map.layers = map.heads_per_layer = 12;
    std::mt19937 random(1);
    for (int i = 0; i < 5000; ++i) {
        map.tokens.tokens.push_back("w" + std::to_string(random() % 900));
        map.tokens.token_ids.push_back(static_cast<std::int64_t>(random() % 900));
        map.tokens.text.push_back(i / 50);
        map.tokens.position.push_back(i % 50);
        map.tokens.apart.push_back(i % 50 == 0);
    }
    map.tokens.names.resize(100, "a text");
    std::normal_distribution<float> noise(0, 0.4F);
    for (int h = 0; h < 144; ++h) {
        map::HeadMap head;
        head.layer = Layer(h / 12), head.head = Head(h % 12), head.dims = dims;
        for (int i = 0; i < 10'000; ++i) {
            const auto cluster = static_cast<float>(random() % 60);
            head.points.push_back(4 * std::cos(cluster) + noise(random));
            head.points.push_back(4 * std::sin(2 * cluster) + noise(random));
            if (dims == 3) head.points.push_back(4 * std::cos(3 * cluster) + noise(random));
            head.norms.push_back(1);
            head.trust.push_back(0.5F);
        }
        map.heads.push_back(std::move(head));
    }
    return map;
}

}  // namespace

Results map_drawing(const Subject& subject) {
    const cli::Offscreen offscreen;
    QImage image(1920, 1080, QImage::Format_ARGB32_Premultiplied);
    const Style style;
    const Selection selection;
    Results results;
    const auto frames = [&](MapFigure& figure, const char* what, const std::function<void(int)>& change) {
        int i = 0;
        const Rounds took = rounds_of(kMapFrames, {[&] {
                                          change(i++);
                                          figure.layout(image.size(), style, selection);
                                          image.fill(style.theme->canvas);
                                          QPainter painter(&image);
                                          figure.paint(painter, QRectF(image.rect()), style, selection);
                                      }},
                                      subject.cancel);
        results.push_back({0, what, medians(took.wall)[0], "ms"});
        results.push_back({0, std::string(what) + ", processor time", medians(took.processor)[0], "ms"});
    };
    const auto with = [](MapFigure& figure, const std::function<void(MapLook&)>& change) {
        MapLook look = figure.look();
        change(look);
        figure.set_look(std::move(look));
    };
    MapFigure flat(random_map(2));
    frames(flat, "1.44 million points, zoom", [&](int i) { flat.set_look(flat.zoomed(i % 2 ? 1.02 : 1 / 1.02, {700, 500})); });
    frames(flat, "other colours",
           [&](int i) { with(flat, [&](MapLook& l) { l.color = i % 2 ? MapColor::position : MapColor::role; }); });
    auto marked = std::make_shared<std::vector<std::uint8_t>>(10'000);
    for (std::size_t i = 0; i < marked->size(); i += 5) (*marked)[i] = 1;
    frames(flat, "a fifth marked", [&](int i) { with(flat, [&](MapLook& l) { l.marked = i % 2 ? marked : nullptr; }); });
    with(flat, [](MapLook& l) { l.marked = nullptr; });
    frames(flat, "hover", [&](int i) {
        with(flat, [&](MapLook& l) { l.hovered = flat.point_at({100.0 + 30 * i, 150.0 + 30 * i}); });
    });
    with(flat, [](MapLook& l) { l.hovered.reset(), l.single = HeadId{Layer(5), Head(5)}; });
    frames(flat, "lasso around points of one head", [&](int i) {
        with(flat, [&](MapLook& l) {
            if (i == 0) l.lasso.clear();
            l.lasso.push_back({800 + (200.0 + i) * std::cos(0.26 * i), 560 + (200.0 + i) * std::sin(0.26 * i)});
            flat.points_in(QPolygonF(QList<QPointF>(l.lasso.begin(), l.lasso.end())));
        });
    });
    MapFigure solid(random_map(3));
    frames(solid, "orbit in three dimensions", [&](int i) { with(solid, [&](MapLook& l) { l.yaw = 3 * i, l.pitch = i; }); });
    return results;
}

}  // namespace headlight::bench
