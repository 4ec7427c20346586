// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/contribution/neuron_map.h"
#include "headlight/base/numbers.h"

#include "analyze/pattern/head_reader.h"
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/base/error.h"
#include "headlight/trace/weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headlight::analyze {
namespace {

/// |v_i|: [neuron]
Vector value_lengths(const model::Model& model, Layer layer) {
    return to_vector(trace::mlp_weights(model, layer).w_out.cpu().to(at::kFloat).norm(2, 1));
}

/// A tree over rows: each merge joins two trees.
struct Merge {
    std::int64_t left = 0, right = 0;
    double weight = 0;
};

/// Similarities of trees, as the mean over the pairs of their rows. Chains of nearest neighbours find the merges of
/// average linkage in n^2 steps, whatever their order.
class Chains {
public:
    Chains(Matrix similarity, const std::vector<double>& weight)
        : similarity_(std::move(similarity)), size_(weight.size(), 1), weight_(weight), tree_(weight.size()) {
        std::iota(tree_.begin(), tree_.end(), std::int64_t{0});
    }

    std::vector<Merge> run(const CancelToken& cancel) {
        const auto n = static_cast<std::int64_t>(size_.size());
        std::vector<std::int64_t> chain;
        std::vector<Merge> merges;
        for (std::int64_t left = n; left > 1; --left) {
            if (left % 64 == 0) cancel.throw_if_cancelled();
            if (chain.empty()) chain.push_back(first_alive());
            for (;;) {
                const std::int64_t at = chain.back(), before = chain.size() > 1 ? chain[chain.size() - 2] : -1;
                const std::int64_t next = nearest(at, before);
                if (next == before) break;
                chain.push_back(next);
            }
            const std::int64_t b = chain.back();
            chain.pop_back();
            const std::int64_t a = chain.back();
            chain.pop_back();
            merges.push_back(join(a, b, n + static_cast<std::int64_t>(merges.size())));
        }
        return merges;
    }

private:
    bool alive(std::int64_t i) const { return size_[static_cast<std::size_t>(i)] > 0; }
    std::int64_t first_alive() const {
        std::int64_t i = 0;
        while (!alive(i)) ++i;
        return i;
    }
    /// The row before it in the chain wins a tie, so that a chain ends.
    std::int64_t nearest(std::int64_t of, std::int64_t before) const {
        std::int64_t best = before;
        float most = before >= 0 ? similarity_(of, before) : -2.0F;
        for (std::int64_t i = 0; i < similarity_.rows(); ++i)
            if (i != of && alive(i) && (best < 0 || similarity_(of, i) > most)) {
                best = i;
                most = similarity_(of, i);
            }
        return best;
    }
    Merge join(std::int64_t a, std::int64_t b, std::int64_t name) {
        const auto x = static_cast<std::size_t>(a), y = static_cast<std::size_t>(b);
        const auto whole = static_cast<float>(size_[x] + size_[y]);
        similarity_.row(a) =
            (similarity_.row(a) * static_cast<float>(size_[x]) + similarity_.row(b) * static_cast<float>(size_[y])) / whole;
        similarity_.col(a) = similarity_.row(a).transpose();
        // The stronger branch stands first.
        const bool turned = weight_[y] > weight_[x];
        const Merge merge{turned ? tree_[y] : tree_[x], turned ? tree_[x] : tree_[y], std::max(weight_[x], weight_[y])};
        size_[x] += size_[y];
        size_[y] = 0;
        weight_[x] = merge.weight;
        tree_[x] = name;
        return merge;
    }

    Matrix similarity_;
    std::vector<std::int64_t> size_;  ///< of the tree that lives in a row; 0: it went into another
    std::vector<double> weight_;      ///< of its strongest row
    std::vector<std::int64_t> tree_;  ///< its name: a row, or n + the merge that made it
};

}  // namespace

std::vector<std::int64_t> clustered_order(const Matrix& rows, const std::vector<double>& weight, const CancelToken& cancel) {
    const auto n = static_cast<std::int64_t>(rows.rows());
    if (n < 2) return std::vector<std::int64_t>(static_cast<std::size_t>(n), 0);
    Matrix unit = rows;
    for (Eigen::Index i = 0; i < unit.rows(); ++i) {
        const float length = unit.row(i).norm();
        if (length > 0) unit.row(i) /= length;
    }
    // Tails of the activation function are next to nothing; their products would be denormal numbers, a hundred times slower.
    unit = (unit.array().abs() < 1e-9F).select(0.0F, unit);
    const std::vector<Merge> merges = Chains(unit * unit.transpose(), weight).run(cancel);
    std::vector<std::int64_t> order, open{2 * n - 2};
    while (!open.empty()) {
        const std::int64_t tree = open.back();
        open.pop_back();
        if (tree < n) {
            order.push_back(tree);
            continue;
        }
        const Merge& merge = merges[static_cast<std::size_t>(tree - n)];
        open.push_back(merge.right);
        open.push_back(merge.left);
    }
    return order;
}

NeuronMap neuron_map(const trace::Trace& trace, Layer layer, NeuronOrder order, std::int64_t rows, const CancelToken& cancel) {
    const Matrix all = layer_activations(trace, layer);  // [neuron, token]
    const Vector lengths = value_lengths(*trace.model(), layer);
    const auto strength_of = [&](std::int64_t i) {
        return static_cast<double>(all.row(i).norm()) * static_cast<double>(lengths[i]) /
               std::sqrt(static_cast<double>(trace.tokens()));
    };
    std::vector<double> strength(static_cast<std::size_t>(all.rows()));
    for (std::int64_t i = 0; i < all.rows(); ++i) strength[static_cast<std::size_t>(i)] = strength_of(i);
    std::vector<std::int64_t> kept(strength.size());
    std::iota(kept.begin(), kept.end(), std::int64_t{0});
    const auto stronger = [&](std::int64_t a, std::int64_t b) {
        const double x = strength[static_cast<std::size_t>(a)], y = strength[static_cast<std::size_t>(b)];
        return x != y ? x > y : a < b;
    };
    std::sort(kept.begin(), kept.end(), stronger);
    if (rows > 0 && rows < std::ssize(kept)) kept.resize(static_cast<std::size_t>(rows));
    if (order == NeuronOrder::clustered && std::ssize(kept) > most_clustered)
        throw Error({.problem = "So many neurons cannot be clustered",
                     .expected = "at most " + with_commas(most_clustered),
                     .found = with_commas(kept.size()),
                     .hint = "Ask for fewer rows"});
    NeuronMap map{.layer = layer, .neurons = {}, .strength = {}, .coefficients = {}};
    const auto peak = [&](std::int64_t i) {
        Eigen::Index at = 0;
        all.row(i).cwiseAbs().maxCoeff(&at);
        return at;
    };
    if (order == NeuronOrder::index) std::sort(kept.begin(), kept.end());
    if (order == NeuronOrder::peak) {
        std::vector<Eigen::Index> peaks(strength.size());
        for (const std::int64_t i : kept) peaks[static_cast<std::size_t>(i)] = peak(i);
        std::stable_sort(kept.begin(), kept.end(), [&](std::int64_t a, std::int64_t b) {
            return peaks[static_cast<std::size_t>(a)] < peaks[static_cast<std::size_t>(b)];
        });
    }
    if (order == NeuronOrder::clustered) {
        Matrix chosen(static_cast<Eigen::Index>(kept.size()), all.cols());
        std::vector<double> weight;
        for (std::size_t i = 0; i < kept.size(); ++i) {
            chosen.row(static_cast<Eigen::Index>(i)) = all.row(kept[i]);
            weight.push_back(strength[static_cast<std::size_t>(kept[i])]);
        }
        std::vector<std::int64_t> sorted;
        for (const std::int64_t i : clustered_order(chosen, weight, cancel)) sorted.push_back(kept[static_cast<std::size_t>(i)]);
        kept = std::move(sorted);
    }
    map.coefficients.resize(static_cast<Eigen::Index>(kept.size()), all.cols());
    for (std::size_t i = 0; i < kept.size(); ++i) {
        map.neurons.emplace_back(kept[i]);
        map.strength.push_back(strength[static_cast<std::size_t>(kept[i])]);
        map.coefficients.row(static_cast<Eigen::Index>(i)) = all.row(kept[i]);
    }
    return map;
}

}  // namespace headlight::analyze
