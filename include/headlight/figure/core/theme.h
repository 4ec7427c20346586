// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/enum_table.h"

#include <QColor>
#include <QFont>

#include <vector>

namespace headlight::figure {

/// Colours as roles, never as literals in a figure or widget.
struct Theme {
    bool dark = false;
    QColor canvas, panel, bar, line, chip;
    QColor text, muted, faint;
    QColor accent, accent_soft;
    QColor on_accent;           ///< text on the accent
    QColor positive, negative;  ///< ends of the signed scale (blue, orange)
    std::vector<QColor> heads;  ///< ten hues; more heads have them darker or lighter

    static const Theme& light();
    static const Theme& dark_theme();
};

enum class HeadPalette { category10, okabe_ito };
inline constexpr EnumRow<HeadPalette> head_palettes[] = {{HeadPalette::category10, "category10", "BertViz"},
                                                         {HeadPalette::okabe_ito, "okabe-ito", "colour-blind safe (Okabe-Ito)"}};
constexpr const auto& enum_rows(HeadPalette) { return head_palettes; }
QColor head_color(const Theme&, HeadPalette, std::int64_t index);
/// Black or white-ish text, whichever reads better on `background`.
QColor text_on(const Theme&, const QColor& background);

/// Inter, with tabular digits; loads the fonts that the program carries (resources/fonts) once. The
/// reference is the calling thread's own and lasts as long as the thread.
const QFont& ui_font(double pixel_size, int weight = QFont::Normal);
inline const QFont& small_font() { return ui_font(11); }
inline const QFont& note_font() { return ui_font(11.5); }

/// Perceptually uniform ramps for magnitudes.
enum class Ramp { ink, viridis, cividis, magma };
inline constexpr EnumRow<Ramp> ramps[] = {{Ramp::ink, "ink", "ink"},
                                          {Ramp::viridis, "viridis", "viridis"},
                                          {Ramp::cividis, "cividis", "cividis"},
                                          {Ramp::magma, "magma", "magma"}};
constexpr const auto& enum_rows(Ramp) { return ramps; }
/// 0..1 -> colour; ink goes from the theme's canvas to the accent-like blue of the mock (light) or viridis (dark).
QColor ramp_color(Ramp, const Theme&, double t);
/// -1..1 -> orange .. canvas .. blue.
QColor signed_color(const Theme&, double t);

}  // namespace headlight::figure
