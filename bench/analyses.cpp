// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/bench.h"
#include "headlight/analyze/circuit/composition.h"
#include "headlight/analyze/circuit/head_circuit.h"
#include "headlight/analyze/circuit/importance.h"
#include "headlight/analyze/contribution/contributions.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/analyze/prediction/attribution.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <malloc.h>

#include <algorithm>
#include <fstream>

namespace headlight::bench {
namespace {

/// "VmRSS:" or "VmHWM:" of this process.
double memory_mb(const std::string& name) {
    std::ifstream in("/proc/self/status");
    for (std::string word; in >> word;) {
        double kilobytes = 0;
        if (word == name && in >> kilobytes) return kilobytes / 1e3;
    }
    return 0;
}

/// The product of a [n, d_model] matrix with the unembedding, 256 rows at a time.
void multiply_in_blocks(const at::Tensor& rows, const at::Tensor& other) {
    constexpr std::int64_t kBlock = 256;
    for (std::int64_t i = 0; i < rows.size(0); i += kBlock)
        model::matrix_product(rows.narrow(0, i, std::min(kBlock, rows.size(0) - i)), other);
}

}  // namespace

Results measures(const Subject& s) {
    const model::ModelConfig& c = s.model->config();
    trace::CapturePlan plain = trace::CapturePlan::everything();
    plain.overview = trace::no_overview;
    Results found;
    for (const std::int64_t n : s.lengths({512})) {
        const auto measured = [&] { analyze::head_table(*s.run(n)); };
        s.run(8, plain);   // the weights are in memory, what the text needs is not
        ::malloc_trim(0);  // freed memory would hide what is allocated now
        const double before = memory_mb("VmRSS:");
        std::ofstream("/proc/self/clear_refs") << "5";  // resets the peak
        measured();
        const double peak = memory_mb("VmHWM:") - before;
        const auto ms = rounds_of(s.repeats, {[&] { s.run(n, plain); }, measured}, s.cancel).wall;
        std::vector<double> added;
        for (std::size_t i = 0; i < ms[0].size(); ++i) added.push_back(ms[1][i] / ms[0][i] - 1);
        const double patterns = static_cast<double>(c.n_layers * c.n_heads * n * n * 4);
        found.push_back({n, "traced pass without measures", median(ms[0]), "ms"});
        found.push_back({n, "traced pass and every measure", median(ms[1]), "ms"});
        found.push_back({n, "every measure of every head", median(added), "share added"});
        found.push_back({n, "peak memory of pass and measures", peak, "MB"});
        found.push_back({n, "all patterns at once would be", patterns / 1e6, "MB"});
    }
    return found;
}

// Each analysis takes turns with the matrix products that it cannot do without.
Results prediction(const Subject& s) {
    const at::NoGradGuard no_grad;
    Results found;
    for (const std::int64_t n : s.lengths({512})) {
        const auto run = s.run(n);
        const Layer middle(s.model->config().n_layers / 2);
        const Position last(n - 1);
        const at::Tensor w_u = trace::unembed(*s.model), values = trace::mlp_weights(*s.model, middle).w_out;
        const at::Tensor stream = trace::tensor(*run, {model::Hook::resid_post, middle}).to(w_u.device());
        const std::vector<double> ms =
            in_turns(s.repeats,
                     {[&] {
                          for (std::int64_t l = 0; l < s.model->config().n_layers; ++l) model::matrix_product(stream, w_u);
                      },
                      [&] { analyze::logit_lens(*run, {.top = 20}, s.cancel); }, [&] { multiply_in_blocks(values, w_u); },
                      [&] { analyze::promoted_tokens(*s.model, middle, {}, {.top = 10}, s.cancel); },
                      [&] { analyze::attribution(*run, last, {.token = 1, .minus = {}, .neurons = true}); },
                      [&] { analyze::contribution_graph(*run, last, {}, s.cancel); },
                      [&] { analyze::contribution_graph(*run, last, {.threshold = 0}, s.cancel); }},
                     s.cancel);
        found.push_back({n, "logit lens, top 20", ms[1], "ms"});
        found.push_back({n, "lens against its unembedding products", ms[1] / ms[0], "x"});
        found.push_back({n, "promoted tokens of a layer's values", ms[3], "ms"});
        found.push_back({n, "promoted against their products", ms[3] / ms[2], "x"});
        found.push_back({n, "attribution to every neuron", ms[4], "ms"});
        found.push_back({n, "contribution graph of a token", ms[5], "ms"});
        found.push_back({n, "the same without a threshold", ms[6], "ms"});
    }
    return found;
}

Results circuits(const Subject& s) {
    const at::NoGradGuard no_grad;
    const model::ModelConfig& c = s.model->config();
    const HeadId head{Layer(c.n_layers / 2), Head(c.n_heads / 2)};
    Results found;
    for (const std::int64_t n : s.lengths({32})) {  // importance runs hundreds of passes
        const auto run = s.run(n);
        const at::Tensor w_u = trace::unembed(*s.model), narrow = w_u.narrow(0, 0, std::min(c.d_head, w_u.size(0)));
        const at::Tensor rows = narrow.t().contiguous();  // [vocab, d_head]
        const auto ranks = [&](analyze::Circuit circuit) {
            analyze::diagonal_ranks(*s.model, circuit, head, {.source = analyze::TokenVectors::mlp0}, s.cancel);
        };
        const analyze::ImportanceOptions asked{.permutations = 10};
        const auto passes = static_cast<double>(2 + n + c.n_layers * asked.permutations);
        const std::vector<double> ms =
            in_turns(std::min(s.repeats, 3),
                     {[&] { analyze::circuit_spectrum(*s.model, analyze::Circuit::ov, head, {}, s.cancel); },
                      [&] { analyze::composition_scores(*s.model, false, s.cancel); }, [&] { multiply_in_blocks(rows, narrow); },
                      [&] { ranks(analyze::Circuit::ov); }, [&] { ranks(analyze::Circuit::qk); },
                      [&] { analyze::importance(*s.model, *s.tokenizer, run->encoding(), Position(n - 1), asked, s.cancel); }},
                     s.cancel);
        found.push_back({n, "eigenvalues and copying scores of a head", ms[0], "ms"});
        found.push_back({n, "composition scores of all pairs", ms[1], "ms"});
        found.push_back({n, "OV diagonal ranks of a head", ms[3], "ms"});
        found.push_back({n, "OV ranks against their product", ms[3] / ms[2], "x"});
        found.push_back({n, "QK diagonal ranks of a head", ms[4], "ms"});
        found.push_back({n, "QK ranks against their product", ms[4] / ms[2], "x"});
        found.push_back({n, "importance, 10 permutations a layer", ms[5], "ms"});
        found.push_back({n, "importance, a pass", ms[5] / passes, "ms"});
    }
    return found;
}

}  // namespace headlight::bench
