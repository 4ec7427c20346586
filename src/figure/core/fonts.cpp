// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/theme.h"

#include <QDir>
#include <QFontDatabase>
#include <QStringList>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

// Outside any namespace, as the macro asks.
static void start_font_resources() { Q_INIT_RESOURCE(fonts); }

namespace headlight::figure {
namespace {

/// The program's own Inter, then Noto for the scripts that Inter lacks, then whatever the system calls sans. What the program
/// carries (resources/fonts) precedes installed fonts of the same names; Chinese, Japanese, Korean and emoji are the system's.
const QStringList& families() {
    static const QStringList list = [] {
        start_font_resources();
        const QDir carried(QStringLiteral(":/headlight/fonts"));
        for (const QString& file : carried.entryList()) QFontDatabase::addApplicationFont(carried.filePath(file));
        const QStringList known = QFontDatabase::families();
        QStringList found;
        for (const char* wanted : {"Inter", "Noto Sans", "Headlight Symbols", "Noto Sans CJK SC", "Noto Sans Arabic",
                                   "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Color Emoji"})
            if (const QString family = QString::fromLatin1(wanted); known.contains(family)) found << family;
        found << QStringLiteral("sans-serif");
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
