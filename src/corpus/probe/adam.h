// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace headlight::corpus {

/// Adam (Kingma & Ba 2015, algorithm 1) with beta 0.9 and 0.999, epsilon 1e-8, on float32 of any shape. The same bits on any
/// number of threads.
class Adam {
public:
    explicit Adam(const at::Tensor& weights);
    void step(at::Tensor& weights, const at::Tensor& gradient, double learning_rate);

private:
    at::Tensor mean_, square_;
    std::int64_t steps_ = 0;
};

}  // namespace headlight::corpus
