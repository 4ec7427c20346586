// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/run/again.h"

#include "model/blocks/pass.h"
#include "model/run/steps.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace headlight::model {

void forward_layer(const Model& model, const ForwardInput& input, Layer layer, const at::Tensor& resid_pre, Observer& observer,
                   const CancelToken& cancel) {
    at::internal::lazy_init_num_threads();
    const at::NoGradGuard no_grad;
    Pass pass = start_pass(model.internals(), input, observer, nullptr);
    pass.cancel = cancel;
    run_layer(pass, layer, resid_pre.to(model.internals().device));
}

at::Tensor forward_from(const Model& model, const ForwardInput& input, Layer first, const at::Tensor& stream, Observer& observer,
                        bool result, const CancelToken& cancel, const Progress& progress) {
    at::internal::lazy_init_num_threads();
    Pass pass = start_pass(model.internals(), input, observer, nullptr);
    pass.cancel = cancel;
    return run_pass(pass, result, progress, first, stream.to(model.internals().device));
}

at::Tensor behind_layers(const Model& model, const ForwardInput& input, const at::Tensor& resid_post, Observer& observer) {
    const Model::Internals& m = model.internals();
    at::internal::lazy_init_num_threads();
    const at::NoGradGuard no_grad;
    Pass pass = start_pass(m, input, observer, nullptr);
    at::Tensor x = resid_post.to(m.device);
    for (const Block block : m.spec.after)
        if (block != Block::unembedding) x = output(pass, block, x);
    return x;
}

at::Tensor logit_rows(const Model& model, const at::Tensor& x, std::int64_t first, std::int64_t count) {
    at::internal::lazy_init_num_threads();
    const at::NoGradGuard no_grad;
    const std::int64_t begin = first / kLogitRows * kLogitRows;
    const std::int64_t end = std::min(x.size(0), (first + count + kLogitRows - 1) / kLogitRows * kLogitRows);
    return logits(model.internals(), x.narrow(0, begin, end - begin)).narrow(0, first - begin, count);
}

}  // namespace headlight::model
