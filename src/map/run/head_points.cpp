// SPDX-License-Identifier: GPL-3.0-or-later
#include "map/run/head_points.h"

#include <algorithm>
#include <cmath>

namespace headlight::map {

std::vector<float> norms_of(const HeadVectors& head) {
    std::vector<float> out;
    for (const Rows& rows : {head.query_rows(), head.key_rows()})
        for (std::int64_t i = 0; i < rows.count; ++i) {
            double sum = 0;
            for (std::int64_t c = 0; c < rows.width; ++c)
                sum += static_cast<double>(rows.row(i)[c]) * static_cast<double>(rows.row(i)[c]);
            out.push_back(static_cast<float>(std::sqrt(sum)));
        }
    return out;
}

std::vector<float> rows_of(std::span<const float> all, std::int64_t width, std::span<const std::int32_t> which) {
    std::vector<float> out;
    out.reserve(which.size() * static_cast<std::size_t>(width));
    for (const std::int32_t i : which) out.insert(out.end(), all.begin() + i * width, all.begin() + (i + 1) * width);
    return out;
}

void median_of(const std::vector<float>& points, int dims, std::span<const std::int32_t> which, float* out) {
    std::vector<float> along;
    for (int d = 0; d < dims; ++d) {
        along.clear();
        for (const std::int32_t i : which) along.push_back(points[static_cast<std::size_t>(i * dims + d)]);
        std::sort(along.begin(), along.end());
        const std::size_t n = along.size();
        out[d] = n > 0 ? (along[(n - 1) / 2] + along[n / 2]) / 2 : 0;
    }
}

}  // namespace headlight::map
