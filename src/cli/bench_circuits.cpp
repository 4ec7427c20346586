// SPDX-License-Identifier: GPL-3.0-or-later
// "circuits": what is read from the weights alone, and the panel of importance, which runs the model many times.
#include "cli/bench_measures.h"
#include "headlight/analyze/circuit/composition.h"
#include "headlight/analyze/circuit/head_circuit.h"
#include "headlight/analyze/circuit/importance.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace headlight::cli {

std::vector<trace::Measured> measure_circuits(const trace::BenchmarkOptions& options, const CancelToken& cancel) {
    const at::NoGradGuard no_grad;
    std::vector<trace::Measured> out;
    // Importance is hundreds of passes: a short text unless another is asked for.
    for (const std::int64_t tokens : options.tokens.empty() ? std::vector<std::int64_t>{32} : options.tokens) {
        const auto run = trace::benchmark_trace(options.model_folder, tokens, cancel);
        const model::Model& model = *run->model();
        const model::ModelConfig& c = run->config();
        const HeadId head{Layer(c.n_layers / 2), Head(c.n_heads / 2)};
        const at::Tensor w_u = trace::unembed(model), narrow = w_u.narrow(0, 0, std::min(c.d_head, w_u.size(0)));
        const at::Tensor rows = narrow.t().contiguous();  // [vocab, d_head]: what a slice of ranks is multiplied with
        constexpr std::int64_t block = 256;
        const auto product = [&] {
            for (std::int64_t i = 0; i < c.vocab_size; i += block)
                model::matrix_product(rows.narrow(0, i, std::min(block, c.vocab_size - i)), narrow);
        };
        const auto ranks = [&](analyze::Circuit circuit) {
            analyze::diagonal_ranks(model, circuit, head, {.source = analyze::TokenVectors::mlp0}, cancel);
        };
        const analyze::ImportanceOptions asked{.permutations = 10};
        const std::int64_t passes = 2 + tokens + c.n_layers * asked.permutations;
        const std::vector<double> ms = in_turns(
            std::min(options.repeats, 3),
            {[&] { analyze::circuit_spectrum(model, analyze::Circuit::ov, head, {}, cancel); },
             [&] { analyze::composition_scores(model, false, cancel); }, product, [&] { ranks(analyze::Circuit::ov); },
             [&] { ranks(analyze::Circuit::qk); },
             [&] { analyze::importance(model, *run->tokenizer(), run->encoding(), Position(tokens - 1), asked, cancel); }},
            cancel);
        const auto add = [&](const char* what, double value, const char* unit) {
            out.push_back({"circuits", tokens, what, value, unit});
        };
        add("eigenvalues and copying scores of a head", ms[0], "ms");
        add("composition scores of all pairs", ms[1], "ms");
        add("OV diagonal ranks of a head", ms[3], "ms");
        add("OV ranks against their product", ms[3] / ms[2], "");
        add("QK diagonal ranks of a head", ms[4], "ms");
        add("QK ranks against their product", ms[4] / ms[2], "");
        add("importance, 10 permutations a layer", ms[5], "ms");
        add("importance, a pass", ms[5] / static_cast<double>(passes), "ms");
    }
    return out;
}

}  // namespace headlight::cli
