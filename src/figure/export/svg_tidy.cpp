// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/export/svg_tidy.h"

#include <QHash>
#include <QRegularExpression>
#include <QStringList>

namespace headlight::figure {
namespace {

QString attribute(const QString& element, const QString& name) {
    const QString key = u' ' + name + QLatin1String("=\"");
    const auto at = element.indexOf(key);
    if (at < 0) return {};
    const auto begin = at + key.size();
    return element.mid(begin, element.indexOf(u'"', begin) - begin);
}

/// One <text> of Qt's: family, style and spacing are the root's, so are the weight and the stroke mostly.
struct Text {
    QString x, y, rest, content;

    explicit Text(const QString& element) {
        x = attribute(element, QStringLiteral("x"));
        y = attribute(element, QStringLiteral("y"));
        for (const char* name : {"fill", "fill-opacity", "font-size", "font-weight"}) {
            const QString key = QLatin1String(name), value = attribute(element, key);
            if (value.isEmpty() || (key == QLatin1String("font-weight") && value == QLatin1String("400"))) continue;
            rest += QStringLiteral(" %1=\"%2\"").arg(key, value);
        }
        const auto open = element.indexOf(u'>') + 1;
        content = element.mid(open, element.lastIndexOf(QLatin1String("</text>")) - open);
    }
    /// Numbers come one character at a time, in order of x.
    bool continues(const Text& next) const {
        if (next.content.size() != 1 || y != next.y || rest != next.rest) return false;
        if (!QStringLiteral("0123456789.,−+<e/").contains(next.content[0])) return false;
        const double before = x.mid(x.lastIndexOf(u' ') + 1).toDouble(), after = next.x.toDouble();
        const double size = attribute(rest, QStringLiteral("font-size")).toDouble();
        return single && after > before && after - before < size * 1.1;
    }
    void append(const Text& next) { x += u' ' + next.x, content += next.content; }
    QString element() const { return QStringLiteral("<text x=\"%1\" y=\"%2\"%3>%4</text>\n").arg(x, y, rest, content); }
    bool single = true;  ///< grown from single characters
};

/// Splits the content of a group into elements; Qt writes one at a time, text over two lines.
QStringList elements(const QString& content) {
    QStringList out;
    for (const QString& line : content.split(u'\n')) {
        const QString trimmed = line.trimmed();
        if (trimmed.isEmpty()) continue;
        if (trimmed.startsWith(u'<') && !(trimmed.startsWith(QLatin1String("</")) && !out.isEmpty()))
            out << trimmed;
        else if (!out.isEmpty())
            out.last() += u' ' + trimmed;
    }
    return out;
}

/// An element with the drawing attributes of its group put into it.
QString with_attributes(QString element, const QString& attributes) {
    element.remove(QLatin1String(" vector-effect=\"none\""));
    const bool own_fill = element.contains(QLatin1String(" fill=\"none\""));
    QString added = attributes;
    if (own_fill) added.remove(QRegularExpression(QStringLiteral(" fill(-opacity)?=\"[^\"]*\"")));
    const auto name_end = element.indexOf(u' ');
    return element.insert(name_end, added) + u'\n';
}

QString group_attributes(const QString& head) {
    QString out;
    for (const char* name : {"fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray",
                             "stroke-linecap", "stroke-linejoin", "opacity"}) {
        const QString key = QLatin1String(name), value = attribute(head, key);
        if (!value.isEmpty()) out += QStringLiteral(" %1=\"%2\"").arg(key, value);
    }
    if (out.contains(QLatin1String(" stroke=\"none\"")))
        out.remove(QRegularExpression(QStringLiteral(" stroke-[a-z]+=\"[^\"]*\"")));
    return out;
}

/// The defs without gradients that repeat an earlier one, and from each dropped id to the one kept.
QString unique_gradients(const QString& defs, QHash<QString, QString>& kept_id) {
    static const QRegularExpression gradient(QStringLiteral("<(linear|radial)Gradient(.*?) id=\"(\\w+)\">(.*?)</\\1Gradient>"),
                                             QRegularExpression::DotMatchesEverythingOption);
    QHash<QString, QString> id_of;
    QString out;
    for (auto it = gradient.globalMatch(defs); it.hasNext();) {
        const auto match = it.next();
        const QString key = match.captured(1) + match.captured(2) + match.captured(4), id = match.captured(3);
        if (!id_of.contains(key)) {
            id_of[key] = id;
            out += match.captured(0) + u'\n';
        }
        kept_id[id] = id_of[key];
    }
    return out.isEmpty() ? out : QStringLiteral("<defs>\n%1</defs>\n").arg(out);
}

}  // namespace

QString tidy_svg_body(const QString& generated) {
    const auto defs_begin = generated.indexOf(QLatin1String("<defs>")), defs_end = generated.indexOf(QLatin1String("</defs>"));
    QHash<QString, QString> kept_id;
    QString out = unique_gradients(generated.mid(defs_begin, defs_end - defs_begin), kept_id);
    const auto root = generated.indexOf(QLatin1String("<g "), defs_end);
    qsizetype at = root + 2;
    while ((at = generated.indexOf(QLatin1String("<g "), at)) >= 0) {
        const auto head_end = generated.indexOf(u'>', at), end = generated.indexOf(QLatin1String("</g>"), head_end);
        QString head = generated.mid(at, head_end - at).replace(u'\n', u' ');
        const QStringList parts = elements(generated.mid(head_end + 1, end - head_end - 1));
        at = end;
        if (parts.isEmpty()) continue;
        QString attributes = group_attributes(head);
        for (auto it = kept_id.begin(); it != kept_id.end(); ++it)
            if (it.key() != it.value())
                attributes.replace(QStringLiteral("url(#%1)").arg(it.key()), QStringLiteral("url(#%1)").arg(it.value()));
        const QString transform = attribute(head, QStringLiteral("transform"));
        const bool moved = !transform.isEmpty() && transform != QLatin1String("matrix(1,0,0,1,0,0)");
        if (moved) out += QStringLiteral("<g transform=\"%1\">\n").arg(transform);
        for (qsizetype i = 0; i < parts.size(); ++i) {
            if (!parts[i].startsWith(QLatin1String("<text"))) {
                out += with_attributes(parts[i], attributes);
                continue;
            }
            Text text(parts[i]);
            text.single = text.content.size() == 1;
            while (i + 1 < parts.size() && parts[i + 1].startsWith(QLatin1String("<text"))) {
                const Text next(parts[i + 1]);
                if (!text.continues(next)) break;
                text.append(next);
                ++i;
            }
            out += text.element();
        }
        if (moved) out += QLatin1String("</g>\n");
    }
    return out;
}

}  // namespace headlight::figure
