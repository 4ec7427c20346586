// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/wrapped.h"

#include "figure/core/draw.h"

#include <algorithm>

namespace headlight::figure {

QStringList wrapped(const QString& text, const QFont& font, double width) {
    QStringList lines;
    const auto add = [&](const QString& line) { lines << draw::elided(line, font, std::max(width, 40.0)); };
    for (const QString& paragraph : text.split(u'\n', Qt::SkipEmptyParts)) {
        QString line;
        for (const QString& word : paragraph.split(u' ')) {
            const QString longer = line.isEmpty() ? word : line + u' ' + word;
            if (!line.isEmpty() && draw::text_width(longer, font) > width) {
                add(line);
                line = word;
            } else {
                line = longer;
            }
        }
        add(line);
    }
    return lines;
}

}  // namespace headlight::figure
