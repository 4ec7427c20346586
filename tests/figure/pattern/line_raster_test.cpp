// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/head/line_raster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace headlight::figure {
namespace line_raster_test {

constexpr int kWidth = 90, kHeight = 64;

struct Ends {
    double x0, y0, x1, y1;
};

QImage picture(const std::vector<Ends>& lines, double thickness, const QColor& color, double opacity) {
    LineRaster raster(kWidth, kHeight);
    for (const Ends& l : lines) raster.line(l.x0, l.y0, l.x1, l.y1, thickness, color, opacity);
    return raster.image();
}

double covered(const QImage& image) {
    double sum = 0;
    for (int y = 0; y < kHeight; ++y)
        for (int x = 0; x < kWidth; ++x) sum += qAlpha(image.pixel(x, y)) / 255.0;
    return sum;
}

// A line is cut along the pixels at its ends, so between them it covers thickness * length.
TEST(LineRaster, CoversTheAreaOfALine) {
    for (const Ends& l :
         {Ends{10, 20, 80, 44}, Ends{10, 44, 80, 20}, Ends{5, 32, 85, 32}, Ends{40.3, 5, 52.8, 60}, Ends{40, 60, 41, 5}})
        for (const double thickness : {2.0, 3.3}) {
            const double length = std::hypot(l.x1 - l.x0, l.y1 - l.y0);
            EXPECT_NEAR(covered(picture({l}, thickness, Qt::black, 1)), thickness * length, 0.02 * thickness * length)
                << l.x0 << " " << l.y0 << " " << l.x1 << " " << l.y1;
        }
}

TEST(LineRaster, LeavesOutWhatIsOutsideThePicture) {
    EXPECT_EQ(covered(picture({{2, -500, 88, -10}, {2, 80, 88, 4000}, {2, -3, 88, -3}, {-50, 5, -10, 60}, {95, 5, 120, 60}}, 2,
                              Qt::black, 1)),
              0);
    // From far above to far below, at a slope of 20: what is left of it has the height of the picture.
    const double dx = 86, dy = 1720, length = std::hypot(dx, dy);
    EXPECT_NEAR(covered(picture({{2, -800, 2 + dx, -800 + dy}}, 2, Qt::black, 1)), 2 * length * kHeight / dy, 1);
}

TEST(LineRaster, FaintLinesAddUp) {
    const QImage image = picture(std::vector<Ends>(100, Ends{2, 32, 88, 32}), 2, QColor(200, 100, 50), 1 / 255.0);
    const double alpha = 1 - std::pow(1 - 1 / 255.0, 100);
    for (const int y : {31, 32}) {
        const QColor color = image.pixelColor(45, y);
        EXPECT_NEAR(color.alphaF(), alpha, 0.6 / 255);
        EXPECT_NEAR(color.red(), 200, 4);
        EXPECT_NEAR(color.green(), 100, 4);
        EXPECT_NEAR(color.blue(), 50, 4);
    }
    EXPECT_EQ(qAlpha(image.pixel(45, 30)), 0);
}

// Beside a pixel that is covered there is one that is not, at any place among the four that become bytes together.
TEST(LineRaster, EachPixelHasTheColourOfItsOwnAlpha) {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> anywhere(-60, 120), part(0.01, 0.99);
    LineRaster raster(kWidth + 1, kHeight + 1);
    for (int i = 0; i < 60; ++i) raster.line(2, anywhere(random), 88, anywhere(random), 2, QColor(255, 100, 50), part(random));
    raster.line(86, kHeight - 0.5, 91, kHeight, 2, QColor(255, 100, 50), 0.9);  // into the last pixels
    const QImage image = raster.image();
    double most = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) {
            const QRgb p = reinterpret_cast<const QRgb*>(image.constScanLine(y))[x];
            const int alpha = qAlpha(p);
            EXPECT_EQ(qRed(p), alpha) << x << " " << y;
            EXPECT_NEAR(qGreen(p), alpha * 100 / 255.0, 1) << x << " " << y;
            EXPECT_NEAR(qBlue(p), alpha * 50 / 255.0, 1) << x << " " << y;
            most = std::max(most, static_cast<double>(alpha));
        }
    EXPECT_GT(most, 250);
    EXPECT_GT(qAlpha(image.pixel(kWidth, kHeight)), 0);
}

}  // namespace line_raster_test
}  // namespace headlight::figure
