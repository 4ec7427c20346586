// SPDX-License-Identifier: GPL-3.0-or-later
// From the moment somebody cancels until the work has returned.
#include "bench/bench.h"
#include "headlight/base/working_for.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/model/generate.h"
#include "headlight/model/runtime.h"
#include "headlight/trace/tensors.h"
#include "model/arithmetic/kernels.h"
#include "tests/support/memory_budget.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>

namespace headlight::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPlaces = 12;  ///< in the course of a piece of work, at equal distances

/// Cancels a token after some time, unless it is destroyed before.
class Canceller {
public:
    Canceller(CancelToken token, double after_ms)
        : thread_([this, token, until = Clock::now() + std::chrono::duration<double, std::milli>(after_ms)] {
              std::unique_lock lock(mutex_);
              if (over_.wait_until(lock, until, [this] { return ended_; })) return;
              worked = std::clock();
              token.cancel();
          }) {}
    ~Canceller() { end(); }
    void end() {
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
        }
        over_.notify_one();
        if (thread_.joinable()) thread_.join();
    }
    std::clock_t worked = 0;  ///< processor time of all threads when it cancelled

private:
    std::mutex mutex_;
    std::condition_variable over_;
    bool ended_ = false;
    std::thread thread_;
};

/// Cancels the work at several places of its course. What it does from there on counts in processor time, shared by its threads:
/// threads that wait for a core on a busy machine do no work. `before`: undone what an earlier round has left, not measured.
void measure(
    const Subject& s, std::int64_t tokens, const std::string& what, const std::function<void(const CancelToken&)>& work,
    Results& found, const std::function<void()>& before = [] {}) {
    const auto run = [&](const CancelToken& cancel) {
        const WorkingFor here(cancel);
        work(cancel);
    };
    before();
    run({});  // what is made once
    before();
    const double whole = milliseconds([&] { run({}); });
    std::vector<double> ms;
    for (int i = 0; i < kPlaces; ++i) {
        s.cancel.throw_if_cancelled();
        before();
        const CancelToken token;
        Canceller canceller(token, whole * (i + 0.5) / kPlaces);
        try {
            run(token);
        } catch (const Cancelled&) {
            const std::clock_t now = std::clock();
            canceller.end();
            ms.push_back(1e3 * static_cast<double>(now - canceller.worked) / CLOCKS_PER_SEC / at::get_num_threads());
        }
    }
    found.push_back({tokens, what + ": in all", whole, "ms"});
    if (ms.empty()) return;
    found.push_back({tokens, what + ": after cancel", median(ms), "ms"});
    found.push_back({tokens, what + ": after cancel, worst", *std::max_element(ms.begin(), ms.end()), "ms"});
}

/// What it costs that a long product looks in between whether it is still wanted.
void measure_parts(const Subject& s, std::int64_t rows, Results& found) {
    for (const auto& [inner, columns] : {std::pair<std::int64_t, std::int64_t>{576, 1536}, {2048, 8192}, {4096, 14336}})
        for (const bool turned : {false, true}) {  // as files keep weights: a row for each output
            s.cancel.throw_if_cancelled();
            const std::int64_t n = columns > 8192 ? rows / 4 : rows;
            const at::Tensor a = at::randn({n, inner}),
                             b = turned ? at::randn({columns, inner}).t() : at::randn({inner, columns});
            const auto whole = [&] {
                at::Tensor out = at::empty({n, columns});
                model::kernels::gemm(a.data_ptr<float>(), inner, b.data_ptr<float>(), turned ? inner : columns, turned,
                                     out.data_ptr<float>(), columns, n, columns, inner);
            };
            const std::vector<std::function<void()>> works = {[&] { model::matrix_product(a, b); }, whole};
            for (const auto& work : works) work();
            const std::vector<double> ms = medians(rounds_of(s.repeats, works, s.cancel).processor);
            found.push_back({n,
                             "product with " + std::to_string(inner) + " x " + std::to_string(columns) +
                                 (turned ? ", kept turned" : "") + ": in parts over whole",
                             ms[0] / ms[1], "x"});
        }
}

}  // namespace

Results cancel(const Subject& s) {
    using model::Hook;
    const model::KeepMemory keep;
    Results found;
    const std::int64_t n = s.lengths({30'000}).front();
    const trace::Prompt prompt = s.prompt(n);
    found.push_back(
        {n, "cutting a pasted text into tokens, not cancelled", milliseconds([&] { s.tokenizer->encode(prompt.text); }), "ms"});
    measure(
        s, n, "pass, with the overview", [&](const CancelToken& c) { trace::run(s.model, s.tokenizer, prompt, {}, c); }, found);
    {
        const test::Budget none;
        const auto trace = s.run(n, {});
        std::int64_t layer = 0;
        measure(
            s, n, "layer made again",
            [&](const CancelToken&) {
                trace::tensor(*trace, {Hook::mlp_post, Layer(layer)});
            },
            found,
            [&] {
                layer = 1 - layer;
                trace::tensor(*trace, {Hook::q, Layer(layer)});  // takes the place of the other one
                layer = 1 - layer;
            });
    }
    const at::Tensor a = at::randn({n, 2048}), b = at::randn({2048, 8192});
    measure(
        s, n, "product with a matrix of 2,048 x 8,192", [&](const CancelToken&) { model::matrix_product(a, b); }, found);

    measure_parts(s, n, found);
    const std::filesystem::path large = s.scratch / "large";
    write_random_gpt2(large);
    const auto open = [&](const CancelToken& c) {
        return model::Model::load(large, {.dtype = model::ComputeType::bfloat16, .device = "cpu"}, c);
    };
    measure(s, 0, "conversion of 163 million weights", open, found);
    const test::Budget none;
    const auto as_used = open({});
    const std::vector<std::int64_t> ids = {1, 2, 3, 4, 5, 6, 7, 8};
    measure(
        s, 8, "weights converted as they are used",
        [&](const CancelToken& c) { model::generate(*as_used, ids, {.tokens = 2}, {}, c); }, found);
    return found;
}

}  // namespace headlight::bench
