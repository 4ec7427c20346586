// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/bench.h"
#include "headlight/corpus/run/pack.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/model/runtime.h"
#include "headlight/model/same_products.h"
#include "headlight/trace/encoded.h"
#include "headlight/trace/remade.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

namespace headlight::bench {
namespace {

/// A matrix product that the passes are compared with.
struct Square {
    static constexpr std::int64_t kSide = 2048;
    at::Tensor a = at::randn({kSide, kSide}), b = at::randn({kSide, kSide});
    void operator()() const { model::matrix_product(a, b); }
    static double gflops(double ms) { return 2.0 * std::pow(static_cast<double>(kSide), 3) / ms / 1e6; }
};

trace::CapturePlan without_overview() {
    trace::CapturePlan plan = trace::CapturePlan::everything();
    plan.overview = trace::no_overview;
    return plan;
}

enum class Pairs { all, causal };  ///< of queries and keys that a pass is said to compute

/// Multiply-adds of one pass, counted twice. Looking up embeddings counts nothing.
double forward_flops(const model::ModelConfig& c, std::int64_t tokens, Pairs pairs = Pairs::all) {
    const double t = static_cast<double>(tokens), d = static_cast<double>(c.d_model);
    const double queries = static_cast<double>(c.n_heads * c.d_head), keys = static_cast<double>(c.n_kv_heads * c.d_head),
                 outputs = static_cast<double>(c.n_heads * model::value_width(c)),
                 values = static_cast<double>(c.n_kv_heads * model::value_width(c));
    double projections = t * d * (queries + outputs + keys + values);
    if (const model::Latent& l = c.latent; l.any()) {
        const auto rank = static_cast<double>(l.rank), of_queries = static_cast<double>(l.query_rank);
        const auto content = static_cast<double>(c.n_heads * l.content), rotary = static_cast<double>(c.d_head - l.content);
        projections = t * (of_queries > 0 ? of_queries * (d + queries) : d * queries) +
                      t * (d * (rank + rotary) + rank * (content + values) + d * outputs);
    }
    const double attention = (pairs == Pairs::all ? t * t : t * (t + 1) / 2) * (queries + outputs);
    double mlp = 0;  // of all layers; of experts the chosen ones
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        const model::Experts& e = c.experts;
        const std::int64_t width = model::has_experts(c, l) ? e.chosen * e.width + e.shared_width : model::mlp_width(c, l);
        mlp += t * d * static_cast<double>(width * (c.gated_mlp ? 3 : 2) + (model::has_experts(c, l) ? e.count : 0));
    }
    const double head = (c.has_unembedding ? t * d * static_cast<double>(c.vocab_size) : 0) + (c.mlm_head ? t * d * d : 0);
    return 2 * (static_cast<double>(c.n_layers) * (projections + attention) + mlp + head);
}

}  // namespace

Results forward(const Subject& s) {
    const Square square;
    const trace::CapturePlan hooks = without_overview();  // what other programs return
    Results found;
    for (const std::int64_t n : s.lengths({512, 1024})) {
        const std::vector<double> ms = warm_in_turns(s, {[&] { s.run(n); }, square, [&] { s.run(n, hooks); }});
        const double pass = forward_flops(s.model->config(), n) / ms[0] / 1e6, matrix = Square::gflops(ms[1]);
        found.push_back({n, "traced pass", ms[0], "ms"});
        found.push_back({n, "traced pass", pass, "GFLOP/s"});
        found.push_back({n, "every hook, no overview", ms[2], "ms"});
        found.push_back({n, "matrix product", matrix, "GFLOP/s"});
        found.push_back({n, "share of matrix product", pass / matrix, ""});
    }
    return found;
}

// Everything that `headlight corpus run --measure heads` does with a pack of texts, against the pass alone.
Results corpus(const Subject& s) {
    using namespace headlight::corpus;
    const model::KeepMemory keep;  // as a run does
    const Square square;
    Results found;
    for (const std::int64_t n : s.lengths({16, 512})) {
        const auto text = std::make_shared<const Text>(Text{.text = s.prompt(n).text});
        const headlight::text::Encoding encoding = s.tokenizer->encode(text->text);
        const std::int64_t texts = std::max<std::int64_t>(1, kPackedTokens / encoding.size());
        Gathered heads({"heads"}, {.config = s.model->config(), .tokenizer = *s.tokenizer});
        const trace::CapturePlan kept = heads.plan(), least{.globs = {"*.hook_z"}, .overview = trace::no_overview};
        const auto gather = [&] {
            PackOfChunks pack(s.model, s.tokenizer, kept);
            for (std::int64_t i = 0; i < texts; ++i)
                pack.put({.number = i, .end_byte = std::ssize(text->text), .encoding = encoding}, text);
            pack.run(heads, s.cancel);
        };
        const auto pass = [&] {
            const model::SameProducts rows(model::SameProducts::Of::row);
            std::vector<trace::PackedText> packed(static_cast<std::size_t>(texts),
                                                  {.text = {.text = text->text, .encoding = encoding}});
            trace::run_packed(s.model, s.tokenizer, std::move(packed), least, s.cancel);
        };
        const std::vector<std::function<void()>> works = {gather, pass, square};
        for (const auto& work : works) work();
        model::ModelConfig without = s.model->config();
        without.has_unembedding = without.mlm_head = false;
        const double tokens = static_cast<double>(texts * n),
                     flops = static_cast<double>(texts) * forward_flops(without, n) / 1e6;
        const auto report = [&](const std::vector<double>& ms, const std::string& clock, double threads) {
            const double rate = Square::gflops(ms[2]);
            found.push_back({n, "heads gathered" + clock, 1e3 * tokens / ms[0] * threads, "tokens/s"});
            found.push_back({n, "pass alone, no unembedding" + clock, 1e3 * tokens / ms[1] * threads, "tokens/s"});
            found.push_back({n, "heads gathered: share of matrix product" + clock, flops / ms[0] / rate, ""});
            found.push_back({n, "pass alone: share of matrix product" + clock, flops / ms[1] / rate, ""});
        };
        const Rounds rounds = rounds_of(s.repeats, works, s.cancel);
        report(medians(rounds.wall), "", 1);
        // The steadier clock on a busy machine; it does not count threads that wait.
        report(medians(rounds.processor), ", processor time", at::get_num_threads());
    }
    return found;
}

// A causal pass over a long text as the window runs it, with the overview of every head and without.
Results long_texts(const Subject& s) {
    const model::KeepMemory keep;
    const Square square;
    const trace::CapturePlan plain{.globs = {}, .overview = trace::no_overview};
    Results found;
    square();
    for (const std::int64_t n : s.lengths({2048, 8192, 32768})) {
        bool logits = true;
        const auto pass = [&](const trace::CapturePlan& plan) { logits = !trace::remade_now(*s.run(n, plan)).any; };
        const std::vector<std::function<void()>> works = {[&] { pass({}); }, [&] { pass(plain); }, square};
        constexpr std::int64_t kWarmed = 32768;  // beyond, the first round's extra cost is small
        if (n <= kWarmed)
            for (const auto& work : works) work();
        const Rounds rounds = rounds_of(s.repeats, works, s.cancel);
        model::ModelConfig computed = s.model->config();
        computed.has_unembedding = computed.has_unembedding && logits;
        const double flops = forward_flops(computed, n, computed.causal ? Pairs::causal : Pairs::all) / 1e6;
        const auto report = [&](const std::vector<double>& ms, const std::string& clock) {
            const double rate = Square::gflops(ms[2]);
            found.push_back({n, "pass with overview" + clock, ms[0], "ms"});
            found.push_back({n, "share of matrix product, causal half" + clock, flops / ms[0] / rate, ""});
            found.push_back({n, "without overview: share" + clock, flops / ms[1] / rate, ""});
        };
        report(medians(rounds.wall), "");
        report(medians(rounds.processor), ", processor time");
    }
    return found;
}

Results memory(const Subject& s) {
    Results found;
    for (const std::int64_t n : s.lengths({512, 1024, 2048}))
        found.push_back({n, "trace of every hook", static_cast<double>(s.run(n)->bytes()) / 1e6, "MB"});
    return found;
}

Results load(const Subject& s) {
    const std::vector<double> ms =
        warm_in_turns(s, {[&] { model::Model::load(s.folder, {}, s.cancel); }, [&] { text::Tokenizer::load(s.folder); }});
    return {{0, "model folder", ms[0], "ms"}, {0, "tokenizer", ms[1], "ms"}};
}

}  // namespace headlight::bench
