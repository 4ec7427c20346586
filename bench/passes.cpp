// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/bench.h"
#include "headlight/corpus/run/pack.h"
#include "headlight/model/as_used.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/model/generate.h"
#include "headlight/model/runtime.h"
#include "headlight/model/same_products.h"
#include "headlight/trace/encoded.h"
#include "headlight/trace/remade.h"
#include "headlight/trace/tensors.h"

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

Results capture(const Subject& s) {
    trace::CapturePlan least = without_overview();  // a pass has to return something
    least.globs = {s.model->config().has_unembedding ? "logits" : "blocks.0.ln1.hook_scale"};
    Results found;
    for (const std::int64_t n : s.lengths({512, 1024})) {
        const std::vector<double> ms =
            warm_in_turns(s, {[&] { s.run(n, least); }, [&] { s.run(n, without_overview()); }, [&] { s.run(n); }});
        found.push_back({n, "plain pass", ms[0], "ms"});
        found.push_back({n, "every hook kept", ms[1] / ms[0] - 1, "share added"});
        found.push_back({n, "every hook kept and overview", ms[2] / ms[0] - 1, "share added"});
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
        // Beside other programs the steadier clock, which does not see threads that wait.
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

// The same pass in bfloat16 and with products in bfloat16, and how far their logits are from those of float32.
Results precision(const Subject& s) {
    std::vector<Subject> others;
    for (const model::ComputeType type : {model::ComputeType::bfloat16, model::ComputeType::float32_bf16})
        if (!model::has_bfloat16_products(type) || model::computes_bfloat16_products())
            others.emplace_back(s).model = model::Model::load(s.folder, {.dtype = type, .device = "cpu"}, s.cancel);
    const Square square;
    const trace::CapturePlan logits{.globs = {"logits"}, .overview = trace::no_overview};
    Results found;
    for (const std::int64_t n : s.lengths({512})) {
        const auto of = [&](const Subject& subject) {
            return trace::tensor(*subject.run(n, logits), {model::Hook::logits, Layer(0)}).to(at::kDouble);
        };
        const at::Tensor exact = of(s), p = at::log_softmax(exact, -1);
        std::vector<std::function<void()>> works = {[&] { s.run(n, logits); }, square};
        for (const Subject& other : others) works.emplace_back([&] { other.run(n, logits); });
        const std::vector<double> ms = medians(rounds_of(s.repeats, works, s.cancel).processor);
        found.push_back({n, "pass in float32, processor time", ms[0], "ms"});
        for (std::size_t i = 0; i < others.size(); ++i) {
            const at::Tensor here = of(others[i]), q = at::log_softmax(here, -1);
            const std::string type(enum_word(others[i].model->dtype()));
            found.push_back({n, "pass in " + type + ", processor time", ms[2 + i], "ms"});
            found.push_back({n, type + ": times as fast", ms[0] / ms[2 + i], "x"});
            const at::Tensor off = (here - exact).pow(2).mean().sqrt(),
                             spread = (exact - exact.mean(-1, true)).pow(2).mean().sqrt();
            found.push_back({n, type + ": rms error of logits, of their spread", (off / spread).item<double>(), ""});
            found.push_back(
                {n, type + ": mean divergence of predictions", (p.exp() * (p - q)).sum(-1).mean().item<double>(), "nats"});
            const at::Tensor same = exact.argmax(-1).eq(here.argmax(-1)).to(at::kDouble).mean();
            found.push_back({n, type + ": same most likely token", same.item<double>(), ""});
        }
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

// Decoding reads every weight once for each token: a sum over as many numbers is the bound.
Results generate(const Subject& s) {
    const model::ModelConfig& c = s.model->config();
    if (!c.causal || !c.has_unembedding) return {};
    std::int64_t numbers = 0;
    for (const auto& [part, count] : s.model->parameter_counts())
        if (c.tied_unembedding || part != "embedding") numbers += count;
    const at::Tensor weights = at::ones({numbers});
    const Square square;
    constexpr std::int64_t kNew = 16;
    Results found;
    for (const std::int64_t n : s.lengths({512})) {
        const auto ids = s.tokenizer->encode(s.prompt(n).text, std::nullopt, false).ids;
        std::vector<double> prompts, tokens;
        const std::vector<double> ms =
            warm_in_turns(s, {[&] {
                                  const auto made = model::generate(*s.model, ids, {.tokens = 1 + kNew}, {}, s.cancel);
                                  prompts.push_back(made.prompt_seconds * 1e3);
                                  tokens.push_back(made.seconds * 1e3 / kNew);
                              },
                              [&] { weights.sum(); }, square});
        const double prompt = median(prompts), token = median(tokens);
        // Weights that are converted as they are used are read from the file; a sum cannot read their kind, so of as many
        // float32.
        double bytes = 4.0 * static_cast<double>(numbers);
        const double sum_rate = bytes / ms[1] / 1e6;
        if (model::bytes_as_used(*s.model) > 0) {
            bytes = 0;
            for (const std::string& file : s.model->report().files)
                bytes += static_cast<double>(std::filesystem::file_size(file));
        }
        // Logits of the last token only.
        const double head = 2.0 * static_cast<double>((n - 1) * c.d_model * c.vocab_size);
        found.push_back({n, "prompt", prompt, "ms"});
        found.push_back({n, "share of matrix product", (forward_flops(c, n) - head) / prompt / 1e6 / Square::gflops(ms[2]), ""});
        found.push_back({n, "new token", token, "ms"});
        found.push_back({n, "weights read per token", bytes / token / 1e6, "GB/s"});
        found.push_back({n, "memory bandwidth: a sum of float32", sum_rate, "GB/s"});
        found.push_back({n, "share of memory bandwidth", bytes / token / 1e6 / sum_rate, ""});
    }
    return found;
}

}  // namespace headlight::bench
