// SPDX-License-Identifier: GPL-3.0-or-later
// Texts of a map: readable tokens, the caption, tooltips of points.
#include "figure/core/draw.h"
#include "figure/map/map_parts.h"
#include "figure/plot/plot_data.h"
#include "headlight/figure/map/map_figure.h"

#include <QStringDecoder>

#include <cmath>
#include <unordered_map>

namespace headlight::figure {
namespace {

/// The byte-level alphabet's characters back to bytes; -1: not of it.
int byte_of(char32_t c) {
    static const std::unordered_map<char32_t, int> bytes = [] {
        std::unordered_map<char32_t, int> out;
        char32_t next = 256;
        for (int b = 0; b < 256; ++b) {
            const bool itself = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
            out.emplace(itself ? static_cast<char32_t>(b) : next++, b);
        }
        return out;
    }();
    const auto found = bytes.find(c);
    return found == bytes.end() ? -1 : found->second;
}

/// Text of a token of a byte-level vocabulary; the token itself for other kinds.
QString decoded(const QString& token) {
    QByteArray bytes;
    for (const char32_t c : token.toStdU32String()) {
        const int b = byte_of(c);
        if (b < 0) return token;
        bytes.append(static_cast<char>(b));
    }
    QStringDecoder utf8(QStringDecoder::Utf8, QStringDecoder::Flag::Stateless);
    const QString text = utf8.decode(bytes);
    return utf8.hasError() ? token : text;
}

}  // namespace

QString map_token_text(const std::string& token) {
    QString text = decoded(QString::fromStdString(token));
    text.replace(QChar(0x2581), u'·');  // SentencePiece's space
    text.replace(u' ', u'·');
    text.replace(u'\n', u'⏎');
    text.replace(u'\t', u'⇥');
    return text.isEmpty() ? QStringLiteral("∅") : text;
}

QString map_caption(const map::QueryKeyMap& map) {
    const auto counted = [](std::int64_t n, const char* what) {
        return QStringLiteral("%1 %2%3").arg(draw::count_text(n), QLatin1String(what), n == 1 ? QString() : QStringLiteral("s"));
    };
    const char* const input = map.pictures ? "picture" : "text";
    QStringList words{QStringLiteral("%1, preset %2")
                          .arg(QString::fromUtf8(enum_row(map.projection).title), QString::fromUtf8(enum_word(map.preset))),
                      QStringLiteral("%1 of %2")
                          .arg(counted(std::ssize(map.tokens.tokens), "token"), counted(std::ssize(map.tokens.names), input))};
    if (map.tokens.left_out > 0) words << counted(map.tokens.left_out, input) + QStringLiteral(" left out");
    words << QStringLiteral("seed %1").arg(map.seed);
    QString caption = plot::joined_words(words);
    for (const std::string& note : map.notes) caption += QStringLiteral(". ") + QString::fromStdString(note);
    return caption;
}

QString map_head_words(const map::HeadMap& head) {
    const QString name = head_name({head.layer, head.head});
    if (!is_measured(head)) return name;
    QString words = QStringLiteral("%1  faithfulness %2 · trustworthiness %3 · continuity %4")
                        .arg(name, draw::value_text(double(head.faithfulness), 3),
                             draw::value_text(double(head.trustworthiness), 3), draw::value_text(double(head.continuity), 3));
    if (!head.poor.empty()) words += QStringLiteral(" · ") + QString::fromStdString(head.poor);
    return words;
}

QString map_point_words(const map::QueryKeyMap& map, const map::HeadMap& head, std::int32_t point) {
    const MapToken token = map_token(map, point);
    const auto at = static_cast<std::size_t>(point);
    QStringList words{QStringLiteral("%1  %2 %3 (%4)")
                          .arg(head_name({head.layer, head.head}), token.key ? QStringLiteral("key") : QStringLiteral("query"),
                               map_token_text(token.of.tokens[token.at]))
                          .arg(token.position().value)};
    if (token.at < token.of.tags.size() && !token.of.tags[token.at].empty())
        words << QString::fromStdString(token.of.tags[token.at]);
    const auto text = static_cast<std::size_t>(token.text());
    if (token.of.names.size() > 1)
        words << QStringLiteral("%1 %2, “%3”")
                     .arg(map.pictures ? QStringLiteral("picture") : QStringLiteral("text"))
                     .arg(text)
                     .arg(QString::fromStdString(token.of.names.at(text)).left(40).trimmed());
    if (at < head.norms.size()) words << QStringLiteral("length %1").arg(draw::value_text(double(head.norms[at])));
    if (at < head.trust.size() && std::isfinite(head.trust[at]))
        words << QStringLiteral("%1 % of its neighbours kept").arg(std::lround(100 * head.trust[at]));
    return plot::joined_words(words);
}

}  // namespace headlight::figure
