// SPDX-License-Identifier: GPL-3.0-or-later
#include "corpus/probe/adam.h"
#include "headlight/model/one_thread.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

namespace headlight::corpus {

Adam::Adam(const at::Tensor& weights) : mean_(at::zeros({weights.numel()})), square_(at::zeros({weights.numel()})) {}

void Adam::step(at::Tensor& weights, const at::Tensor& gradient, double learning_rate) {
    constexpr double kMean = 0.9, kSquare = 0.999, kEpsilon = 1e-8;
    constexpr std::int64_t kBlock = 16'384;  // fixed, so that the vectors of a block are the same on any number of threads
    ++steps_;
    const double mean_scale = 1 - std::pow(kMean, steps_), square_scale = std::sqrt(1 - std::pow(kSquare, steps_));
    const at::Tensor w = weights.view(-1), g = gradient.contiguous().view(-1);
    const std::int64_t blocks = (w.numel() + kBlock - 1) / kBlock;
    at::parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
        const model::OneThread one;
        for (std::int64_t block = begin; block < end; ++block) {
            const std::int64_t first = block * kBlock, count = std::min(kBlock, w.numel() - first);
            const at::Tensor part = g.narrow(0, first, count);
            at::Tensor mean = mean_.narrow(0, first, count), square = square_.narrow(0, first, count);
            mean.mul_(kMean).add_(part, 1 - kMean);
            square.mul_(kSquare).addcmul_(part, part, 1 - kSquare);
            w.narrow(0, first, count)
                .addcdiv_(mean, square.sqrt().div_(square_scale).add_(kEpsilon), -learning_rate / mean_scale);
        }
    });
}

}  // namespace headlight::corpus
