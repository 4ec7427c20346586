// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/bench.h"
#include "cli/offscreen.h"
#include "headlight/figure/map/map_figure.h"
#include "headlight/map/run/map_run.h"
#include "headlight/map/run/new_points.h"

#include <QImage>
#include <QPainter>

#include <cmath>
#include <mutex>
#include <random>
#include <set>

namespace headlight::bench {
namespace {

constexpr std::int64_t kMapTokens = 2500, kMapWidth = 64;
constexpr std::size_t kMapHeads = 144;

/// Queries and keys in 60 clusters with a curved part, as 100 texts of 25 tokens.
std::shared_ptr<const map::MapVectors> vectors_of(std::size_t heads) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    constexpr std::int64_t kClusters = 60;
    std::vector<float> centres(static_cast<std::size_t>(kClusters * kMapWidth));
    for (float& value : centres) value = 2 * normal(random);
    auto out = std::make_shared<map::MapVectors>();
    out->layers = out->heads_per_layer = 12;
    for (std::int64_t i = 0; i < kMapTokens; ++i) {
        out->tokens.tokens.emplace_back("w");
        out->tokens.token_ids.push_back(0);
        out->tokens.text.push_back(static_cast<std::int32_t>(i / 25));
        out->tokens.position.push_back(static_cast<std::int32_t>(i % 25));
        out->tokens.apart.push_back(0);
    }
    out->tokens.names.resize(static_cast<std::size_t>(kMapTokens / 25));
    for (std::size_t h = 0; h < heads; ++h) {
        const auto draw = [&] {
            auto rows = std::make_shared<std::vector<float>>();
            for (std::int64_t i = 0; i < kMapTokens; ++i) {
                const auto cluster = static_cast<std::int64_t>(random() % kClusters);
                const float along = 3 * normal(random);
                for (std::int64_t d = 0; d < kMapWidth; ++d)
                    rows->push_back(centres[static_cast<std::size_t>(cluster * kMapWidth + d)] + 0.7F * normal(random) +
                                    (d == 0   ? along
                                     : d == 1 ? along * along / 4
                                              : 0));
            }
            return rows;
        };
        out->heads.push_back({.layer = Layer(static_cast<std::int64_t>(h / 12)),
                              .head = Head(static_cast<std::int64_t>(h % 12)),
                              .width = kMapWidth,
                              .queries = draw(),
                              .keys = draw()});
    }
    return out;
}

/// Of the whole process.
double processor_seconds(const std::function<void()>& work) { return rounds_of(1, {work}, {}).processor[0][0] / 1e3; }

/// Milliseconds by the clock, on all cores, from vectors to a painted picture of all heads, as the window comes to its first.
double milliseconds_to_screen(const std::shared_ptr<const map::MapVectors>& vectors) {
    const cli::Offscreen offscreen;
    QImage image(1920, 1080, QImage::Format_ARGB32_Premultiplied);
    const CancelToken painted;
    return milliseconds([&] {
        map::MapRun run(vectors, {}, {});
        std::mutex mutex;
        std::set<std::size_t> drawn;
        try {
            run.run(0, painted, {}, [&](std::size_t head) {
                const std::lock_guard lock(mutex);
                drawn.insert(head);
                if (drawn.size() < run.heads() || painted.cancelled()) return;
                figure::MapFigure figure(run.map());
                figure.layout(image.size(), {}, {});
                QPainter painter(&image);
                figure.paint(painter, QRectF(image.rect()), {}, {});
                painted.cancel();
            });
        } catch (const Cancelled&) {  // the quality of the heads follows in the window
        }
    });
}

}  // namespace

Results maps(const Subject& subject) {
    Results results;
    const auto one = vectors_of(1);
    const auto add = [&](const char* what, map::Projection projection, map::Preset preset) {
        const map::MapOptions options{.preset = preset, .projection = projection};
        results.push_back({kMapTokens, what, processor_seconds([&] {
                               map::HeadRun run(one, 0, options, subject.cancel);
                               while (run.run(50, subject.cancel)) {
                               }
                           }),
                           "s"});
    };
    add("t-SNE, balanced, 750 iterations", map::Projection::tsne, map::Preset::balanced);
    add("t-SNE, scores, 750 iterations", map::Projection::tsne, map::Preset::scores);
    add("UMAP, balanced, 500 epochs", map::Projection::umap, map::Preset::balanced);
    add("UMAP, scores, 500 epochs", map::Projection::umap, map::Preset::scores);
    map::HeadRun measured(one, 0, {}, subject.cancel);
    results.push_back({kMapTokens, "quality of a head", processor_seconds([&] { measured.measured(subject.cancel); }), "s"});
    const auto all = vectors_of(kMapHeads);
    results.push_back({kMapTokens, "PCA of 144 heads", processor_seconds([&] {
                           for (std::size_t h = 0; h < kMapHeads; ++h) map::HeadRun(all, h, {}, subject.cancel);
                       }),
                       "s"});
    results.push_back({kMapTokens, "PCA of 144 heads until it is painted", milliseconds_to_screen(all), "ms"});
    map::MapRun by_axes(all, {}, {});
    by_axes.run(0, subject.cancel);
    const map::QueryKeyMap finished = by_axes.map();
    auto sentence = std::make_shared<map::MapVectors>(*all);
    constexpr std::ptrdiff_t kTyped = 20 * kMapWidth;
    for (map::HeadVectors& head : sentence->heads)
        for (auto* rows : {&head.queries, &head.keys})
            *rows = std::make_shared<const std::vector<float>>((*rows)->begin(), (*rows)->begin() + kTyped);
    const map::NewPoints places(all, {.projection = map::Projection::tsne}, 0, subject.cancel);
    results.push_back({kMapTokens, "20 tokens placed into t-SNE of 144 heads",
                       processor_seconds([&] { places.place(*sentence, finished, 1, subject.cancel); }), "s"});
    return results;
}

}  // namespace headlight::bench
