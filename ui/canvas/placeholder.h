// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/theme.h"

#include <QPainter>
#include <QString>

namespace headlight::ui {

/// What a canvas shows without a figure: title and text, one block in the middle.
struct Placeholder {
    QString title, text;
    /// As one sentence after another, for screen readers.
    QString words() const { return text.isEmpty() ? title : title + QStringLiteral(". ") + text; }
    void paint(QPainter&, const QRect& area, const figure::Theme&) const;
};

}  // namespace headlight::ui
