// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/literal_font.h"

#include <QFontDatabase>
#include <QRawFont>
#include <QtEndian>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace headlight::figure {
namespace {

// Of OpenType: everything a static font is read with. In the order of their names, as the directory has to be.
constexpr const char* kTables[] = {"BASE", "CFF ", "GDEF", "GPOS", "GSUB", "OS/2", "VORG", "cmap", "cvt ", "fpgm", "gasp", "glyf",
                                   "head", "hhea", "hmtx", "kern", "loca", "maxp", "name", "post", "prep", "vhea", "vmtx"};
constexpr char kAlternates[] = "calt", kNothing[] = "cal0";  // a tag that nobody asks for, where the order of tags has "calt"

/// Whether a feature was renamed.
bool rename_alternates(QByteArray& gsub) {
    constexpr qsizetype list_at = 6, tag = 4, record = 6;
    if (gsub.size() < list_at + 2) return false;
    const auto number = [&](qsizetype at) { return qsizetype{qFromBigEndian<quint16>(gsub.constData() + at)}; };
    const qsizetype list = number(list_at);
    if (list + 2 > gsub.size()) return false;
    const qsizetype count = number(list);
    bool found = false;
    for (qsizetype i = 0; i < count && list + 2 + (i + 1) * record <= gsub.size(); ++i) {
        char* name = gsub.data() + list + 2 + i * record;
        if (QByteArrayView(name, tag) != QByteArrayView(kAlternates, tag)) continue;
        std::copy_n(kNothing, tag, name);
        found = true;
    }
    return found;
}

void append(QByteArray& out, quint32 number) {
    const quint32 big = qToBigEndian(number);
    out.append(reinterpret_cast<const char*>(&big), sizeof big);
}

/// An OpenType file of the tables. Check sums stay 0: what reads fonts here does not ask for them.
QByteArray font_file(const std::vector<std::pair<QByteArray, QByteArray>>& tables) {
    const auto count = static_cast<quint32>(tables.size());
    quint32 power = 1, exponent = 0;
    while (power * 2 <= count) power *= 2, ++exponent;
    const bool outlines_are_cff = std::any_of(tables.begin(), tables.end(), [](const auto& t) { return t.first == "CFF "; });
    QByteArray out;
    append(out, outlines_are_cff ? 0x4F54544FU : 0x00010000U);  // "OTTO", or TrueType
    append(out, count << 16 | power * 16);
    append(out, exponent << 16 | (count - power) * 16);
    const auto padded = [](qsizetype size) { return (size + 3) / 4 * 4; };
    auto at = static_cast<qsizetype>(12 + 16 * count);
    for (const auto& [name, bytes] : tables) {
        out.append(name);
        append(out, 0);
        append(out, static_cast<quint32>(at));
        append(out, static_cast<quint32>(bytes.size()));
        at += padded(bytes.size());
    }
    for (const auto& [name, bytes] : tables) out.append(bytes).append(padded(bytes.size()) - bytes.size(), '\0');
    return out;
}

std::optional<QByteArray> without_alternates(const QRawFont& font) {
    if (!font.fontTable("fvar").isEmpty()) return std::nullopt;
    std::vector<std::pair<QByteArray, QByteArray>> tables;
    bool changed = false;
    for (const char* name : kTables) {
        QByteArray bytes = font.fontTable(name);
        if (bytes.isEmpty()) continue;
        if (qstrcmp(name, "GSUB") == 0) changed = rename_alternates(bytes);
        tables.emplace_back(name, std::move(bytes));
    }
    if (!changed) return std::nullopt;
    return font_file(tables);
}

}  // namespace

void draw_literally(const QString& family) {
    std::vector<QByteArray> files;  // all are read first: once registered, a font shadows the installed one
    for (const QFont::Weight weight : {QFont::Normal, QFont::DemiBold, QFont::Bold}) {
        QFont font(family);
        font.setWeight(weight);
        const QRawFont raw = QRawFont::fromFont(font);
        if (!raw.isValid() || raw.familyName() != family) continue;
        if (auto file = without_alternates(raw)) files.push_back(std::move(*file));
    }
    for (const QByteArray& file : files) QFontDatabase::addApplicationFontFromData(file);
}

}  // namespace headlight::figure
