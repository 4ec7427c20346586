// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/plot/plot_data.h"

namespace headlight::figure::plot {

QColor resolved(const Color& color, const Style& style) {
    const Theme& theme = *style.theme;
    using Role = Color::Role;
    switch (color.role) {
        case Role::text: return theme.text;
        case Role::muted: return theme.muted;
        case Role::faint: return theme.faint;
        case Role::accent: return theme.accent;
        case Role::positive: return theme.positive;
        case Role::negative: return theme.negative;
        case Role::head: return head_color(theme, style.palette, static_cast<std::int64_t>(color.value));
        case Role::self_target: return theme.heads[2];
        case Role::first_target: return theme.heads[4];
        case Role::ramp:
            // A dot in a ramp's lowest colours, pale by day and dark by night, is hard to see on the canvas.
            return ramp_color(style.ramp, theme,
                              theme.dark                ? 0.28 + 0.72 * color.value
                              : style.ramp == Ramp::ink ? 0.2 + 0.8 * color.value
                                                        : color.value);
        case Role::clark_green: return QColor(0x59, 0xd9, 0x8e);
        case Role::clark_sea: return QColor(0x15, 0x9d, 0x82);
        case Role::clark_blue: return QColor(0x34, 0x98, 0xdb);
        case Role::clark_purple: return QColor(0x9b, 0x59, 0xb6);
        case Role::clark_red: return QColor(0xe7, 0x4c, 0x3c);
        case Role::clark_orange: return QColor(0xf3, 0x9c, 0x12);
        case Role::clark_grey: return QColor(0x95, 0xa5, 0xa6);
    }
    return {};
}

}  // namespace headlight::figure::plot
