// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/trace/benchmark.h"

#include "headlight/base/error.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/model/generate.h"
#include "headlight/trace/trace.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

namespace headlight::trace {
namespace {

struct Subject {
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const text::Tokenizer> tokenizer;
};

Subject load(const BenchmarkOptions& options, const CancelToken& cancel) {
    return {model::Model::load(options.model_folder, {}, cancel), text::Tokenizer::load(options.model_folder)};
}

double seconds_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return elapsed.count();
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// Times each piece of work once a round, in turns, so that a slow moment of the machine hits all of them.
std::vector<double> medians_in_turns(const std::vector<std::function<void()>>& works, int repeats, const CancelToken& cancel) {
    std::vector<std::vector<double>> times(works.size());
    for (const auto& work : works) work();  // memory is touched, weights are in memory
    for (int round = 0; round < std::max(1, repeats); ++round) {
        for (std::size_t i = 0; i < works.size(); ++i) {
            cancel.throw_if_cancelled();
            times[i].push_back(seconds_of(works[i]));
        }
    }
    std::vector<double> result;
    for (auto& t : times) result.push_back(median(std::move(t)));
    return result;
}

std::vector<std::int64_t> lengths(const BenchmarkOptions& options, const model::ModelConfig& c,
                                  std::vector<std::int64_t> standard) {
    std::vector<std::int64_t> result = options.tokens.empty() ? std::move(standard) : options.tokens;
    std::erase_if(result, [&](std::int64_t n) {
        return n < 1 || (c.context_is_hard_limit && c.context_length > 0 && n > c.context_length);
    });
    if (result.empty())
        throw Error({.problem = "The model takes none of the lengths to measure",
                     .expected = "at most " + std::to_string(c.context_length) + " tokens"});
    return result;
}

std::vector<Measured> bench_forward(const BenchmarkOptions& options, const CancelToken& cancel) {
    const Subject subject = load(options, cancel);
    constexpr std::int64_t side = 2048;
    const at::Tensor a = at::randn({side, side}), b = at::randn({side, side});
    const double product_flops = 2.0 * static_cast<double>(side * side * side);
    std::vector<Measured> found;
    for (const std::int64_t tokens : lengths(options, subject.model->config(), {512, 1024})) {
        const Prompt prompt = benchmark_prompt(*subject.tokenizer, tokens);
        CapturePlan hooks = CapturePlan::everything();  // what other programs hand out
        hooks.overview = false;
        const std::vector<double> t = medians_in_turns(
            {[&] { run(subject.model, subject.tokenizer, prompt, CapturePlan::everything(), cancel); },
             [&] { model::matrix_product(a, b); }, [&] { run(subject.model, subject.tokenizer, prompt, hooks, cancel); }},
            options.repeats, cancel);
        const double pass = forward_flops(subject.model->config(), tokens) / t[0] / 1e9;
        const double matrix = product_flops / t[1] / 1e9;
        found.push_back({"forward", tokens, "traced pass", t[0] * 1e3, "ms"});
        found.push_back({"forward", tokens, "traced pass", pass, "GFLOP/s"});
        found.push_back({"forward", tokens, "every hook, no overview", t[2] * 1e3, "ms"});
        found.push_back({"forward", tokens, "matrix product", matrix, "GFLOP/s"});
        found.push_back({"forward", tokens, "share of matrix product", pass / matrix, ""});
    }
    return found;
}

std::vector<Measured> bench_capture(const BenchmarkOptions& options, const CancelToken& cancel) {
    const Subject subject = load(options, cancel);
    std::vector<Measured> found;
    for (const std::int64_t tokens : lengths(options, subject.model->config(), {512, 1024})) {
        const Prompt prompt = benchmark_prompt(*subject.tokenizer, tokens);
        CapturePlan last_only;  // the pass has to hand out something
        last_only.globs = {subject.model->config().has_unembedding ? "logits" : "blocks.0.ln1.hook_scale"};
        last_only.overview = false;
        CapturePlan no_overview = CapturePlan::everything();
        no_overview.overview = false;
        const auto pass = [&](const CapturePlan& plan) {
            return [&subject, &prompt, &cancel, plan] { run(subject.model, subject.tokenizer, prompt, plan, cancel); };
        };
        const std::vector<double> t =
            medians_in_turns({pass(last_only), pass(no_overview), pass(CapturePlan::everything())}, options.repeats, cancel);
        found.push_back({"capture", tokens, "plain pass", t[0] * 1e3, "ms"});
        found.push_back({"capture", tokens, "every hook kept", t[1] / t[0] - 1, "share added"});
        found.push_back({"capture", tokens, "every hook kept and overview", t[2] / t[0] - 1, "share added"});
    }
    return found;
}

std::vector<Measured> bench_memory(const BenchmarkOptions& options, const CancelToken& cancel) {
    const Subject subject = load(options, cancel);
    std::vector<Measured> found;
    for (const std::int64_t tokens : lengths(options, subject.model->config(), {512, 1024, 2048})) {
        const Prompt prompt = benchmark_prompt(*subject.tokenizer, tokens);
        const auto trace = run(subject.model, subject.tokenizer, prompt, CapturePlan::everything(), cancel);
        found.push_back({"memory", tokens, "trace of every hook", static_cast<double>(trace->bytes()) / 1e6, "MB"});
    }
    return found;
}

std::vector<Measured> bench_load(const BenchmarkOptions& options, const CancelToken& cancel) {
    const std::vector<double> t = medians_in_turns(
        {[&] { model::Model::load(options.model_folder, {}, cancel); }, [&] { text::Tokenizer::load(options.model_folder); }},
        options.repeats, cancel);
    return {{"load", 0, "model folder", t[0] * 1e3, "ms"}, {"load", 0, "tokenizer", t[1] * 1e3, "ms"}};
}

/// All weights read once for a token are the least that decoding can cost: a sum over as many numbers is that reading.
std::vector<Measured> bench_generate(const BenchmarkOptions& options, const CancelToken& cancel) {
    const Subject subject = load(options, cancel);
    const model::ModelConfig& c = subject.model->config();
    if (!c.causal || !c.has_unembedding) return {};
    std::int64_t numbers = 0;
    for (const auto& [part, count] : subject.model->parameter_counts())
        if (c.tied_unembedding || part != "embedding") numbers += count;
    const at::Tensor weights = at::ones({numbers}), a = at::randn({2048, 2048}), b = at::randn({2048, 2048});
    constexpr std::int64_t kNew = 16;
    std::vector<Measured> found;
    for (const std::int64_t tokens : lengths(options, c, {512})) {
        const auto ids = subject.tokenizer->encode(benchmark_prompt(*subject.tokenizer, tokens).text, std::nullopt, false).ids;
        std::vector<double> prompt, token;
        const std::vector<double> t =
            medians_in_turns({[&] {
                                  const auto made = model::generate(*subject.model, ids, {.tokens = 1 + kNew}, {}, cancel);
                                  prompt.push_back(made.prompt_seconds);
                                  token.push_back(made.seconds / kNew);
                              },
                              [&] { weights.sum(); }, [&] { model::matrix_product(a, b); }},
                             options.repeats, cancel);
        // Logits of the last token only.
        const double head = 2.0 * static_cast<double>((tokens - 1) * c.d_model * c.vocab_size);
        const double rate = (forward_flops(c, tokens) - head) / median(prompt) / 1e9,
                     matrix = 2.0 * std::pow(2048.0, 3) / t[2] / 1e9;
        found.push_back({"generate", tokens, "prompt", median(prompt) * 1e3, "ms"});
        found.push_back({"generate", tokens, "share of matrix product", rate / matrix, ""});
        found.push_back({"generate", tokens, "new token", median(token) * 1e3, "ms"});
        found.push_back({"generate", tokens, "share of memory bandwidth", t[1] / median(token), ""});
    }
    return found;
}

using Benchmark = std::vector<Measured> (*)(const BenchmarkOptions&, const CancelToken&);
constexpr std::pair<const char*, Benchmark> kBenchmarks[] = {{"forward", bench_forward},
                                                             {"capture", bench_capture},
                                                             {"memory", bench_memory},
                                                             {"load", bench_load},
                                                             {"generate", bench_generate}};

}  // namespace

// Vocabulary entries that stand for themselves when written one after the other, common ones more often than rare
// ones, as in real text.
Prompt benchmark_prompt(const text::Tokenizer& tokenizer, std::int64_t tokens) {
    Prompt prompt;
    prompt.add_special_tokens = false;
    std::uint64_t state = 88172645463325252ULL;
    const auto vocabulary = static_cast<std::uint64_t>(tokenizer.vocab_size());
    std::int64_t missing = tokens;
    while (missing > 0) {
        const std::int64_t before = missing;
        std::string more;
        for (std::int64_t i = 0; i < missing; ++i) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            const double u = static_cast<double>(state >> 11) / 9007199254740992.0;
            const auto id = static_cast<std::int64_t>(u * u * u * static_cast<double>(vocabulary));
            std::string word = tokenizer.bytes_of(id);
            const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
                return c == ' ' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
            });
            more += (plain && word.front() == ' ' ? "" : " ") + (plain ? word : std::string("a"));
        }
        prompt.text += more;
        missing = tokens - tokenizer.encode(prompt.text, std::nullopt, false).size();
        if (missing >= before)
            throw Error({.problem = "The model's tokenizer makes no tokens of a plain text",
                         .found = std::to_string(tokens - missing) + " tokens"});
    }
    // Too many: cut at the end of the last token that fits.
    const text::Encoding encoding = tokenizer.encode(prompt.text, std::nullopt, false);
    prompt.text.resize(static_cast<std::size_t>(encoding.offsets[static_cast<std::size_t>(tokens - 1)].end));
    return prompt;
}

std::vector<std::string> benchmark_names() {
    std::vector<std::string> names;
    for (const auto& [name, function] : kBenchmarks) names.emplace_back(name);
    return names;
}

std::vector<Measured> run_benchmark(const std::string& name, const BenchmarkOptions& options, const CancelToken& cancel,
                                    const Progress& progress) {
    std::string known;
    for (const auto& [its_name, function] : kBenchmarks) {
        known += (known.empty() ? "" : ", ") + std::string(its_name);
        if (name != its_name) continue;
        if (progress) progress({"Measuring " + name, "benchmark", 0, 1});
        return function(options, cancel);
    }
    throw Error({.problem = "There is no such benchmark", .expected = known, .found = name});
}

std::shared_ptr<const Trace> benchmark_trace(const std::filesystem::path& model_folder, std::int64_t tokens,
                                             const CancelToken& cancel) {
    const Subject subject = load({.model_folder = model_folder, .tokens = {}}, cancel);
    return run(subject.model, subject.tokenizer, benchmark_prompt(*subject.tokenizer, tokens), {}, cancel);
}

double forward_flops(const model::ModelConfig& c, std::int64_t tokens) {
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
    const double attention = t * t * (queries + outputs);
    double mlp = 0;  // of all layers; of experts the chosen
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        const model::Experts& e = c.experts;
        const std::int64_t width = model::has_experts(c, l) ? e.chosen * e.width + e.shared_width : model::mlp_width(c, l);
        mlp += t * d * static_cast<double>(width * (c.gated_mlp ? 3 : 2) + (model::has_experts(c, l) ? e.count : 0));
    }
    const double head = (c.has_unembedding ? t * d * static_cast<double>(c.vocab_size) : 0) + (c.mlm_head ? t * d * d : 0);
    return 2 * (static_cast<double>(c.n_layers) * (projections + attention) + mlp + head);
}

}  // namespace headlight::trace
