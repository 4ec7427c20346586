// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFont>
#include <QString>
#include <QStringList>

namespace headlight::figure {

/// A text's lines in this font, none wider than `width`; a word that is wider is elided.
QStringList wrapped(const QString&, const QFont&, double width);

}  // namespace headlight::figure
