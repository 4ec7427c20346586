// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/model/model_view_raster.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {

analyze::Matrix strengths(const analyze::Matrix& weights, const Transfer& transfer) {
    if (transfer == Transfer{}) return weights;
    analyze::Matrix out(weights.rows(), weights.cols());
    analyze::Vector row(weights.cols());
    for (Eigen::Index i = 0; i < weights.rows(); ++i) {
        row = weights.row(i);
        out.row(i) = apply(transfer, row);
    }
    return out;
}

analyze::Matrix halved(const analyze::Matrix& from, bool mean) {
    const Eigen::Index rows = (from.rows() + 1) / 2, columns = (from.cols() + 1) / 2;
    analyze::Matrix out(rows, columns);
    for (Eigen::Index r = 0; r < rows; ++r)
        for (Eigen::Index c = 0; c < columns; ++c) {
            const auto block = from.block(2 * r, 2 * c, std::min<Eigen::Index>(2, from.rows() - 2 * r),
                                          std::min<Eigen::Index>(2, from.cols() - 2 * c));
            out(r, c) = mean ? block.mean() : block.maxCoeff();
        }
    return out;
}

const analyze::AxisItem& first_item(const std::vector<analyze::AxisItem>& items, std::int64_t cell, std::int64_t cells) {
    return items[static_cast<std::size_t>(cell * std::ssize(items) / cells)];
}

const analyze::AxisItem& last_item(const std::vector<analyze::AxisItem>& items, std::int64_t cell, std::int64_t cells) {
    const std::int64_t first = cell * std::ssize(items) / cells, end = (cell + 1) * std::ssize(items) / cells;
    return items[static_cast<std::size_t>(std::max(first, end - 1))];
}

std::vector<std::int64_t> legal_columns(const analyze::PatternAxes& axes, const Mask& mask, std::int64_t rows,
                                        std::int64_t columns) {
    std::vector<std::int64_t> legal(static_cast<std::size_t>(rows), columns);
    if (!mask.causal && mask.window == 0) return legal;
    std::int64_t column = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
        const analyze::AxisItem& query = last_item(axes.queries, r, rows);
        const auto latest = query.first.value + query.count - 1 + (mask.causal ? 0 : mask.window - 1);
        while (column < columns && first_item(axes.keys, column, columns).first.value <= latest) ++column;
        legal[static_cast<std::size_t>(r)] = column;
    }
    return legal;
}

std::vector<std::int64_t> first_columns(const analyze::PatternAxes& axes, std::int64_t window, std::int64_t rows,
                                        std::int64_t columns) {
    if (window == 0) return {};
    std::vector<std::int64_t> first(static_cast<std::size_t>(rows));
    std::int64_t column = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t query = first_item(axes.queries, r, rows).first.value;
        const auto last_key = [&](std::int64_t c) {
            const analyze::AxisItem& key = last_item(axes.keys, c, columns);
            return key.first.value + key.count - 1;
        };
        // Of a chunk: the keys before the one that the query is in.
        const std::int64_t earliest = window > 0 ? query - window + 1 : query / -window * -window;
        while (column < columns && last_key(column) < earliest) ++column;
        first[static_cast<std::size_t>(r)] = column;
    }
    return first;
}

QImage map_image(const analyze::Matrix& strengths, const std::array<QRgb, 256>& ramp, const std::vector<std::int64_t>& legal,
                 const std::vector<std::int64_t>& first) {
    const auto rows = strengths.rows(), columns = strengths.cols();
    QImage image(static_cast<int>(columns), static_cast<int>(rows), QImage::Format_ARGB32_Premultiplied);
    for (Eigen::Index r = 0; r < rows; ++r) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(static_cast<int>(r)));
        const float* values = strengths.data() + r * columns;
        const auto end = legal[static_cast<std::size_t>(r)];
        const auto begin = first.empty() ? 0 : std::min(end, first[static_cast<std::size_t>(r)]);
        std::fill(line, line + begin, 0U);
        for (Eigen::Index c = begin; c < end; ++c) {
            const float t = values[c];  // NaN and below zero fall to 0
            line[c] = ramp[t > 0 ? static_cast<std::size_t>(std::min(255.0F, t * 255.0F + 0.5F)) : 0];
        }
        std::fill(line + end, line + columns, 0U);
    }
    return image;
}

namespace {

/// Lays one line over a column-major coverage buffer: each column of pixels takes the share of the line's height in it.
void add_line(std::vector<float>& alpha, QSize size, double from, double to, double width, float opacity) {
    const int w = size.width(), h = size.height();
    const double slope = (to - from) / w;
    // Height that a column sees: the line's thickness along y, and the rise within the column.
    const double thickness = width * std::sqrt(1 + slope * slope);
    const double extent = std::max(thickness, std::abs(slope)), weight = std::min(1.0, thickness / extent);
    const float strength = opacity * static_cast<float>(weight);
    for (int x = 0; x < w; ++x) {
        const double middle = from + (x + 0.5) * slope;
        const double low = std::max(0.0, middle - extent / 2), high = std::min(double(h), middle + extent / 2);
        float* column = alpha.data() + static_cast<std::ptrdiff_t>(x) * h;
        for (int y = static_cast<int>(low); y < high; ++y) {
            const double cover = std::min(high, y + 1.0) - std::max(low, double(y));
            const float a = strength * static_cast<float>(cover);
            column[y] += (1 - column[y]) * a;
        }
    }
}

}  // namespace

QImage lines_image(const analyze::Matrix& strengths, QSize size, double width, const QColor& color) {
    size = size.expandedTo({1, 1});
    std::vector<float> alpha(static_cast<std::size_t>(size.width()) * static_cast<std::size_t>(size.height()), 0.0F);
    const double from_step = double(size.height()) / double(strengths.rows());
    const double to_step = double(size.height()) / double(strengths.cols());
    for (Eigen::Index i = 0; i < strengths.rows(); ++i)
        for (Eigen::Index j = 0; j < strengths.cols(); ++j)
            if (strengths(i, j) >= least_drawn)
                add_line(alpha, size, (double(i) + 0.5) * from_step, (double(j) + 0.5) * to_step, width,
                         std::min(1.0F, strengths(i, j)));
    QImage image(size, QImage::Format_ARGB32_Premultiplied);
    for (int y = 0; y < size.height(); ++y) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
        for (int x = 0; x < size.width(); ++x) {
            const float a =
                alpha[static_cast<std::size_t>(x) * static_cast<std::size_t>(size.height()) + static_cast<std::size_t>(y)];
            line[x] = qPremultiply(qRgba(color.red(), color.green(), color.blue(), static_cast<int>(a * 255 + 0.5F)));
        }
    }
    return image;
}

}  // namespace headlight::figure
