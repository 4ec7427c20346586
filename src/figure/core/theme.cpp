// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/theme.h"

#include "figure/core/draw.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headlight::figure {
namespace {

QColor rgb(unsigned value) { return QColor::fromRgb(static_cast<QRgb>(value)); }

Theme make_light() {
    Theme t;
    t.canvas = rgb(0xffffff), t.panel = rgb(0xf6f6f4), t.bar = rgb(0xfbfbfa), t.line = rgb(0xe3e2de);
    t.chip = rgb(0xeeeeeb);
    t.text = rgb(0x1d2127), t.muted = rgb(0x646a73), t.faint = rgb(0xa9adb3);
    t.accent = rgb(0x3b5bdb), t.accent_soft = rgb(0xe8ecfb), t.on_accent = rgb(0xffffff);
    t.positive = rgb(0x2166ac), t.negative = rgb(0xd9661f);
    // category10, the ten colours of BertViz's heads
    for (unsigned c :
         {0x1f77b4u, 0xff7f0eu, 0x2ca02cu, 0xd62728u, 0x9467bdu, 0x8c564bu, 0xe377c2u, 0x7f7f7fu, 0xbcbd22u, 0x17becfu})
        t.heads.push_back(rgb(c));
    return t;
}

Theme make_dark() {
    Theme t;
    t.dark = true;
    t.canvas = rgb(0x15171b), t.panel = rgb(0x1b1e23), t.bar = rgb(0x191b20), t.line = rgb(0x2b2f36);
    t.chip = rgb(0x262a31);
    t.text = rgb(0xe6e7e9), t.muted = rgb(0x979da6), t.faint = rgb(0x5c626b);
    t.accent = rgb(0x8ea2ff), t.accent_soft = rgb(0x272d45), t.on_accent = rgb(0x15171b);
    t.positive = rgb(0x5aa9e6), t.negative = rgb(0xf08a3c);
    for (unsigned c :
         {0x5aa9e6u, 0xffa04du, 0x5fc85fu, 0xff6b6bu, 0xb794e0u, 0xd29a86u, 0xf2a0dcu, 0xb0b0b0u, 0xd6d74bu, 0x4fd3e2u})
        t.heads.push_back(rgb(c));
    return t;
}

// Okabe & Ito's colour-blind safe set; black gives way to grey, which also reads on a dark canvas.
constexpr std::array<unsigned, 8> okabe_light{0x0072b2, 0xe69f00, 0x009e73, 0xd55e00, 0xcc79a7, 0x56b4e9, 0xb8a800, 0x6b6b6b};
constexpr std::array<unsigned, 8> okabe_dark{0x4aa8e0, 0xf0b23c, 0x2fc79b, 0xf28240, 0xe0a3c5, 0x8fd0f5, 0xf0e442, 0xb5b5b5};

// WCAG 2 relative luminance.
double luminance(const QColor& c) {
    auto linear = [](double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
}
double contrast(double a, double b) { return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05); }

// Eleven evenly spaced points a ramp. viridis and magma: van der Walt & Smith 2015; cividis: Nuñez, Anderton & Renslow
// 2018; ink: equal steps of OKLab lightness (Ottosson 2020) from a paper grey to a deep blue, hue 242 to 258 degrees.
using Points = std::array<unsigned, 11>;
constexpr Points ink_points{0xf2f5f7, 0xcee3f5, 0xabd0f1, 0x8bbdeb, 0x6ea9e2, 0x5595d4,
                            0x4181c3, 0x336dae, 0x295a96, 0x23497b, 0x1e385d};
constexpr Points viridis_points{0x440154, 0x482475, 0x414487, 0x355f8d, 0x2a788e, 0x21918c,
                                0x22a884, 0x44bf70, 0x7ad151, 0xbddf26, 0xfde725};
constexpr Points magma_points{0x000004, 0x140e36, 0x3b0f70, 0x641a80, 0x8c2981, 0xb73779,
                              0xde4968, 0xf7705c, 0xfe9f6d, 0xfecf92, 0xfcfdbf};
constexpr Points cividis_points{0x002051, 0x0a326a, 0x2b446e, 0x4d566d, 0x696970, 0x7f7c75,
                                0x948f78, 0xada476, 0xcaba6a, 0xead156, 0xfdea45};

QColor along(const Points& points, double t) {
    const double x = std::clamp(t, 0.0, 1.0) * (points.size() - 1);
    const auto i = std::min<std::size_t>(static_cast<std::size_t>(x), points.size() - 2);
    return draw::blended(rgb(points[i]), rgb(points[i + 1]), x - static_cast<double>(i));
}

}  // namespace

const Theme& Theme::light() {
    static const Theme theme = make_light();
    return theme;
}

const Theme& Theme::dark_theme() {
    static const Theme theme = make_dark();
    return theme;
}

QColor head_color(const Theme& theme, HeadPalette palette, std::int64_t index) {
    const auto n = static_cast<std::int64_t>(palette == HeadPalette::category10 ? theme.heads.size() : okabe_light.size());
    const auto place = static_cast<std::size_t>(index % n);
    const QColor color =
        palette == HeadPalette::category10 ? theme.heads[place] : rgb(theme.dark ? okabe_dark[place] : okabe_light[place]);
    // The hues again, but darker, lighter, and darkest: of 32 heads no two look alike.
    switch (index / n % 4) {
        case 1: return draw::blended(color, Qt::black, 0.4);
        case 2: return draw::blended(color, Qt::white, 0.6);
        case 3: return draw::blended(color, Qt::black, 0.65);
        default: return color;
    }
}

QColor text_on(const Theme& theme, const QColor& background) {
    const QColor dark = theme.dark ? theme.canvas : theme.text;
    const QColor light(Qt::white);
    const double base = luminance(background);
    // White keeps its place on saturated mid tones (as on every coloured button) until dark text is clearly better.
    return contrast(base, luminance(light)) * 1.35 >= contrast(base, luminance(dark)) ? light : dark;
}

QColor ramp_color(Ramp ramp, const Theme& theme, double t) {
    switch (ramp) {
        case Ramp::ink: return along(theme.dark ? viridis_points : ink_points, t);
        case Ramp::viridis: return along(viridis_points, t);
        case Ramp::cividis: return along(cividis_points, t);
        case Ramp::magma: return along(magma_points, t);
    }
    return {};
}

QColor signed_color(const Theme& theme, double t) {
    const double strength = std::clamp(std::abs(t), 0.0, 1.0);
    return draw::blended(theme.canvas, t < 0 ? theme.negative : theme.positive, strength);
}

}  // namespace headlight::figure
