// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/sparsity/sparsity_map.h"
#include "figure/sparsity/sparsity_views.h"
#include "headlight/figure/core/request.h"
#include "headlight/figure/core/round_step.h"
#include "tests/figure/novella.h"
#include "tests/figure/painting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace sparsity_view_test {

const std::string doctor = "The old doctor asked the nurse to wait, because the old doctor was late.";

SparsityMapFigure figure_of(const TracePtr& trace, HeadId id, const analyze::SparsityOptions& options, std::int64_t cells) {
    SparsityMapData data;
    data.map = analyze::sparse_map(*trace, id, options, cells);
    data.options = options;
    data.tokens = analyze::pattern_axes(*trace, analyze::PatternOptions{}).keys;
    return SparsityMapFigure(std::move(data));
}

TEST(SparsityView, SaysWhereTheSchemeCoversTheWholeText) {
    using analyze::SparseScheme;
    const auto notes = [](const analyze::SparsityOptions& options, std::int64_t tokens) {
        return whole_text_notes(options, tokens).join(u'|').toStdString();
    };
    const std::string window = "The window covers the whole text: choose a smaller window in the options";
    EXPECT_EQ(notes({}, 512),
              window + "|The selected blocks cover the whole text: choose fewer or smaller blocks in the options");
    EXPECT_EQ(notes({}, 1024), "The selected blocks cover the whole text: choose fewer or smaller blocks in the options");
    EXPECT_EQ(notes({}, 1025), "");
    EXPECT_EQ(notes({.scheme = SparseScheme::window, .window = 17}, 17), window);
    EXPECT_EQ(notes({.scheme = SparseScheme::sinks, .window = 17}, 18), "");
    EXPECT_EQ(notes({.scheme = SparseScheme::topk, .budget = 64}, 65), "");
    EXPECT_NE(notes({.scheme = SparseScheme::topk, .budget = 64}, 64), "");
    // What the note says is so.
    const TracePtr trace = novella(doctor);
    const auto found = analyze::sparsity(*trace, {.select = 8, .top = 3});
    EXPECT_NEAR(found->of({Layer(4), Head(5)}).mean.kept, 1, 1e-5);
}

TEST(SparsityView, CellsBarsAndTipsAreTheMap) {
    const TracePtr trace = novella(doctor);
    const HeadId id{Layer(4), Head(5)};
    SparsityMapFigure figure = figure_of(trace, id, {.scheme = analyze::SparseScheme::window, .window = 3}, 512);
    const Style style;
    const QSizeF size = figure.layout({900, 700}, style, {});
    const SparsityMapLayout& at = figure.places();
    EXPECT_TRUE(at.tokens_named);
    EXPECT_LE(at.strip.right(), size.width());
    EXPECT_GE(at.map.left(), at.label_extent) << "room for the labels";
    const double cell = at.map.width() / double(trace->tokens());
    const auto point = [&](std::int64_t query, std::int64_t key) {
        return at.map.topLeft() + QPointF((double(key) + 0.5) * cell, (double(query) + 0.5) * cell);
    };
    const auto weights = analyze::pattern(*trace, id, {});
    const Hit read = figure.hit_test(point(13, 12), style, {}), lost = figure.hit_test(point(13, 4), style, {});
    EXPECT_EQ(read.kind, Hit::Kind::pair);
    EXPECT_EQ(lost.query, Position(13));
    EXPECT_EQ(lost.key, Position(4));
    EXPECT_DOUBLE_EQ(*lost.value, double(weights(13, 4)));
    EXPECT_TRUE(read.tip.contains(QStringLiteral("window of 3"))) << read.tip.toStdString();
    EXPECT_TRUE(lost.tip.endsWith(QStringLiteral("not read"))) << lost.tip.toStdString();
    EXPECT_EQ(figure.hit_test(point(4, 13), style, {}).kind, Hit::Kind::none) << "the future";
    const Hit row = figure.hit_test({at.strip.center().x(), point(13, 0).y()}, style, {});
    EXPECT_EQ(row.query, Position(13));
    EXPECT_NEAR(*row.value, double(weights(13, 11) + weights(13, 12) + weights(13, 13)), 1e-6);
    ASSERT_TRUE(figure.row_of_query(Position(13)));
    EXPECT_NEAR(figure.row_of_query(Position(13))->center().y(), point(13, 0).y(), 1e-6);
}

/// What a scheme reads stands on a tint, what it does not read on the canvas.
TEST(SparsityView, TintsSayWhatIsRead) {
    const TracePtr trace = novella(doctor);
    SparsityMapFigure figure = figure_of(trace, {Layer(0), Head(0)}, {.scheme = analyze::SparseScheme::window, .window = 3}, 512);
    const Style style;
    const QImage image = painted(figure, {900, 700}, style);
    const SparsityMapLayout& at = figure.places();
    const double cell = at.map.width() / double(trace->tokens());
    const auto weights = analyze::pattern(*trace, {Layer(0), Head(0)}, {});
    const auto color = [&](std::int64_t q, std::int64_t k) {
        return image.pixelColor((at.map.topLeft() + QPointF((double(k) + 0.5) * cell, (double(q) + 0.5) * cell)).toPoint());
    };
    const auto on_canvas = [&](std::int64_t q, std::int64_t k) {
        const double t = double(weights(q, k));
        const QColor ink = ramp_color(style.ramp, *style.theme, t);
        return draw::blended(style.theme->canvas, ink, std::min(1.0, 1.2 * std::sqrt(t)));
    };
    for (const std::int64_t q : {6, 10, 14}) {
        EXPECT_EQ(color(q, q - 4).rgb(), on_canvas(q, q - 4).rgb());
        EXPECT_NE(color(q, q - 1).rgb(), on_canvas(q, q - 1).rgb());
    }
}

TEST(SparsityView, ALongTextIsPooledAndHasNumbersForLabels) {
    std::string text;
    for (int i = 0; i < 20; ++i) text += doctor + " ";
    const TracePtr trace = novella(text);
    SparsityMapFigure figure = figure_of(trace, {Layer(4), Head(5)}, {.window = 16}, 64);
    const QSizeF size = figure.layout({900, 700}, Style(), {});
    EXPECT_FALSE(figure.places().tokens_named);
    const Hit hit = figure.hit_test(figure.places().map.bottomLeft() + QPointF(3, -3), Style(), {});
    EXPECT_TRUE(hit.tip.contains(QStringLiteral("largest weight"))) << hit.tip.toStdString();
    EXPECT_LE(figure.places().map.bottom(), size.height());
}

TEST(SparsityView, TheViewHasAllHeadsBelow) {
    const TracePtr trace = novella(doctor);
    ViewState state;
    state.view = "sparsity";
    state.layer = Layer(4);
    state.heads = {Head(5)};
    state.values = {{"scheme", "sinks"}, {"window", "4"}};
    const auto figure = make_figure(trace, state);
    EXPECT_EQ(figure->table().rows.size(), 48u);
    EXPECT_GT(figure->layout({1000, 700}, Style(), {}).height(), 700);
    EXPECT_TRUE(figure->title().startsWith(QStringLiteral("L4H5")));
    // Curves below name the queries that a mean is of: those from the last power of two on, not all up to the next one.
    const auto found = analyze::sparsity(*trace, {.scheme = analyze::SparseScheme::sinks, .window = 4});
    ASSERT_EQ(found->lengths, (std::vector<std::int64_t>{16, 32}));
    const QString words = QStringLiteral("queries 16 to %1  keeps %2")
                              .arg(trace->tokens() - 1)
                              .arg(draw::value_text(found->of({Layer(4), Head(5)}).by_length[1]));
    const QSizeF size = figure->layout({1000, 700}, Style(), {});
    const auto tips = tips_in(*figure, {1, 400, size.width() - 1, size.height() - 400}, 3, 3);
    EXPECT_TRUE(tips.contains(QStringLiteral("L4H5  ") + words)) << words.toStdString();

    // NSA reads a key in several branches: of a short text more than all keys of the dense head.
    state.values = {{"scheme", "nsa"}};
    const auto nsa = make_figure(trace, state);
    const QSizeF of_nsa = nsa->layout({1000, 700}, Style(), {});
    const auto said = tips_in(*nsa, {1, 400, of_nsa.width() - 1, of_nsa.height() - 400}, 3, 3);
    const auto says = [&](const char* what) {
        return std::ranges::any_of(said, [&](const QString& tip) { return tip.contains(QString::fromUtf8(what)); });
    };
    EXPECT_TRUE(says("of the dense head’s reads, counted in each branch"));
    EXPECT_FALSE(says("of the pairs")) << "200 % of the pairs";
}

TEST(SparsityView, PercentagesHaveADigitMoreBelowTenAndADashWithoutANumber) {
    EXPECT_EQ(percent_text(0.0312), QStringLiteral("3.1 %"));
    EXPECT_EQ(percent_text(0.45), QStringLiteral("45 %"));
    EXPECT_EQ(percent_text(std::nan("")), QStringLiteral("–")) << "of a text of one token";
}

TEST(RoundStep, StandsFarEnoughApart) {
    EXPECT_EQ(round_step(30'000, 1200, 60), 2000);
    EXPECT_EQ(round_step(10, 1200, 60), 1);
    EXPECT_EQ(round_step(1000, 1000, 60), 100);
    EXPECT_GE(round_step(5, 1, 60), 5) << "one label, whatever room there is";
}

}  // namespace sparsity_view_test
}  // namespace headlight::figure
