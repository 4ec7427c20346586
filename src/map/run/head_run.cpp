// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/numbers.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/map/projection/embedding.h"
#include "headlight/map/quality/quality.h"
#include "headlight/map/run/map_run.h"
#include "headlight/map/scale/layout.h"
#include "headlight/model/one_thread.h"
#include "map/run/head_points.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

namespace headlight::map {
namespace {

constexpr std::int64_t kNear = 15;

/// A standard normal number that depends only on its address.
double normal(std::uint64_t seed, std::int64_t place) {
    constexpr double kUnit = 1.0 / 9007199254740992.0;  // 2^-53
    const double u = (static_cast<double>(corpus::draw(seed, place, 0) >> 11) + 0.5) * kUnit;
    const double v = static_cast<double>(corpus::draw(seed, place, 1) >> 11) * kUnit;
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

}  // namespace

struct HeadRun::State {
    std::shared_ptr<const MapVectors> vectors;
    const HeadVectors& head;
    MapOptions options;
    HeadMap map;
    Placed all;
    std::unique_ptr<Embedding> embedding;  ///< null: the points are final
    struct Follower {
        std::int32_t point;
        std::vector<std::int32_t> followed;  ///< among the counted
    };
    std::vector<Follower> followers;

    State(std::shared_ptr<const MapVectors> v, std::size_t h, const MapOptions& o)
        : vectors(std::move(v)), head(vectors->heads.at(h)), options(o) {}

    void start(const CancelToken& cancel) {
        map.layer = head.layer;
        map.head = head.head;
        map.dims = options.dims;
        map.divergence = static_cast<float>(kNaN);
        if (!head.broken.empty()) {
            const auto count = static_cast<std::size_t>(head.query_rows().count + head.key_rows().count);
            map.points.assign(count * static_cast<std::size_t>(options.dims), 0.0F);
            map.norms.assign(count, 0.0F);
            map.poor = head.broken;
            for (float HeadMap::*quality :
                 {&HeadMap::trustworthiness, &HeadMap::continuity, &HeadMap::faithfulness, &HeadMap::attention_near})
                map.*quality = static_cast<float>(kNaN);
            return;
        }
        const model::OneThread one;
        map.norms = norms_of(head);
        all = placed(*vectors, head, options);
        map.scale_c = all.c;
        const Pca pca = fit_pca(all.rows(), options.dims, all.apart);
        map.points = pca.scores(all.rows());
        if (options.projection == Projection::pca) {
            map.explained = pca.explained;
            return;
        }
        if (std::ssize(all.counted) < kFewest) return;
        Graph graph = graph_of(all, head, options, cancel);
        std::vector<float> from = start_points();
        if (options.projection == Projection::tsne) {
            TsneOptions tsne;
            tsne.dims = options.dims;
            if (options.iterations > 0) {
                tsne.early = std::min(tsne.early, options.iterations);
                tsne.later = options.iterations - tsne.early;
            }
            embedding = make_tsne(std::move(graph), std::move(from), tsne);
        } else {
            embedding = make_umap(
                std::move(graph), std::move(from),
                {.dims = options.dims, .epochs = options.iterations, .min_dist = options.min_dist, .seed = head_seed()});
        }
        map.iterations_wanted = embedding->wanted();
        find_followed(cancel);
    }

    /// Of the picture.
    Rows points() const { return {map.points, std::ssize(map.points) / options.dims, options.dims}; }

    std::uint64_t head_seed() const { return corpus::draw(options.seed, head.layer.value, head.head.value); }

    /// PCA's scores of the counted points, with noise of a hundredth so that equal points can part. t-SNE starts with a
    /// standard deviation of 1e-4 on the first axis.
    std::vector<float> start_points() const {
        std::vector<float> from = chosen_rows(points(), all.counted);
        const auto dims = static_cast<std::size_t>(options.dims);
        double sum = 0, square = 0;
        for (std::size_t k = 0; k < from.size(); k += dims) {
            sum += static_cast<double>(from[k]);
            square += static_cast<double>(from[k]) * static_cast<double>(from[k]);
        }
        const auto n = static_cast<double>(all.counted.size());
        const double deviation = std::sqrt(std::max(0.0, square / n - sum * sum / n / n));
        if (!(deviation > 0)) return std::vector<float>(from.size());
        const std::uint64_t seed = head_seed();
        for (std::size_t k = 0; k < from.size(); ++k)
            from[k] = static_cast<float>(
                1e-4 * (static_cast<double>(from[k]) / deviation + 0.01 * normal(seed, static_cast<std::int64_t>(k))));
        return from;
    }

    void find_followed(const CancelToken& cancel) {
        for (const bool of_keys : {false, true}) {
            std::vector<std::int32_t> apart, counted;
            const std::int64_t first = of_keys ? all.queries : 0, last = of_keys ? std::ssize(all.apart) : all.queries;
            for (std::int64_t i = first; i < last; ++i)
                if (all.apart[static_cast<std::size_t>(i)]) apart.push_back(static_cast<std::int32_t>(i));
            const std::int64_t before = of_keys ? all.counted_queries : 0;
            const std::int64_t count = of_keys ? std::ssize(all.counted) - before : all.counted_queries;
            if (apart.empty() || count == 0) continue;
            counted.assign(all.counted.begin() + before, all.counted.begin() + before + count);
            std::vector<float> a = chosen_rows(all.rows(), apart), c = chosen_rows(all.rows(), counted);
            if (all.metric == Metric::cosine) {
                a = unit_rows({a, std::ssize(apart), all.width});
                c = unit_rows({c, count, all.width});
            }
            const NeighbourLists near =
                nearest_among({a, std::ssize(apart), all.width}, {c, count, all.width}, kFollowed, cancel);
            for (std::size_t i = 0; i < apart.size(); ++i) {
                Follower& follower = followers.emplace_back(Follower{apart[i], {}});
                for (std::int64_t e = 0; e < near.each; ++e)
                    follower.followed.push_back(
                        near.index[i * static_cast<std::size_t>(near.each) + static_cast<std::size_t>(e)] +
                        static_cast<std::int32_t>(before));
            }
        }
    }

    void read_points() {
        const std::vector<float> now = embedding->points();
        const auto dims = static_cast<std::size_t>(options.dims);
        for (std::size_t i = 0; i < all.counted.size(); ++i)
            std::copy_n(now.begin() + static_cast<std::ptrdiff_t>(i * dims), dims,
                        map.points.begin() + all.counted[i] * static_cast<std::ptrdiff_t>(dims));
        for (const Follower& follower : followers)
            median_of(now, options.dims, follower.followed,
                      map.points.data() + follower.point * static_cast<std::ptrdiff_t>(dims));
        map.iterations = embedding->done();
    }

    void measure_neighbours(const CancelToken& cancel);
};

/// Trust of every point, trustworthiness and continuity. `scores` has two kinds of neighbours, which count alike.
void HeadRun::State::measure_neighbours(const CancelToken& cancel) {
    const std::vector<float> shown = chosen_rows(points(), all.counted);
    const std::int64_t n = std::ssize(all.counted), q = all.counted_queries, k = n - q, dims = options.dims;
    const Rows picture{shown, n, dims};
    const std::span<const float> shown_span(shown);
    const Rows query_picture{shown_span.first(static_cast<std::size_t>(q * dims)), q, dims};
    const Rows key_picture{shown_span.subspan(static_cast<std::size_t>(q * dims)), k, dims};
    std::vector<float> kept(static_cast<std::size_t>(n));
    double trustworthiness = 0, continuity = 0;
    const bool scores = options.preset == Preset::scores;
    const std::int64_t cross = (kNear + 1) / 2;
    for (Neighbourhood& near : neighbourhoods(all, head, options.preset, scores ? cross : kNear, cancel)) {
        const bool of_keys = scores && near.first_row == q;
        const Rows& rows = !scores ? picture : of_keys ? key_picture : query_picture;
        const bool to_keys = scores && near.products != of_keys;
        const Rows& to = !scores ? picture : to_keys ? key_picture : query_picture;
        const std::int64_t wanted = scores && !near.products ? kNear - cross : near.lists.each;
        NeighbourLists original{near.lists.count, std::min(wanted, near.lists.each), {}, {}};
        for (std::int64_t i = 0; i < original.count; ++i)
            for (std::int64_t e = 0; e < original.each; ++e)
                original.index.push_back(near.lists.index[static_cast<std::size_t>(i * near.lists.each + e)] -
                                         static_cast<std::int32_t>(to_keys ? q : 0));
        const NeighbourLists here = near.products ? nearest_among(rows, to, original.each, cancel)
                                                  : nearest_rows(rows, original.each, Metric::euclidean, cancel);
        const std::vector<float> share = kept_neighbours(original, here);
        const float part = !scores ? 1.0F : static_cast<float>(near.products ? cross : kNear - cross) / static_cast<float>(kNear);
        for (std::int64_t i = 0; i < original.count; ++i)
            kept[static_cast<std::size_t>(near.first_row + i)] += part * share[static_cast<std::size_t>(i)];
    }
    map.trust.assign(all.apart.size(), static_cast<float>(kNaN));
    for (std::int64_t i = 0; i < n; ++i)
        map.trust[static_cast<std::size_t>(all.counted[static_cast<std::size_t>(i)])] = kept[static_cast<std::size_t>(i)];

    std::vector<float> points = all.counted_points();
    if (!scores) {
        if (all.metric == Metric::cosine) points = unit_rows({points, n, all.width});
        const RankQuality found = rank_quality({points, n, all.width}, picture, kNear, 1000, cancel);
        map.trustworthiness = static_cast<float>(found.trustworthiness);
        map.continuity = static_cast<float>(found.continuity);
        return;
    }
    // Queries and keys, each towards the other role by score and towards their own by distance.
    const std::vector<float> raw_queries =
        chosen_rows(head.query_rows(), std::span(all.counted).first(static_cast<std::size_t>(q)));
    std::vector<std::int32_t> key_numbers;
    for (std::int64_t i = q; i < n; ++i)
        key_numbers.push_back(all.counted[static_cast<std::size_t>(i)] - static_cast<std::int32_t>(all.queries));
    const std::vector<float> raw_keys = chosen_rows(head.key_rows(), key_numbers);
    const Rows raw[2] = {{raw_queries, q, all.width}, {raw_keys, k, all.width}}, seen[2] = {query_picture, key_picture};
    int counted = 0;
    for (const int own : {0, 1}) {
        const int other = 1 - own;
        const auto score = [&](std::int64_t i, std::span<float> out) {
            for (std::int64_t j = 0; j < raw[other].count; ++j) {
                float product = 0;
                for (std::int64_t c = 0; c < all.width; ++c) product += raw[own].row(i)[c] * raw[other].row(j)[c];
                out[static_cast<std::size_t>(j)] = -product;
            }
        };
        const auto far = [&](std::int64_t i, std::span<float> out) {
            for (std::int64_t j = 0; j < seen[other].count; ++j) {
                float square = 0;
                for (std::int64_t d = 0; d < dims; ++d) {
                    const float between = seen[own].row(i)[d] - seen[other].row(j)[d];
                    square += between * between;
                }
                out[static_cast<std::size_t>(j)] = square;
            }
        };
        for (const RankQuality& found : {rank_quality(raw[own].count, raw[other].count, false, kNear, score, far, 250, cancel),
                                         rank_quality(raw[own], seen[own], kNear, 250, cancel)}) {
            if (std::isnan(found.trustworthiness)) continue;
            trustworthiness += found.trustworthiness;
            continuity += found.continuity;
            ++counted;
        }
    }
    map.trustworthiness = static_cast<float>(counted > 0 ? trustworthiness / counted : kNaN);
    map.continuity = static_cast<float>(counted > 0 ? continuity / counted : kNaN);
}

HeadRun::HeadRun(std::shared_ptr<const MapVectors> vectors, std::size_t head, const MapOptions& options,
                 const CancelToken& cancel)
    : state_(std::make_unique<State>(std::move(vectors), head, options)) {
    state_->start(cancel);
}
HeadRun::~HeadRun() = default;

bool HeadRun::run(int iterations, const CancelToken& cancel) {
    if (!state_->embedding) return false;
    state_->embedding->run(iterations, cancel);
    state_->read_points();
    return state_->embedding->done() < state_->embedding->wanted();
}

HeadMap HeadRun::picture() const { return state_->map; }

HeadMap HeadRun::measured(const CancelToken& cancel) {
    State& s = *state_;
    if (!s.head.broken.empty()) return s.map;
    const model::OneThread one;
    if (s.embedding) s.map.divergence = static_cast<float>(s.embedding->divergence());
    s.measure_neighbours(cancel);
    const Faithfulness found = faithfulness(*s.vectors, s.head, s.map.points, s.options.dims, cancel);
    s.map.faithfulness = static_cast<float>(found.correlation);
    s.map.attention_near = static_cast<float>(found.near);
    s.map.poor = std::ssize(s.all.counted) < kFewest ? "Too few tokens for neighbours" : poor_reason(s.map);
    return s.map;
}

std::string poor_reason(const HeadMap& map, const PoorLevels& levels) {
    if (map.trustworthiness < levels.trustworthiness)
        return "Neighbours are not kept (trustworthiness " + significant(static_cast<double>(map.trustworthiness)) + ")";
    if (map.faithfulness < levels.faithfulness)
        return "Distances do not follow attention (faithfulness " + significant(static_cast<double>(map.faithfulness)) + ")";
    return {};
}

}  // namespace headlight::map
