// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/lanes.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/map/projection/embedding.h"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>

namespace headlight::map {
namespace {

using lanes::Floats;
using lanes::Ints;
using lanes::kLanes;
using Words [[gnu::vector_size(kLanes * sizeof(float))]] = std::uint32_t;

/// e^x for x in [-87, 88]: Cody and Waite's reduction and a polynomial; error below 2 ulp.
[[gnu::always_inline]] inline void exponential(const Floats& x, Floats& out) {
    constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number in the low bits
    const Floats shifted = x * 1.44269504F + kRound;
    const Floats n = shifted - kRound;
    const Floats r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
    const Floats p =
        ((((1.9875691500e-4F * r + 1.3981999507e-3F) * r + 8.3334519073e-3F) * r + 4.1665795894e-2F) * r + 1.6666665459e-1F) * r +
        5.0000001201e-1F;
    const Floats e = p * r * r + r + 1.0F;
    Ints bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    const Ints power = (bits - 0x4B400000 + 127) << 23;
    Floats scale;
    std::memcpy(&scale, &power, sizeof scale);
    out = e * scale;
}

/// Sixteen sampled edges, and what their points move by.
struct Batch {
    const std::int32_t *from, *to;
    std::uint32_t counter;  ///< of draws, in this epoch
};

struct Step {
    float a, b, alpha;
    std::uint32_t seed, count;
    int negatives;
};

template <int D>
[[gnu::always_inline]] inline void move(const Batch& batch, const Step& step, float* y) {
    Floats mine[D], start[D];
    for (int d = 0; d < D; ++d) {
        for (int k = 0; k < kLanes; ++k) mine[d][k] = y[batch.from[k] * D + d];
        start[d] = mine[d];
    }
    constexpr float kSmallest = 1e-30F, kClip = 4;
    for (int round = 0; round <= step.negatives; ++round) {
        Ints other;
        if (round == 0) {
            std::memcpy(&other, batch.to, sizeof other);
        } else {
            // A draw depends only on its number: murmur3's finaliser over (seed, counter).
            Words h = step.seed + 0x9E3779B9U * (batch.counter + static_cast<std::uint32_t>((round - 1) * kLanes) +
                                                 Words{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
            h = (h ^ (h >> 16)) * 0x85EBCA6BU;
            h = (h ^ (h >> 13)) * 0xC2B2AE35U;
            h ^= h >> 16;
            const Ints high = __builtin_convertvector(h >> 8, Ints);
            other = __builtin_convertvector(
                __builtin_convertvector(high, Floats) * (static_cast<float>(step.count) / 16777216.0F), Ints);
        }
        Floats between[D], square = {};
        for (int k = 0; k < kLanes; ++k) other[k] = std::min(other[k], static_cast<std::int32_t>(step.count) - 1);
        for (int d = 0; d < D; ++d) {
            Floats theirs;
            for (int k = 0; k < kLanes; ++k) theirs[k] = y[other[k] * D + d];
            between[d] = mine[d] - theirs;
            square += between[d] * between[d];
        }
        const Floats inside = square > kSmallest ? square : Floats{} + kSmallest;
        Floats log, power;
        lanes::natural_log(inside, log);
        exponential(log * step.b, power);
        const Floats curve = 1.0F + step.a * power;
        Floats pull;
        if (round == 0)
            pull = -2.0F * step.a * step.b * power / (inside * curve);
        else
            pull = 2.0F * step.b / ((0.001F + square) * curve);
        for (int d = 0; d < D; ++d) {
            Floats by = pull * between[d];
            by = by > kClip ? Floats{} + kClip : by;
            by = by < -kClip ? Floats{} - kClip : by;
            by *= step.alpha;
            mine[d] += by;
            if (round == 0)
                for (int k = 0; k < kLanes; ++k) y[batch.to[k] * D + d] -= by[k];
        }
    }
    for (int d = 0; d < D; ++d) {
        const Floats by = mine[d] - start[d];
        for (int k = 0; k < kLanes; ++k) y[batch.from[k] * D + d] += by[k];
    }
}
HEADLIGHT_WIDE void move_2(const Batch& batch, const Step& step, float* y) { move<2>(batch, step, y); }
HEADLIGHT_WIDE void move_3(const Batch& batch, const Step& step, float* y) { move<3>(batch, step, y); }

class Umap : public Embedding {
public:
    Umap(const Graph& graph, std::vector<float> start, const UmapOptions& options)
        : options_(options), count_(graph.count), y_(std::move(start)), curve_(umap_curve(options.min_dist, options.spread)) {
        if (options_.epochs == 0) options_.epochs = count_ <= 10000 ? 500 : 200;
        scale();
        const float most = graph.weight.empty() ? 0 : *std::max_element(graph.weight.begin(), graph.weight.end());
        const float least = most / static_cast<float>(options_.epochs);
        struct Edge {
            std::uint64_t draw;
            std::int32_t from, to;
            float every;
        };
        std::vector<Edge> edges;
        for (std::int64_t i = 0; i < count_; ++i)
            for (std::int64_t e = graph.first[static_cast<std::size_t>(i)]; e < graph.first[static_cast<std::size_t>(i) + 1];
                 ++e) {
                const float weight = graph.weight[static_cast<std::size_t>(e)];
                if (weight < least || weight <= 0) continue;
                edges.push_back({corpus::draw(options_.seed, e, -1), static_cast<std::int32_t>(i),
                                 graph.to[static_cast<std::size_t>(e)], most / weight});
            }
        // In any order but that of the points: edges that are sampled together should not share one.
        std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.draw < b.draw; });
        for (const Edge& edge : edges) {
            from_.push_back(edge.from);
            to_.push_back(edge.to);
            every_.push_back(edge.every);
        }
        next_ = every_;
    }

    void run(int iterations, const CancelToken& cancel) override {
        for (int k = 0; k < iterations && done_ < options_.epochs; ++k) {
            cancel.throw_if_cancelled();
            epoch();
            ++done_;
        }
    }

    std::vector<float> points() const override { return y_; }
    int done() const override { return done_; }
    int wanted() const override { return options_.epochs; }
    double divergence() override { return kNaN; }

private:
    void scale() {
        const int dims = options_.dims;
        for (int d = 0; d < dims && count_ > 0; ++d) {
            float low = y_[static_cast<std::size_t>(d)], high = low;
            for (std::int64_t i = 0; i < count_; ++i) {
                low = std::min(low, y_[static_cast<std::size_t>(i * dims + d)]);
                high = std::max(high, y_[static_cast<std::size_t>(i * dims + d)]);
            }
            for (std::int64_t i = 0; i < count_; ++i) {
                float& value = y_[static_cast<std::size_t>(i * dims + d)];
                value = high > low ? 10 * (value - low) / (high - low) : 5;
            }
        }
    }

    void epoch() {
        const auto now = static_cast<float>(done_);
        Step step{static_cast<float>(curve_.a),
                  static_cast<float>(curve_.b),
                  1 - now / static_cast<float>(options_.epochs),
                  static_cast<std::uint32_t>(corpus::draw(options_.seed, done_, -2)),
                  static_cast<std::uint32_t>(count_),
                  options_.negatives};
        std::int32_t from[kLanes], to[kLanes];
        std::uint32_t counter = 0;
        int filled = 0;
        const auto flush = [&] {
            if (filled == 0) return;
            // An incomplete batch is filled with an edge from a point beyond the last one to itself.
            for (; filled < kLanes; ++filled) from[filled] = to[filled] = static_cast<std::int32_t>(count_);
            (options_.dims == 3 ? move_3 : move_2)({from, to, counter}, step, scratch());
            counter += static_cast<std::uint32_t>(options_.negatives * kLanes);
            filled = 0;
        };
        y_.resize(y_.size() + static_cast<std::size_t>(options_.dims));
        for (std::size_t e = 0; e < next_.size(); ++e) {
            if (next_[e] > now) continue;
            from[filled] = from_[e];
            to[filled] = to_[e];
            next_[e] += every_[e];
            if (++filled == kLanes) flush();
        }
        flush();
        y_.resize(y_.size() - static_cast<std::size_t>(options_.dims));
    }
    float* scratch() { return y_.data(); }

    UmapOptions options_;
    std::int64_t count_;
    std::vector<float> y_;  ///< [count, dims]
    UmapCurve curve_;
    std::vector<std::int32_t> from_, to_;
    std::vector<float> every_, next_;  ///< epochs between two samples of an edge, and the next one
    int done_ = 0;
};

}  // namespace

std::unique_ptr<Embedding> make_umap(Graph graph, std::vector<float> start, const UmapOptions& options) {
    return std::make_unique<Umap>(graph, std::move(start), options);
}

UmapCurve umap_curve(double min_dist, double spread) {
    // Gauss-Newton with Levenberg's damping; the problem is smooth and has two unknowns.
    constexpr int kPoints = 300;
    const auto residuals = [&](const UmapCurve& at, Eigen::Matrix2d* normal, Eigen::Vector2d* gradient) {
        double sum = 0;
        for (int k = 0; k < kPoints; ++k) {
            const double x = 3 * spread * k / (kPoints - 1);
            const double wanted = x < min_dist ? 1 : std::exp(-(x - min_dist) / spread);
            const double power = x > 0 ? std::pow(x, 2 * at.b) : 0;
            const double value = 1 / (1 + at.a * power), residual = value - wanted;
            sum += residual * residual;
            if (!normal || x == 0) continue;
            const Eigen::Vector2d slope(-value * value * power, -value * value * at.a * power * 2 * std::log(x));
            *normal += slope * slope.transpose();
            *gradient += slope * residual;
        }
        return sum;
    };
    UmapCurve at{1, 1};
    double damping = 1e-3;
    for (int step = 0; step < 200; ++step) {
        Eigen::Matrix2d normal = Eigen::Matrix2d::Zero();
        Eigen::Vector2d gradient = Eigen::Vector2d::Zero();
        const double now = residuals(at, &normal, &gradient);
        normal.diagonal() *= 1 + damping;
        const Eigen::Vector2d by = normal.ldlt().solve(gradient);
        const UmapCurve next{at.a - by(0), at.b - by(1)};
        if (next.a > 0 && next.b > 0 && residuals(next, nullptr, nullptr) <= now) {
            at = next;
            damping /= 10;
            if (by.norm() < 1e-12) break;
        } else {
            damping *= 10;
        }
    }
    return at;
}

}  // namespace headlight::map
