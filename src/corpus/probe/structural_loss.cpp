// SPDX-License-Identifier: GPL-3.0-or-later
#include "corpus/probe/structural_loss.h"

#include "headlight/model/blas_kernels.h"
#include "headlight/model/one_thread.h"
#include "headlight/model/same_products.h"

#include <ATen/Parallel.h>

namespace headlight::corpus {
namespace {

/// Of projected words t [word, rank]; becomes the gradient by t where `wants_gradient`, multiplied by `scale`.
double depth_loss(at::Tensor t, const std::vector<float>& depth, bool wants_gradient, double scale) {
    const auto n = std::ssize(depth);
    const at::Tensor error =
        t.square().sum(1) - at::from_blob(const_cast<float*>(depth.data()), {n}, at::TensorOptions(at::kFloat));
    if (wants_gradient) t.mul_(error.sign().mul_(2 * scale / static_cast<double>(n)).unsqueeze(1));
    return error.abs().sum(at::kDouble).item<double>() / static_cast<double>(n);
}

double distance_loss(at::Tensor t, const std::vector<float>& distance, bool wants_gradient, double scale) {
    const std::int64_t n = t.size(0);
    const double pairs = static_cast<double>(n * n);
    // A distance is the difference of large numbers where the words of a sentence have much in common.
    t.sub_(t.mean(0, true));
    at::Tensor error = at::mm(t, t.t());
    const at::Tensor norms = error.diagonal().clone();
    error.mul_(-2).add_(norms.unsqueeze(0)).add_(norms.unsqueeze(1));
    error.sub_(at::from_blob(const_cast<float*>(distance.data()), {n, n}, at::TensorOptions(at::kFloat)));
    error.diagonal().zero_();
    const double loss = error.abs().sum(at::kDouble).item<double>() / pairs;
    if (wants_gradient) {
        // The signs are symmetric, so pair (i, j) pulls t_i by 4 sign_ij (t_i - t_j): the Laplacian of the signs.
        at::Tensor pull = error.sign();
        const at::Tensor degree = pull.sum(1);
        pull.neg_().diagonal().add_(degree);
        t.copy_(at::mm(pull, t).mul_(4 * scale / pairs));
    }
    return loss;
}

}  // namespace

std::vector<double> structural_loss(const TreeBatch& batch, TreeTarget target, const at::Tensor& b, at::Tensor* gradient) {
    const model::SameProducts same;
    at::Tensor projected = model::matrix_product(batch.states, b.t());
    const auto sentences = std::ssize(batch.first);
    std::vector<double> losses(batch.first.size());
    at::parallel_for(0, sentences, 1, [&](std::int64_t begin, std::int64_t end) {
        const model::OneThread one;
        for (auto s = static_cast<std::size_t>(begin); s < static_cast<std::size_t>(end); ++s) {
            const TreeLengths& lengths = *batch.lengths[s];
            const at::Tensor t = projected.narrow(0, batch.first[s], std::ssize(lengths.depth));
            const double scale = 1 / static_cast<double>(sentences);
            losses[s] = target == TreeTarget::depth ? depth_loss(t, lengths.depth, gradient != nullptr, scale)
                                                    : distance_loss(t, lengths.distance, gradient != nullptr, scale);
        }
    });
    if (gradient) *gradient = model::matrix_product(projected.t().contiguous(), batch.states);
    return losses;
}

}  // namespace headlight::corpus
