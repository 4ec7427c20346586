// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace headlight::figure {

/// Has every glyph of the family stand for a character that is there. Inter's contextual alternates draw "->" as an arrow and
/// "0x94" as 0×94, which a view of exact tokens must not do, and Qt 6.4 cannot switch a feature of a font off. So the font is
/// registered once more, under its own name, with that feature called otherwise. Needs a QGuiApplication. Does nothing where
/// the family is not installed, has no such feature, or is a variable font (a copy would have one weight only).
void draw_literally(const QString& family);

}  // namespace headlight::figure
