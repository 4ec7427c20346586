// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/theme.h"

#include "figure/core/literal_font.h"
#include "headlight/base/error.h"

#include <QFontDatabase>
#include <QRawFont>
#include <QStringList>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace headlight::figure {
namespace {

/// Inter where it is installed, then Noto for the scripts that Inter lacks, then whatever the system calls sans.
const QStringList& families() {
    static const QStringList list = [] {
        const QStringList installed = QFontDatabase::families();
        QStringList found;
        for (const char* wanted : {"Inter", "Inter Variable", "Noto Sans", "Noto Sans CJK SC", "Noto Sans Arabic",
                                   "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Color Emoji", "DejaVu Sans"})
            if (const QString family = QString::fromLatin1(wanted); installed.contains(family)) found << family;
        found << QStringLiteral("sans-serif");
        QFont first;
        first.setFamilies(found);
        // Where there is none, Qt's stand-in for a font would crash when it is asked for its name.
        if (QRawFont::fromFont(first).fontTable("head").isEmpty())
            throw Error(ErrorFacts{.problem = "No font is installed",
                                   .hint = "Install one, fonts-inter or fonts-dejavu-core for example"});
        draw_literally(found.front());
        return found;
    }();
    return list;
}

}  // namespace

const QFont& ui_font(double pixel_size, int weight) {
    // QFont is reentrant, not thread-safe, and workers export while the window paints: each thread has its own.
    thread_local std::map<std::pair<int, int>, QFont> made;
    const int size = std::max(1, static_cast<int>(std::lround(pixel_size)));
    const auto [entry, fresh] = made.try_emplace({size, weight});
    QFont& font = entry->second;
    if (!fresh) return font;
    font.setFamilies(families());
    font.setPixelSize(size);
    font.setWeight(static_cast<QFont::Weight>(weight));
    // Glyphs keep their places at every scale, so that a figure is laid out the same on screen and in a file.
    font.setHintingPreference(QFont::PreferNoHinting);
    font.setStyleStrategy(QFont::PreferAntialias);
    return font;
}

}  // namespace headlight::figure
