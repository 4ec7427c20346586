// SPDX-License-Identifier: GPL-3.0-or-later
// Head and matrix view of the built-in model: what is drawn is what the analyses say.
#include "headlight/figure/core/view_spec.h"
#include "headlight/figure/pattern/pattern_views.h"
#include "tests/figure/novella.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight::figure {
namespace from_trace_test {

class FromTrace : public testing::Test {
protected:
    /// Weight of a pair in a figure's table; NaN when it is not drawn.
    static double weight(const Figure& figure, std::int64_t query, std::int64_t key) {
        const Table table = figure.table();
        for (const auto& row : table.rows)
            if (std::get<std::int64_t>(row[2]) == query && std::get<std::int64_t>(row[4]) == key) return std::get<double>(row[6]);
        return std::numeric_limits<double>::quiet_NaN();
    }

    const TracePtr trace_ = novella("The old doctor asked the nurse to wait, because the old doctor was late.");
};

TEST_F(FromTrace, HeadViewDrawsTheModelsWeights) {
    // transformers, fp32: layer 4 head 5, the second "doctor" attends to "asked" with 0.8356
    const auto figure = head_view(trace_, Layer(4), {Head(5)}, {});
    EXPECT_NEAR(weight(*figure, 13, 4), 0.8356, 5e-4);
    const auto rows = figure->table().rows;
    EXPECT_EQ(std::get<std::string>(rows.back()[3]), ".");
    EXPECT_EQ(figure->title(), QStringLiteral("Layer 4"));
}

TEST_F(FromTrace, BothViewsTakeHeadsInAnyOrderAndAgree) {
    const auto lines = head_view(trace_, Layer(4), {Head(5), Head(1), Head(5)}, {});
    EXPECT_EQ(lines->arrays()[0].shape, (std::vector<std::int64_t>{2, 17, 17}));
    const auto map = matrix_view(trace_, {{Layer(4), Head(1)}, {Layer(4), Head(5)}}, {});
    EXPECT_EQ(lines->arrays()[0].values, map->arrays()[0].values);
}

TEST_F(FromTrace, OptionsReachTheMapAndTheLegend) {
    analyze::PatternOptions options;
    options.hide_sinks = true;
    const auto hidden = matrix_view(trace_, {{Layer(4), Head(5)}}, options);
    EXPECT_EQ(hidden->arrays()[0].shape[2], 16);
    const double plain = weight(*matrix_view(trace_, {{Layer(4), Head(5)}}, {}), 13, 4);
    EXPECT_GT(weight(*hidden, 13, 4), plain) << "rows sum to 1 again";
}

/// NaN equals NaN; columns are summed over other rows in float32 where no maps are pooled.
bool same(const Table::Cell& a, const Table::Cell& b) {
    const double* x = std::get_if<double>(&a);
    const double* y = std::get_if<double>(&b);
    if (!x || !y || std::isnan(*x)) return a == b || (x && y && std::isnan(*y));
    return std::abs(*x - *y) <= 1e-6 * std::max(1.0, std::abs(*x));
}

TEST_F(FromTrace, EveryViewIsTheSameOfARunThatGathersWhatTheViewReads) {
    // Long enough for the model view to draw the run's own maps.
    std::string text;
    for (int i = 0; i < 8; ++i) text += "The old doctor asked the nurse to wait. ";
    const TracePtr whole = novella(text);
    std::size_t made = 0, smaller = 0;
    for (const ViewSpec& spec : view_specs()) {
        ViewState state;
        state.view = spec.id;
        state.layer = Layer(4);
        state.heads = {Head(5)};
        if (!why_missing(spec, *whole, state).empty()) continue;
        SCOPED_TRACE(spec.id);
        const TracePtr part = novella(text, {.globs = {}, .overview = spec.overview});
        const Table a = make_figure(whole, state)->table(), b = make_figure(part, state)->table();
        ASSERT_EQ(a.rows.size(), b.rows.size());
        ++made, smaller += !spec.overview.has({});
        for (std::size_t r = 0; r < a.rows.size(); ++r)
            for (std::size_t c = 0; c < a.rows[r].size(); ++c) ASSERT_TRUE(same(a.rows[r][c], b.rows[r][c])) << r << ", " << c;
    }
    EXPECT_GT(made, 25U);
    EXPECT_GT(smaller, 25U) << "a run that gathers everything tests nothing";
}

}  // namespace from_trace_test
}  // namespace headlight::figure
