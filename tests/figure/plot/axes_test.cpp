// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/plot/axes.h"

#include <gmock/gmock.h>

namespace headlight::figure::plot {
namespace axes_test {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
    std::vector<std::string> out;
    for (const Tick& tick : ticks) out.push_back(tick.label.toStdString());
    return out;
}

Panel panel_of(std::vector<double> x, std::vector<double> y, Series::Kind kind = Series::Kind::points) {
    Panel panel;
    Series& s = panel.series.emplace_back();
    s.kind = kind, s.x = std::move(x), s.y = std::move(y);
    return panel;
}

TEST(NumberTicks, StepsAreRoundAndDecimalsThoseOfTheStep) {
    EXPECT_THAT(labels(number_ticks(0, 1, 5)), ElementsAre("0.0", "0.2", "0.4", "0.6", "0.8", "1.0"));
    EXPECT_THAT(labels(number_ticks(-0.03, 0.06, 4)), ElementsAre("−0.025", "0.000", "0.025", "0.050"));
    EXPECT_THAT(labels(number_ticks(-12'500, 3, 3)), ElementsAre("−10,000", "−5,000", "0"));
    EXPECT_THAT(labels(number_ticks(0, 3e-7, 3)), ElementsAre("0", "1e−07", "2e−07", "3e−07"));
    EXPECT_THAT(labels(number_ticks(0, 2e30, 2)), ElementsAre("0", "1e+30", "2e+30")) << "more than counts can hold";
}

TEST(NumberTicks, WholeNumbersAloneWhereAnAxisCounts) {
    EXPECT_THAT(labels(number_ticks(0, 3, 12, true)), ElementsAre("0", "1", "2", "3"));
    EXPECT_THAT(labels(number_ticks(-0.5, 23.5, 9, true)), ElementsAre("0", "5", "10", "15", "20")) << "never every 2.5";
}

TEST(FittingTicks, OfLayersEndWithThem) {
    for (const int layers : {2, 6, 12, 30, 61, 126}) {
        Panel panel = panel_of({0, layers - 1.0}, {0, 1});
        panel.x.integer = true;
        for (const double beside : {0.0, 0.2}) {
            if (beside > 0) panel.x.low = -beside, panel.x.high = layers - 1 + beside;
            Scale scale = axis_scale(panel, true);
            for (scale.end = 150; scale.end < 2500; scale.end *= 1.5) {
                const auto ticks = fitting_ticks(panel.x, scale, true);
                ASSERT_FALSE(ticks.empty());
                EXPECT_EQ(ticks.front().label, QStringLiteral("0")) << layers;
                EXPECT_LE(ticks.back().value, layers - 1) << layers;
            }
        }
    }
}

TEST(LogTicks, OneStyleOfNumbersOnAnAxis) {
    const auto ticks = [](double low, double high) { return labels(log_ticks(low, high, 6)); };
    EXPECT_THAT(ticks(100, 200'000), IsSupersetOf({"100", "1,000", "10,000", "100,000"}));
    EXPECT_THAT(ticks(0.02, 3), ElementsAre("0.02", "0.05", "0.1", "0.2", "0.5", "1", "2"));
    for (const auto& [low, high] : {std::pair(1.0, 1e6), std::pair(1e-3, 1e3)})
        for (const std::string& label : ticks(low, high)) EXPECT_EQ(label.find("⁰"), std::string::npos) << label;
    for (const auto& [low, high] : {std::pair(1e-6, 1.0), std::pair(10.0, 1e9)})
        for (const std::string& label : ticks(low, high)) EXPECT_EQ(label.substr(0, 2), "10") << label << " between powers";
    EXPECT_THAT(ticks(10, 1e9), Contains("10⁴"));
    EXPECT_THAT(ticks(2e8, 3e9), Contains("5·10⁸"));
}

TEST(FittingTicks, NoLabelTouchesTheNextHoweverShortTheAxis) {
    for (const bool log : {false, true})
        for (const bool is_x : {false, true})
            for (double length = 5; length < 900; length *= 1.7)
                for (const auto& [low, high] : {std::pair(0.001, 0.0123), std::pair(1.0, 4.0), std::pair(1.0, 3e6)}) {
                    Axis axis;
                    axis.log = log;
                    const Scale scale{.low = low, .high = high, .log = log, .begin = 10, .end = 10 + length};
                    const auto ticks = fitting_ticks(axis, scale, is_x);
                    for (std::size_t i = 1; i < ticks.size(); ++i) {
                        const double size = is_x ? (label_width(ticks[i].label, ui_font(tick_font)) +
                                                    label_width(ticks[i - 1].label, ui_font(tick_font))) /
                                                       2
                                                 : 9;
                        EXPECT_GT(scale.px(ticks[i].value) - scale.px(ticks[i - 1].value), size) << low << " over " << length;
                    }
                    EXPECT_TRUE(length < 150 || ticks.size() >= 2) << low << " over " << length;
                }
}

TEST(AxisScale, LeavesRoomAroundTheDataUnlessTight) {
    Panel panel = panel_of({0, 10}, {2, 4});
    const Scale loose = axis_scale(panel, true);
    EXPECT_DOUBLE_EQ(loose.low, -0.5);
    EXPECT_DOUBLE_EQ(loose.high, 10.5);
    panel.x.tight = true, panel.y.from_zero = true;
    EXPECT_DOUBLE_EQ(axis_scale(panel, true).high, 10);
    EXPECT_DOUBLE_EQ(axis_scale(panel, false).low, 0);
    EXPECT_DOUBLE_EQ(axis_scale(panel, false).high, 4.2);
}

TEST(AxisScale, HoldsStackedBarsReferencesAndGivenEnds) {
    Panel panel = panel_of({0, 1}, {3, -1}, Series::Kind::stacked);
    panel.series.push_back(panel.series[0]);
    panel.y.tight = true;
    EXPECT_DOUBLE_EQ(axis_scale(panel, false).low, -2);
    EXPECT_DOUBLE_EQ(axis_scale(panel, false).high, 6);
    panel.references.push_back({{}, 8, {}, false, false});
    EXPECT_DOUBLE_EQ(axis_scale(panel, false).high, 8);
    panel.y.high = 7;
    EXPECT_DOUBLE_EQ(axis_scale(panel, false).high, 7);
}

TEST(AxisScale, IsNeverEmptyNorInfinite) {
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
    for (const std::vector<double>& values :
         {std::vector<double>{}, {nan}, {infinite, nan}, {0, 0}, {5, 5}, {-3}, {1e-300}, {1e300}})
        for (const bool log : {false, true}) {
            Panel panel = panel_of(values, values);
            panel.x.log = log;
            const Scale scale = axis_scale(panel, true);
            EXPECT_LT(scale.low, scale.high);
            EXPECT_TRUE(std::isfinite(scale.low) && std::isfinite(scale.high));
            EXPECT_FALSE(log && scale.low <= 0);
        }
}

TEST(Scale, GoesThereAndBack) {
    const Scale scale{.low = 1e-3, .high = 10, .log = true, .begin = 300, .end = 20};
    EXPECT_DOUBLE_EQ(scale.px(1e-3), 300);
    EXPECT_DOUBLE_EQ(scale.px(0.1), 160);
    EXPECT_NEAR(scale.value(scale.px(0.037)), 0.037, 1e-12);
    EXPECT_TRUE(std::isnan(scale.px(0))) << "no place on a log axis";
}

}  // namespace axes_test
}  // namespace headlight::figure::plot
