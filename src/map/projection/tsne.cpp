// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/projection/embedding.h"
#include "map/projection/repulsion.h"
#include "map/projection/repulsion_lanes.h"

#include <cmath>

namespace headlight::map {
namespace {

using lanes::Floats;
using lanes::Ints;
using lanes::kLanes;

/// A graph whose rows are whole vectors: the padding points at the row itself, with weight 0.
struct PaddedGraph {
    std::vector<std::int64_t> first;
    std::vector<std::int32_t> to;
    std::vector<float> weight;

    explicit PaddedGraph(const Graph& graph) {
        first.push_back(0);
        for (std::size_t i = 0; i < static_cast<std::size_t>(graph.count); ++i) {
            for (std::int64_t e = graph.first[i]; e < graph.first[i + 1]; ++e) {
                to.push_back(graph.to[static_cast<std::size_t>(e)]);
                weight.push_back(graph.weight[static_cast<std::size_t>(e)]);
            }
            while (to.size() % kLanes != 0) {
                to.push_back(static_cast<std::int32_t>(i));
                weight.push_back(0);
            }
            first.push_back(std::ssize(to));
        }
    }
};

/// pull_i = sum_j p_ij w_ij (y_i - y_j)
template <int D>
[[gnu::always_inline]] inline void attract(const PaddedGraph& p, const Axes& y, Axes& pull) {
    const float* axis[D];
    for (int d = 0; d < D; ++d) axis[d] = y.axis(d);
    for (std::int64_t i = 0; i < y.count; ++i) {
        Floats sum[D] = {};
        for (std::int64_t e = p.first[static_cast<std::size_t>(i)]; e < p.first[static_cast<std::size_t>(i) + 1]; e += kLanes) {
            Floats weight, w, square = Floats{} + 1.0F, between[D];
            std::memcpy(&weight, p.weight.data() + e, sizeof weight);
            const std::int32_t* to = p.to.data() + e;
            for (int d = 0; d < D; ++d) {
                Floats theirs;
                for (int k = 0; k < kLanes; ++k) theirs[k] = axis[d][to[k]];
                between[d] = axis[d][i] - theirs;
                square += between[d] * between[d];
            }
            reciprocal(square, w);
            w *= weight;
            for (int d = 0; d < D; ++d) sum[d] += w * between[d];
        }
        for (int d = 0; d < D; ++d) pull.axis(d)[i] = static_cast<float>(lanes::lanes_sum(sum[d]));
    }
}
HEADLIGHT_WIDE void attract_2(const PaddedGraph& p, const Axes& y, Axes& pull) { attract<2>(p, y, pull); }
HEADLIGHT_WIDE void attract_3(const PaddedGraph& p, const Axes& y, Axes& pull) { attract<3>(p, y, pull); }

Axes axes_of(const std::vector<float>& points, int dims) {
    Axes y(std::ssize(points) / dims, dims, kFarAway);
    for (std::int64_t i = 0; i < y.count; ++i)
        for (int d = 0; d < dims; ++d) y.axis(d)[i] = points[static_cast<std::size_t>(i * dims + d)];
    return y;
}

std::vector<float> points_of(const Axes& y) {
    std::vector<float> out(static_cast<std::size_t>(y.count * y.dims));
    for (std::int64_t i = 0; i < y.count; ++i)
        for (std::int64_t d = 0; d < y.dims; ++d) out[static_cast<std::size_t>(i * y.dims + d)] = y.axis(d)[i];
    return out;
}

/// sum_ij p_ij ln(p_ij / q_ij)
double divergence_of(const PaddedGraph& p, const Axes& y, double z) {
    double sum = 0;
    for (std::int64_t i = 0; i < y.count; ++i)
        for (std::int64_t e = p.first[static_cast<std::size_t>(i)]; e < p.first[static_cast<std::size_t>(i) + 1]; ++e) {
            const double weight = static_cast<double>(p.weight[static_cast<std::size_t>(e)]);
            if (weight <= 0) continue;
            double square = 1;
            for (std::int64_t d = 0; d < y.dims; ++d) {
                const double between =
                    static_cast<double>(y.axis(d)[i]) - static_cast<double>(y.axis(d)[p.to[static_cast<std::size_t>(e)]]);
                square += between * between;
            }
            sum += weight * std::log(weight * square * z);
        }
    return sum;
}

class Forces {
public:
    Forces(Graph graph, std::vector<float> points, int dims, bool exact, double theta)
        : p(graph), y(axes_of(points, dims)), pull(y.count, dims), push(y.count, dims), exact_(exact), theta_(theta) {}

    void update() {
        z = exact_ ? exact_repulsion(y, push) : tree_(y, push, theta_);
        (y.dims == 3 ? attract_3 : attract_2)(p, y, pull);
    }

    PaddedGraph p;
    Axes y, pull, push;
    double z = 0;

private:
    bool exact_;
    double theta_;
    TreeRepulsion tree_;
};

class Tsne : public Embedding {
public:
    Tsne(Graph graph, std::vector<float> start, const TsneOptions& options)
        : options_(options),
          forces_(std::move(graph), std::move(start), options.dims, std::ssize(start) <= options.exact_up_to * options.dims,
                  options.theta),
          moved_(forces_.y.count, options.dims),
          gain_(forces_.y.count, options.dims, 1) {}

    void run(int iterations, const CancelToken& cancel) override {
        for (int k = 0; k < iterations && done_ < wanted(); ++k) {
            cancel.throw_if_cancelled();
            step(done_ < options_.early ? options_.exaggeration : 1);
            ++done_;
        }
    }

    std::vector<float> points() const override { return points_of(forces_.y); }
    int done() const override { return done_; }
    int wanted() const override { return options_.early + options_.later; }
    double divergence() override {
        forces_.update();
        return divergence_of(forces_.p, forces_.y, forces_.z);
    }

private:
    void step(double exaggeration) {
        forces_.update();
        Axes& y = forces_.y;
        const auto rate = static_cast<float>(static_cast<double>(y.count) / exaggeration);
        const auto stronger = static_cast<float>(exaggeration);
        const auto weaker = static_cast<float>(forces_.z > 0 ? 1 / forces_.z : 0);
        const auto momentum = static_cast<float>(options_.momentum);
        for (int d = 0; d < options_.dims; ++d) {
            const float *pull = forces_.pull.axis(d), *push = forces_.push.axis(d);
            float *moved = moved_.axis(d), *gain = gain_.axis(d);
            const auto sign = [](float v) { return (v > 0) - (v < 0); };
            for (std::int64_t i = 0; i < y.count; ++i) {
                const float gradient = stronger * pull[i] - weaker * push[i];
                gain[i] = sign(moved[i]) != sign(gradient) ? gain[i] + 0.2F : gain[i] * 0.8F + 0.01F;
                moved[i] = momentum * moved[i] - rate * gain[i] * gradient;
            }
        }
        constexpr float kLongest = 5;
        for (std::int64_t i = 0; i < y.count; ++i) {
            float square = 0;
            for (int d = 0; d < options_.dims; ++d) square += moved_.axis(d)[i] * moved_.axis(d)[i];
            if (square <= kLongest * kLongest) continue;
            for (int d = 0; d < options_.dims; ++d) moved_.axis(d)[i] *= kLongest / std::sqrt(square);
        }
        for (int d = 0; d < options_.dims; ++d) {
            double mean = 0;
            for (std::int64_t i = 0; i < y.count; ++i) {
                y.axis(d)[i] += moved_.axis(d)[i];
                mean += static_cast<double>(y.axis(d)[i]);
            }
            mean /= static_cast<double>(y.count);
            for (std::int64_t i = 0; i < y.count; ++i) y.axis(d)[i] -= static_cast<float>(mean);
        }
    }

    TsneOptions options_;
    Forces forces_;
    Axes moved_, gain_;
    int done_ = 0;
};

}  // namespace

std::unique_ptr<Embedding> make_tsne(Graph p, std::vector<float> start, const TsneOptions& options) {
    return std::make_unique<Tsne>(std::move(p), std::move(start), options);
}

TsneGradient tsne_gradient(const Graph& p, const std::vector<float>& points, int dims, double theta) {
    Forces forces(p, points, dims, theta == 0, theta);
    forces.update();
    TsneGradient out{points_of(forces.pull), forces.z, divergence_of(forces.p, forces.y, forces.z)};
    const std::vector<float> push = points_of(forces.push);
    for (std::size_t k = 0; k < push.size(); ++k)
        out.gradient[k] =
            static_cast<float>(4 * (static_cast<double>(out.gradient[k]) - static_cast<double>(push[k]) / forces.z));
    return out;
}

}  // namespace headlight::map
