// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/draw.h"
#include "figure/prediction/token_lines.h"
#include "headlight/figure/core/theme.h"
#include "headlight/figure/export/export.h"
#include "tests/figure/synthetic.h"
#include "tests/support/temp_folder.h"

#include <QImage>
#include <QPainter>
#include <QXmlStreamReader>

#include <gtest/gtest.h>

namespace headlight::figure {
namespace labels_test {

std::vector<analyze::AxisItem> items(std::int64_t count) { return synthetic::axes(static_cast<int>(count)).queries; }

QImage painted(const draw::Label& label, double width, draw::Align align) {
    QImage image(static_cast<int>(width), 20, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::white);
    QPainter painter(&image);
    draw::token(painter, QRectF(0, 0, width, 20), label, ui_font(13), Theme::light(), align);
    return image;
}

TEST(Labels, HavePositionsInLongTexts) {
    const auto shorter = items(long_text - 1), longer = items(long_text);
    EXPECT_EQ(draw::label_in(shorter, 7).digits, 0);
    EXPECT_EQ(draw::label_in(longer, 7).digits, 3);
    EXPECT_EQ(draw::positions_width(shorter, ui_font(13)), 0);
    EXPECT_EQ(draw::positions_width({}, ui_font(13)), 0);
    const draw::Label plain = draw::label_in(shorter, 7), numbered = draw::label_in(longer, 7);
    EXPECT_DOUBLE_EQ(draw::token_width(numbered, ui_font(13)),
                     draw::token_width(plain, ui_font(13)) + draw::positions_width(longer, ui_font(13)));
    EXPECT_EQ(numbered.with_position(Position(7)), QStringLiteral("t7 (7)"));
}

/// The number stands at the outer edge; where there is no room for both, the token has it.
TEST(Labels, ShowTheirPositionWhereThereIsRoom) {
    const draw::Label plain = draw::label_of(items(long_text)[123]), numbered = draw::label_in(items(long_text), 123);
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
    std::vector<QRectF> boxes;
    const auto scene_of = [&](const TokenLines& lines) {
        boxes.clear();
        Scene scene;
        lines.draw_on(
            scene, QRectF(0, 0, 420, 5000), Theme::light(), [](std::size_t) { return QColor(); },
            [&](Position, const QRectF& box) { boxes.push_back(box); });
        return scene;
    };
    scene_of(shorter);
    EXPECT_EQ(boxes.at(0).left(), 10);
    const Scene scene = scene_of(longer);
    ASSERT_EQ(std::ssize(boxes), long_text);
    EXPECT_GT(boxes[0].left(), 10 + draw::number_width(QStringLiteral("199"), ui_font(10)));
    for (const QRectF& box : boxes) EXPECT_LE(box.right(), 410);
    const auto picture = [](const auto& paint) {
        QImage image(34, 520, QImage::Format_ARGB32_Premultiplied);
        image.fill(Qt::white);
        QPainter painter(&image);
        paint(painter);
        return image;
    };
    const QImage painted = picture([&](QPainter& painter) { scene.paint(painter, QRectF(0, 0, 420, 520), Style()); });
    int lines = 0;
    const QImage expected = picture([&](QPainter& painter) {
        for (std::size_t i = 0; i < boxes.size(); ++i)
            if (const QRectF box = boxes[i]; i == 0 || box.top() > boxes[i - 1].top()) {
                const QPointF at(box.left() - 4, draw::centred_baseline(box.center().y(), ui_font(13)));
                draw::number(painter, at, QString::number(i), ui_font(10), Theme::light().muted);
                ++lines;
            }
    });
    EXPECT_GT(lines, 10);
    EXPECT_EQ(painted, expected);
}

/// Words of two tokens: the number is that of the first, beside its own word.
TEST(Labels, OfFiguresHaveTheirOwnPositions) {
    HeadViewData data = synthetic::heads(210, 1, [](int, int i, int j) { return j == i ? 1.F : 0.F; });
    for (auto* const axis : {&data.axes.queries, &data.axes.keys})
        for (std::size_t i = 0; i < axis->size(); ++i) {
            (*axis)[i].first = Position(2 * static_cast<std::int64_t>(i));
            (*axis)[i].count = 2;
        }
    const auto matrix = matrix_figure(synthetic::matrices(data));
    const auto count = [](Figure& figure, const std::string& name) {
        const test::TempFolder folder;
        export_figure(figure, {}, {}, {}, folder / name);
        QXmlStreamReader reader(QByteArray::fromStdString(test::slurp(folder / name)));
        QStringList texts;
        while (!reader.atEnd())
            if (reader.readNext() == QXmlStreamReader::StartElement && reader.name() == QLatin1String("text"))
                texts << reader.readElementText();
        int found = 0;
        for (qsizetype i = 0; i + 1 < texts.size(); ++i) {
            if (!texts[i].startsWith(u't') || !texts[i].mid(1).toInt()) continue;
            EXPECT_EQ(texts[i + 1], QString::number(2 * texts[i].mid(1).toInt())) << texts[i].toStdString();
            ++found;
        }
        return found;
    };
    EXPECT_EQ(count(*head_figure(std::move(data)), "head.svg"), 2 * 209);
    EXPECT_GT(count(*matrix, "matrix.svg"), 2 * 20);
}

}  // namespace labels_test
}  // namespace headlight::figure
