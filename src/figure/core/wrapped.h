// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFont>
#include <QString>
#include <QStringList>

namespace headlight::figure {

inline constexpr double page_margin = 16;  ///< px around the content of a figure that is a page: tables, panels, diagrams

/// Where a file is narrower, its tables and numbers stand as closely as they can on a page of about this width, which is scaled
/// down to it: at 85 mm 11 px are then 5 pt.
inline constexpr double least_page = 530;

/// A text's lines in this font, none wider than `width`; a word that is wider is elided.
QStringList wrapped(const QString&, const QFont&, double width);

}  // namespace headlight::figure
