// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/reach/reach.h"

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "headlight/trace/saved.h"
#include "tests/analyze/traces.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace headlight::analyze {
namespace reach_test {

class ReachGolden : public testing::TestWithParam<std::filesystem::path> {};

/// tests/golden/make_reach_golden.py: masks over the whole maps of transformers, in float64.
TEST_P(ReachGolden, EveryHeadAttendsWhereTheReferenceDoes) {
    const auto golden = io::read_json(source_folder() / "tests/golden/reach" / (GetParam().filename().string() + ".json"));
    const TracePtr trace = run_model(GetParam(), golden["text"].get<std::string>());
    ASSERT_EQ(trace->encoding().ids, golden["ids"].get<std::vector<std::int64_t>>());
    const Passage passage = passage_called(*trace, golden["needle"].get<std::string>());
    EXPECT_EQ(passage.first.value, golden["passage"][0].get<std::int64_t>());
    EXPECT_EQ(passage.last.value, golden["passage"][1].get<std::int64_t>());
    const auto found = reach(*trace, passage);
    std::vector<std::int64_t> first;
    for (const TextSection& section : found->sections) first.push_back(section.first.value);
    EXPECT_EQ(first, golden["sections"].get<std::vector<std::int64_t>>());
    const Table table = table_of(*found);
    ASSERT_EQ(table.rows.size(), golden["heads"].size());
    for (std::size_t h = 0; h < table.rows.size(); ++h) {
        const auto& row = golden["heads"][h]["row"];
        ASSERT_EQ(table.columns.size(), row.size() + 2);
        for (std::size_t i = 0; i < row.size(); ++i) {
            const double value = std::get<double>(table.rows[h].at(i + 2));
            if (row[i].is_null())
                EXPECT_TRUE(std::isnan(value)) << table.columns[i + 2];
            else
                EXPECT_NEAR(value, row[i].get<double>(), 2e-5) << table.columns[i + 2] << " of row " << h;
        }
        const auto& sections = golden["heads"][h]["by_section"];
        for (std::size_t s = 0; s < sections.size(); ++s)
            if (sections[s].is_null())
                EXPECT_TRUE(std::isnan(found->heads[h].by_section[s]));
            else
                EXPECT_NEAR(found->heads[h].by_section[s], sections[s].get<double>(), 2e-5) << s;
    }
}

INSTANTIATE_TEST_SUITE_P(Models, ReachGolden, testing::ValuesIn(folders_with_golden("reach")), model_name);

TEST(Sections, AreParagraphsAndElseLines) {
    const auto titles = [](const std::string& text) {
        std::vector<std::string> out;
        std::int64_t tokens = 0;
        const TracePtr trace = built_in(text);
        for (const TextSection& section : text_sections(trace->encoding(), text)) {
            EXPECT_EQ(section.first.value, tokens) << "no token between sections";
            tokens += section.count;
            out.push_back(section.title);
        }
        EXPECT_EQ(tokens, trace->tokens());
        return out;
    };
    using Titles = std::vector<std::string>;
    EXPECT_EQ(titles("One line."), Titles({"One line."}));
    EXPECT_EQ(titles("A line.\nAnother."), Titles({"A line.", "Another."}));
    EXPECT_EQ(titles("First\nparagraph.\n \n\n  Second."), Titles({"First paragraph.", "Second."}));
    EXPECT_EQ(titles("\n\nAfter breaks.\n\n"), Titles({"After breaks."}));
    const std::string long_one(200, 'x');
    EXPECT_EQ(titles(long_one).front(), std::string(48, 'x') + "…");
}

TEST(Sections, AreFoundByPosition) {
    const TracePtr trace = built_in("One.\n\nTwo words.\n\nThree.");
    const auto sections = text_sections(trace->encoding(), trace->text_a());
    ASSERT_EQ(sections.size(), 3u);
    for (std::size_t s = 0; s < sections.size(); ++s) {
        EXPECT_EQ(section_of(sections, sections[s].first), static_cast<std::int64_t>(s));
        EXPECT_EQ(section_of(sections, sections[s].last()), static_cast<std::int64_t>(s));
    }
}

TEST(Reach, WithoutAModelPairsHaveTheirWeightsAlone) {
    const TracePtr trace = trace::open_saved(source_folder() / "tests/fixtures/attention/bert.npz");
    const HeadId id = head_id(1, 2);
    const Matrix weights = pattern(*trace, id, {});
    const auto moved = moved_tokens(*trace, id, {Position(0), Position(trace->tokens() - 1)}, 3);
    ASSERT_EQ(moved.size(), 3u);
    float largest = 0;
    for (std::int64_t i = 0; i < weights.rows(); ++i)
        for (std::int64_t j = 1; j < weights.cols(); ++j)
            if (i != j) largest = std::max(largest, weights(i, j));
    EXPECT_EQ(static_cast<float>(moved[0].weight), largest);
    EXPECT_GE(moved[0].weight, moved[1].weight);
    EXPECT_GE(moved[1].weight, moved[2].weight);
    for (const MovedToken& pair : moved) EXPECT_TRUE(std::isnan(pair.length));
}

/// Sums over the map: distances to both sides, and queries before the passage read it as well as those behind it.
TEST(Reach, InABidirectionalModelCountsKeysOnBothSides) {
    const TracePtr trace = run_model(source_folder() / "tests/fixtures/models/bert", "the cats asked the old doctor to wait");
    ASSERT_FALSE(trace->config().causal);
    const Passage passage{Position(3), Position(4)};
    const auto found = reach(*trace, passage);
    const HeadId id = head_id(1, 2);
    const Matrix weights = pattern(*trace, id, {});
    const Eigen::Index n = weights.rows();
    std::vector<double> by_distance(found->distances.size());
    double on_passage = 0, largest = 0;
    for (Eigen::Index i = 0; i < n; ++i) {
        for (Eigen::Index j = 0; j < n; ++j) {
            std::size_t bin = 0;
            while (bin + 1 < by_distance.size() && std::abs(i - j) >= found->distances[bin + 1]) ++bin;
            by_distance[bin] += static_cast<double>(weights(i, j)) / static_cast<double>(n);
        }
        if (i == 3 || i == 4) continue;
        on_passage += static_cast<double>(weights(i, 3) + weights(i, 4)) / static_cast<double>(n - 2);
        Eigen::Index key = 0;
        weights.row(i).maxCoeff(&key);
        largest += (key == 3 || key == 4 ? 1.0 : 0.0) / static_cast<double>(n - 2);
    }
    const HeadReach& head = found->of(id);
    for (std::size_t b = 0; b < by_distance.size(); ++b) EXPECT_NEAR(head.by_distance[b], by_distance[b], 1e-5) << b;
    EXPECT_NEAR(head.passage, on_passage, 1e-5);
    EXPECT_NEAR(head.passage_uniform, 2.0 / static_cast<double>(n), 1e-12);
    EXPECT_NEAR(head.passage_largest, largest, 1e-12);
    EXPECT_NEAR(head.own_section, 1, 1e-5) << "one paragraph";
}

TEST(Reach, WhatAHeadMovesIsItsLongestWeightedValues) {
    const TracePtr trace = built_in(doctor);
    const HeadId id = head_id(4, 5);
    const std::int64_t n = trace->tokens();
    const Matrix lengths = pattern(*trace, id, {.weighting = Weighting::output_length}), weights = pattern(*trace, id, {});
    std::vector<std::pair<float, std::pair<std::int64_t, std::int64_t>>> all;
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 1; j < i; ++j) all.push_back({lengths(i, j), {i, j}});
    std::ranges::sort(all, std::greater<>());
    const auto moved = moved_tokens(*trace, id, {Position(0), Position(n - 1)}, 5);
    ASSERT_EQ(moved.size(), 5u);
    for (std::size_t k = 0; k < moved.size(); ++k) {
        EXPECT_EQ(moved[k].query.value, all[k].second.first);
        EXPECT_EQ(moved[k].key.value, all[k].second.second);
        EXPECT_NEAR(moved[k].weight, static_cast<double>(weights(moved[k].query.value, moved[k].key.value)), 1e-6);
        // The weighting is over the layer's longest value, so that ratios are the same.
        EXPECT_NEAR(moved[k].length / moved[0].length, static_cast<double>(all[k].first / all[0].first), 1e-5);
    }
    EXPECT_EQ(moved_tokens(*trace, id, {Position(0), Position(n - 1)}, 1'000'000).size(), all.size());
}

TEST(Reach, PassagesAreNamedByPositionOrWords) {
    const TracePtr trace = built_in(doctor);
    EXPECT_EQ(passage_called(*trace, "3-5"), (Passage{Position(3), Position(5)}));
    EXPECT_EQ(passage_called(*trace, "7"), (Passage{Position(7), Position(7)}));
    const Passage words = passage_called(*trace, "the nurse");
    EXPECT_EQ(words.count(), 2);
    EXPECT_THROW(passage_called(*trace, "marmalade"), Error);
    EXPECT_THROW(reach(*trace, Passage{Position(5), Position(3)}), Error);
    EXPECT_THROW(reach(*trace, Passage{Position(5), Position(1000)}), Error);
    EXPECT_TRUE(std::isnan(reach(*trace)->heads[0].passage)) << "none is marked";
    EXPECT_TRUE(std::isnan(reach(*trace)->heads[0].by_depth[0])) << "no query has a hundred keys";
}

}  // namespace reach_test
}  // namespace headlight::analyze
