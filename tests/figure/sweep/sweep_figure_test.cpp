// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/sweep/sweep_figure.h"
#include "figure/sweep/sweep_panels.h"

#include <gtest/gtest.h>

#include <QImage>
#include <QPainter>

#include <optional>
#include <set>

namespace headlight::figure {
namespace sweep_figure_test {

using intervention::CellState;
using intervention::Direction;
using intervention::Grid;
using intervention::SweepResult;

/// Two layers of three heads, or of four tokens, with given normalised effects; several pairs: each interval is value +- 0.1.
SweepResult result_of(Grid grid, const std::vector<double>& values, std::size_t pairs = 1) {
    SweepResult r;
    r.options = {.grid = grid, .direction = Direction::noise};
    r.axes = {.layers = 2, .heads = 3, .kv_heads = 3, .positions = 4, .neurons = {5, 5}, .experts = {4, 0}};
    r.cells = intervention::cells_of(grid, r.axes, {}, {});
    r.clean.assign(pairs, 2);
    r.corrupt.assign(pairs, -1);
    for (std::size_t i = 0; i < r.cells.size(); ++i) {
        const double value = values[i % values.size()];
        auto& cell = r.results.emplace_back();
        cell.normalized = value;
        cell.effect = -3 * value;
        cell.state = CellState::computed;
        if (pairs > 1) cell.low = cell.effect - 0.3, cell.high = cell.effect + 0.3;
        cell.pairs = static_cast<std::int64_t>(pairs);
    }
    r.effects.assign(pairs, std::vector<double>(r.cells.size()));
    for (const char* token : {"·The", "·queen", "·met", "·the"}) r.labels.emplace_back().text = token;
    return r;
}

struct Drawn {
    std::unique_ptr<Figure> figure;
    QImage image;
    Drawn(SweepResult r, double width, const Theme& theme = Theme::light())
        : figure(sweep_figure(std::make_shared<const SweepResult>(std::move(r)))) {
        Style style;
        style.theme = &theme;
        const QSizeF size = figure->layout({width, 0}, style, {});
        image = QImage(size.toSize(), QImage::Format_ARGB32_Premultiplied);
        image.fill(theme.canvas);
        QPainter painter(&image);
        figure->paint(painter, QRectF({}, size), style, {});
    }
    /// A cell's corner, found by its tip: in the middle may stand its number.
    std::optional<QPointF> find(const QString& words) const {
        for (int y = 0; y < image.height(); y += 2)
            for (int x = 0; x < image.width(); x += 2)
                if (const Hit hit = figure->hit_test(QPointF(x, y), {}, {}); hit.tip.contains(words))
                    return hit.area.topLeft() + QPointF(4, 4);
        return std::nullopt;
    }
    QColor at(QPointF point) const { return image.pixelColor(point.toPoint()); }
};

TEST(SweepFigure, ColoursAreSymmetricAroundZero) {
    for (const Theme* theme : {&Theme::light(), &Theme::dark_theme()}) {
        const Drawn drawn(result_of(Grid::z, {0.5, -0.5, 0, 0.25, -0.25, 0}), 500, *theme);
        const auto color = [&](const char* head) { return drawn.at(drawn.find(QString::fromLatin1(head)).value()); };
        EXPECT_EQ(color("L0H0").rgb(), signed_color(*theme, 1).rgb());
        EXPECT_EQ(color("L0H1").rgb(), signed_color(*theme, -1).rgb());
        EXPECT_EQ(color("L1H0").rgb(), signed_color(*theme, 0.5).rgb());
        EXPECT_EQ(color("L0H2").rgb(), signed_color(*theme, 0).rgb());
    }
}

/// 0.1 of the way is worth a number, where all of them have room.
TEST(SweepFigure, CellsThatSaySomethingHaveTheirNumber) {
    const auto ink = [](const std::vector<double>& values, double width, const char* head) {
        const Drawn drawn(result_of(Grid::z, values), width);
        const QPoint corner = drawn.find(QString::fromLatin1(head)).value().toPoint();
        std::set<QRgb> colors;
        for (int y = 0; y < 14; ++y)
            for (int x = 20; x < 60; ++x) colors.insert(drawn.image.pixel(corner + QPoint(x, y)));
        return colors.size();
    };
    const std::vector<double> values{0.5, -0.15, 0.09};
    EXPECT_GT(ink(values, 300, "L0H0"), 3u);
    EXPECT_GT(ink(values, 300, "L0H1"), 3u);
    EXPECT_EQ(ink(values, 300, "L0H2"), 1u) << "below 0.1";
}

TEST(SweepFigure, ACellIsToldInWords) {
    SweepResult r = result_of(Grid::z, {0.5});
    r.answer_words = {"·are"};
    r.wrong_words = {"·is"};
    r.results[4].value = 0.5;
    EXPECT_EQ(sweep_story(r, 4),
              QStringLiteral("With z L1H1 taken from the corrupt run, the logit difference “·are” − “·is” goes "
                             "from 2.00 to 0.500: 50.0 % of the way to −1.00."));
    EXPECT_EQ(sweep_cell_name(r, r.cells[4]), QStringLiteral("L1H1"));
    r.results[4].value = r.results[4].effect = kNaN;
    EXPECT_TRUE(sweep_story(r, 4).isEmpty());
    SweepResult many = result_of(Grid::resid_pre, {0.5}, 8);
    many.results[5].value = 0.5;
    const QString story = sweep_story(many, 5);
    EXPECT_TRUE(story.contains(QStringLiteral("on average"))) << story.toStdString();
    EXPECT_TRUE(story.endsWith(QStringLiteral("; over 8 pairs the effect's 95 % interval is −1.80 to −1.20.")))
        << story.toStdString();
}

/// Positions at which the pairs have different tokens have their number, or their name.
TEST(SweepFigure, PositionsOfManyPairsHaveNoPairsTokens) {
    SweepResult r = result_of(Grid::resid_pre, {0.5, 0.1}, 8);
    r.labels[1] = {};
    r.labels[2].text = "subject";
    const std::vector<SweepPanel> panels = sweep_panels(r);
    std::vector<QString> columns;
    for (const draw::Label& label : panels.at(0).columns) columns.push_back(label.text);
    EXPECT_EQ(columns, (std::vector<QString>{QStringLiteral("·The"), QStringLiteral("1"), QStringLiteral("subject"),
                                             QStringLiteral("·the")}));
}

/// A column of keys and values is of a group: it is framed with each head that reads it.
TEST(SweepFigure, TheFrameOfAGroupIsThatOfItsHeads) {
    SweepResult r = result_of(Grid::k, {0.5});
    r.axes.heads = 6;  // two heads read each of three
    const Theme& theme = Theme::light();
    Style style;
    style.theme = &theme;
    const auto figure = sweep_figure(std::make_shared<const SweepResult>(r));
    const auto painted = [&](int head) {
        Selection selection;
        selection.layer = Layer(1);
        selection.focus = {Layer(1), Head(head)};
        const QSizeF size = figure->layout({500, 0}, style, selection);
        QImage image(size.toSize(), QImage::Format_ARGB32_Premultiplied);
        image.fill(theme.canvas);
        QPainter painter(&image);
        figure->paint(painter, QRectF({}, size), style, selection);
        return image;
    };
    EXPECT_EQ(painted(4), painted(5));
    EXPECT_NE(painted(3), painted(4));
}

TEST(SweepFigure, CellsWhoseIntervalHoldsZeroAreFaint) {
    // +-0.1 around 0.05 holds 0, around 0.5 not.
    const Drawn drawn(result_of(Grid::z, {0.5, 0.05, 0.4}, 12), 500), sure(result_of(Grid::z, {0.5, 0.05, 0.4}), 500);
    const QPointF faint = drawn.find("L0H1").value(), full = drawn.find("L0H0").value();
    EXPECT_EQ(drawn.at(full), sure.at(sure.find("L0H0").value()));
    EXPECT_GT(drawn.at(faint).lightness(), sure.at(sure.find("L0H1").value()).lightness());
    EXPECT_TRUE(drawn.figure->hit_test(faint, {}, {}).tip.contains("of 12 pairs agree"));
}

TEST(SweepFigure, EveryGridFitsAColumnAndAPage) {
    for (const auto& row : enum_rows(Grid{}))
        for (const double width : {321.0, 673.0, 1000.0}) {
            const SweepResult r = result_of(row.value, {0.5, -0.2, 0.1});
            const auto figure = sweep_figure(std::make_shared<const SweepResult>(r));
            const QSizeF size = figure->layout({width, 0}, {}, {});
            EXPECT_LE(size.width(), width) << std::string(row.word);
            EXPECT_EQ(std::ssize(figure->table().rows), std::ssize(r.cells));
            // Every cell has a place of its own within the page.
            std::size_t found = 0;
            for (double y = 0.5; y < size.height(); y += 1)
                for (double x = 0.5; x < size.width(); x += 1)
                    found += figure->hit_test({x, y}, {}, {}).kind != Hit::Kind::none ? 1 : 0;
            EXPECT_GT(found, r.cells.size()) << std::string(row.word) << " at " << width;
        }
}

TEST(SweepFigure, WhatIsNotAlignedIsHatchedAndSaysSo) {
    SweepResult r = result_of(Grid::resid_pre, {0.5});
    r.results[2] = {};
    r.missing = 1;
    const Drawn drawn(std::move(r), 500);
    const QPointF gap = drawn.find("not aligned").value();
    std::set<QRgb> colors;
    for (int dx = 0; dx <= 12; ++dx) colors.insert(drawn.image.pixel(gap.toPoint() + QPoint(dx, 0)));
    EXPECT_GT(colors.size(), 1u) << "lines on the canvas";
    EXPECT_FALSE(colors.contains(signed_color(Theme::light(), 0.5).rgb()));
}

TEST(SweepFigure, WhatIsNotComputedYetIsBlankAndSaysSo) {
    SweepResult r = result_of(Grid::resid_pre, {0.5});
    r.results[2] = {.state = CellState::pending};
    r.complete = false;
    const Drawn drawn(std::move(r), 500);
    const QPointF gap = drawn.find("not computed yet").value();
    for (int dx = 0; dx <= 12; ++dx) EXPECT_EQ(drawn.at(gap + QPointF(dx, 0)).rgb(), Theme::light().canvas.rgb());
}

TEST(SweepFigure, ErrorsOfEstimatesHaveMapsOfTheirOwnOnOneScale) {
    SweepResult r = result_of(Grid::resid_pre, {0.5});
    r.options.method = intervention::Method::both;
    r.results[1].normalized = 1;
    r.results[1].effect = -3;
    for (auto& cell : r.results) cell.estimate = cell.effect;
    r.results[2].estimate = r.results[2].effect - 0.75;  // a gap of -3: a quarter of it
    const auto figure = sweep_figure(std::make_shared<const SweepResult>(r));
    figure->layout({900, 0}, {}, {});
    std::vector<double> values;
    for (int y = 0; y < 400; y += 3)
        for (int x = 0; x < 900; x += 3) {
            const Hit hit = figure->hit_test(QPointF(x, y), {}, {});
            if (hit.options == std::vector<std::pair<std::string, std::string>>{{"cell", "2"}} &&
                (values.empty() || values.back() != *hit.value) && values.size() < 2)
                values.push_back(*hit.value);
        }
    ASSERT_EQ(values.size(), 2u) << "the effect and its error";
    EXPECT_NEAR(values[0], 0.5, 1e-12);
    EXPECT_NEAR(values[1], 0.25, 1e-12);
}

/// Points stand where their two numbers are; the table has their difference.
TEST(SweepFigure, TotalAgainstDirectEffects) {
    SweepResult r = result_of(Grid::z, {0.5, -0.5, 0, 0.25, -0.25, 0});
    r.options.effect = intervention::Effect::both;
    r.complete = true;
    const std::vector<double> direct = {-1.5, 0.5, 0, -0.25, 0.75, 1};  // total: -1.5, 1.5, 0, -0.75, 0.75, 0
    for (std::size_t i = 0; i < direct.size(); ++i) r.results[i].direct = direct[i];
    const analyze::Table table = intervention::table_of(r);
    const auto column = [&](const char* name) {
        return static_cast<std::size_t>(std::ranges::find(table.columns, name) - table.columns.begin());
    };
    const double mediated[] = {0, 1, 0, -0.5, 0, -1};
    for (std::size_t i = 0; i < direct.size(); ++i) {
        EXPECT_EQ(std::get<double>(table.rows[i][column("direct")]), direct[i]);
        EXPECT_EQ(std::get<double>(table.rows[i][column("mediated")]), mediated[i]);
    }
    const Drawn drawn(r, 600);
    const auto point = [&](const char* head) { return drawn.find(QString::fromLatin1(head)).value(); };
    const QPointF low = point("L0H0"), next = point("L0H1"), up = point("L1H1"), right = point("L1H2");
    const double x = (next.x() - low.x()) / 2, y = (low.y() - next.y()) / 3;  // px for an effect of 1
    EXPECT_NEAR(up.x() - low.x(), 2.25 * x, 1.5);
    EXPECT_NEAR(low.y() - up.y(), 2.25 * y, 1.5);
    EXPECT_NEAR(right.x() - low.x(), 2.5 * x, 1.5);
    EXPECT_NEAR(low.y() - right.y(), 1.5 * y, 1.5);
    const Hit hit = drawn.figure->hit_test(next, {}, {});
    EXPECT_EQ(hit.options, (std::vector<std::pair<std::string, std::string>>{{"cell", "1"}}));
    EXPECT_TRUE(hit.tip.contains(QStringLiteral("direct 0.500  total 1.50  through other heads 1.00"))) << hit.tip.toStdString();
}

/// A token's leading space is part of it.
TEST(SweepFigure, TheFooterQuotesATokenWithItsSpace) {
    Provenance made;
    made.options = {{"answer", " other"}, {"metric", "logprob"}};
    EXPECT_TRUE(made.footer().contains(QStringLiteral("answer “ other” · metric logprob"))) << made.footer().toStdString();
}

/// A file's page is filled where there is room; a narrow column is as it was.
TEST(SweepFigure, AFilesMapIsLargerOnALargerPage) {
    const auto size_at = [](double width) {
        const auto figure = sweep_figure(std::make_shared<const SweepResult>(result_of(Grid::z_by_position, {0.5})));
        Style style;
        style.exporting = true;
        return figure->layout({width, 0}, style, {});
    };
    EXPECT_GT(size_at(1000).height(), size_at(330).height());
}

/// "clean 2.00" at the end of a line stays together.
TEST(SweepFigure, AMetricStandsBesideItsRun) {
    const QString words = sweep_words(result_of(Grid::z, {0.5}));
    EXPECT_TRUE(words.contains(QStringLiteral("logit difference: clean\u00a02.00, corrupt\u00a0−1.00"))) << words.toStdString();
}

}  // namespace sweep_figure_test
}  // namespace headlight::figure
