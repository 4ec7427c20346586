// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/style/appearance.h"

#include <QFile>

namespace headlight::ui {

QString style_sheet(const figure::Theme& t) {
    QFile file(QStringLiteral(":/headlight/style.qss"));
    if (!file.open(QIODevice::ReadOnly)) return {};
    QString sheet = QString::fromUtf8(file.readAll());
    const std::pair<const char*, QColor> roles[] = {
        {"@canvas@", t.canvas},    {"@panel@", t.panel},         {"@bar@", t.bar},
        {"@line@", t.line},        {"@chip@", t.chip},           {"@text@", t.text},
        {"@muted@", t.muted},      {"@faint@", t.faint},         {"@accent@", t.accent},
        {"@soft@", t.accent_soft}, {"@on_accent@", t.on_accent},
    };
    for (const auto& [role, color] : roles) sheet.replace(QLatin1String(role), color.name());
    sheet.replace(QLatin1String("@warning@"), t.negative.name());
    // The same colours a step stronger, for pressed and hovered controls.
    sheet.replace(QLatin1String("@accent_strong@"), (t.dark ? t.accent.lighter(108) : t.accent.darker(112)).name());
    sheet.replace(QLatin1String("@chip_strong@"), (t.dark ? t.chip.lighter(125) : t.chip.darker(106)).name());
    sheet.replace(QLatin1String("@theme@"), t.dark ? QLatin1String("dark") : QLatin1String("light"));
    return sheet;
}

}  // namespace headlight::ui
