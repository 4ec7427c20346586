// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers beside a selected point, against the hooks of a run and plain formulas.
#include "ui/map/map_facts.h"

#include "headlight/map/gather/gather.h"
#include "headlight/trace/tensors.h"

#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

namespace headlight::ui {
namespace map_facts_test {

class MapFacts : public testing::Test {
protected:
    MapFacts() {
        opened.model = model::Model::load(HEADLIGHT_SOURCE_DIR "/tests/fixtures/models/gpt2");
        opened.tokenizer = trace::load_tokenizer(HEADLIGHT_SOURCE_DIR "/tests/fixtures/models/gpt2");
        std::vector<corpus::Text> texts;
        for (const std::string& text : lines) texts.push_back({.id = text, .text = text});
        vectors = map::gather_texts(opened.model, opened.tokenizer, texts);
        for (const std::string& text : lines) runs.push_back(trace::run(opened.model, opened.tokenizer, {.text = text}));
    }
    /// [query, key] of a text in the head that is asked about.
    std::vector<std::vector<double>> weights(std::size_t text) const {
        const map::HeadVectors& of = vectors->heads[head];
        const at::Tensor all = trace::tensor(*runs[text], {model::Hook::pattern, of.layer})[of.head.value];
        std::vector<std::vector<double>> out;
        for (std::int64_t q = 0; q < all.size(0); ++q) {
            out.emplace_back();
            for (std::int64_t k = 0; k < all.size(1); ++k) out.back().push_back(all[q][k].item<double>());
        }
        return out;
    }
    std::int32_t query_at(std::size_t text, std::int64_t position) const {
        std::int64_t before = 0;
        for (std::size_t t = 0; t < text; ++t) before += runs[t]->tokens();
        return static_cast<std::int32_t>(before + position);
    }
    std::int32_t key_at(std::size_t text, std::int64_t position) const {
        return query_at(text, position) + static_cast<std::int32_t>(std::ssize(vectors->tokens.tokens));
    }
    static void expect_near(const std::vector<float>& found, const std::vector<double>& wanted) {
        ASSERT_EQ(found.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-5) << i;
    }

    const std::vector<std::string> lines{"The doctor asked the nurse.", "A nurse was late today.", "Who was late?"};
    static constexpr std::size_t head = 3;
    OpenModel opened;
    std::shared_ptr<const map::MapVectors> vectors;
    std::vector<std::shared_ptr<const trace::Trace>> runs;
};

TEST_F(MapFacts, AttentionOfAQueryIsItsRowAndOfAKeyItsColumn) {
    const MapTexts texts(vectors, opened);
    const auto pattern = weights(1);
    const AttentionFound query = attention_of(texts, {.head = head, .point = query_at(1, 3)}, {});
    expect_near(query.weights, pattern[3]);
    EXPECT_FALSE(query.from_scores);
    std::vector<double> column;
    for (const auto& row : pattern) column.push_back(row[2]);
    expect_near(attention_of(texts, {.head = head, .point = key_at(1, 2)}, {}).weights, column);
}

TEST_F(MapFacts, WithoutARunTheSoftmaxOfTheScoresIsGivenAndSaidToBe) {
    // Learned positions are a part of q and k, so this model's softmax of q·k is its attention.
    const MapTexts texts(vectors, {});
    const AttentionFound found = attention_of(texts, {.head = head, .point = query_at(2, 3)}, {});
    EXPECT_TRUE(found.from_scores);
    expect_near(found.weights, weights(2)[3]);
}

TEST_F(MapFacts, WithoutTheFirstTokenTheOthersShareTheRow) {
    std::vector<double> wanted = weights(0)[4];
    const double rest = 1 - wanted[0];
    ASSERT_GT(rest, 0.01);
    for (double& weight : wanted) weight /= rest;
    wanted[0] = 0;
    expect_near(attention_of(MapTexts(vectors, opened), {.head = head, .point = query_at(0, 4), .hide_first = true}, {}).weights,
                wanted);
}

TEST_F(MapFacts, WeightsByValueAreOfTheLengthsOfTheValues) {
    const map::HeadVectors& of = vectors->heads[head];
    const at::Tensor values = trace::tensor(*runs[0], {model::Hook::v, of.layer}).select(1, of.head.value);
    std::vector<double> wanted = weights(0)[4];
    double sum = 0;
    for (std::size_t k = 0; k < wanted.size(); ++k)
        sum += wanted[k] *= values[static_cast<std::int64_t>(k)].norm().item<double>();
    for (double& weight : wanted) weight /= sum;
    expect_near(attention_of(MapTexts(vectors, opened), {.head = head, .point = query_at(0, 4), .by_value = true}, {}).weights,
                wanted);
}

TEST_F(MapFacts, TheMeanOverTextsIsOfThoseThatReachThePosition) {
    const auto longest = std::max(runs[0]->tokens(), runs[1]->tokens());
    const auto own = static_cast<std::size_t>(runs[1]->tokens() == longest);
    // A position that the shortest text lacks.
    const std::int64_t position = runs[2]->tokens();
    ASSERT_LT(position, std::min(runs[0]->tokens(), runs[1]->tokens()));
    std::vector<std::int64_t> told;
    const AttentionFound found =
        attention_of(MapTexts(vectors, opened), {.head = head, .point = query_at(own, position), .over_texts = true}, {},
                     [&](const ProgressStep& step) { told.push_back(step.done); });
    EXPECT_EQ(found.texts, 2);
    EXPECT_EQ(told, (std::vector<std::int64_t>{0, 1, 2}));
    const auto a = weights(0), b = weights(1);
    std::vector<double> wanted(static_cast<std::size_t>(longest));
    for (std::size_t k = 0; k < wanted.size(); ++k) {
        double sum = 0;
        int count = 0;
        for (const auto* pattern : {&a, &b})
            if (k < pattern->size()) sum += (*pattern)[static_cast<std::size_t>(position)][k], ++count;
        wanted[k] = sum / count;
    }
    expect_near(found.weights, wanted);
    CancelToken cancel;
    cancel.cancel();
    EXPECT_THROW(attention_of(MapTexts(vectors, opened), {.head = head, .point = 0, .over_texts = true}, cancel), Cancelled);
}

TEST_F(MapFacts, RunsStayForTheNextPointWithinTheBudget) {
    MapTexts texts(vectors, opened);
    const auto first = texts.run(0, {}), second = texts.run(1, {});
    EXPECT_EQ(texts.run(0, {}), first) << "it is not run again";
    EXPECT_LT(first->bytes(), runs[0]->bytes() / 2) << "queries, keys and values alone";
    // Room for two: the one asked for longest ago goes.
    texts.set_budget(first->bytes() + second->bytes() + 1);
    const auto third = texts.run(2, {});
    EXPECT_EQ(texts.run(2, {}), third);
    EXPECT_EQ(texts.run(0, {}), first);
    EXPECT_NE(texts.run(1, {}), second);
    const AttentionFound again = attention_of(texts, {.head = head, .point = query_at(1, 3)}, {});
    expect_near(again.weights, weights(1)[3]);
}

TEST_F(MapFacts, TheNearestCanBeCancelledAndPlaceAHeadOnce) {
    const MapTexts texts(vectors, opened);
    const map::MapOptions options{.preset = map::Preset::balanced};
    const auto placed = texts.placed(head, options);
    EXPECT_EQ(texts.placed(head, options), placed);
    EXPECT_NE(texts.placed(head - 1, options), placed);
    const CancelToken cancel;
    cancel.cancel();
    EXPECT_THROW(nearest_before_projection(texts, head, options, 0, 3, cancel), Cancelled);
}

TEST_F(MapFacts, TheNearestByScoresAreThoseOfTheLargestProducts) {
    const map::HeadVectors& of = vectors->heads[head];
    const map::Rows queries = of.query_rows(), keys = of.key_rows();
    const std::int32_t point = query_at(1, 3);
    std::vector<NearPoint> all;
    for (std::int64_t k = 0; k < keys.count; ++k) {
        double product = 0;
        for (std::int64_t d = 0; d < of.width; ++d)
            product += static_cast<double>(queries.row(point)[d]) * static_cast<double>(keys.row(k)[d]);
        if (!vectors->tokens.apart[static_cast<std::size_t>(k)])
            all.push_back({static_cast<std::int32_t>(queries.count + k), product});
    }
    std::ranges::sort(all, [](const NearPoint& a, const NearPoint& b) { return a.value > b.value; });
    const auto found = nearest_before_projection(MapTexts(vectors, opened), head, {.preset = map::Preset::scores}, point, 4);
    ASSERT_EQ(found.size(), 4u);
    for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].point, all[i].point) << i;
        EXPECT_NEAR(found[i].value, all[i].value, 1e-9) << i;
    }
}

TEST_F(MapFacts, TheNearestByDistanceAreThoseOfAFullSort) {
    const map::HeadVectors& of = vectors->heads[head];
    using Points = std::vector<std::vector<double>>;
    const auto of_role = [&](const map::Rows& rows) {
        Points out;
        for (std::int64_t i = 0; i < rows.count; ++i) out.emplace_back(rows.row(i), rows.row(i) + of.width);
        return out;
    };
    const Points raw_queries = of_role(of.query_rows()), raw_keys = of_role(of.key_rows());
    const auto apart = [&](std::size_t i) { return vectors->tokens.apart[i] != 0; };
    const auto length = [](const std::vector<double>& x) {
        return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
    };
    const auto mean_length = [&](const Points& points) {
        double sum = 0, count = 0;
        for (std::size_t i = 0; i < points.size(); ++i)
            if (!apart(i)) sum += length(points[i]), ++count;
        return sum / count;
    };
    for (const map::Preset preset : {map::Preset::cosine, map::Preset::balanced}) {
        const bool cosine = preset == map::Preset::cosine;
        const double c = cosine ? 1 : std::sqrt(mean_length(raw_keys) / mean_length(raw_queries));
        Points queries = raw_queries, keys = raw_keys;
        for (std::size_t d = 0; d < static_cast<std::size_t>(of.width); ++d) {
            double between = 0, count = 0;
            for (std::size_t i = 0; i < queries.size(); ++i) {
                queries[i][d] *= c, keys[i][d] /= c;
                if (!apart(i)) between += queries[i][d] - keys[i][d], ++count;
            }
            for (auto& key : keys) key[d] += between / count;
        }
        const auto distance = [&](const std::vector<double>& a, const std::vector<double>& b) {
            if (cosine) return 1 - std::inner_product(a.begin(), a.end(), b.begin(), 0.0) / (length(a) * length(b));
            std::vector<double> difference;
            std::ranges::transform(a, b, std::back_inserter(difference), std::minus());
            return length(difference);
        };
        for (const bool of_key : {false, true}) {
            const Points &own = of_key ? keys : queries, &others = of_key ? queries : keys;
            const auto at = static_cast<std::size_t>(query_at(1, 3));
            std::vector<std::pair<double, std::int32_t>> all;
            for (std::size_t i = 0; i < others.size(); ++i)
                if (!apart(i)) all.emplace_back(distance(own[at], others[i]), i + (of_key ? 0 : queries.size()));
            std::ranges::sort(all);
            const auto found = nearest_before_projection(MapTexts(vectors, opened), head, {.preset = preset},
                                                         of_key ? key_at(1, 3) : query_at(1, 3), all.size());
            ASSERT_EQ(found.size(), all.size());
            for (std::size_t i = 0; i < found.size(); ++i) {
                EXPECT_EQ(found[i].point, all[i].second) << i << (cosine ? " cosine" : " Euclid") << (of_key ? " of a key" : "");
                EXPECT_NEAR(found[i].value, all[i].first, 1e-5) << i;
            }
        }
    }
}

}  // namespace map_facts_test
}  // namespace headlight::ui
