// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/figure.h"

#include <QStringList>

#include <algorithm>

namespace headlight::figure {

bool Style::dims(HeadId head) const noexcept {
    return filter && std::binary_search(filter->dimmed.begin(), filter->dimmed.end(), head);
}

QString Provenance::footer() const {
    QStringList made, shown;
    made << QString::fromStdString(model);
    if (!model_hash.empty()) made.last() += QStringLiteral(" (%1)").arg(QString::fromStdString(model_hash.substr(0, 12)));
    if (!dtype.empty()) made << QString::fromStdString(dtype);
    for (const auto& [name, value] : options) {
        const QString n = QString::fromStdString(name), v = QString::fromStdString(value);
        made << (v.isEmpty() ? n : n + u' ' + (v.trimmed() == v ? v : QStringLiteral("“%1”").arg(v)));  // " she" is a token
    }
    made << QStringLiteral("Headlight ") + QString::fromStdString(version);
    auto quoted = [](const std::string& s) { return QStringLiteral("“%1”").arg(QString::fromStdString(s).simplified()); };
    if (const std::string& read = image.empty() ? text : image; !read.empty()) shown << quoted(read);
    if (!pair.empty()) shown << quoted(pair);
    const QString reading = shown.join(QStringLiteral(" | "));
    return made.join(QStringLiteral(" · ")) + (reading.isEmpty() ? QString() : u'\n' + reading);
}

}  // namespace headlight::figure
