// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/why/why_check.h"

#include "headlight/base/error.h"
#include "headlight/intervention/recipe/words.h"
#include "headlight/trace/trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

namespace headlight::intervention {
namespace why_check_test {

constexpr const char* stones =
    "A ship of grey stones crossed the narrow garden while nine merchants counted silver buttons under a broken lamp and Martha "
    "whistled. A ship of grey";

struct Stones : testing::Test {
    static std::shared_ptr<const trace::Trace> run() {
        static const auto folder = std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "models/novella-7m";
        static const auto trace = trace::run(model::Model::load(folder), text::Tokenizer::load(folder), {.text = stones}, {});
        return trace;
    }
    static analyze::WhyOptions asked(std::int64_t layer, std::int64_t head, std::int64_t query, std::int64_t key) {
        return {.head = {Layer(layer), Head(head)}, .query = Position(query), .key = Position(key)};
    }
    static WhyCheck check(const analyze::WhyOptions& o, std::optional<bool> of_query) {
        Sources sources(run()->model(), run()->tokenizer(), {.text = stones});
        sources.set_unedited(run());
        return check_why(sources, *run(), analyze::why(*run(), o), of_query);
    }
};

/// docs/views/why.md; the reference's numbers.
TEST_F(Stones, TheInductionHeadNeedsTheHeadsThatWroteItsKey) {
    const WhyCheck found = check(asked(5, 7, 33, 5), {});
    EXPECT_FALSE(found.of_query);
    EXPECT_EQ(found.edits, (std::vector<std::string>{"mean L1H0 @5", "mean L3H0 @5", "mean L2H0 @5"}));
    EXPECT_NEAR(found.weight, 0.963, 1e-3);
    EXPECT_NEAR(found.predicted, 0.13, 5e-3);
    EXPECT_NEAR(found.actual, 0.21, 5e-3);
    ASSERT_EQ(found.controls.size(), 20u);
    for (const double control : found.controls) {
        EXPECT_GT(control, 0.9);
        EXPECT_LT(control, 0.98);
    }
    EXPECT_EQ(found.as_low(), 0);
}

/// A head of the layer before, with MLPs and norms frozen in the reference: nothing lies between, so the forecast is the run.
TEST_F(Stones, TheForecastIsTheRunWhereNothingLiesBetween) {
    EXPECT_NEAR(analyze::why_predicted(*run(), asked(5, 7, 33, 5), false, {{Layer(4), Head(0)}}), 0.824565228, 2e-5);
    EXPECT_NEAR(analyze::why_predicted(*run(), asked(5, 7, 33, 5), false, {{Layer(4), Head(7)}}), 0.980408096, 2e-5);
}

TEST_F(Stones, AsksOfTheQuery) {
    const WhyCheck found = check(asked(4, 0, 33, 32), true);
    ASSERT_EQ(found.heads.size(), 3u);
    EXPECT_EQ(found.heads[0], (HeadId{Layer(1), Head(0)}));
    EXPECT_EQ(found.edits[0], "mean L1H0 @33");
    EXPECT_LT(found.predicted, found.weight);
}

TEST_F(Stones, SaysWhenNoHeadWroteIt) {
    EXPECT_THROW(check(asked(0, 0, 9, 3), {}), Error) << "only embeddings are in front of the first layer";
    EXPECT_THROW(analyze::why_predicted(*run(), asked(2, 0, 9, 3), false, {{Layer(2), Head(1)}}), Error);
}

TEST(WhyPathEdits, TheFirstIsOnAndEachIsWhereItsHeadWrote) {
    const auto step = [](bool of_query, analyze::StreamPart writer) {
        analyze::WhyStep out{.of = {.head = {Layer(5), Head(7)}, .query = Position(33), .key = Position(5)}};
        out.of_query = of_query;
        out.writer = writer;
        return out;
    };
    const std::vector<std::string> edits =
        edits_of_path({step(false, {analyze::Component::head, 3, 0}), step(true, {analyze::Component::head, 1, 2}),
                       step(false, {analyze::Component::mlp, 0, -1})});
    EXPECT_EQ(edits, (std::vector<std::string>{"mean L3H0 @5", "off mean L1H2 @33"}));
    EXPECT_TRUE(parse_edit(edits[0]).on);
    EXPECT_FALSE(parse_edit(edits[1]).on);
    EXPECT_TRUE(edits_of_path({}).empty());
}

}  // namespace why_check_test
}  // namespace headlight::intervention
