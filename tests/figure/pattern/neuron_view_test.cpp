// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/neuron/neuron_view_figure.h"

#include "tests/figure/novella.h"
#include "tests/figure/painting.h"
#include "tests/figure/pattern/neuron_sample.h"

#include <gtest/gtest.h>

#include <set>

namespace headlight::figure {
namespace neuron_view_test {

double cell_number(const Table& table, std::size_t row, const std::string& column) {
    const auto at = std::find(table.columns.begin(), table.columns.end(), column);
    return std::get<double>(table.rows[row][static_cast<std::size_t>(at - table.columns.begin())]);
}

TEST(NeuronView, OpacitiesAreThoseOfBertViz) {
    EXPECT_NEAR(number_opacity(2), 0.4621, 5e-5);
    EXPECT_NEAR(number_opacity(-2), 0.4621, 5e-5);
    EXPECT_EQ(number_opacity(0), 0);
    EXPECT_NEAR(connector_opacity(0.5), 0.7163, 5e-5);
    EXPECT_EQ(connector_opacity(0), 0);
}

TEST(NeuronView, ColourDivisorFollowsTheNumbersOnlyWhenFourWouldNotSeparateThem) {
    std::vector<float> usual(100, 3), small(100, 0.05f), large(100, 180);
    EXPECT_EQ(color_divisor(usual.data(), 100), 4);
    EXPECT_NEAR(color_divisor(small.data(), 100), 0.02, 1e-12);
    EXPECT_NEAR(color_divisor(large.data(), 100), 100, 1e-9);
    std::vector<float> zero(3, 0);
    EXPECT_EQ(color_divisor(zero.data(), 3), 4);
}

TEST(NeuronView, ShownTermsAddUpToTheShownScore) {
    // Rounded one by one these read 10.39 - 0.16 = 10.24.
    const std::vector<double> sum = round_to_sum({10.3944, -0.15625}, 10.23815, 2);
    EXPECT_NEAR(sum[0] + sum[1], 10.24, 1e-9);
    for (int i = 0; i < 2000; ++i) {
        const double dot = std::sin(i) * 20, position = -0.0078125 * i;
        const std::vector<double> s = round_to_sum({dot, position}, dot + position, 3);
        ASSERT_NEAR(s[0] + s[1], std::round((dot + position) * 1000) / 1000, 1e-9) << i;
        ASSERT_LT(std::abs(s[0] - dot), 1e-3) << i;
        ASSERT_LT(std::abs(s[1] - position), 1e-3) << i;
    }
    for (int i = 0; i < 2000; ++i) {  // four terms may miss two units
        const std::vector<double> terms{std::sin(i) * 9, std::cos(i * 1.3), std::sin(i * 2.7) * 3, std::cos(i * 0.7) * 0.5};
        const double score = terms[0] + terms[1] + terms[2] + terms[3];
        const std::vector<double> shown = round_to_sum(terms, score, 2);
        ASSERT_NEAR(shown[0] + shown[1] + shown[2] + shown[3], std::round(score * 100) / 100, 1e-9) << i;
        for (std::size_t t = 0; t < 4; ++t) ASSERT_LT(std::abs(shown[t] - terms[t]), 1e-2) << i;
    }
}

TEST(NeuronView, NumbersHaveARealMinusAndNoNegativeZero) {
    EXPECT_EQ(fixed(-0.204, 2), QStringLiteral("−0.20"));
    EXPECT_EQ(fixed(-0.004, 2), QStringLiteral("0.00"));
    EXPECT_EQ(dot_heading(0.125, 64), QStringLiteral("q·k / √64"));
    EXPECT_EQ(dot_heading(1, 64), QStringLiteral("q·k"));
    EXPECT_EQ(dot_heading(0.25, 64), QStringLiteral("q·k × 0.25"));
}

TEST(NeuronView, DrawnTableIsTheScore) {
    for (const double slope : {1.0 / 64, 0.0}) {
        NeuronFigure figure(sample::neuron({.slope = slope}), {});
        const Table table = figure.table();
        ASSERT_EQ(table.rows.size(), 14u);  // three later tokens are masked
        double all = 0;
        for (std::size_t row = 0; row < table.rows.size(); ++row) {
            double products = 0;
            for (int d = 0; d < 32; ++d) products += cell_number(table, row, "product_" + std::to_string(d));
            const double position = slope > 0 ? cell_number(table, row, "position") : 0;
            EXPECT_NEAR(cell_number(table, row, "scale") * products + position, cell_number(table, row, "score"), 2e-5);
            all += cell_number(table, row, "weight");
        }
        EXPECT_NEAR(all, 1, 1e-6);
    }
}

TEST(NeuronView, SortedOrderPutsTheLargestContributionOfTheStrongestKeyFirst) {
    const NeuronViewData data = sample::neuron({});
    const auto order = dimension_order(data, true);
    const auto row = data.view.products.row(data.strongest());
    for (std::size_t i = 1; i < order.size(); ++i) EXPECT_GE(row[order[i - 1]], row[order[i]]);
    EXPECT_EQ(std::set<std::int64_t>(order.begin(), order.end()).size(), 32u);
    NeuronFigure figure(data, {.sorted = true});
    EXPECT_EQ(figure.table().columns[13], "k_" + std::to_string(order[0]));
}

/// `dot`: room for the numbers of the first column.
void expect_columns_apart(const NeuronLayout& at, double dot, bool position) {
    EXPECT_GT(at.key_x, at.token_x + at.token_width);
    EXPECT_GT(at.product_x, at.key_x + at.strip_width);
    EXPECT_GT(at.dot_right - dot, at.product_x + at.strip_width);
    if (position) {
        EXPECT_GT(at.position_right - 50, at.dot_right);
    }
    EXPECT_GT(at.score_right - 50, at.position_right);
    EXPECT_GT(at.bar_x, at.score_right);
    EXPECT_LT(at.weighted_right, at.width - NeuronLayout::margin);
}

TEST(NeuronView, ColumnsDoNotOverlapAndEndInsideTheWidth) {
    for (const double width : {400.0, 884.0, 1180.0, 1800.0})
        for (const std::int64_t d_head : {4, 32, 64, 256})
            for (const double slope : {0.0, 0.25}) {
                const auto data = sample::neuron({.d_head = d_head, .slope = slope});
                const NeuronLayout at = neuron_layout(data, width, 60);
                expect_columns_apart(at, 50, slope > 0);
                EXPECT_EQ(at.folded, width < 500);
                if (!at.folded) {
                    EXPECT_GT(at.value_right - 40, at.weight_x + 38);
                }
                if (width >= 884) {
                    EXPECT_LE(at.width, width + 1e-9) << width << " " << d_head;
                }
            }
}

/// A vertical bar, a narrow window or a longer token takes room from the vectors and the gaps, and never cuts the last column.
TEST(NeuronView, ColumnsCloseUpBeforeTheyAreCut) {
    for (const double positions : {0.0, 40.0})
        for (const double token : {30.0, 90.0, 400.0}) {
            const auto data = sample::neuron({.d_head = 32, .slope = 0.25});
            double strip = 0;
            for (double width = 640; width < 1300; ++width) {
                const NeuronLayout at = neuron_layout(data, width, token, false, positions);
                ASSERT_LE(at.width, width + 1e-6) << "positions " << positions << ", token " << token;
                expect_columns_apart(at, 50, true);
                EXPECT_FALSE(at.folded);
                EXPECT_GE(at.strip_width, 56);
                EXPECT_NEAR(at.strip_width, strip, strip > 0 ? 3 : 1e9) << "no jump at " << width;
                strip = at.strip_width;
            }
        }
}

/// In half of a small window the lengths of values go, which tips and tables have, before anything is cut.
TEST(NeuronView, AHalfOfASmallWindowHasTheWholeSum) {
    for (const double slope : {0.0, 0.25})
        for (double width = slope > 0 ? 480 : 420; width < 640; ++width) {
            const auto data = sample::neuron({.d_head = 32, .slope = slope});
            const NeuronLayout at = neuron_layout(data, width, 90, false, slope > 0 ? 40 : 0);
            ASSERT_LE(at.width, width + 1e-6) << width;
            expect_columns_apart(at, 50, slope > 0);
            EXPECT_GE(at.strip_width, 28);
        }
    NeuronFigure figure(sample::neuron({.d_head = 32, .slope = 0.25}), {});
    const auto texts = [&](double width) {
        const QSizeF size = figure.layout({width, 500}, Style(), {});
        TextBoxes seen(size.toSize());
        QPainter painter(&seen);
        figure.paint(painter, QRectF({}, size), Style(), {});
        painter.end();
        QStringList all;
        for (const auto& [text, box] : seen.boxes) {
            all << text;
            EXPECT_LE(box.right(), size.width()) << text.toStdString();
        }
        return all;
    };
    EXPECT_FALSE(texts(500).contains(QStringLiteral("|v|")));
    EXPECT_TRUE(texts(500).contains(QStringLiteral("= score")));
    EXPECT_TRUE(texts(640).contains(QStringLiteral("|v|")));
}

/// No line overlaps another, and all are inside what is in sight.
TEST(NeuronView, TheFooterIsReadableInANarrowPane) {
    auto data = sample::neuron({.d_head = 32, .slope = 0.25});
    data.model = "a-model-with-a-rather-long-name-of-many-words-instruct";
    for (const double width : {400.0, 640.0, 884.0, 1180.0}) {
        NeuronFigure figure(data, {});
        const Style style;
        const QSizeF size = figure.layout({width, 500}, style, {});
        EXPECT_LE(size.width(), std::max(width, 640.0));
        for (const double left : {0.0, size.width() - width}) {
            TextBoxes seen(size.toSize());
            QPainter painter(&seen);
            figure.paint(painter, QRectF(left, 0, width, size.height()), style, {});
            painter.end();
            std::vector<QRectF> boxes;
            for (const auto& [text, box] : seen.boxes)
                if (box.top() > size.height() - figure.places().footer_height) boxes.push_back(box);
            ASSERT_GE(boxes.size(), 6u);
            for (std::size_t i = 0; i < boxes.size(); ++i) {
                EXPECT_GE(boxes[i].left(), left) << width;
                EXPECT_LE(boxes[i].right(), left + width) << width;
                EXPECT_LE(boxes[i].bottom(), size.height()) << width;
                for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(boxes[i].intersects(boxes[j])) << width << ": " << i << " " << j;
            }
        }
    }
}

TEST(NeuronView, AFileOfOneColumnOfAJournalHasTypeThatCanBeRead) {
    constexpr double column = 85 / 25.4 * 96;
    const auto data = sample::neuron({.d_head = 64, .slope = 0.25});
    const NeuronLayout at = neuron_layout(data, column, 90, true);
    EXPECT_GT(10.5 * 0.75 * column / at.width, 4.2) << "pt of the smallest type, at a width of " << at.width;
    expect_columns_apart(at, 45, true);
    EXPECT_GE(at.value_right - 36, at.weight_x + 46) << "\"<0.001\" stands there";
    EXPECT_GT(at.weighted_right - 40, at.value_right);
}

/// Content and rotary stand between the products and their sum, and what is exported has both.
TEST(NeuronView, PartsOfTheSumHaveColumnsOfTheirOwn) {
    NeuronViewData data = sample::neuron({.d_head = 32, .slope = 0});
    auto& view = data.view;
    view.content = 24;
    const float scale = float(view.scale);
    view.parts = {{"content", view.products.leftCols(24).rowwise().sum() * scale},
                  {"rotary", view.products.rightCols(8).rowwise().sum() * scale}};
    const NeuronLayout plain = neuron_layout(sample::neuron({.d_head = 32, .slope = 0}), 1400, 60),
                       at = neuron_layout(data, 1400, 60);
    EXPECT_TRUE(plain.parts_right.empty());
    ASSERT_EQ(at.parts_right.size(), 2u);
    EXPECT_GT(at.parts_right[0] - 50, at.product_x + at.strip_width);
    EXPECT_GT(at.parts_right[1] - 60, at.parts_right[0]);
    EXPECT_GT(at.score_right - 50, at.parts_right[1]);
    EXPECT_LE(at.width, 1400 + 1e-9);
    EXPECT_LE(neuron_layout(data, 884, 60).width, 884 + 1e-9);  // the pane of a window of 1440

    NeuronFigure figure(data, {});
    const Table table = figure.table();
    for (std::size_t row = 0; row < table.rows.size(); ++row)
        EXPECT_NEAR(cell_number(table, row, "content") + cell_number(table, row, "rotary"), cell_number(table, row, "qk_scaled"),
                    1e-5);
    std::vector<std::string> names;
    for (const NamedArray& array : figure.arrays()) names.push_back(array.name);
    EXPECT_EQ(std::count(names.begin(), names.end(), "content") + std::count(names.begin(), names.end(), "rotary"), 2);
    const QImage with = painted(figure, {1400, 700});
    // The line between the two stands in every row, also above the numbers.
    const NeuronLayout& places = figure.places();
    const double x = places.key_x + places.cell(0, 24).left();
    int darkest = 255;
    for (int dx = -2; dx <= 2; ++dx) darkest = std::min(darkest, qGray(with.pixel(int(x) + dx, int(places.row(2).top()) + 5)));
    EXPECT_LT(darkest, 200);
}

TEST(NeuronView, HitsNameRowDimensionAndQuery) {
    NeuronFigure figure(sample::neuron({}), {});
    Style style;
    const Selection selection;
    figure.layout({1180, 700}, style, selection);
    const NeuronLayout& at = figure.places();
    const double y = at.row(3).center().y();
    Hit hit = figure.hit_test({at.token_x + 4, y}, style, selection);
    EXPECT_EQ(hit.kind, Hit::Kind::pair);
    EXPECT_EQ(hit.key, Position{3});
    EXPECT_EQ(hit.query, Position{13});

    const double step = at.strip_width / 32;
    hit = figure.hit_test({at.product_x + 9.5 * step, y}, style, selection);
    EXPECT_EQ(hit.kind, Hit::Kind::dimension);
    EXPECT_EQ(hit.dimension, 9);
    EXPECT_FLOAT_EQ(float(*hit.value), sample::neuron({}).view.products(3, 9));
    hit = figure.hit_test({at.key_x + 31.5 * step, NeuronLayout::band_top + 20}, style, selection);
    EXPECT_EQ(hit.kind, Hit::Kind::dimension);
    EXPECT_FLOAT_EQ(float(*hit.value), sample::neuron({}).view.q[31]);
    EXPECT_EQ(figure.hit_test({at.token_x, NeuronLayout::band_top + 20}, style, selection).kind, Hit::Kind::query);
    EXPECT_EQ(figure.hit_test({at.token_x, 10}, style, selection).kind, Hit::Kind::none);
}

TEST(NeuronView, ScrolledRowsUnderTheQueryBandAreNotHit) {
    NeuronFigure figure(sample::neuron({.tokens = 500, .query = 499}), {});
    Style style;
    const Selection selection;
    const QSizeF size = figure.layout({1180, 600}, style, selection);
    EXPECT_GT(size.height(), 500 * 30);
    const QImage image = painted_part(figure, {1180, 600}, QRectF(0, 6000, 1180, 600), style);
    // The band with the query has moved to the top of what is seen: its soft blue, not a row, is painted there.
    EXPECT_EQ(image.pixelColor(900, 30), style.theme->accent_soft);
    EXPECT_EQ(figure.hit_test({900, 6030}, style, selection).kind, Hit::Kind::query);
    const Hit row = figure.hit_test({30, 6300}, style, selection);
    EXPECT_EQ(row.key, Position{*figure.places().row_at(6300)});
}

TEST(NeuronView, OneTokenIsItsOwnWholeTable) {
    NeuronFigure figure(sample::neuron({.tokens = 1, .query = 0}), {});
    const Table table = figure.table();
    ASSERT_EQ(table.rows.size(), 1u);
    EXPECT_EQ(cell_number(table, 0, "weight"), 1);
    EXPECT_NO_THROW(painted(figure, {1200, 300}));
}

TEST(NeuronView, LinesOfALongTextAreRefinedAsInTheHeadView) {
    std::string text = "The queen met the doctor";
    for (int i = 0; i < 200; ++i) text += " and then she saw the king and the nurse";
    const auto figure = neuron_view(novella(text), {Layer(3), Head(2)}, Position(5), {.collapsed = true});
    Style style;
    const QImage before = painted(*figure, {900, 600}, style);
    style.transfer.threshold = 0.2;
    EXPECT_EQ(painted(*figure, {900, 600}, style), before) << "lines of so many pairs are made beside the painting";
    for (int i = 0; i < 1000 && figure->refining(); ++i) {
        if (const Sharpening work = figure->sharpening()) work({})();
        painted(*figure, {900, 600}, style);
    }
    EXPECT_FALSE(figure->refining());
    EXPECT_NE(painted(*figure, {900, 600}, style), before);
}

}  // namespace neuron_view_test
}  // namespace headlight::figure
