// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/numbers.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace headlight {

std::string with_commas(std::int64_t n) {
    std::string digits = std::to_string(n);
    const auto first = static_cast<std::int64_t>(n < 0 ? 1 : 0);
    for (auto at = static_cast<std::int64_t>(digits.size()) - 3; at > first; at -= 3)
        digits.insert(static_cast<std::size_t>(at), 1, ',');
    return digits;
}

std::string bytes_text(std::uint64_t n) {
    std::string digits = std::to_string(n);
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
    return digits + (n == 1 ? " byte" : " bytes");
}

std::string rounded_bytes(double n) {
    char text[48];
    if (n < 1e6)
        std::snprintf(text, sizeof text, "%.0f kB", n / 1e3);
    else if (n < 1e9)
        std::snprintf(text, sizeof text, "%.0f MB", n / 1e6);
    else
        std::snprintf(text, sizeof text, "%.1f GB", n / 1e9);
    return text;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
    return text + "]";
}

std::string significant(double x) {
    if (std::isnan(x)) return "–";
    if (std::isinf(x)) return x > 0 ? "∞" : "-∞";
    char text[48];
    std::snprintf(text, sizeof text, "%.2e", x);  // rounded first: 0.9996 has two digits behind the point
    int exponent = 0;
    for (const char* at = text; *at; ++at)
        if (*at == 'e') exponent = std::atoi(at + 1);
    if (x == 0) return "0";
    if (exponent < -4) return text;
    if (exponent >= 3) {
        if (exponent > 15) return text;
        return with_commas(std::llround(x));
    }
    std::snprintf(text, sizeof text, "%.*f", 2 - exponent, x);
    return text;
}

}  // namespace headlight
