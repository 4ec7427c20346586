// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/bench_measures.h"

#include "cli/offscreen.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/figure/benchmark.h"
#include "headlight/text/tokenizer.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>

namespace headlight::cli {
namespace {

using Clock = std::chrono::steady_clock;
using trace::Measured;

double milliseconds(const std::function<void()>& work) {
    const auto start = Clock::now();
    work();
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// "VmRSS:" or "VmHWM:" of this process.
double memory_mb(const std::string& name) {
    std::ifstream in("/proc/self/status");
    for (std::string word; in >> word;) {
        double kilobytes = 0;
        if (word == name && in >> kilobytes) return kilobytes / 1e3;
    }
    return 0;
}

void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace

std::vector<Measured> measure_figures(const trace::BenchmarkOptions& options, const CancelToken& cancel) {
    const Offscreen offscreen;
    std::vector<Measured> out;
    for (const std::int64_t tokens : options.tokens.empty() ? std::vector<std::int64_t>{1024} : options.tokens) {
        const auto trace = trace::benchmark_trace(options.model_folder, tokens, cancel);
        for (const figure::PaintTiming& timing : figure::benchmark_views(trace)) {
            out.push_back({"ui", tokens, timing.view + ", " + timing.what, timing.median_ms, "ms"});
            out.push_back({"ui", tokens, timing.view + ", " + timing.what + ", worst", timing.worst_ms, "ms"});
        }
    }
    return out;
}

std::vector<Measured> measure_heads(const trace::BenchmarkOptions& options, const CancelToken& cancel) {
    const auto model = model::Model::load(options.model_folder, {}, cancel);
    const auto tokenizer = text::Tokenizer::load(options.model_folder);
    const model::ModelConfig& c = model->config();
    trace::CapturePlan plain = trace::CapturePlan::everything();
    plain.overview = false;
    std::vector<Measured> out;
    for (const std::int64_t tokens : options.tokens.empty() ? std::vector<std::int64_t>{512} : options.tokens) {
        const trace::Prompt prompt = trace::benchmark_prompt(*tokenizer, tokens);
        const auto traced = [&] { trace::run(model, tokenizer, prompt, plain, cancel); };
        const auto measured = [&] {
            analyze::head_table(*trace::run(model, tokenizer, prompt, trace::CapturePlan::everything(), cancel));
        };
        // A few tokens first: the weights are in memory, what the text needs is not.
        trace::run(model, tokenizer, trace::benchmark_prompt(*tokenizer, 8), plain, cancel);
        ::malloc_trim(0);  // what was freed before would hide what is taken now
        const double before = memory_mb("VmRSS:");
        reset_peak();
        measured();
        const double peak = memory_mb("VmHWM:") - before;
        // In turns, so that a slow moment of the machine hits both.
        std::vector<double> without, with, added;
        for (int round = 0; round < std::max(1, options.repeats); ++round) {
            cancel.throw_if_cancelled();
            without.push_back(milliseconds(traced));
            with.push_back(milliseconds(measured));
        }
        for (std::size_t i = 0; i < with.size(); ++i) added.push_back(with[i] / without[i] - 1);
        for (std::vector<double>* values : {&without, &with, &added}) std::sort(values->begin(), values->end());
        const std::size_t middle = with.size() / 2;
        const double t = static_cast<double>(tokens), patterns = static_cast<double>(c.n_layers * c.n_heads) * t * t * 4;
        out.push_back({"measures", tokens, "traced pass without measures", without[middle], "ms"});
        out.push_back({"measures", tokens, "traced pass and every measure", with[middle], "ms"});
        out.push_back({"measures", tokens, "every measure of every head", added[middle], "share added"});
        out.push_back({"measures", tokens, "peak memory of pass and measures", peak, "MB"});
        out.push_back({"measures", tokens, "all patterns at once would be", patterns / 1e6, "MB"});
    }
    return out;
}

std::vector<Measured> measure_tokenizer(const trace::BenchmarkOptions& options, const CancelToken& cancel) {
    const auto tokenizer = text::Tokenizer::load(options.model_folder);
    // About a megabyte; small ids (common pieces) far more often than large ones, as in real text.
    std::string text;
    std::uint64_t state = 88172645463325252ULL;
    const auto vocabulary = static_cast<double>(tokenizer->vocab_size());
    while (text.size() < 1'000'000) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        const double u = static_cast<double>(state >> 11) / 9007199254740992.0;
        const auto id = static_cast<std::int64_t>(vocabulary * u * u * u);
        const std::string bytes = tokenizer->bytes_of(id);
        const bool ascii = std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= ' ' && c < 0x7f; });
        if (ascii && !tokenizer->is_special(id)) text += bytes;
        if (state % 12 == 0) text += state % 60 == 0 ? ".\n" : " ";
    }
    std::vector<double> times;
    std::int64_t tokens = 0;
    for (int round = 0; round < std::max(1, options.repeats); ++round) {
        cancel.throw_if_cancelled();
        times.push_back(milliseconds([&] { tokens = tokenizer->encode(text).size(); }));
    }
    std::sort(times.begin(), times.end());
    const double seconds = times[times.size() / 2] / 1e3;
    return {{"tokenizer", 0, "text", static_cast<double>(text.size()) / 1e6 / seconds, "MB/s"},
            {"tokenizer", 0, "tokens", static_cast<double>(tokens) / seconds, "tokens/s"}};
}

}  // namespace headlight::cli
