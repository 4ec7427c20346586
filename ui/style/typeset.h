// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace headlight::ui {

/// Text with the formulas of docs/measures.md ("sum_j a_ij |f_j|") as rich text with sums and indices.
QString typeset(const QString& text);

}  // namespace headlight::ui
