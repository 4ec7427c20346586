// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/run/new_points.h"

#include "headlight/base/error.h"
#include "headlight/map/quality/quality.h"
#include "tests/map/heads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace headlight::map {
namespace {

/// Texts [first, last) of some vectors, with their numbers from 0.
MapVectors texts_of(const MapVectors& all, std::int32_t first, std::int32_t last) {
    MapVectors out = all;
    out.tokens = {};
    out.heads[0].queries = out.heads[0].keys = nullptr;
    auto queries = std::make_shared<std::vector<float>>(), keys = std::make_shared<std::vector<float>>();
    const std::int64_t width = all.heads[0].width;
    for (std::int32_t t = first; t < last; ++t) out.tokens.names.push_back(all.tokens.names[static_cast<std::size_t>(t)]);
    for (std::size_t i = 0; i < all.tokens.tokens.size(); ++i) {
        if (all.tokens.text[i] < first || all.tokens.text[i] >= last) continue;
        out.tokens.tokens.push_back(all.tokens.tokens[i]);
        out.tokens.token_ids.push_back(all.tokens.token_ids[i]);
        out.tokens.text.push_back(all.tokens.text[i] - first);
        out.tokens.position.push_back(all.tokens.position[i]);
        out.tokens.apart.push_back(all.tokens.apart[i]);
        const auto from = static_cast<std::ptrdiff_t>(i) * width;
        queries->insert(queries->end(), all.heads[0].queries->begin() + from, all.heads[0].queries->begin() + from + width);
        keys->insert(keys->end(), all.heads[0].keys->begin() + from, all.heads[0].keys->begin() + from + width);
    }
    out.heads[0].queries = queries;
    out.heads[0].keys = keys;
    return out;
}

double side_of(const std::vector<float>& points) {
    const auto [least, most] = std::minmax_element(points.begin(), points.end());
    return static_cast<double>(*most - *least);
}

TEST(NewPoints, OfATextOfTheMapLieWhereTheMapHasThem) {
    const auto all = std::make_shared<const MapVectors>(random_head(12, 20, false, 4, 16));
    for (const Projection projection : {Projection::pca, Projection::tsne, Projection::umap})
        for (const Preset preset : {Preset::scores, Preset::balanced, Preset::cosine})
            for (const int dims : {2, 3}) {
                const MapOptions options{.preset = preset, .projection = projection, .dims = dims, .iterations = 120};
                const QueryKeyMap map = finished_map(all, options);
                const NewPoints places(all, options);
                const QueryKeyMap placed = places.place(texts_of(*all, 5, 7), map, 2);
                const HeadMap &old = map.heads[0], &found = placed.heads[0];
                ASSERT_EQ(found.points.size(), 2u * 40 * static_cast<std::size_t>(dims));
                EXPECT_EQ(placed.tokens.names.front(), "text 5");
                const double near = projection == Projection::pca ? 1e-5 : 1e-5 * side_of(old.points);
                for (const std::size_t role : {0u, 1u})
                    for (std::size_t i = 0; i < 40; ++i) {
                        EXPECT_FLOAT_EQ(found.norms[role * 40 + i], old.norms[role * 240 + 100 + i]);
                        for (std::size_t d = 0; d < static_cast<std::size_t>(dims); ++d)
                            EXPECT_NEAR(found.points[(role * 40 + i) * static_cast<std::size_t>(dims) + d],
                                        old.points[(role * 240 + 100 + i) * static_cast<std::size_t>(dims) + d], near);
                    }
            }
}

TEST(NewPoints, KeepTheAttentionOfATextThatTheMapHasNotSeen) {
    // Four texts of 24 are placed into the map of the others: where their tokens stand says of their attention nearly what it
    // says in the map of all.
    const MapVectors all = random_head(24, 25, false, 11);
    const auto seen = std::make_shared<const MapVectors>(texts_of(all, 0, 20));
    const MapVectors unseen = texts_of(all, 20, 24);
    for (const Projection projection : {Projection::tsne, Projection::umap}) {
        const MapOptions options{.projection = projection};
        const NewPoints places(seen, options);
        const QueryKeyMap map = finished_map(seen, options), one = places.place(unseen, map, 1),
                          two = places.place(unseen, map, 2);
        EXPECT_EQ(one.heads[0].points, two.heads[0].points);
        const Faithfulness found = faithfulness(unseen, unseen.heads[0], one.heads[0].points, 2);
        EXPECT_GT(found.correlation, static_cast<double>(map.heads[0].faithfulness) - 0.15);
        EXPECT_GT(found.near, 0.5);
    }
}

TEST(NewPoints, OfOtherVectorsAreAnErrorAndBrokenHeadsSaySo) {
    const auto all = std::make_shared<const MapVectors>(random_head(6, 10, true, 3, 16));
    for (const Projection projection : {Projection::pca, Projection::umap}) {
        const MapOptions options{.projection = projection, .iterations = 20};
        const QueryKeyMap map = finished_map(all, options);
        const NewPoints places(all, options);
        EXPECT_THROW(places.place(random_head(1, 5, true, 3, 8), map), Error) << "another width";
        MapVectors other = random_head(1, 5, true, 3, 16);
        other.heads[0].head = Head(1);
        EXPECT_THROW(places.place(other, map), Error) << "another head";
        other.heads[0].head = Head(0);
        other.rotated = true;
        EXPECT_THROW(places.place(other, map), Error);
        other.rotated = false;
        other.heads[0].broken = "The key of token 1 holds NaN";
        const HeadMap broken = places.place(other, map).heads[0];
        EXPECT_EQ(broken.poor, "The key of token 1 holds NaN");
        EXPECT_EQ(broken.points, std::vector<float>(20));
    }
}

TEST(NewPoints, StandInMapsOfFewPointsAndOfNoExtent) {
    for (const Projection projection : {Projection::pca, Projection::tsne, Projection::umap})
        for (const Preset preset : {Preset::scores, Preset::balanced, Preset::cosine}) {
            const MapOptions options{.preset = preset, .projection = projection, .iterations = 20};
            for (const auto& vectors : {equal_head(), std::make_shared<MapVectors>(random_head(1, 1, false, 3, 8))}) {
                const QueryKeyMap placed =
                    NewPoints(vectors, options).place(random_head(1, 7, true, 3, 8), finished_map(vectors, options));
                for (const float value : placed.heads[0].points) EXPECT_TRUE(std::isfinite(value));
            }
        }
}

}  // namespace
}  // namespace headlight::map
