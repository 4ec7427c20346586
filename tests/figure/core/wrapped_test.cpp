// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/wrapped.h"

#include "figure/core/draw.h"

#include <gtest/gtest.h>

namespace headlight::figure {
namespace wrapped_test {

TEST(Wrapped, NoLineIsWiderThanAskedForAndNoWordIsLost) {
    const QFont& font = ui_font(11);
    const QString text = QStringLiteral("a note about the doctor and the nurse\nand a second paragraph");
    for (const double width : {80.0, 120.0, 400.0}) {
        const QStringList lines = wrapped(text, font, width);
        for (const QString& line : lines) EXPECT_LE(draw::text_width(line, font), width + 0.01) << line.toStdString();
        EXPECT_EQ(lines.join(u' '), QString(text).replace(u'\n', u' '));
    }
    EXPECT_EQ(wrapped(text, font, 400).size(), 2);
    EXPECT_TRUE(wrapped({}, font, 400).isEmpty());
}

TEST(Wrapped, AWordWiderThanALineIsElidedWhereverItStands) {
    const QFont& font = ui_font(11);
    const QString longest(60, u'w');
    for (const QString& text : {longest + QStringLiteral(" at first"), QStringLiteral("at last ") + longest})
        for (const QString& line : wrapped(text, font, 150))
            EXPECT_LE(draw::text_width(line, font), 150.01) << line.toStdString();
}

}  // namespace wrapped_test
}  // namespace headlight::figure
