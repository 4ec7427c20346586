// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/projection/neighbours.h"

#include "headlight/model/blas_kernels.h"
#include "headlight/model/one_thread.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headlight::map {
namespace {

constexpr std::int64_t kRowBlock = 256;

std::vector<double> squared_norms(const Rows& rows) {
    std::vector<double> out;
    for (std::int64_t i = 0; i < rows.count; ++i) out.push_back(product_of(rows.row(i), rows.row(i), rows.width));
    return out;
}

double squared_distance(const float* a, const float* b, std::int64_t width) {
    double sum = 0;
    for (std::int64_t c = 0; c < width; ++c) {
        const double d = static_cast<double>(a[c]) - static_cast<double>(b[c]);
        sum += d * d;
    }
    return sum;
}

/// Indices whose approximate value is at most the `each`-th smallest plus `slack`.
class Candidates {
public:
    const std::vector<std::int32_t>& of(const float* values, std::int64_t n, std::int64_t each, float slack) {
        found_.resize(static_cast<std::size_t>(n));
        // A sample's quantile passes few values; where it passes too few, all are tried.
        constexpr std::int64_t kStep = 8;
        float limit = std::numeric_limits<float>::infinity();
        if (n > 64 * kStep && each < n / 4) {
            sample_.clear();
            for (std::int64_t j = 0; j < n; j += kStep) sample_.push_back(values[j]);
            const auto at = sample_.begin() + std::min<std::int64_t>(each / kStep * 3 / 2 + 12, std::ssize(sample_) - 1);
            std::nth_element(sample_.begin(), at, sample_.end());
            limit = *at;
        }
        std::size_t count = filter(values, n, limit);
        if (count < static_cast<std::size_t>(each)) count = filter(values, n, std::numeric_limits<float>::infinity());
        sample_.clear();
        for (std::size_t f = 0; f < count; ++f) sample_.push_back(values[found_[f]]);
        std::nth_element(sample_.begin(), sample_.begin() + (each - 1), sample_.end());
        const float last = sample_[static_cast<std::size_t>(each - 1)] + slack;
        if (last > limit) {
            count = filter(values, n, last);
        } else {
            std::size_t kept = 0;
            for (std::size_t f = 0; f < count; ++f)
                if (values[found_[f]] <= last) found_[kept++] = found_[f];
            count = kept;
        }
        found_.resize(count);
        return found_;
    }

private:
    std::size_t filter(const float* values, std::int64_t n, float limit) {
        found_.resize(static_cast<std::size_t>(n));
        std::size_t count = 0;
        for (std::int64_t j = 0; j < n; ++j) {
            found_[count] = static_cast<std::int32_t>(j);
            count += values[j] <= limit ? 1 : 0;
        }
        return count;
    }
    std::vector<std::int32_t> found_;
    std::vector<float> sample_;
};

/// `add` [among.count] is added to -2 of·among: the smallest is the nearest. `exact(i, j)` orders the candidates; smaller
/// first.
template <class Exact, class Finish>
NeighbourLists lists_by_products(const Rows& of, const Rows& among, const std::vector<float>& add, double slack_of_norm,
                                 const std::vector<double>& norms, std::int64_t each, bool skip_self, const Exact& exact,
                                 const Finish& finish, const CancelToken& cancel) {
    each = std::min(each, among.count - (skip_self ? 1 : 0));
    NeighbourLists out{of.count, std::max<std::int64_t>(each, 0), {}, {}};
    out.index.resize(static_cast<std::size_t>(of.count * out.each));
    out.distance.resize(out.index.size());
    if (each <= 0) return out;
    const model::OneThread one;
    const at::NoGradGuard no_grad;
    const at::Tensor left = at::from_blob(const_cast<float*>(of.values.data()), {of.count, of.width}, at::kFloat);  // NOLINT
    // A copy: with one column, a BLAS does not accept the view's strides.
    const at::Tensor right = at::empty({among.width, among.count}, at::kFloat);
    right.copy_(at::from_blob(const_cast<float*>(among.values.data()), {among.count, among.width}, at::kFloat).t());  // NOLINT
    const double largest = std::sqrt(*std::max_element(norms.begin(), norms.end()));
    Candidates candidates;
    std::vector<float> values(static_cast<std::size_t>(among.count));
    std::vector<std::pair<double, std::int32_t>> order;
    for (std::int64_t first = 0; first < of.count; first += kRowBlock) {
        cancel.throw_if_cancelled();
        const std::int64_t rows = std::min(kRowBlock, of.count - first);
        const at::Tensor products = model::matrix_product(left.narrow(0, first, rows), right).contiguous();
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::int64_t i = first + r;
            const float* row = products.data_ptr<float>() + r * among.count;
            for (std::int64_t j = 0; j < among.count; ++j)
                values[static_cast<std::size_t>(j)] = add[static_cast<std::size_t>(j)] - 2 * row[j];
            if (skip_self) values[static_cast<std::size_t>(i)] = std::numeric_limits<float>::infinity();
            // Rounding of a float32 sum of `width` products.
            const double own = norm_of(of.row(i), of.width);
            const auto slack = static_cast<float>(slack_of_norm * (2 * own + largest) * largest);
            order.clear();
            for (const std::int32_t j : candidates.of(values.data(), among.count, each, slack))
                if (!skip_self || j != i) order.emplace_back(exact(i, j), j);
            std::partial_sort(order.begin(), order.begin() + each, order.end());
            for (std::int64_t e = 0; e < each; ++e) {
                const auto at = static_cast<std::size_t>(i * each + e);
                out.index[at] = order[static_cast<std::size_t>(e)].second;
                out.distance[at] = static_cast<float>(finish(order[static_cast<std::size_t>(e)].first, order.front().first));
            }
        }
    }
    return out;
}

double slack_of(std::int64_t width) { return 4 * 6e-8 * (static_cast<double>(width) + 8); }

/// Products of rows around 0 lose fewer digits.
std::vector<float> moved_by(const Rows& rows, const std::vector<double>& mean) {
    std::vector<float> out(static_cast<std::size_t>(rows.count * rows.width));
    for (std::int64_t i = 0; i < rows.count; ++i)
        for (std::int64_t c = 0; c < rows.width; ++c)
            out[static_cast<std::size_t>(i * rows.width + c)] =
                static_cast<float>(static_cast<double>(rows.row(i)[c]) - mean[static_cast<std::size_t>(c)]);
    return out;
}

std::vector<double> mean_of(const Rows& rows) {
    std::vector<double> mean(static_cast<std::size_t>(rows.width));
    for (std::int64_t i = 0; i < rows.count; ++i)
        for (std::int64_t c = 0; c < rows.width; ++c)
            mean[static_cast<std::size_t>(c)] += static_cast<double>(rows.row(i)[c]) / static_cast<double>(rows.count);
    return mean;
}

NeighbourLists nearest_euclidean(const Rows& of, const Rows& among, std::int64_t each, bool own, const CancelToken& cancel) {
    const std::vector<double> mean = mean_of(among);
    const std::vector<float> right = moved_by(among, mean), other = own ? std::vector<float>() : moved_by(of, mean);
    const Rows to{right, among.count, among.width}, from{own ? right : other, of.count, of.width};
    const std::vector<double> norms = squared_norms(to);
    const std::vector<float> add(norms.begin(), norms.end());
    return lists_by_products(
        from, to, add, slack_of(of.width), norms, each, own,
        [&](std::int64_t i, std::int64_t j) { return squared_distance(of.row(i), among.row(j), of.width); },
        [](double squared, double) { return std::sqrt(squared); }, cancel);
}

}  // namespace

std::vector<float> unit_rows(const Rows& rows) {
    std::vector<float> out(rows.values.begin(), rows.values.begin() + rows.count * rows.width);
    const std::vector<double> norms = squared_norms(rows);
    for (std::int64_t i = 0; i < rows.count; ++i)
        for (std::int64_t c = 0; norms[static_cast<std::size_t>(i)] > 0 && c < rows.width; ++c) {
            float& value = out[static_cast<std::size_t>(i * rows.width + c)];
            value = static_cast<float>(static_cast<double>(value) / std::sqrt(norms[static_cast<std::size_t>(i)]));
        }
    return out;
}

NeighbourLists nearest_rows(const Rows& rows, std::int64_t each, Metric metric, const CancelToken& cancel) {
    if (metric == Metric::euclidean) return nearest_euclidean(rows, rows, each, true, cancel);
    // Of unit rows, half the squared distance is 1 - cos.
    const std::vector<float> units = unit_rows(rows);
    const Rows unit{units, rows.count, rows.width};
    NeighbourLists lists = nearest_euclidean(unit, unit, each, true, cancel);
    for (float& distance : lists.distance) distance *= distance / 2;
    return lists;
}

NeighbourLists nearest_among(const Rows& of, const Rows& among, std::int64_t each, const CancelToken& cancel) {
    return nearest_euclidean(of, among, each, false, cancel);
}

NeighbourLists largest_products(const Rows& of, const Rows& among, std::int64_t each, const CancelToken& cancel) {
    const std::vector<double> norms = squared_norms(among);
    const std::vector<float> none(static_cast<std::size_t>(among.count));
    return lists_by_products(
        of, among, none, slack_of(of.width), norms, each, false,
        [&](std::int64_t i, std::int64_t j) { return -product_of(of.row(i), among.row(j), of.width); },
        [](double negative, double best) { return negative - best; }, cancel);
}

}  // namespace headlight::map
