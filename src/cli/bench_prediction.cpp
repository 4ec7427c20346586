// SPDX-License-Identifier: GPL-3.0-or-later
// "prediction": the analyses from the logit to the memories, beside the matrix products that they cannot do without.
#include "cli/bench_measures.h"
#include "headlight/analyze/contribution/contributions.h"
#include "headlight/analyze/prediction/attribution.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <functional>

namespace headlight::cli {

using Clock = std::chrono::steady_clock;

std::vector<double> in_turns(int rounds, const std::vector<std::function<void()>>& works, const CancelToken& cancel) {
    std::vector<std::vector<double>> times(works.size());
    for (int round = 0; round < std::max(1, rounds); ++round)
        for (std::size_t i = 0; i < works.size(); ++i) {
            cancel.throw_if_cancelled();
            const auto start = Clock::now();
            works[i]();
            times[i].push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
        }
    std::vector<double> medians;
    for (std::vector<double>& each : times) {
        std::sort(each.begin(), each.end());
        medians.push_back(each[each.size() / 2]);
    }
    return medians;
}

std::vector<trace::Measured> measure_prediction(const trace::BenchmarkOptions& options, const CancelToken& cancel) {
    const at::NoGradGuard no_grad;
    std::vector<trace::Measured> out;
    for (const std::int64_t tokens : options.tokens.empty() ? std::vector<std::int64_t>{512} : options.tokens) {
        const auto run = trace::benchmark_trace(options.model_folder, tokens, cancel);
        const model::ModelConfig& c = run->config();
        const Layer middle(c.n_layers / 2);
        const at::Tensor w_u = trace::unembed(*run->model()), values = trace::mlp_weights(*run->model(), middle).w_out;
        const at::Tensor stream = trace::tensor(*run, {model::Hook::resid_post, middle}).to(w_u.device());
        constexpr std::int64_t block = 256;
        const std::vector<double> ms =
            in_turns(options.repeats,
                     {[&] {
                          for (std::int64_t l = 0; l < c.n_layers; ++l) model::matrix_product(stream, w_u);
                      },
                      [&] { analyze::logit_lens(*run, {.top = 20}, cancel); },
                      [&] {
                          for (std::int64_t i = 0; i < values.size(0); i += block)
                              model::matrix_product(values.narrow(0, i, std::min(block, values.size(0) - i)), w_u);
                      },
                      [&] { analyze::promoted_tokens(*run->model(), middle, {}, {.top = 10}, cancel); },
                      [&] { analyze::attribution(*run, Position(tokens - 1), {.token = 1, .minus = {}, .neurons = true}); },
                      [&] { analyze::contribution_graph(*run, Position(tokens - 1), {}, cancel); },
                      [&] { analyze::contribution_graph(*run, Position(tokens - 1), {.threshold = 0}, cancel); }},
                     cancel);
        const auto add = [&](const char* what, double value, const char* unit) {
            out.push_back({"prediction", tokens, what, value, unit});
        };
        add("logit lens, top 20", ms[1], "ms");
        add("lens against its unembedding products", ms[1] / ms[0], "");
        add("promoted tokens of a layer's values", ms[3], "ms");
        add("promoted against their products", ms[3] / ms[2], "");
        add("attribution to every neuron", ms[4], "ms");
        add("contribution graph of a token", ms[5], "ms");
        add("the same without a threshold", ms[6], "ms");
    }
    return out;
}

}  // namespace headlight::cli
