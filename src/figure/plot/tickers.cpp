// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/plot/tickers.h"

#include "figure/core/draw.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure::plot {

namespace {

constexpr int most_decimals = 6;

int decimals_for(double step) {
    int decimals = 0;
    for (double x = step; decimals < most_decimals && std::abs(x - std::round(x)) > 1e-6 * std::max(1.0, x); x *= 10) ++decimals;
    return decimals;
}

QString grouped(double value) {
    return (value < 0 ? QStringLiteral("−") : QString()) +
           draw::count_text(static_cast<std::int64_t>(std::llround(std::abs(value))));
}

QString superscript(int number) {
    const QString digits = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
    QString out = number < 0 ? QStringLiteral("⁻") : QString();
    for (QChar c : QString::number(std::abs(number))) out += digits[c.digitValue()];
    return out;
}

}  // namespace

double NumberTicker::getTickStep(const QCPRange& range) {
    const double step = QCPAxisTicker::getTickStep(range);
    if (!integer_) return step;
    for (double decade = 1;; decade *= 10)
        for (double nice : {1.0, 2.0, 5.0})
            if (nice * decade >= step - 1e-9) return nice * decade;
}

QVector<QString> NumberTicker::createLabelVector(const QVector<double>& ticks, const QLocale&, QChar, int) {
    QVector<QString> labels;
    const double step = ticks.size() > 1 ? std::abs(ticks[1] - ticks[0]) : 1;
    const int decimals = decimals_for(step);
    for (double tick : ticks) {
        const bool tiny = step < 1e-5;
        labels << (tiny                                     ? QString::number(tick, 'g', 3).replace(u'-', u'−')
                   : decimals == 0 && std::abs(tick) >= 1e4 ? grouped(tick)
                                                            : draw::number_text(tick, decimals));
    }
    return labels;
}

QVector<double> LogTicker::createTickVector(double, const QCPRange& range) {
    QVector<double> ticks;
    if (!(range.lower > 0)) return ticks;
    plain_ = range.lower >= 0.999e-3 && range.upper <= 1.001e7;
    const double decades = std::log10(range.upper / range.lower);
    const int every = std::max(1, static_cast<int>(std::ceil(decades / std::max(2, tickCount()))));
    for (int e = static_cast<int>(std::floor(std::log10(range.lower))); e <= std::ceil(std::log10(range.upper)); ++e)
        for (double m : {1.0, 2.0, 5.0}) {
            if (m > 1 && decades > 2.2) continue;
            if (m == 1.0 && every > 1 && e % every != 0) continue;
            ticks << m * std::pow(10, e);
        }
    return ticks;
}

QVector<QString> LogTicker::createLabelVector(const QVector<double>& ticks, const QLocale&, QChar, int) {
    QVector<QString> labels;
    for (double tick : ticks) {
        const int e = static_cast<int>(std::floor(std::log10(tick) + 1e-9));
        const double m = tick / std::pow(10, e);
        if (plain_)
            labels << (e >= 3 ? grouped(tick) : draw::number_text(tick, std::max(0, -e)));
        else
            labels << (std::round(m) > 1 ? QString::number(std::lround(m)) + QStringLiteral("·10") : QStringLiteral("10")) +
                          superscript(e);
    }
    return labels;
}

}  // namespace headlight::figure::plot
