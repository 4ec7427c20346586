// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/plot/plot_figure.h"

#include "headlight/base/error.h"
#include "headlight/figure/export/export.h"
#include "tests/figure/plot/plot_sample.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace headlight::figure {
namespace plot_figure_test {

namespace fs = std::filesystem;
using plot::PlotFigure;
using testing::HasSubstr;
using testing::Not;

const Style style;

/// One panel of the marks (x, y) of one head each.
plot::PlotData few_points(const std::vector<std::pair<double, double>>& at) {
    plot::PlotData data = sample::named("few", "Few");
    plot::Series s;
    for (const auto& [x, y] : at) {
        s.heads.push_back({Layer(1), Head(static_cast<std::int64_t>(s.x.size()))});
        s.queries.emplace_back(static_cast<std::int64_t>(10 + s.x.size()));
        s.x.push_back(x), s.y.push_back(y);
    }
    data.panels.emplace_back().series.push_back(s);
    return data;
}

std::vector<plot::PlotData> every_kind() {
    std::vector<plot::PlotData> all = {sample::scatter(8, 60),     sample::scatter(32, 10), sample::histogram(12, false),
                                       sample::histogram(4, true), sample::stacked(17),     sample::stacked(60),
                                       sample::stacked(1),         sample::stacked(4000),   sample::layers(6, 8),
                                       sample::layers(1, 1),       sample::layers(48, 25)};
    return all;
}

TEST(PlotFigure, NoLabelOverlapsAnotherAtAnyWidth) {
    for (plot::PlotData& data : every_kind())
        for (const QSizeF room : {QSizeF(321, 0), QSizeF(672, 0), QSizeF(900, 500), QSizeF(1400, 800)}) {
            PlotFigure figure(data);
            const QSizeF size = figure.layout(room, style, {});
            EXPECT_LE(size.width(), room.width());
            std::vector<QRectF> boxes;
            for (const plot::Word& word : figure.frame().words) boxes.push_back(word.box);
            EXPECT_GE(boxes.size(), 4U);
            for (std::size_t a = 0; a < boxes.size(); ++a) {
                EXPECT_TRUE(QRectF(QPointF(0, 0), size).contains(boxes[a])) << data.view << ' ' << room.width();
                for (std::size_t b = 0; b < a; ++b)
                    EXPECT_FALSE(boxes[a].intersects(boxes[b])) << data.view << ' ' << room.width();
            }
            for (const plot::PanelFrame& panel : figure.frame().panels) {
                EXPECT_GE(panel.area.width(), 120) << data.view << ' ' << room.width();
                EXPECT_GE(panel.area.height(), 60) << data.view << ' ' << room.width();
            }
        }
}

/// The view of a window of 50 pixels has none: Qt reports every call of a painter that could not begin.
TEST(PlotFigure, PaintsInARoomWithoutPixels) {
    static int reported;
    reported = 0;
    const QtMessageHandler before = qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString& message) {
        reported += message.contains(QLatin1String("QPainter"));
    });
    for (plot::PlotData& data : every_kind())
        for (const QSizeF room : {QSizeF(0, 0), QSizeF(0, 300), QSizeF(3, 3), QSizeF(900, 0)}) {
            PlotFigure figure(data);
            figure.layout(room, style, {});
            QImage image(4, 4, QImage::Format_RGB32);
            QPainter painter(&image);
            figure.paint(painter, QRectF(0, 0, 4, 4), style, {});
        }
    qInstallMessageHandler(before);
    EXPECT_EQ(reported, 0);
}

TEST(PlotFigure, PanelsWithTheirOwnLegendsListTheirOwnSeries) {
    plot::PlotData data = sample::layers(6, 8);
    data.own_legends = data.stacked_panels = true;
    for (const double width : {321.0, 900.0}) {
        PlotFigure figure(data);
        figure.layout({width, 0}, style, {});
        for (const plot::LegendEntry& entry : figure.frame().legend) {
            const QRectF& area = figure.frame().panels[entry.panel].area;
            EXPECT_LE(entry.area.bottom(), area.top()) << width;
            EXPECT_GE(entry.area.top(), area.top() - 140) << width;
            EXPECT_GE(entry.area.left(), area.left() - 1) << width;
        }
        EXPECT_FALSE(figure.frame().legend.empty());
    }
}

TEST(PlotFigure, FillsTheCanvas) {
    PlotFigure figure(sample::scatter(8, 20));
    EXPECT_EQ(figure.layout({1000, 700}, style, {}), QSizeF(1000, 700));
    EXPECT_GT(figure.layout({1000, 80}, style, {}).height(), 150) << "no flatter than can be read";
}

TEST(PlotFigure, PanelsAreNeitherTooFlatForTheirAxesNorTallerThanWide) {
    plot::PlotData data = sample::named("panels", "Panels");
    for (int p = 0; p < 9; ++p) {
        data.panels.push_back(few_points({{0, 1}, {5, 2 + p}}).panels.front());
        data.panels.back().title = QStringLiteral("panel");
        data.panels.back().y.label = QStringLiteral("share of all attention");
    }
    for (const QSizeF room : {QSizeF(640, 480), QSizeF(1000, 2000), QSizeF(2490, 1250)}) {
        PlotFigure figure(data);
        figure.layout(room, style, {});
        EXPECT_TRUE(std::ranges::none_of(figure.frame().words, [](const plot::Word& w) { return w.text.contains(u'…'); }))
            << room.width();
        for (const plot::PanelFrame& panel : figure.frame().panels) {
            EXPECT_LE(panel.area.height(), panel.area.width());
            EXPECT_LE(panel.y_ticks.size(), 15U);
        }
    }
    PlotFigure wide(data);
    wide.layout({2490, 1250}, style, {});
    const std::vector<plot::PanelFrame>& panels = wide.frame().panels;
    EXPECT_LT(panels[2].area.top(), panels[3].area.top()) << "three in a row, where eight would fit";
    EXPECT_EQ(panels[3].area.top(), panels[5].area.top());
}

TEST(PlotFigure, TickLabelsStandAtTheirValues) {
    PlotFigure figure(sample::histogram(3, true));
    figure.layout({800, 500}, style, {});
    const plot::PanelFrame& panel = figure.frame().panels[0];
    std::size_t seen = 0;
    for (const plot::Word& word : figure.frame().words)
        for (const auto& [text, value] : {std::pair{"0.01", 0.01}, {"0.1", 0.1}})
            if (word.text == QLatin1String(text)) {
                ++seen;
                EXPECT_NEAR(word.box.center().x(), panel.x.px(value), 0.01) << text;
            }
    EXPECT_EQ(seen, 2U);
}

TEST(PlotFigure, PanelsUnderAndBesideEachOtherShareTheirEdges) {
    plot::PlotData data = sample::layers(6, 8);
    data.panels.push_back(data.panels[0]), data.panels.push_back(data.panels[1]);
    for (double& y : data.panels[2].series[0].y) y *= 1'000;  // wider labels
    data.panels[3].x.label.clear();
    PlotFigure figure(data);
    figure.layout({700, 0}, style, {});
    const auto& panels = figure.frame().panels;
    for (const auto& [a, b] : {std::pair(0U, 2U), std::pair(1U, 3U)}) {
        EXPECT_EQ(panels[a].area.left(), panels[b].area.left());
        EXPECT_EQ(panels[a].area.right(), panels[b].area.right());
        EXPECT_LT(panels[a].area.bottom(), panels[b].area.top());
    }
    for (const auto& [a, b] : {std::pair(0U, 1U), std::pair(2U, 3U)}) {
        EXPECT_EQ(panels[a].area.top(), panels[b].area.top());
        EXPECT_EQ(panels[a].area.bottom(), panels[b].area.bottom());
        EXPECT_LT(panels[a].area.right(), panels[b].area.left());
    }
}

TEST(PlotFigure, AUnitIsAsLongAcrossAsUpwardsWhereWanted) {
    plot::PlotData data = few_points({{-1, 0}, {1, 0.2}});
    data.panels[0].equal_units = true;
    PlotFigure figure(data);
    for (const QSizeF size : {QSizeF(900, 400), QSizeF(300, 900)}) {
        figure.layout(size, style, {});
        const plot::PanelFrame& panel = figure.frame().panels[0];
        EXPECT_NEAR(panel.x.px(1) - panel.x.px(0), panel.y.px(0) - panel.y.px(1), 1e-9);
        for (const QPointF at : {panel.at(-1, 0), panel.at(1, 0.2)}) EXPECT_TRUE(panel.area.contains(at));
    }
}

TEST(PlotFigure, LinesEndAtTheEdgesOfTheirPanel) {
    for (const auto kind : {plot::Series::Kind::line, plot::Series::Kind::steps}) {
        plot::PlotData data = sample::named("cut", "Cut");
        plot::Series s;
        s.kind = kind;
        s.x = {0, 1, 2, 3}, s.y = {1, 50, 1, -40};
        if (kind == plot::Series::Kind::steps) s.x.push_back(4);
        data.panels.emplace_back().series.push_back(s);
        data.panels[0].y.low = 0, data.panels[0].y.high = 3;
        PlotFigure figure(data);
        figure.layout({600, 400}, style, {});
        const plot::PanelFrame& panel = figure.frame().panels[0];
        const QPainterPath path = plot::line_path(panel, s);
        EXPECT_TRUE(panel.area.adjusted(-1.01, -1.01, 1.01, 1.01).contains(path.boundingRect()));
        EXPECT_GT(path.boundingRect().height(), panel.area.height()) << "up to both edges";
        EXPECT_TRUE(panel.area.contains(plot::area_path(panel, s).boundingRect()));
        if (kind == plot::Series::Kind::line) {
            EXPECT_EQ(path.elementCount(), 5) << "up, and down again beside it";
            const double slope = panel.y.px(50) - panel.y.px(1);
            EXPECT_NEAR((path.elementAt(1).y - path.elementAt(0).y) / (path.elementAt(1).x - path.elementAt(0).x),
                        slope / (panel.x.px(1) - panel.x.px(0)), 1e-6);
        }
    }
}

TEST(PlotFigure, HitsTellTheRightMarkAmongAHundredThousand) {
    plot::PlotData data = sample::scatter(10, 10'000);
    PlotFigure figure(data);
    figure.layout({1200, 800}, style, {});
    const plot::PanelFrame& frame = figure.frame().panels[0];
    for (std::size_t s : {0U, 4U, 9U})
        for (std::size_t i : {0U, 123U, 9'999U}) {
            const plot::Series& series = data.panels[0].series[s];
            const QPointF at = frame.at(series.x[i], series.y[i]);
            const Hit hit = figure.hit_test(at, style, {});
            ASSERT_TRUE(hit.head && hit.query);
            // Another dot may lie on the very same spot; then that is the nearest.
            const auto& found = data.panels[0].series[static_cast<std::size_t>(hit.head->head.value)];
            const auto q = static_cast<std::size_t>(hit.query->value);
            EXPECT_LT(QLineF(at, frame.at(found.x[q], found.y[q])).length(), 0.01);
            EXPECT_DOUBLE_EQ(*hit.value, found.y[q]);
        }
}

TEST(PlotFigure, HitsSayWhatToSelect) {
    PlotFigure figure(few_points({{0, 0}, {1, 2}, {4, 1}}));
    figure.layout({600, 400}, style, {});
    const plot::PanelFrame& frame = figure.frame().panels[0];
    const Hit hit = figure.hit_test(frame.at(1, 2) + QPointF(3, 3), style, {});
    EXPECT_EQ(hit.kind, Hit::Kind::pair);
    EXPECT_EQ(hit.head, (HeadId{Layer(1), Head(1)}));
    EXPECT_EQ(hit.query, Position(11));
    EXPECT_FALSE(hit.key);
    EXPECT_TRUE(hit.area.contains(frame.at(1, 2)));
    EXPECT_EQ(figure.hit_test(frame.at(2.5, 0.5), style, {}).kind, Hit::Kind::none);
}

TEST(PlotFigure, HitsOfBarsBinsColumnsAndTheLegend) {
    PlotFigure bars(sample::stacked(17));
    bars.layout({800, 500}, style, {});
    const auto& data = bars.data();
    const auto& panel = bars.frame().panels[0];
    // the middle of the third term's bar, on top of the others of its sign
    const double base = plot::stack_base(data.panels[0], 2, 3), y = data.panels[0].series[2].y[3];
    const Hit bar = bars.hit_test(panel.at(3, base + y / 2), style, {});
    EXPECT_EQ(bar.query, Position(3));
    EXPECT_DOUBLE_EQ(*bar.value, y);
    // below the axis, on the token: the column
    const Hit column = bars.hit_test({panel.x.px(5), panel.area.bottom() + 12}, style, {});
    EXPECT_EQ(column.kind, Hit::Kind::query);
    EXPECT_EQ(column.query, Position(5));
    EXPECT_EQ(column.tip, QStringLiteral("·the (5)"));

    PlotFigure bins(sample::histogram(3, false));
    bins.layout({800, 500}, style, {});
    const auto& series = bins.data().panels[0].series[1];
    const Hit bin = bins.hit_test(bins.frame().panels[0].at((series.x[9] + series.x[10]) / 2, series.y[9]), style, {});
    EXPECT_EQ(bin.head, (HeadId{Layer(3), Head(1)}));
    EXPECT_DOUBLE_EQ(*bin.value, series.y[9]);
    ASSERT_EQ(bins.frame().legend.size(), 3U);
    const Hit entry = bins.hit_test(bins.frame().legend[2].area.center(), style, {});
    EXPECT_EQ(entry.kind, Hit::Kind::head);
    EXPECT_EQ(entry.head, (HeadId{Layer(3), Head(2)}));
}

TEST(PlotFigure, NanIsAGapNotAZero) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    plot::PlotData data = sample::named("gap", "Gap");
    plot::Series line;
    line.kind = plot::Series::Kind::line;
    line.x = {0, 1, 2, 3, 4}, line.y = {1, 2, nan, 2, 1};
    data.panels.emplace_back().series.push_back(line);
    PlotFigure figure(data);
    figure.layout({600, 400}, style, {});
    const auto& panel = figure.frame().panels[0];
    std::size_t segments = 0;
    const auto check = [&](QPointF a, QPointF b) {
        ++segments;
        const QRectF across(QPointF(panel.x.px(1) + 1, 0), QPointF(panel.x.px(3) - 1, 1000));
        EXPECT_FALSE(across.intersects(QRectF(a, b).normalized().adjusted(0, -1, 0, 1))) << "drawn over the gap";
    };
    const QPainterPath path = plot::line_path(panel, line);
    for (int i = 1; i < path.elementCount(); ++i)
        if (path.elementAt(i).isLineTo()) check(path.elementAt(i - 1), path.elementAt(i));
    EXPECT_EQ(segments, 2U);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(figure.table().rows[2][3]));
    EXPECT_GT(panel.y.low, 0.5) << "the gap is not part of the range";
}

TEST(PlotFigure, PlotsWithoutAnyNumberAreStillLaidOut) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    plot::PlotData data = few_points({{nan, nan}});
    data.panels[0].empty = QStringLiteral("one token has no second");
    for (bool log : {false, true}) {
        data.panels[0].x.log = log;
        PlotFigure figure(data);
        const QSizeF size = figure.layout({400, 300}, style, {});
        QImage image(size.toSize(), QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        figure.paint(painter, QRectF(QPointF(0, 0), size), style, {});
        EXPECT_EQ(figure.hit_test(QPointF(200, 150), style, {}).kind, Hit::Kind::none);
        EXPECT_TRUE(figure.frame().panels[0].y_ticks.empty()) << "a reason stands in place of axes";
        EXPECT_TRUE(figure.frame().words.empty());
    }
    EXPECT_LT(PlotFigure(data).layout({400, 0}, style, {}).height(),
              PlotFigure(few_points({{1, 2}})).layout({400, 0}, style, {}).height());
}

TEST(PlotFigure, TheHoveredHeadStandsOutAndTheOthersFade) {
    PlotFigure figure(few_points({{1.03, 1.13}, {2.03, 2.13}, {3.03, 1.13}}));  // on no line of the grid
    const QSizeF size = figure.layout({600, 400}, style, {});
    const auto ink = [&](const Selection& selection, double x, double y) {
        QImage image(size.toSize(), QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        figure.paint(painter, QRectF(QPointF(0, 0), size), style, selection);
        const QColor c = image.pixelColor(figure.frame().panels[0].at(x, y).toPoint());
        return 255 - c.green();
    };
    Selection none, hovered;
    none.focus = {Layer(7), Head(0)};  // not in this plot
    hovered.hover_head = HeadId{Layer(1), Head(1)};
    const int before = ink(none, 1.03, 1.13);
    EXPECT_GT(before, 60);
    EXPECT_NEAR(ink(hovered, 1.03, 1.13), before * 0.25, before * 0.1);
    EXPECT_GE(ink(hovered, 2.03, 2.13), before * 0.95);
    EXPECT_EQ(ink(none, 1.03, 1.13), before) << "and back";
}

TEST(PlotFigure, AWorkerMayLayOutAndPaintIt) {
    PlotFigure here(sample::scatter(4, 30)), there(sample::scatter(4, 30));
    const auto painted = [](PlotFigure& figure) {
        const QSizeF size = figure.layout({500, 400}, style, {});
        QImage image(size.toSize(), QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        figure.paint(painter, QRectF(QPointF(0, 0), size), style, {});
        return image;
    };
    QImage image;
    std::thread worker([&] { image = painted(there); });
    worker.join();  // the GUI thread answers nothing meanwhile
    EXPECT_EQ(image, painted(here));
}

TEST(PlotFigure, TableAndArraysAreTheData) {
    PlotFigure figure(sample::layers(3, 2));
    const Table table = figure.table();
    ASSERT_EQ(table.rows.size(), 2U * (6 + 3));
    const plot::Series& dots = figure.data().panels[1].series[0];
    for (std::size_t i = 0; i < dots.size(); ++i) {
        EXPECT_EQ(std::get<double>(table.rows[9 + i][2]), dots.x[i]);
        EXPECT_EQ(std::get<double>(table.rows[9 + i][3]), dots.y[i]);
    }
    EXPECT_EQ(figure.arrays()[1].values[4], static_cast<float>(figure.data().panels[0].series[0].y[4]));
}

TEST(PlotFigure, ListsOfDifferentLengthsAreRefusedByName) {
    plot::PlotData data = few_points({{0, 0}, {1, 1}});
    data.panels[0].series[0].name = QStringLiteral("crooked");
    data.panels[0].series[0].heads.pop_back();
    try {
        plot::plot_figure(std::move(data));
        FAIL();
    } catch (const Error& e) {
        EXPECT_THAT(e.what(), HasSubstr("crooked"));
    }
}

class PlotFiles : public testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("headlight-plots-" + std::to_string(::getpid()));
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }
    std::string exported(plot::PlotData data, const std::string& name, double mm = 178) {
        const auto figure = plot::plot_figure(std::move(data));
        ExportOptions options;
        options.width_mm = mm;
        Provenance provenance;
        provenance.model = "tiny";
        export_figure(*figure, {}, provenance, options, folder_ / name);
        std::ifstream in(folder_ / name, std::ios::binary);
        std::ostringstream out;
        out << in.rdbuf();
        return out.str();
    }
    fs::path folder_;
};

TEST_F(PlotFiles, AreByteIdenticalTheSecondTime) {
    for (const char* extension : {"png", "svg", "pdf", "csv", "json"}) {
        const std::string name = std::string("a.") + extension;
        EXPECT_TRUE(exported(sample::scatter(8, 40), name) == exported(sample::scatter(8, 40), name)) << extension;
        EXPECT_TRUE(exported(sample::stacked(12), name) == exported(sample::stacked(12), name)) << extension;
    }
}

TEST_F(PlotFiles, SvgKeepsTextAsTextAndPointsAsShapes) {
    const std::string svg = exported(sample::scatter(8, 40), "a.svg");
    EXPECT_THAT(svg, HasSubstr(">magnitude |u| / |h|</text>"));
    EXPECT_THAT(svg, HasSubstr(">L3H7</text>"));
    EXPECT_THAT(svg, testing::ContainsRegex("font-size=\"11\"[^>]*>0\\.2</text>")) << "a tick, 11 px";
    EXPECT_THAT(svg,
                testing::ContainsRegex("<g transform=\"matrix\\(0,-1,1,0[^>]*>\n<text[^>]*>orientation cos\\(u, h\\)</text>"));
    EXPECT_THAT(svg, Not(HasSubstr("<image")));
    std::size_t circles = 0;
    for (auto at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) ++circles;
    EXPECT_GE(circles, 8U * 40);
}

TEST_F(PlotFiles, LargeCloudsBecomeAPictureInVectorFiles) {
    const std::string svg = exported(sample::scatter(10, 2'500), "a.svg");
    EXPECT_THAT(svg, HasSubstr("<image"));
    EXPECT_THAT(svg, HasSubstr(">magnitude |u| / |h|</text>"));
    EXPECT_THAT(svg, Not(HasSubstr("<circle")));
}

}  // namespace plot_figure_test
}  // namespace headlight::figure
