// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/run/map_run.h"

#include "tests/map/heads.h"
#include "tests/support/checksums.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <thread>

namespace headlight::map {
namespace {

/// Four heads over the same texts, alike and unrelated.
std::shared_ptr<const MapVectors> four_heads() {
    auto out = std::make_shared<MapVectors>(random_head(10, 15, true, 1, 16));
    for (unsigned h = 1; h < 4; ++h) out->heads.push_back(random_head(10, 15, h % 2 == 0, 1 + h, 16).heads[0]);
    for (std::size_t h = 0; h < 4; ++h) {
        out->heads[h].layer = Layer(static_cast<std::int64_t>(h / 2));
        out->heads[h].head = Head(static_cast<std::int64_t>(h % 2));
    }
    out->layers = out->heads_per_layer = 2;
    return out;
}

TEST(MapRun, GivesTheSameBytesOnOneTwoAndEightThreads) {
    for (const Projection projection : {Projection::tsne, Projection::umap}) {
        MapOptions options{.projection = projection, .iterations = 80, .seed = 5};
        const QueryKeyMap one = finished_map(four_heads(), options, 1), two = finished_map(four_heads(), options, 2),
                          eight = finished_map(four_heads(), options, 8);
        options.seed = 6;
        const QueryKeyMap other = finished_map(four_heads(), options, 1);
        for (std::size_t h = 0; h < 4; ++h) {
            EXPECT_EQ(one.heads[h].points, two.heads[h].points);
            EXPECT_EQ(one.heads[h].points, eight.heads[h].points);
            // As bytes: what stands apart has NaN.
            EXPECT_EQ(std::memcmp(one.heads[h].trust.data(), eight.heads[h].trust.data(), 300 * sizeof(float)), 0);
            EXPECT_NE(one.heads[h].points, other.heads[h].points);
            EXPECT_EQ(one.heads[h].iterations, 80);
        }
    }
}

TEST(MapRun, ShowsPcaFirstAndThenTheHeadsAskedFor) {
    MapRun run(four_heads(), {.projection = Projection::tsne, .iterations = 100});
    run.show_first({2, 0});
    std::vector<std::size_t> changes;
    run.run(1, {}, {}, [&](std::size_t head) {
        const HeadMap map = run.head(head);
        if (changes.size() < 4) {
            EXPECT_EQ(map.iterations, 0);
        }
        EXPECT_EQ(map.points.size(), 2u * 150 * 2);
        changes.push_back(head);
    });
    // Each head after 50 iterations and at its end.
    EXPECT_EQ(changes, (std::vector<std::size_t>{0, 1, 2, 3, 2, 2, 0, 0, 1, 1, 3, 3}));
}

TEST(MapRun, CanBeCancelledAndContinued) {
    for (const int last : {6, 7}) {  // between two heads, and within one
        MapRun run(four_heads(), {.projection = Projection::tsne, .iterations = 100});
        const CancelToken cancel;
        int changes = 0;
        EXPECT_THROW(run.run(1, cancel, {},
                             [&](std::size_t) {
                                 if (++changes == last) cancel.cancel();
                             }),
                     Cancelled);
        EXPECT_EQ(run.head(0).iterations, 100);
        EXPECT_LT(run.head(3).iterations, 100);
        run.run(1);
        for (std::size_t h = 0; h < 4; ++h) {
            EXPECT_EQ(run.head(h).iterations, 100) << h;
            EXPECT_FALSE(run.head(h).trust.empty()) << h;
        }
    }
}

TEST(MapRun, PausesBetweenTwoChanges) {
    MapRun run(four_heads(), {.projection = Projection::umap, .iterations = 100});
    run.pause(true);
    std::atomic<int> changes = 0;
    std::jthread worker([&] { run.run(2, {}, {}, [&](std::size_t) { ++changes; }); });
    while (changes < 4) std::this_thread::yield();
    for (std::size_t h = 0; h < 4; ++h) EXPECT_EQ(run.head(h).iterations, 0) << "only PCA while it is paused";
    run.pause(false);
    worker.join();
    EXPECT_EQ(run.head(3).iterations, 100);
}

TEST(MapRun, TakesFinishedHeadsFromTheCacheAndRefusesOtherVersions) {
    const test::TempFolder folder;
    const MapOptions options{.projection = Projection::tsne, .iterations = 60};
    const auto vectors = four_heads();
    MapRun first(vectors, options, folder.path());
    first.run(2);
    int changes = 0;
    MapRun second(vectors, options, folder.path());
    second.run(1, {}, {}, [&](std::size_t) { ++changes; });
    EXPECT_EQ(changes, 8) << "PCA and the finished head, no steps between";
    for (std::size_t h = 0; h < 4; ++h) {
        const HeadMap a = first.head(h), b = second.head(h);
        EXPECT_EQ(a.points, b.points);
        EXPECT_EQ(a.trustworthiness, b.trustworthiness);
        EXPECT_EQ(a.faithfulness, b.faithfulness);
        EXPECT_EQ(a.poor, b.poor);
    }
    const std::string key = cache_key(*vectors, 0, options);
    const auto read = [&] { return read_cached(folder.path(), *vectors, 0, options); };
    ASSERT_TRUE(read());
    const auto file = folder.path() / (key + ".safetensors");
    const std::string bytes = test::slurp(file);
    std::string other = bytes;
    other.replace(other.find("headlight map 3"), 15, "headlight map 0");
    std::ofstream(file, std::ios::binary | std::ios::trunc) << other;
    EXPECT_FALSE(read());
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes.substr(0, bytes.size() / 2);
    EXPECT_FALSE(read()) << "half a file";
    for (std::size_t byte = 0; byte < bytes.size(); byte += 7) {
        folder.write(key + ".safetensors", bytes);
        test::flip_bit(file, byte, 6);
        EXPECT_FALSE(read()) << byte << ": damaged";
    }
    // Whole files of other sizes or of another head, which a program of that key would not have written.
    folder.write(key + ".safetensors", bytes);
    const io::TensorStore store = io::TensorStore::open_file(file);
    const auto with = [&](const char* name, std::vector<std::int64_t> shape, float value) {
        std::vector<io::ArrayRef> arrays;
        std::vector<float> values(
            static_cast<std::size_t>(std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>())), value);
        for (const auto& [array, view] : store.tensors())
            arrays.push_back(array == name ? io::ArrayRef{name, io::DType::F32, shape, std::as_bytes(std::span(values))}
                                           : io::ArrayRef{array, view.dtype, view.shape, view.bytes});
        io::write_checked_safetensors(file, arrays, store.metadata());
        return read().has_value();
    };
    const std::int64_t points = store.find("points")->shape[0];
    EXPECT_TRUE(with("points", {points, 2}, 1));
    for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{
             {0, 2}, {1, 2}, {points, 1}, {points, 0}, {points, 7}, {points + 1, 2}, {2 * points}})
        EXPECT_FALSE(with("points", shape, 1));
    EXPECT_FALSE(with("points", {points, 2}, std::numeric_limits<float>::quiet_NaN()));
    EXPECT_FALSE(with("norms", {1}, 1));
    EXPECT_FALSE(with("trust", {1}, 1));
    EXPECT_FALSE(with("explained", {1}, 1));
    EXPECT_FALSE(with("numbers", {1}, 1));
    folder.write(cache_key(*vectors, 1, options) + ".safetensors", bytes);
    EXPECT_FALSE(read_cached(folder.path(), *vectors, 1, options)) << "of another head";

    for (const MapOptions& changed : {MapOptions{.projection = Projection::umap, .iterations = 60},
                                      MapOptions{.preset = Preset::balanced, .projection = Projection::tsne, .iterations = 60},
                                      MapOptions{.projection = Projection::tsne, .dims = 3, .iterations = 60},
                                      MapOptions{.projection = Projection::tsne, .iterations = 60, .seed = 1}})
        EXPECT_NE(cache_key(*vectors, 0, changed), key);
    EXPECT_NE(cache_key(*vectors, 1, options), key);
}

TEST(MapRun, ScoresStayFaithfulWhereQueriesAndKeysAreUnrelated) {
    // The case in which a map of distances may draw keys the farther the more they are attended.
    const auto vectors = std::make_shared<const MapVectors>(random_head(24, 25, false, 11));
    HeadRun scores(vectors, 0, {.preset = Preset::scores, .projection = Projection::tsne});
    scores.run(10000);
    const HeadMap map = scores.measured();
    EXPECT_GE(map.faithfulness, 0.3F);
    EXPECT_GT(map.attention_near, 0.5F);
    HeadRun balanced(vectors, 0, {.preset = Preset::balanced, .projection = Projection::tsne});
    balanced.run(10000);
    EXPECT_GT(map.faithfulness, balanced.measured().faithfulness);
}

TEST(MapRun, EqualQueriesAndKeysLieOnEachOther) {
    MapVectors vectors = random_head(10, 15, true, 2, 16);
    vectors.heads[0].keys = vectors.heads[0].queries;
    const auto shared = std::make_shared<const MapVectors>(std::move(vectors));
    for (const Preset preset : {Preset::balanced, Preset::cosine}) {
        HeadRun run(shared, 0, {.preset = preset});
        const HeadMap map = run.picture();
        for (std::size_t k = 0; k < 300; ++k) ASSERT_NEAR(map.points[k], map.points[300 + k], 1e-4);
    }
}

TEST(MapRun, DrawsWhatHasNoExtentAndSaysWhatIsBroken) {
    for (const Projection projection : {Projection::pca, Projection::tsne, Projection::umap})
        for (const Preset preset : {Preset::scores, Preset::balanced, Preset::cosine}) {
            const MapOptions options{.preset = preset, .projection = projection, .iterations = 20};
            auto one = std::make_shared<MapVectors>(random_head(1, 1, false, 3, 8));  // one text of one token
            auto equal = equal_head(), constant = small_head(), shifted = small_head();
            constant->heads[0].keys = std::make_shared<std::vector<float>>(36 * 8, 0.0F);
            shifted->heads[0].keys = std::make_shared<std::vector<float>>(36 * 8, 0.75F);
            for (const auto& vectors : {one, equal, constant, shifted}) {
                const QueryKeyMap map = finished_map(vectors, options);
                ASSERT_EQ(map.heads[0].points.size(), point_count(map) * 2);
                for (const float value : map.heads[0].points) ASSERT_TRUE(std::isfinite(value));
            }
            auto broken = small_head();
            auto queries = std::make_shared<std::vector<float>>(*broken->heads[0].queries);
            (*queries)[3 * 8 + 2] = std::numeric_limits<float>::quiet_NaN();
            broken->heads[0].queries = queries;
            broken->heads[0].broken = not_finite(broken->heads[0]);
            EXPECT_EQ(finished_map(broken, options).heads[0].poor, "The query of token 3 holds NaN");
        }
}

}  // namespace
}  // namespace headlight::map
