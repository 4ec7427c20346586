// SPDX-License-Identifier: GPL-3.0-or-later
// Sums whose bits do not depend on the order of their terms, so that a corpus may be split over threads, files and machines.
#pragma once

#include <cstdint>

namespace headlight::corpus {

/// The integer sum of round(x * 2^40), half to even: each term is off by at most 2^-41 (4.5e-13), the range is +-2^87.
/// Addition is associative and commutative bit for bit. A term that is not finite, or beyond +-2^80, makes value() NaN
/// permanently: callers skip terms that do not count.
class FixedSum {
public:
    void add(double x) noexcept;
    void merge(const FixedSum&) noexcept;
    double value() const noexcept;

    /// For files: the low and the high 64 bits of the two's complement sum. An invalid sum is stored as the smallest number.
    std::int64_t low() const noexcept { return static_cast<std::int64_t>(static_cast<std::uint64_t>(sum_)); }
    std::int64_t high() const noexcept { return static_cast<std::int64_t>(sum_ >> 64); }
    static FixedSum of(std::int64_t low, std::int64_t high) noexcept;
    bool operator==(const FixedSum&) const = default;

private:
    __extension__ using Int128 = __int128;
    __extension__ using Uint128 = unsigned __int128;
    static constexpr Int128 kBroken = static_cast<Int128>(static_cast<Uint128>(1) << 127);
    Int128 sum_ = 0;
};

}  // namespace headlight::corpus
