// SPDX-License-Identifier: GPL-3.0-or-later
// Head, matrix and model view of layers without a softmax, and what all other views say of such a model.
#include "figure/pattern/head/head_view.h"
#include "headlight/analyze/pattern/implied.h"
#include "headlight/base/error.h"
#include "headlight/figure/core/request.h"
#include "headlight/figure/core/view_spec.h"
#include "tests/figure/painting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

namespace headlight::figure {
namespace implied_views_test {

using testing::HasSubstr;

TracePtr mamba2(const std::string& text = "the cat, the hat: the cat on the hat") {
    static const std::filesystem::path folder =
        std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/state_updates/mamba2";
    static const auto model = model::Model::load(folder);
    static const auto tokenizer = text::Tokenizer::load(folder);
    return trace::run(model, tokenizer, {.text = text});
}

ViewState state_of(const char* view, std::vector<Head> heads = {Head(1)}) {
    ViewState state;
    state.view = view;
    state.layer = Layer(1);
    state.heads = std::move(heads);
    return state;
}

TEST(ImpliedViews, SayThatTheyAreImpliedAndSigned) {
    const TracePtr trace = mamba2();
    for (const char* view : {"head", "matrix", "model"}) {
        const auto figure = make_figure(trace, state_of(view), {}, {});
        EXPECT_THAT(figure->title().toLower().toStdString(), HasSubstr("implied")) << view;
        EXPECT_THAT(figure->description().toStdString(), HasSubstr("rows do not sum to 1")) << view;
        EXPECT_EQ(figure->view(), view);
    }
}

TEST(ImpliedViews, TheMatrixHoldsTheMapWithItsSigns) {
    const TracePtr trace = mamba2();
    const auto arrays = make_figure(trace, state_of("matrix"), {}, {})->arrays();
    const analyze::Matrix map = analyze::implied_map(*trace, {Layer(1), Head(1)}, trace->tokens());
    ASSERT_EQ(std::ssize(arrays.front().values), map.size());
    bool negative = false;
    for (Eigen::Index i = 0; i < map.size(); ++i) {
        const float x = map.data()[i];
        EXPECT_EQ(arrays.front().values[static_cast<std::size_t>(i)], std::isfinite(x) ? x : 0);
        negative = negative || x < 0;
    }
    EXPECT_TRUE(negative);
}

TEST(ImpliedViews, TheHeadViewDrawsLinesHoweverLargeTheWeights) {
    const TracePtr trace = mamba2();
    const Table small = make_figure(trace, state_of("head"), {}, {})->table();
    EXPECT_GT(small.rows.size(), 20u);
    std::set<std::string> signs;
    for (const auto& row : small.rows) signs.insert(std::get<std::string>(row.front()));
    EXPECT_EQ(signs, (std::set<std::string>{"weight above 0", "weight below 0"}));
    HeadViewData data;
    data.axes = analyze::pattern_axes(*trace, {});
    const auto n = std::ssize(data.axes.queries);
    data.heads = {Head(0)};
    data.n_heads = 1;
    data.difference = true;
    data.limit = 400;
    data.together = QStringLiteral("a map");
    data.weights = {analyze::Matrix::Constant(n, n, 200), analyze::Matrix::Zero(n, n)};
    const Table large = head_figure(std::move(data))->table();
    ASSERT_EQ(std::ssize(large.rows), n * n);
    EXPECT_FLOAT_EQ(static_cast<float>(std::get<double>(large.rows.front().back())), 0.5F) << "the opacity";
}

TEST(ImpliedViews, APooledCellIsTheFarthestFromZeroOfItsPairs) {
    const TracePtr trace = mamba2();
    const std::int64_t tokens = trace->tokens(), cells = 3;
    const analyze::Matrix map = analyze::implied_map(*trace, {Layer(0), Head(0)}, tokens),
                          pooled = analyze::implied_map(*trace, {Layer(0), Head(0)}, cells);
    for (std::int64_t r = 0; r < cells; ++r)
        for (std::int64_t c = 0; c <= r; ++c) {
            float farthest = 0;
            for (std::int64_t i = r * tokens / cells; i < (r + 1) * tokens / cells; ++i)
                for (std::int64_t j = c * tokens / cells; j < (c + 1) * tokens / cells; ++j)
                    if (std::abs(map(i, j)) > std::abs(farthest)) farthest = map(i, j);
            EXPECT_EQ(pooled(r, c), farthest) << r << ", " << c;
        }
    EXPECT_TRUE(std::isnan(pooled(0, cells - 1)));
}

TEST(ImpliedViews, TheModelViewFindsEveryHead) {
    const TracePtr trace = mamba2();
    const auto figure = make_figure(trace, state_of("model"), {}, {});
    const Style style;
    const QSizeF size = figure->layout({900, 700}, style, {});
    std::set<HeadId> found;
    for (double y = 2; y < size.height(); y += 8)
        for (double x = 2; x < size.width(); x += 8)
            if (const Hit hit = figure->hit_test({x, y}, style, {}); hit.kind == Hit::Kind::head && hit.head)
                found.insert(*hit.head);
    EXPECT_EQ(std::ssize(found), trace->config().n_layers * trace->config().n_heads);
}

TEST(ImpliedViews, OptionsOfSoftmaxWeightsAreErrors) {
    const TracePtr trace = mamba2();
    const auto failure = [&](const ViewState& state) -> std::string {
        try {
            make_figure(trace, state, {}, {});
        } catch (const Error& e) {
            return e.what();
        }
        return "no error";
    };
    for (const char* view : {"head", "matrix", "model"}) {
        ViewState state = state_of(view);
        state.pattern.merge_words = true;
        EXPECT_THAT(failure(state), HasSubstr("implied map")) << view;
    }
    ViewState parts = state_of("matrix");
    parts.values["parts"] = "1";
    EXPECT_THAT(failure(parts), HasSubstr("--parts"));
}

TEST(ImpliedViews, AllOtherViewsSayWhyTheyAreMissing) {
    const TracePtr trace = mamba2();
    const std::set<std::string> there = {"head", "matrix", "model", "lens", "predictions", "architecture"};
    for (const ViewSpec& spec : view_specs()) {
        if (spec.compares) continue;
        const std::string why = why_missing(spec, *trace, state_of(spec.id.c_str()));
        if (there.contains(spec.id))
            EXPECT_EQ(why, "") << spec.id;
        else
            EXPECT_THAT(why, testing::AnyOf(HasSubstr("softmax attention"), HasSubstr("picture"))) << spec.id;
    }
    for (const std::string& id : there) {
        const auto figure = make_figure(trace, state_of(id.c_str()), {}, {});
        EXPECT_FALSE(figure->layout({900, 700}, {}, {}).isEmpty()) << id;
    }
}

}  // namespace implied_views_test
}  // namespace headlight::figure
