// SPDX-License-Identifier: GPL-3.0-or-later
// Principal components of points, from the covariance in float64.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace headlight::map {

/// A non-owning view of rows of numbers.
struct Rows {
    std::span<const float> values;  ///< [count, width]
    std::int64_t count = 0, width = 0;
    const float* row(std::int64_t i) const noexcept { return values.data() + i * width; }
};
/// The rows with these numbers, one after the other.
std::vector<float> chosen_rows(const Rows&, std::span<const std::int32_t> which);

/// The dot product, summed in the order of the columns in float64.
inline double product_of(const float* a, const float* b, std::int64_t width) {
    double sum = 0;
    for (std::int64_t c = 0; c < width; ++c) sum += static_cast<double>(a[c]) * static_cast<double>(b[c]);
    return sum;
}
inline double norm_of(const float* x, std::int64_t width) { return std::sqrt(product_of(x, x, width)); }

struct Pca {
    std::vector<double> mean;      ///< [width]
    std::vector<double> loadings;  ///< [dims, width], unit rows; the largest entry of each is positive
    std::vector<float> explained;  ///< [dims] share of the variance; 0 where there is none
    std::int64_t width = 0, dims = 0;

    /// Coordinates of any rows of that width: [count, dims].
    std::vector<float> scores(const Rows&) const;
};

/// The first `dims` components; those beyond the width, or without variance, are zero. `apart` [count]: rows marked 1 do not
/// count; empty: all count. The bits do not depend on the number of threads.
Pca fit_pca(const Rows&, std::int64_t dims, std::span<const std::uint8_t> apart = {});

}  // namespace headlight::map
