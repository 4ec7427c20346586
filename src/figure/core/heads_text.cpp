// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/heads_text.h"

#include "headlight/figure/core/figure.h"

#include <QStringList>

#include <set>

namespace headlight::figure {

QString head_name(HeadId id) { return QStringLiteral("L%1H%2").arg(id.layer.value).arg(id.head.value); }

namespace {

QString heads_text(const std::vector<HeadId>& heads) {
    std::set<Layer> layers;
    for (const HeadId id : heads) layers.insert(id.layer);
    if (heads.size() > 4)
        return QStringLiteral("%1 heads of %2")
            .arg(heads.size())
            .arg(layers.size() == 1 ? QStringLiteral("layer %1").arg(layers.begin()->value)
                                    : QStringLiteral("%1 layers").arg(layers.size()));
    QStringList names;
    for (const HeadId id : heads) names << head_name(id);
    return names.join(QStringLiteral(", "));
}

}  // namespace

QString aggregate_name(analyze::Aggregate how, const std::vector<HeadId>& heads) {
    return QString::fromUtf8(enum_row(how).title.data()).toLower() + QStringLiteral(" of ") + heads_text(heads);
}

}  // namespace headlight::figure
