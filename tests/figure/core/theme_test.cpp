// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/draw.h"

#include <gtest/gtest.h>

#include <QFontInfo>
#include <QGlyphRun>
#include <QRawFont>
#include <QTextLayout>

#include <array>
#include <cmath>

namespace headlight::figure {
namespace theme_test {

// CIE L* of an sRGB colour.
double lightness(const QColor& c) {
    auto linear = [](double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
    const double y = 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
    return y > 0.008856 ? 116 * std::cbrt(y) - 16 : 903.3 * y;
}

double relative_luminance(const QColor& c) {
    const double l = (lightness(c) + 16) / 116;
    return lightness(c) > 8 ? l * l * l : lightness(c) / 903.3;
}

TEST(Theme, WordsAndNumbersStandOutFromEverythingBehindThem) {
    for (const Theme* theme : {&Theme::light(), &Theme::dark_theme()})
        for (const QColor& text : {theme->text, theme->muted, theme->accent})
            for (const QColor& behind : {theme->canvas, theme->panel, theme->bar, theme->chip, theme->accent_soft}) {
                const double a = relative_luminance(text), b = relative_luminance(behind);
                EXPECT_GE((std::max(a, b) + 0.05) / (std::min(a, b) + 0.05), 4.5)
                    << text.name().toStdString() << " on " << behind.name().toStdString();
            }
}

TEST(Theme, RampsGoOneWayInEvenStepsOfLightness) {
    for (Ramp ramp : {Ramp::ink, Ramp::viridis, Ramp::cividis, Ramp::magma}) {
        const Theme& theme = Theme::light();
        const double whole = lightness(ramp_color(ramp, theme, 1)) - lightness(ramp_color(ramp, theme, 0));
        for (int i = 0; i < 8; ++i) {
            const double step = lightness(ramp_color(ramp, theme, (i + 1) / 8.0)) - lightness(ramp_color(ramp, theme, i / 8.0));
            EXPECT_NEAR(step / whole, 1 / 8.0, 0.045) << static_cast<int>(ramp) << " step " << i;
        }
    }
}

TEST(Theme, RampsAreThePublishedOnes) {
    const Theme& theme = Theme::light();
    EXPECT_EQ(ramp_color(Ramp::viridis, theme, 0).name(), "#440154");
    EXPECT_EQ(ramp_color(Ramp::viridis, theme, 0.5).name(), "#21918c");
    EXPECT_EQ(ramp_color(Ramp::viridis, theme, 7).name(), "#fde725");
    EXPECT_EQ(ramp_color(Ramp::magma, theme, 0.5).name(), "#b73779");
    EXPECT_EQ(ramp_color(Ramp::ink, Theme::dark_theme(), 0), ramp_color(Ramp::viridis, theme, 0));
}

TEST(Theme, ZeroOfASignedScaleIsTheCanvas) {
    for (const Theme* theme : {&Theme::light(), &Theme::dark_theme()}) {
        EXPECT_EQ(signed_color(*theme, 0), theme->canvas);
        EXPECT_EQ(signed_color(*theme, 1), theme->positive);
        EXPECT_EQ(signed_color(*theme, -3), theme->negative);
    }
}

TEST(Theme, InkZeroIsNotTheCanvas) {
    // A weight of zero must not look like a pair that is masked.
    EXPECT_NE(ramp_color(Ramp::ink, Theme::light(), 0), Theme::light().canvas);
}

/// CIE L*, a*, b*.
std::array<double, 3> lab(const QColor& c) {
    const auto linear = [](double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
    const auto root = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16 / 116.0; };
    const double r = linear(c.redF()), g = linear(c.greenF()), b = linear(c.blueF());
    const double x = root((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047), y = root(0.2126 * r + 0.7152 * g + 0.0722 * b),
                 z = root((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
    return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

TEST(Theme, HeadsOfALayerHaveDifferentColours) {
    EXPECT_EQ(head_color(Theme::light(), HeadPalette::category10, 5).name(), "#8c564b");
    for (const Theme* theme : {&Theme::light(), &Theme::dark_theme()})
        for (const HeadPalette palette : {HeadPalette::category10, HeadPalette::okabe_ito})
            for (int i = 1; i < 32; ++i)
                for (int j = 0; j < i; ++j) {
                    const auto a = lab(head_color(*theme, palette, i)), b = lab(head_color(*theme, palette, j));
                    const double distance = std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
                    EXPECT_GE(distance, i < 12 ? 18 : 7.5) << "heads " << j << " and " << i;
                }
}

TEST(Theme, TextOnAColouredBoxHasContrast) {
    const Theme& light = Theme::light();
    EXPECT_EQ(text_on(light, light.heads[5]), QColor(Qt::white));
    EXPECT_EQ(text_on(light, light.canvas), light.text);
    EXPECT_EQ(text_on(light, ramp_color(Ramp::viridis, light, 1)), light.text);
    EXPECT_EQ(text_on(Theme::dark_theme(), Theme::dark_theme().heads[8]), Theme::dark_theme().canvas);
}

TEST(Fonts, InterIsUsed) {
    EXPECT_EQ(QFontInfo(ui_font(14)).family(), QStringLiteral("Inter"));
    EXPECT_GT(draw::text_width(QStringLiteral("Layer"), ui_font(15, QFont::DemiBold)),
              draw::text_width(QStringLiteral("Layer"), ui_font(15)));
}

TEST(Fonts, NumbersOfEqualLengthAreEquallyWide) {
    const QFont font = ui_font(12);
    EXPECT_DOUBLE_EQ(draw::number_width(QStringLiteral("0.111"), font), draw::number_width(QStringLiteral("0.848"), font));
    EXPECT_DOUBLE_EQ(draw::number_width(QStringLiteral("−0.11"), font), draw::number_width(QStringLiteral("10.11"), font));
}

TEST(Numbers, AreReadableAndHonest) {
    EXPECT_EQ(draw::weight_text(0.83561), QStringLiteral("0.836"));
    EXPECT_EQ(draw::weight_text(0.0001), QStringLiteral("<0.001"));
    EXPECT_EQ(draw::weight_text(0), QStringLiteral("0.000"));
    EXPECT_EQ(draw::number_text(-0.138), QStringLiteral("−0.14"));
    EXPECT_EQ(draw::number_text(-0.001), QStringLiteral("−0.00100"));
    EXPECT_EQ(draw::count_text(12345), QStringLiteral("12,345"));
}

TEST(Axes, LabelsNeverOverlap) {
    for (double cell : {0.2, 1.0, 3.0, 7.0, 14.0, 15.5, 40.0, 90.0}) {
        const std::vector<double> widths{30, 62, 18, 44};
        const double line = 15;
        const draw::AxisFit columns = draw::fit_columns(widths, cell, line, 60);
        if (columns.upwards) {
            EXPECT_GE(columns.stride * cell, line) << cell;
        } else {
            EXPECT_GT(cell, 62);
        }
        const draw::AxisFit rows = draw::fit_rows(widths, cell, line, 60);
        EXPECT_GE(rows.stride * cell, line) << cell;
        EXPECT_LE(rows.extent, 60);
    }
}

TEST(Axes, SayHowManyLabelsAreMissing) {
    const draw::AxisFit fit = draw::fit_rows(std::vector<double>(1001, 20), 2, 15, 60);
    EXPECT_EQ(fit.stride, 10);
    EXPECT_EQ(fit.left_out(1001), 1001 - 101);
    EXPECT_EQ(draw::left_out_text(fit, 1001), QStringLiteral("every 10th label shown, 900 left out"));
    EXPECT_EQ(draw::left_out_text({}, 1001), QString());
}

// Inter would draw arrows and multiplication signs, which the text does not have.
TEST(Fonts, EveryGlyphIsThatOfACharacterTyped) {
    for (const int weight : {int(QFont::Normal), int(QFont::DemiBold), int(QFont::Bold)}) {
        const QFont font = ui_font(14, weight);
        for (const char* typed : {"->", "<0x94>", "3x4 => 12", "-->", "f(x) != <= >="}) {
            const QString text = QString::fromLatin1(typed);
            QTextLayout layout(text, font);
            layout.beginLayout();
            layout.createLine();
            layout.endLayout();
            const QList<QGlyphRun> runs = layout.glyphRuns();
            ASSERT_EQ(runs.size(), 1);
            EXPECT_EQ(runs[0].glyphIndexes(), runs[0].rawFont().glyphIndexesForString(text)) << typed << " " << weight;
        }
        EXPECT_GE(QFontInfo(font).weight(), weight) << "no weight is lost";
    }
}

}  // namespace theme_test
}  // namespace headlight::figure
