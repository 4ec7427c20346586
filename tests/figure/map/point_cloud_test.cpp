// SPDX-License-Identifier: GPL-3.0-or-later
// The crowd of points: what is painted is a two-dimensional histogram, whatever the order of the points.
#include "figure/map/point_cloud.h"

#include "figure/map/map_plane.h"

#include <gtest/gtest.h>

#include <QImage>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace headlight::figure {
namespace point_cloud_test {

struct Points {
    std::vector<float> x, y, z;
    std::vector<std::uint8_t> colors;
    CloudPoints cloud() const { return {x, y, z, colors, {}}; }
};

Points random_points(std::size_t n, bool solid = false) {
    std::mt19937 random(3);
    std::normal_distribution<float> at(0, 0.6F);  // a tenth of them beyond the border
    Points out;
    for (std::size_t i = 0; i < n; ++i) {
        out.x.push_back(at(random)), out.y.push_back(at(random));
        if (solid) out.z.push_back(at(random));
        out.colors.push_back(static_cast<std::uint8_t>(random() % 2));
    }
    return out;
}

const std::vector<QRgb> two_colors{qRgb(255, 0, 0), qRgb(0, 0, 255)};
const QRect area(20, 10, 101, 67);

CloudView view() {
    CloudView v;
    v.origin = {70.5, 43.5};
    v.scale = 33.5;
    return v;
}

std::vector<CloudSum> counted(const CloudPoints& points, const CloudView& how, double radius) {
    std::vector<CloudSum> sums;
    count_points(points, how, {two_colors, radius, 0.5}, area, sums);
    return sums;
}

TEST(PointCloud, CountsAreAHistogram) {
    Points points = random_points(20'000);
    points.x[5] = std::numeric_limits<float>::quiet_NaN();
    points.colors[6] = cloud_hidden;
    const std::vector<CloudSum> sums = counted(points.cloud(), view(), 0.5);
    std::vector<std::uint32_t> red(sums.size()), blue(sums.size());
    for (std::size_t i = 0; i < points.x.size(); ++i) {
        if (i == 5 || i == 6) continue;
        // From border to border are 67 pixels, the outer ones hold what lies beyond.
        const double x = (std::clamp(double(points.x[i]), -1.0, 1.0) + 1) * 33.5 + 17;
        const double y = (1 - std::clamp(double(points.y[i]), -1.0, 1.0)) * 33.5;
        const auto column = static_cast<std::size_t>(x), row = std::min<std::size_t>(static_cast<std::size_t>(y), 66);
        ++(points.colors[i] == 0 ? red : blue)[row * 101 + column];
    }
    std::int64_t differing = 0;
    std::uint64_t cover = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        cover += sums[i].cover;
        differing += sums[i].red != red[i] * 255 * cloud_unit || sums[i].blue != blue[i] * 255 * cloud_unit;
    }
    EXPECT_EQ(cover, (points.x.size() - 2) * cloud_unit);
    EXPECT_LE(differing, 4);  // points within a float's rounding of an edge
}

TEST(PointCloud, TheOrderOfThePointsDoesNotMatter) {
    const Points points = random_points(3'000, true);
    std::vector<std::size_t> order(points.x.size());
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
    Points other;
    for (const std::size_t i : order) {
        other.x.push_back(points.x[i]), other.y.push_back(points.y[i]), other.z.push_back(points.z[i]);
        other.colors.push_back(points.colors[i]);
    }
    CloudView turned = view();
    turned.turn = orbit_turn(30, 20);
    for (const double radius : {0.5, 2.3})
        EXPECT_TRUE(std::ranges::equal(counted(points.cloud(), turned, radius), counted(other.cloud(), turned, radius),
                                       [](const CloudSum& a, const CloudSum& b) {
                                           return a.red == b.red && a.green == b.green && a.blue == b.blue && a.cover == b.cover;
                                       }));
}

TEST(PointCloud, ADiscCoversItsArea) {
    Points one;
    one.x = {0.013F}, one.y = {-0.021F}, one.colors = {0};
    for (const double radius : {1.0, 2.5, 4.0}) {
        double cover = 0;
        for (const CloudSum& s : counted(one.cloud(), view(), radius)) cover += s.cover;
        EXPECT_NEAR(cover / cloud_unit, 3.14159 * radius * radius, 0.35 + 0.1 * radius);
    }
}

TEST(PointCloud, MorePointsAreMoreOpaque) {
    Points points;
    QImage image(121, 77, QImage::Format_ARGB32_Premultiplied);
    for (const int wanted : {128, 191, 223}) {  // 255 (1 - 0.5^n)
        points.x.push_back(0), points.y.push_back(0), points.colors.push_back(1);
        paint_points(points.cloud(), view(), {two_colors, 0.5, 0.5}, area, {image.bits(), image.bytesPerLine()});
        EXPECT_NEAR(qAlpha(image.pixel(70, 43)), wanted, 1);
        EXPECT_EQ(reinterpret_cast<const QRgb*>(image.constScanLine(43))[70] & 0xff, unsigned(qAlpha(image.pixel(70, 43))));
        EXPECT_EQ(image.pixel(30, 20), 0U);
    }
}

TEST(PointCloud, WithoutATurnThreeDimensionsAreTwo) {
    Points points = random_points(500, true);
    std::ranges::fill(points.z, 1.0F);  // nearest: in full
    const std::vector<CloudSum> solid = counted(points.cloud(), view(), 0.5);
    points.z.clear();
    EXPECT_TRUE(std::ranges::equal(solid, counted(points.cloud(), view(), 0.5), {}, &CloudSum::cover, &CloudSum::cover));
}

TEST(Orbit, KeepsTheUprightAxisUprightAndIsARotation) {
    for (const auto& [yaw, pitch] : {std::pair(0.0, 0.0), std::pair(35.0, -20.0), std::pair(-130.0, 80.0)}) {
        const auto turn = orbit_turn(yaw, pitch);
        EXPECT_EQ(turn[0][1], 0.0F);  // up stays above its place: no roll
        EXPECT_GT(turn[1][1], 0.0F);
        for (std::size_t a = 0; a < 3; ++a)
            for (std::size_t b = 0; b < 3; ++b)
                EXPECT_NEAR(std::inner_product(turn[a].begin(), turn[a].end(), turn[b].begin(), 0.0F), a == b, 1e-6);
    }
}

map::HeadMap head_of(std::vector<float> points) {
    map::HeadMap head;
    head.points = std::move(points);
    return head;
}

TEST(MapPlane, HasOneScaleAndLeavesOutliersOutside) {
    std::vector<float> points;
    std::mt19937 random(5);
    std::uniform_real_distribution<float> wide(-10, 10), narrow(-1, 1);
    for (int i = 0; i < 1000; ++i) points.push_back(wide(random)), points.push_back(3 + narrow(random));
    points[0] = 5'000;  // an outlier
    points[2] = -800;   // a first token, set apart
    std::vector<std::uint8_t> apart(1000);
    apart[1] = 1;
    const MapPlane plane = map_plane(head_of(points), apart);
    EXPECT_NEAR(plane.half, 10 * 1.3 * 1.04, 0.5);  // grown as far as it may
    EXPECT_NEAR(plane.middle[1], 3, 0.1);
    EXPECT_GT(plane.x[0], 1);
    EXPECT_LT(plane.x[1], -1);
    const auto [low, high] = std::ranges::minmax(plane.y);
    EXPECT_NEAR(high - low, 2 / plane.half, 0.01);  // not stretched to the box
}

TEST(MapPlane, TakesPointsThatAreEqualOrNoNumbers) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const MapPlane equal = map_plane(head_of({4, 5, 4, 5, 4, 5}), {0, 0, 0});
    EXPECT_EQ(equal.x[2], 0);
    EXPECT_EQ(equal.half, 1);
    const MapPlane broken = map_plane(head_of({nan, 1, 2, nan, 3, 4}), {0, 0, 0});
    EXPECT_TRUE(std::isnan(broken.x[0]));
    EXPECT_TRUE(std::isnan(broken.x[1]));
    EXPECT_TRUE(std::isfinite(broken.x[2]));
    const MapPlane all_apart = map_plane(head_of({0, 0, 2, 2}), {1, 1});
    EXPECT_NEAR(all_apart.x[1], 1 / 1.04, 1e-5);
}

}  // namespace point_cloud_test
}  // namespace headlight::figure
