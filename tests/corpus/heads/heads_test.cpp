// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/heads/heads.h"

#include "headlight/analyze/heads/head_table.h"
#include "headlight/corpus/heads/head_means.h"
#include "tests/corpus/runs.h"

#include <cmath>

namespace headlight::corpus {
namespace {

/// Runs a store and reads what it merged.
struct OpenedStore {
    OpenedStore(const std::filesystem::path& store, const std::filesystem::path& texts, std::int64_t context = 512,
                std::int64_t stride = 0) {
        RunSetup setup = run_setup(store, texts, {"heads", "variability"});
        setup.options.context = context;
        setup.options.stride = stride;
        const Manifest manifest = run_store(setup);
        merged = read_merged(store, read_manifest(store)).arrays;
        means = head_means(merged, TextStore(store, manifest).text_of_chunk(), {.draws = 200});
    }
    Arrays merged;
    HeadMeans means;
};

// NumPy on the attentions of transformers: means by text and by query, and how weights are spread over distances.
TEST(CorpusHeads, AreThoseOfTheReference) {
    const nlohmann::json golden = golden_json("corpus_heads.json");
    const test::TempFolder folder;
    const OpenedStore stored(folder / "store", source_file("tests/fixtures/treebank/ewt-sentences.txt"));
    ASSERT_EQ(stored.means.texts, 200);
    std::size_t compared = 0;
    for (const auto& [id, expected] : golden["measures"].items()) {
        const auto m = static_cast<std::size_t>(std::ranges::find(stored.means.measures, id) - stored.means.measures.begin());
        ASSERT_LT(m, stored.means.measures.size()) << id;
        for (std::int64_t l = 0; l < stored.means.layers; ++l)
            for (std::int64_t h = 0; h < stored.means.heads; ++h, ++compared) {
                const std::size_t at = stored.means.index(m, l, h);
                EXPECT_EQ(stored.means.with[at], expected["texts"]) << id;
                EXPECT_EQ(stored.means.rows[at], expected["queries"]) << id;
                const double tolerance = id == "mean_distance" ? 1e-5 : 1e-6;  // tokens, up to 90
                EXPECT_NEAR(stored.means.by_text[at].mean,
                            expected["by_text"][static_cast<std::size_t>(l)][static_cast<std::size_t>(h)], tolerance)
                    << id << " L" << l << "H" << h;
                if (expected["by_query"].is_null()) continue;
                EXPECT_NEAR(stored.means.by_query[at],
                            expected["by_query"][static_cast<std::size_t>(l)][static_cast<std::size_t>(h)], tolerance)
                    << id << " L" << l << "H" << h;
            }
    }
    EXPECT_EQ(compared, 10u * 48);
    ASSERT_EQ(stored.means.measures.back(), "variability");
    for (std::int64_t l = 0; l < stored.means.layers; ++l)
        for (std::int64_t h = 0; h < stored.means.heads; ++h) {
            const std::size_t at = stored.means.index(stored.means.measures.size() - 1, l, h);
            const Interval& found = stored.means.by_text[at];
            EXPECT_EQ(stored.means.with[at], golden["variability"]["texts"]);
            EXPECT_NEAR(found.mean, golden["variability"]["by_text"][static_cast<std::size_t>(l)][static_cast<std::size_t>(h)],
                        1e-6);
            EXPECT_LT(found.low, found.mean);
            EXPECT_GT(found.high, found.mean);
            EXPECT_TRUE(std::isnan(stored.means.by_query[at]));
        }
    const auto distance = stored.merged.get<std::int64_t>("heads.distance", {6, 8, kDistanceBins, 2});
    for (std::size_t l = 0; l < 6; ++l)
        for (std::size_t h = 0; h < 8; ++h)
            for (std::size_t b = 0; b < static_cast<std::size_t>(kDistanceBins); ++b) {
                const std::size_t at = ((l * 8 + h) * static_cast<std::size_t>(kDistanceBins) + b) * 2;
                EXPECT_NEAR(FixedSum::of(distance[at], distance[at + 1]).value(), golden["distance"][l][h][b],
                            1e-3);  // sums of 3,609 rows
            }
}

// Chunks that overlap count each query once: against the measures of one run of the whole text.
TEST(CorpusHeads, CountTheQueriesOfAnOverlapOnce) {
    const test::TempFolder folder;
    std::string text;
    for (int i = 0; i < 60; ++i)
        text += (i ? " " : "") + std::string(i % 3 ? "the doctor" : "she asked") + (i % 7 ? "" : ", and");
    const OpenedStore stored(folder / "store", folder.write("a.txt", text + "\n"), 60, 20);
    const auto tokens = built_in().tokenizer->encode(text).size();
    const auto entropy =
        static_cast<std::size_t>(std::ranges::find(stored.means.measures, "entropy") - stored.means.measures.begin());
    EXPECT_EQ(stored.means.rows[stored.means.index(entropy, 0, 0)], tokens - 1);
    EXPECT_EQ(stored.means.texts, 1);
    const auto chunks = stored.merged.get<std::int64_t>("heads.chunks", {-1});
    EXPECT_GT(chunks.size(), 3u);
    // Weights on the own token have no context: a chunk whose queries were all counted would move the mean.
    const auto rows = stored.merged.get<std::int32_t>("heads.rows", {std::ssize(chunks), std::ssize(corpus_measures()), 6});
    for (std::size_t c = 1; c + 1 < chunks.size(); ++c) EXPECT_EQ(rows[(c * corpus_measures().size() + entropy) * 6], 20);
    const auto value_norm =
        static_cast<std::size_t>(std::ranges::find(stored.means.measures, "value_norm") - stored.means.measures.begin());
    EXPECT_EQ(stored.means.rows[stored.means.index(value_norm, 0, 0)], tokens) << "values of context count once too";
    // The first layer's values are those of the tokens alone, whatever chunk they stand in.
    const OpenedStore whole(folder / "whole", folder / "a.txt");
    for (std::int64_t h = 0; h < 8; ++h)
        EXPECT_NEAR(stored.means.by_query[stored.means.index(value_norm, 0, h)],
                    whole.means.by_query[whole.means.index(value_norm, 0, h)], 1e-5);
}

// Layers of a sliding window count other queries than those that read everything.
TEST(CorpusHeads, WeighAChunkByTheQueriesThatTheLayerCounted) {
    Runs runs(fixture_model("gemma2"));
    runs.run_all({"the doctor asked the nurse and the doctor asked the nurse again and again", "the nurse asked the nurse"});
    const Heads heads = runs.filled(Heads(runs.config()));
    const Arrays saved = saved_arrays(heads);
    const std::int64_t layers = runs.config().n_layers, n_heads = runs.config().n_heads;
    const auto measures = std::ssize(corpus_measures());
    const auto rows = saved.get<std::int32_t>("heads.rows", {2, measures, layers});
    const auto count = saved.get<std::int64_t>("heads.count", {measures, layers, n_heads});
    bool unlike = false;
    for (std::int64_t at = 0; at < measures * layers; ++at) {
        std::int64_t most = 0;
        for (std::int64_t h = 0; h < n_heads; ++h) most = std::max(most, count[static_cast<std::size_t>(at * n_heads + h)]);
        EXPECT_EQ(rows[static_cast<std::size_t>(at)] + rows[static_cast<std::size_t>(at + measures * layers)], most)
            << corpus_measures()[static_cast<std::size_t>(at / layers)] << ", layer " << at % layers;
        unlike |= at % layers > 0 && rows[static_cast<std::size_t>(at)] != rows[static_cast<std::size_t>(at - 1)];
    }
    EXPECT_TRUE(unlike);
}

TEST(CorpusHeads, ExamplesAreTheLargestOfABruteForce) {
    const Runs runs = [] {
        Runs some(built_in_model());
        some.run_all({"The doctor asked the nurse because the doctor was late.", "One two three one two three.", "Call me."});
        return some;
    }();
    const Heads heads = runs.filled(Heads(runs.config(), 2));
    const Arrays saved = saved_arrays(heads);
    const auto values = saved.get<float>("heads.top_value", {kHeadExamples, 6, 8, 2});
    const auto texts = saved.get<std::int64_t>("heads.top_text", {kHeadExamples, 6, 8, 2});
    for (std::int64_t l = 0; l < 6; ++l)
        for (std::int64_t h = 0; h < 8; ++h) {
            TopExamples weight(2), induction(2);
            for (std::int64_t t = 0; t < runs.size(); ++t) {
                const auto& encoding = runs.trace(t).encoding();
                const at::Tensor pattern = trace::pattern_rows(runs.trace(t), Layer(l), Head(h), 0, encoding.size());
                Example w{.value = 0, .text = t}, in{.value = 0, .text = t};
                for (std::int64_t i = 1; i < encoding.size(); ++i)
                    for (std::int64_t j = 1; j < i; ++j) {
                        const float a = pattern[i][j].item<float>();
                        w.value = std::max(w.value, a);
                        if (encoding.ids[static_cast<std::size_t>(j - 1)] == encoding.ids[static_cast<std::size_t>(i)])
                            in.value = std::max(in.value, a);
                    }
                if (w.value > 0) weight.add(w);
                if (in.value > 0) induction.add(in);
            }
            const std::size_t at = static_cast<std::size_t>(l * 8 + h) * 2;
            for (const auto& [kind, top] :
                 {std::pair(HeadExample::weight, &weight), std::pair(HeadExample::induction, &induction)})
                for (std::size_t e = 0; e < top->sorted().size(); ++e) {
                    const std::size_t place = static_cast<std::size_t>(kind) * 96 + at + e;
                    EXPECT_EQ(texts[place], top->sorted()[e].text);
                    EXPECT_FLOAT_EQ(values[place], top->sorted()[e].value);
                }
        }
    expect_the_same_bytes_in_any_order(runs, Heads(runs.config()));
}

TEST(CorpusHeads, DistanceBinsDouble) {
    for (const auto& [distance, bin] : {std::pair(0, 0), {1, 1}, {2, 2}, {3, 2}, {4, 3}, {4095, 12}, {4096, 13}, {100'000, 13}})
        EXPECT_EQ(distance_bin(distance), bin);
    for (std::int64_t bin = 0; bin < kDistanceBins; ++bin) EXPECT_EQ(distance_bin(first_distance(bin)), bin);
}

}  // namespace
}  // namespace headlight::corpus
