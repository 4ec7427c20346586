// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/number_text.h"
#include "headlight/figure/core/c_locale.h"

#include <QLocale>

#include <algorithm>
#include <clocale>
#include <cmath>

namespace headlight::figure {
namespace {

constexpr double rounding_error = 1e-12, fixed_from = 1e-5;

/// 12345.6 -> "12,345.6"
QString with_thousands(QString digits) {
    const qsizetype point = digits.indexOf(u'.'), end = point < 0 ? digits.size() : point;
    for (qsizetype at = end - 3; at > 0; at -= 3) digits.insert(at, u',');
    return digits;
}

QString power(int exponent) {
    const QString raised = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
    QString out = QStringLiteral("·10") + (exponent < 0 ? QStringLiteral("⁻") : QString());
    for (const QChar digit : QString::number(std::abs(exponent))) out += raised[digit.digitValue()];
    return out;
}

/// Of a size below 1.
QString three_digits(double size) {
    const int exponent = static_cast<int>(std::floor(std::log10(size) + 1e-12));
    if (size >= fixed_from) return QString::number(size, 'f', 2 - exponent);
    return QString::number(size / std::pow(10, exponent), 'f', 2) + power(exponent);
}

QString written(double value, int decimals, double small) {
    if (std::isnan(value)) return {};
    const double size = std::abs(value);
    const QString sign = value < 0 ? QStringLiteral("−") : QString();
    if (std::isinf(value)) return sign + QStringLiteral("∞");
    if (size < rounding_error) return QString::number(0.0, 'f', decimals);
    if (size < small) return sign + three_digits(size);
    return sign + with_thousands(QString::number(size, 'f', decimals));
}

}  // namespace

QString number_text(double value, int decimals) { return written(value, decimals, 0.5 * std::pow(10, -decimals)); }

QString value_text(double value, int decimals) {
    const double size = std::abs(value);
    const int whole = size >= 10 && std::isfinite(size) ? static_cast<int>(std::log10(size)) : 0;
    return written(value, std::max(decimals - whole - (whole > 0 ? 1 : 0), std::min(decimals, 1)),
                   std::max(0.5 * std::pow(10, -decimals), 1e-3));
}

QString count_text(std::int64_t count) {
    return QLocale(QLocale::English, QLocale::UnitedStates).toString(static_cast<qlonglong>(count));
}

void use_c_locale() {
    QLocale plain = QLocale::c();
    plain.setNumberOptions(QLocale::OmitGroupSeparator | QLocale::RejectGroupSeparator);
    QLocale::setDefault(plain);
    std::setlocale(LC_NUMERIC, "C");
}

}  // namespace headlight::figure
