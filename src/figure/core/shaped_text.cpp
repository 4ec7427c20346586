// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/shaped_text.h"

#include <QFontMetricsF>
#include <QHash>
#include <QRawFont>
#include <QTextLayout>
#include <QThreadStorage>

#include <algorithm>
#include <utility>

namespace headlight::figure::draw {
namespace {

struct TextKey {
    QFont font;
    QString text;
    double width = -1;  ///< that it is elided to
    bool operator==(const TextKey&) const = default;
    friend std::size_t qHash(const TextKey& key, std::size_t seed) { return qHashMulti(seed, key.font, key.text, key.width); }
};

constexpr double kUnbroken = 1e6;  ///< pixels; no text of a figure is longer

/// The last values that were asked for: those of this generation, and those of the one before, which stay when they are wanted.
template <class Value>
class LastTexts {
public:
    template <class Make>
    const Value& get(TextKey key, Make make) {
        if (const auto found = now_.constFind(key); found != now_.cend()) return *found;
        if (now_.size() >= most) {
            before_ = std::move(now_);
            now_ = {};
        }
        const auto old = before_.constFind(key);
        Value value = old != before_.cend() ? *old : make();
        return *now_.insert(std::move(key), std::move(value));
    }

private:
    static constexpr qsizetype most = 4096;
    QHash<TextKey, Value> now_, before_;
};

/// Glyphs belong to the thread that shaped them.
struct OfThread {
    LastTexts<QList<QGlyphRun>> shaped;
    LastTexts<double> widths;
    LastTexts<ShapedNumber> numbers;
    LastTexts<QString> elided;
};

OfThread& of_thread() {
    static QThreadStorage<OfThread> threads;
    return threads.localData();
}

QList<QGlyphRun> shape(const QString& text, const QFont& font) {
    QTextLayout layout(text, font);
    layout.beginLayout();
    QTextLine line = layout.createLine();
    if (line.isValid()) line.setLineWidth(kUnbroken);
    layout.endLayout();
    QList<QGlyphRun> runs = layout.glyphRuns();
    for (QGlyphRun& run : runs) {
        QList<QPointF> places = run.positions();
        for (QPointF& place : places) place.ry() -= line.ascent();
        run.setPositions(places);
    }
    return runs;
}

ShapedNumber shape_number(const QString& text, const QFont& font) {
    const QFontMetricsF metrics(font);
    double digit = 0;
    for (char16_t c = u'0'; c <= u'9'; ++c) digit = std::max(digit, metrics.horizontalAdvance(QChar(c)));
    ShapedNumber out;
    QList<QPointF> places;
    for (const QChar c : text) {
        const double own = metrics.horizontalAdvance(c);
        // A minus takes a digit's room, so that signed columns line up as well.
        const double room = c.isDigit() || c == u'−' || c == u'+' ? digit : own;
        out.offsets << out.width + (room - own) / 2;
        places << QPointF(out.offsets.back(), 0);
        out.width += room;
    }
    const QRawFont raw = QRawFont::fromFont(font);
    if (!raw.isValid()) return out;
    const QList<quint32> glyphs = raw.glyphIndexesForString(text);
    if (glyphs.size() != text.size() || glyphs.contains(0)) return out;
    out.run.emplace();
    out.run->setRawFont(raw);
    out.run->setGlyphIndexes(glyphs);
    out.run->setPositions(places);
    return out;
}

}  // namespace

const QList<QGlyphRun>& shaped(const QString& text, const QFont& font) {
    return of_thread().shaped.get({font, text}, [&] { return shape(text, font); });
}

const ShapedNumber& shaped_number(const QString& text, const QFont& font) {
    return of_thread().numbers.get({font, text}, [&] { return shape_number(text, font); });
}

double shaped_width(const QString& text, const QFont& font) {
    return of_thread().widths.get({font, text}, [&] { return QFontMetricsF(font).horizontalAdvance(text); });
}

QString shaped_to_fit(const QString& text, const QFont& font, double width) {
    return of_thread().elided.get({font, text, width},
                                  [&] { return QFontMetricsF(font).elidedText(text, Qt::ElideRight, width); });
}

}  // namespace headlight::figure::draw
