// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/draw.h"
#include "figure/prediction/token_lines.h"
#include "headlight/figure/core/theme.h"

#include <QImage>
#include <QPainter>

#include <gtest/gtest.h>

namespace headlight::figure {
namespace labels_test {

std::vector<analyze::AxisItem> items(std::int64_t count) {
    std::vector<analyze::AxisItem> all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back({.label = "word", .continuation = "", .first = Position(i)});
    return all;
}

QImage painted(const draw::Label& label, double width, draw::Align align) {
    QImage image(static_cast<int>(width), 20, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::white);
    QPainter painter(&image);
    draw::token(painter, QRectF(0, 0, width, 20), label, ui_font(13), Theme::light(), align);
    return image;
}

TEST(Labels, HavePositionsInLongTexts) {
    const auto shorter = items(long_text - 1), longer = items(long_text);
    EXPECT_EQ(draw::label_in(shorter, 7).position, -1);
    EXPECT_EQ(draw::label_in(longer, 7).position, 7);
    EXPECT_EQ(draw::labels_in(longer).back().position, long_text - 1);
    EXPECT_EQ(draw::position_room(shorter, ui_font(13)), 0);
    const draw::Label plain = draw::label_in(shorter, 7), numbered = draw::label_in(longer, 7);
    EXPECT_DOUBLE_EQ(draw::token_width(numbered, ui_font(13)),
                     draw::token_width(plain, ui_font(13)) + draw::position_room(longer, ui_font(13)));
    EXPECT_EQ(numbered.with_position(Position(7)), QStringLiteral("word (7)"));
}

/// The number stands at the outer edge; where there is no room for both, the token has it.
TEST(Labels, ShowTheirPositionWhereThereIsRoom) {
    const draw::Label plain = draw::label_in(items(3), 2), numbered = draw::label_in(items(long_text), 123);
    const double room = draw::token_width(numbered, ui_font(13));
    for (const draw::Align align : {draw::Align::left, draw::Align::right, draw::Align::center}) {
        EXPECT_EQ(painted(numbered, std::floor(room) - 1, align), painted(plain, std::floor(room) - 1, align));
        EXPECT_NE(painted(numbered, std::ceil(room) + 20, align), painted(plain, std::ceil(room) + 20, align));
    }
    const int width = static_cast<int>(std::ceil(room)) + 40, token = width / 2;
    const QImage right = painted(numbered, width, draw::Align::right), without = painted(plain, width, draw::Align::right);
    EXPECT_EQ(right.copy(token, 0, width - token, 20), without.copy(token, 0, width - token, 20));
    EXPECT_NE(right.copy(0, 0, token, 20), without.copy(0, 0, token, 20));
}

TEST(Labels, LinesOfALongTextBeginWithAPosition) {
    TokenLines shorter, longer;
    shorter.layout(items(long_text - 1), {10, 0}, 400);
    longer.layout(items(long_text), {10, 0}, 400);
    EXPECT_EQ(shorter.box(0).left(), 10);
    EXPECT_GT(longer.box(0).left(), 10 + draw::number_width(QStringLiteral("199"), ui_font(10)));
    for (std::int64_t i = 0; i < long_text; ++i) EXPECT_LE(longer.box(i).right(), 410);
    QImage image(420, 26, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::white);
    const QImage empty = image.copy(0, 0, 34, 26);
    {
        QPainter painter(&image);
        longer.paint(painter, QRectF(0, 0, 420, 26), Theme::light(), [](std::size_t) { return QColor(); });
    }
    EXPECT_NE(image.copy(0, 0, 34, 26), empty);
}

}  // namespace labels_test
}  // namespace headlight::figure
