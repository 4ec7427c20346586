// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/heads/head_list.h"

#include <QRegularExpression>
#include <QStringList>

namespace headlight::ui {

QString head_list(const std::vector<HeadId>& sorted, std::int64_t heads_a_layer) {
    QStringList parts;
    for (std::size_t i = 0; i < sorted.size();) {
        std::size_t end = i;
        while (end < sorted.size() && sorted[end].layer == sorted[i].layer) ++end;
        const QString layer = QStringLiteral("L%1").arg(sorted[i].layer.value);
        if (std::int64_t(end - i) == heads_a_layer)
            parts << layer;
        else
            for (std::size_t k = i; k < end; ++k) parts << layer + QStringLiteral("H%1").arg(sorted[k].head.value);
        i = end;
    }
    return parts.join(QStringLiteral(" or "));
}

bool is_head_list(const QString& expression) {
    static const QRegularExpression form(QStringLiteral("^\\s*L\\d+(H\\d+)?(\\s+or\\s+L\\d+(H\\d+)?)*\\s*$"),
                                         QRegularExpression::CaseInsensitiveOption);
    return form.match(expression).hasMatch();
}

}  // namespace headlight::ui
