// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/plot/axes.h"

#include "headlight/base/numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight::figure::plot {

double Scale::px(double value) const {
    if (!std::isfinite(value) || (log && value <= 0)) return kNaN;
    const double t = log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return begin + t * (end - begin);
}

double Scale::value(double px) const {
    const double t = (px - begin) / (end - begin);
    return log ? low * std::pow(high / low, t) : low + t * (high - low);
}

// --- ranges ---------------------------------------------------------------------------------------------------------

namespace {

struct Extent {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    void take(double v, bool log) {
        if (!std::isfinite(v) || (log && v <= 0)) return;
        low = std::min(low, v), high = std::max(high, v);
    }
};

/// Ends of the stacked bars at each place.
void take_stacked(const std::vector<Series>& all, Extent& extent) {
    std::vector<std::pair<double, double>> ends;
    for (const Series& s : all) {
        if (s.kind != Series::Kind::stacked) continue;
        ends.resize(std::max(ends.size(), s.y.size()));
        for (std::size_t i = 0; i < s.y.size(); ++i)
            if (std::isfinite(s.y[i])) (s.y[i] < 0 ? ends[i].first : ends[i].second) += s.y[i];
    }
    for (const auto& [below, above] : ends) extent.take(below, false), extent.take(above, false);
}

Extent data_extent(const Panel& panel, bool is_x) {
    const Axis& axis = is_x ? panel.x : panel.y;
    Extent data;
    for (const Series& s : panel.series) {
        if (!is_x && s.kind == Series::Kind::stacked) continue;
        for (double v : is_x ? s.x : s.y) data.take(v, axis.log);
    }
    if (!is_x) take_stacked(panel.series, data);
    for (const Reference& r : panel.references)
        if (r.vertical == is_x) data.take(r.at, axis.log);
    if (axis.low) data.low = *axis.low;
    if (axis.high) data.high = *axis.high;
    if (axis.holds) data.take(axis.holds->low, axis.log), data.take(axis.holds->high, axis.log);
    if (data.low > data.high || !std::isfinite(data.low) || !std::isfinite(data.high)) data = {axis.log ? 0.1 : 0.0, 1.0};
    return data;
}

}  // namespace

ScaleEnds axis_ends(const Panel& panel, bool is_x) {
    const Extent data = data_extent(panel, is_x);
    return {data.low, data.high};
}

Scale axis_scale(const Panel& panel, bool is_x) {
    const Axis& axis = is_x ? panel.x : panel.y;
    auto [low, high] = data_extent(panel, is_x);
    const ScaleEnds data{low, high};
    if (axis.log) {
        const double pad = axis.tight ? 1 : std::max(1.05, std::pow(high / low, 0.04));
        low /= pad, high *= pad;
        if (high <= low * 1.0001) low /= 2, high *= 2;
        return {.low = low, .high = high, .log = true, .data = data};
    }
    if (axis.from_zero) low = std::min(0.0, low);
    const bool grounded = axis.from_zero && low == 0;
    const double span = high - low;
    double pad = 0;
    if (!(span > 1e-12 * std::max(std::abs(low), std::abs(high))))
        pad = std::max(std::abs(high) * 0.2, axis.integer ? 1.0 : 1e-3) / 2;
    else if (!axis.tight)
        pad = span * (axis.low && axis.high ? 0.03 : 0.05);
    return {.low = grounded ? low : low - pad, .high = high + pad, .data = data};
}

// --- ticks ----------------------------------------------------------------------------------------------------------

namespace {

constexpr int most_decimals = 6;
constexpr double label_gap = 6, label_height = 12;

int decimals_for(double step) {
    int decimals = 0;
    for (double x = step; decimals < most_decimals && std::abs(x - std::round(x)) > 1e-6 * std::max(1.0, x); x *= 10) ++decimals;
    return decimals;
}

QString tick_label(double tick, double step) {
    if (step < 1e-5 || std::abs(tick) >= 1e15) return QString::number(tick, 'g', 3).replace(u'-', u'−');
    const int decimals = decimals_for(step);
    return draw::number_text(std::abs(tick) < 1e-6 * step ? 0 : tick, decimals);
}

/// The round number next to a wanted step: the nearest one, or the next larger whole one.
double round_step(double wanted, bool integer) {
    if (integer) {
        for (double decade = 1;; decade *= 10)
            for (double nice : {1.0, 2.0, 5.0})
                if (nice * decade >= wanted - 1e-9) return nice * decade;
    }
    const double decade = std::pow(10, std::floor(std::log10(wanted))), mantissa = wanted / decade;
    double best = 1;
    for (double nice : {2.0, 2.5, 5.0, 10.0})
        if (std::abs(nice - mantissa) <= std::abs(best - mantissa)) best = nice;
    return best * decade;
}

QString power_of_ten(int exponent, long factor) {
    const QString digits = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
    QString out = factor > 1 ? QString::number(factor) + QStringLiteral("·10") : QStringLiteral("10");
    if (exponent < 0) out += QStringLiteral("⁻");
    for (QChar c : QString::number(std::abs(exponent))) out += digits[c.digitValue()];
    return out;
}

}  // namespace

std::vector<Tick> number_ticks(double low, double high, int count, bool integer) {
    const double step = round_step(round_step((high - low) / count, false), integer);
    std::vector<Tick> ticks;
    const double last = std::floor(high / step + 1e-9);
    for (double k = std::ceil(low / step - 1e-9); k <= last; ++k) ticks.push_back({k * step, tick_label(k * step, step)});
    return ticks;
}

std::vector<Tick> log_ticks(double low, double high, int count) {
    std::vector<Tick> ticks;
    const bool plain = low >= 0.999e-3 && high <= 1.001e7;
    const double decades = std::log10(high / low);
    const bool between = decades <= 2.2 && 2 * count >= 3 * decades;
    const int every = std::max(1, static_cast<int>(std::ceil(decades / std::max(2, count))));
    for (int e = static_cast<int>(std::floor(std::log10(low))); e <= std::ceil(std::log10(high)); ++e)
        for (long m : {1L, 2L, 5L}) {
            const double value = static_cast<double>(m) * std::pow(10, e);
            if ((m > 1 && !between) || (m == 1 && e % every != 0) || value < low * (1 - 1e-9) || value > high * (1 + 1e-9))
                continue;
            ticks.push_back({value, plain ? draw::number_text(value, std::max(0, -e)) : power_of_ten(e, m)});
        }
    return ticks;
}

std::vector<Tick> fitting_ticks(const Axis& axis, const Scale& scale, bool is_x) {
    const QFont& font = ui_font(tick_font);
    const double spacing = !is_x ? 40 : axis.integer ? 40 : 72;
    // More of them say no more, however large the plot.
    const int most = is_x && axis.integer ? 32 : 12;
    for (int count = std::clamp(static_cast<int>(std::abs(scale.end - scale.begin) / spacing), 3, most);; --count) {
        std::vector<Tick> ticks =
            axis.log ? log_ticks(scale.low, scale.high, count) : number_ticks(scale.low, scale.high, count, axis.integer);
        if (is_x && axis.integer)
            std::erase_if(ticks, [&](const Tick& tick) { return tick.value < scale.data.low || tick.value > scale.data.high; });
        bool clear = true;
        double last_size = 0;
        for (std::size_t i = 0; i < ticks.size(); ++i) {
            const double size = is_x ? label_width(ticks[i].label, font) + label_gap : label_height;
            if (i > 0)
                clear = clear && std::abs(scale.px(ticks[i].value) - scale.px(ticks[i - 1].value)) >= (size + last_size) / 2;
            last_size = size;
        }
        if (!clear && count == 1) ticks.resize(1);
        if (clear || count == 1) return ticks;
    }
}

bool is_number(const QString& text) {
    return std::any_of(text.begin(), text.end(), [](QChar c) { return c.isDigit(); }) &&
           std::all_of(text.begin(), text.end(), [](QChar c) { return QStringLiteral("0123456789.,−+%").contains(c); });
}

double label_width(const QString& text, const QFont& font) {
    return is_number(text) ? draw::number_width(text, font) : draw::text_width(text, font);
}

}  // namespace headlight::figure::plot
