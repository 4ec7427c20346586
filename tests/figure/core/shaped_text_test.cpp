// SPDX-License-Identifier: GPL-3.0-or-later
// Texts on screen are drawn from kept glyphs: they look as Qt draws them.
#include "figure/core/draw.h"

#include <gtest/gtest.h>

#include <QImage>
#include <QPainter>

#include <algorithm>
#include <functional>
#include <thread>

namespace headlight::figure {
namespace shaped_text_test {

const QStringList& words() {
    static const QStringList all{QStringLiteral("·doctor"), QStringLiteral("naïve Ångström"), QStringLiteral("漢字 ⏎ ⇥"),
                                 QStringLiteral("العربية"), QStringLiteral("AVAToday fi"),    QStringLiteral("👍🏽 ok")};
    return all;
}

QImage painted(double ratio, const std::function<void(QPainter&)>& paint) {
    QImage image(QSize(300, 40) * ratio, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(ratio);
    image.fill(Qt::white);
    QPainter painter(&image);
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    paint(painter);
    return image;
}

/// Of 255, over all pixels that either has ink in.
double difference(const QImage& a, const QImage& b) {
    double sum = 0, inked = 0;
    for (int y = 0; y < a.height(); ++y)
        for (int x = 0; x < a.width(); ++x) {
            const int one = qGray(a.pixel(x, y)), other = qGray(b.pixel(x, y));
            sum += std::abs(one - other);
            inked += one < 255 || other < 255;
        }
    return inked > 0 ? sum / inked : 255;
}

TEST(ShapedText, LooksAsQtDrawsIt) {
    const QFont font = ui_font(13);
    for (const QString& word : words())
        for (const double ratio : {1.0, 2.0})
            for (const double x : {10.0, 10.3}) {
                SCOPED_TRACE(word.toStdString() + " at " + std::to_string(x) + ", ratio " + std::to_string(ratio));
                const QImage shown = painted(ratio, [&](QPainter& p) { draw::text(p, {x, 25}, word, font, Qt::black); });
                const QImage expected = painted(ratio, [&](QPainter& p) {
                    p.setFont(font);
                    p.setPen(Qt::black);
                    p.drawText(QPointF(x, 25), word);
                });
                EXPECT_LT(difference(shown, expected), 4);
                const QImage moved = painted(ratio, [&](QPainter& p) { draw::text(p, {x + 2, 25}, word, font, Qt::black); });
                EXPECT_GT(difference(shown, moved), 8) << "the bound above must see a shift";
                EXPECT_EQ(shown, painted(ratio, [&](QPainter& p) { draw::text(p, {x, 25}, word, font, Qt::black); })) << "kept";
            }
}

TEST(ShapedText, WidthsAreThoseOfTheFontMetrics) {
    for (const double size : {9.0, 13.0, 16.5})
        for (const QString& word : words()) {
            const QFont font = ui_font(size, QFont::DemiBold);
            EXPECT_EQ(draw::text_width(word, font), QFontMetricsF(font).horizontalAdvance(word));
            EXPECT_EQ(draw::elided(word, font, 1e4), word);
            EXPECT_LE(draw::text_width(draw::elided(word, font, 30), font), 30.01);
        }
    EXPECT_EQ(draw::text_width({}, ui_font(13)), 0);
}

/// More than are kept, in two threads: what comes again is as it was.
TEST(ShapedText, IsOfOneThreadAndSurvivesManyOthers) {
    const QFont font = ui_font(13);
    const auto draw_them = [&] {
        return painted(1, [&](QPainter& p) {
            draw::text(p, {10, 20}, QStringLiteral("first"), font, Qt::black);
            draw::number(p, {100, 20}, QStringLiteral("−12.5"), font, Qt::black);
        });
    };
    const QImage before = draw_them();
    QImage elsewhere;
    const auto many = [&](QImage& last) {
        for (int i = 0; i < 10'000; ++i) draw::text_width(QString::number(i), font);
        last = draw_them();
    };
    std::thread thread([&] { many(elsewhere); });
    QImage here;
    many(here);
    thread.join();
    EXPECT_EQ(here, before);
    EXPECT_EQ(elsewhere, before);
}

}  // namespace shaped_text_test
}  // namespace headlight::figure
