// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/projection/pca.h"

#include "headlight/base/eigenvectors.h"
#include "headlight/base/lanes.h"

#include <algorithm>

namespace headlight::map {
namespace {

constexpr std::int64_t kPanel = 8;  ///< rows of the covariance that are summed together

/// Adds the products of one panel of columns [first, first + kPanel) with columns [first, width): sum [kPanel, width].
HEADLIGHT_WIDE void add_products(const double* x, std::int64_t count, std::int64_t width, std::int64_t first, double* sum) {
    const std::int64_t rows = std::min(kPanel, width - first);
    for (std::int64_t i = 0; i < count; ++i) {
        const double* row = x + i * width;
        for (std::int64_t r = 0; r < rows; ++r) {
            const double factor = row[first + r];
            double* into = sum + r * width;
            for (std::int64_t c = first; c < width; ++c) into[c] += factor * row[c];
        }
    }
}

/// Its lower triangle.
Eigen::MatrixXd covariance(const Rows& rows, const std::vector<double>& mean, std::span<const std::uint8_t> apart) {
    constexpr std::int64_t kBlock = 256;  // rows that stay in the cache
    const std::int64_t width = rows.width;
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(width, width);
    std::vector<double> centred(static_cast<std::size_t>(kBlock * width));
    std::int64_t filled = 0;
    const auto flush = [&] {
        for (std::int64_t first = 0; first < width; first += kPanel)
            // Column-major and symmetric: column c of the sum stands for row c.
            add_products(centred.data(), filled, width, first, sum.data() + first * width);
        filled = 0;
    };
    for (std::int64_t i = 0; i < rows.count; ++i) {
        if (!apart.empty() && apart[static_cast<std::size_t>(i)]) continue;
        const float* row = rows.row(i);
        for (std::int64_t c = 0; c < width; ++c)
            centred[static_cast<std::size_t>(filled * width + c)] =
                static_cast<double>(row[c]) - mean[static_cast<std::size_t>(c)];
        if (++filled == kBlock) flush();
    }
    flush();
    return sum;
}

}  // namespace

std::vector<float> chosen_rows(const Rows& rows, std::span<const std::int32_t> which) {
    std::vector<float> out;
    out.reserve(which.size() * static_cast<std::size_t>(rows.width));
    for (const std::int32_t i : which) out.insert(out.end(), rows.row(i), rows.row(i) + rows.width);
    return out;
}

Pca fit_pca(const Rows& rows, std::int64_t dims, std::span<const std::uint8_t> apart) {
    const auto width = static_cast<std::size_t>(rows.width);
    Pca pca{std::vector<double>(width), std::vector<double>(static_cast<std::size_t>(dims) * width),
            std::vector<float>(static_cast<std::size_t>(dims)), rows.width, dims};
    std::int64_t counted = 0;
    for (std::int64_t i = 0; i < rows.count; ++i) {
        if (!apart.empty() && apart[static_cast<std::size_t>(i)]) continue;
        ++counted;
        for (std::size_t c = 0; c < width; ++c) pca.mean[c] += static_cast<double>(rows.row(i)[c]);
    }
    if (counted == 0 || width == 0) return pca;
    for (double& m : pca.mean) m /= static_cast<double>(counted);

    const auto [values, vectors] = eigenvectors_of(covariance(rows, pca.mean, apart));
    const double total = values.cwiseMax(0).sum();
    for (std::int64_t d = 0; d < std::min(dims, rows.width); ++d) {
        const Eigen::Index at = values.size() - 1 - d;
        if (!(values(at) > 1e-12 * total)) break;  // directions without variance are the solver's choice
        Eigen::VectorXd axis = vectors.col(at);
        Eigen::Index largest = 0;
        axis.cwiseAbs().maxCoeff(&largest);
        if (axis(largest) < 0) axis = -axis;
        std::copy(axis.begin(), axis.end(), pca.loadings.begin() + d * rows.width);
        pca.explained[static_cast<std::size_t>(d)] = static_cast<float>(values(at) / total);
    }
    return pca;
}

std::vector<float> Pca::scores(const Rows& rows) const {
    std::vector<float> out(static_cast<std::size_t>(rows.count * dims));
    for (std::int64_t i = 0; i < rows.count; ++i)
        for (std::int64_t d = 0; d < dims; ++d) {
            const double* axis = loadings.data() + d * width;
            const float* row = rows.row(i);
            double sum = 0;
            for (std::int64_t c = 0; c < width; ++c)
                sum += axis[c] * (static_cast<double>(row[c]) - mean[static_cast<std::size_t>(c)]);
            out[static_cast<std::size_t>(i * dims + d)] = static_cast<float>(sum);
        }
    return out;
}

}  // namespace headlight::map
