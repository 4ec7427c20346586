// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/style/typeset.h"

#include <QRegularExpression>

namespace headlight::ui {

QString typeset(const QString& text) {
    static const QRegularExpression sums(QStringLiteral(R"(\bsum_([a-z](?:,[a-z])*)\b)"));
    static const QRegularExpression means(QStringLiteral(R"(\bmean_([a-z])\b)"));
    // One letter, its index (ij, 0, O, "i,i-1", "q,q-(n-1)") and what stands above.
    static const QRegularExpression indices(QStringLiteral(
        R"((?<![A-Za-z0-9_])([A-Za-z])_([A-Za-z0-9]{1,2}(?:,[A-Za-z](?:[+-](?:\d+|\([^()]*\)))?)?)(?:\^([a-z]))?(?![A-Za-z0-9_]))"));
    static const QRegularExpression minus(QStringLiteral(R"((?<=\s)-(?=[\sΣ]))"), QRegularExpression::UseUnicodePropertiesOption);
    QString out = text.toHtmlEscaped();
    out.replace(sums, QStringLiteral("Σ<sub>\\1</sub>"));
    out.replace(means, QStringLiteral("mean<sub>\\1</sub>"));
    qsizetype from = 0;
    for (auto found = indices.match(out, from); found.hasMatch(); found = indices.match(out, from)) {
        QString index = found.captured(2);
        index.replace('-', QChar(0x2212));
        QString made = QStringLiteral("<i>%1</i><sub>%2</sub>").arg(found.captured(1), index);
        if (!found.captured(3).isEmpty()) made += QStringLiteral("<sup>%1</sup>").arg(found.captured(3));
        out.replace(found.capturedStart(), found.capturedLength(), made);
        from = found.capturedStart() + made.size();
    }
    out.replace(minus, QString(QChar(0x2212)));
    out.replace('\n', QStringLiteral("<br>"));
    return out;
}

}  // namespace headlight::ui
