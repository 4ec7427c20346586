// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/accumulate/fixed_sum.h"

#include "headlight/base/numbers.h"

#include <cmath>

namespace headlight::corpus {
namespace {

constexpr double kUnit = 0x1p40;
constexpr double kLargestTerm = 0x1p80;

}  // namespace

void FixedSum::add(double x) noexcept {
    if (sum_ == kBroken) return;
    if (!(std::abs(x) <= kLargestTerm)) {
        sum_ = kBroken;
        return;
    }
    // Below 2^52 a product is rounded to an integer by nearbyint; above it is one. Either is exact in 128 bits.
    sum_ += static_cast<Int128>(std::nearbyint(x * kUnit));
}

void FixedSum::merge(const FixedSum& other) noexcept {
    if (sum_ == kBroken || other.sum_ == kBroken)
        sum_ = kBroken;
    else
        sum_ = static_cast<Int128>(static_cast<Uint128>(sum_) + static_cast<Uint128>(other.sum_));  // of a file: any bits
}

double FixedSum::value() const noexcept { return sum_ == kBroken ? kNaN : static_cast<double>(sum_) / kUnit; }

FixedSum FixedSum::of(std::int64_t low, std::int64_t high) noexcept {
    FixedSum sum;
    sum.sum_ =
        static_cast<Int128>((static_cast<Uint128>(static_cast<std::uint64_t>(high)) << 64) | static_cast<std::uint64_t>(low));
    return sum;
}

}  // namespace headlight::corpus
