// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/numbers.h"
#include "intervention/sweep/attribution.h"
#include "intervention/sweep/noise.h"
#include "intervention/sweep/paths.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace headlight::intervention {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_from(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

SweepForecast forecast_sweep(const ModelPtr& model, const std::vector<SweepPair>& texts, const SweepOptions& options,
                             const CancelToken& cancel) {
    constexpr std::size_t kMeasured = 24, kShare = 6;
    constexpr double kLongest = 1.5;  // seconds
    const std::vector<SweepPair> pairs = with_noise(model, texts, options);
    Sweep sweep = prepare(model, pairs, options);
    const Clock::time_point start = Clock::now();
    const Tensors means = shared_means(sweep, cancel);
    const double once = seconds_from(start);
    const PairWork work(sweep, 0, means.empty() ? nullptr : &means, cancel);
    const double own = seconds_from(start) - once;
    const bool no_passes = estimates_alone(options.method);
    double estimating = 0;
    if (options.method != Method::exact) {
        const Clock::time_point begin = Clock::now();
        const Attribution attribution(sweep, work, 0, cancel);
        const double passes = seconds_from(begin);
        const std::size_t step = std::max<std::size_t>(sweep.result.cells.size() / kMeasured, 1);
        for (std::size_t i = 0; i < sweep.result.cells.size(); i += step) attribution.estimate(sweep.result.cells[i]);
        estimating = passes + (seconds_from(begin) - passes) * static_cast<double>(step);
    }
    std::vector<trace::Variant> all;
    SweepForecast out;
    const bool paths = !work.plan.receivers.empty();
    const auto cost_of = [&](const trace::Variant& v) {
        return work.variants->cost(v) + (paths ? cost_behind_receivers(work, v) : 0);
    };
    SweepPlan direct = work.plan;
    direct.frozen = true;
    for (const SweepCell& cell : sweep.result.cells) {
        if (options.effect == Effect::both)
            for (const trace::Variant& v : direct.cell(cell).variants) out.work += cost_of(v);
        SweepPlan::Cell planned = work.plan.cell(cell);
        if (planned.state == CellState::computed) ++out.computed;
        for (trace::Variant& v : planned.variants) {
            if (!no_passes) out.work += cost_of(v);
            all.push_back(std::move(v));
        }
    }
    const auto cost = static_cast<double>(out.work);
    // Some of all layers and positions, after a few that set up threads and memory.
    const auto timed = [&](std::size_t wanted) {
        std::vector<trace::Variant> some;
        std::int64_t measured = 0;
        const std::size_t step = std::max<std::size_t>(all.size() / std::max<std::size_t>(wanted, 1), 1);
        for (std::size_t i = step / 2; i < all.size(); i += step) {
            some.push_back(all[i]);
            measured += cost_of(all[i]);
        }
        const Clock::time_point passes = Clock::now();
        if (paths) some = behind_receivers(work, std::move(some), cancel);
        work.variants->run(
            some, [&](std::int64_t, const at::Tensor& logits) { work.base_metric(logits); }, cancel);
        return measured > 0 ? seconds_from(passes) / static_cast<double>(measured) : 0;
    };
    const auto n = static_cast<double>(pairs.size());
    if (!no_passes) timed(kMeasured / 4);
    double rate = no_passes ? 0 : timed(kMeasured);
    // Passes of many variants are cheaper per variant: measured too, as long as that stays short.
    const double of_each = rate * cost / static_cast<double>(std::max<std::size_t>(all.size(), 1));
    const auto affordable = of_each > 0 ? static_cast<std::size_t>(kLongest / of_each) : all.size();
    if (const std::size_t many = std::min(all.size() / kShare, affordable); !no_passes && many > kMeasured) rate = timed(many);
    out.cells = std::ssize(sweep.result.cells) * std::ssize(pairs);
    out.computed *= std::ssize(pairs);
    out.work *= std::ssize(pairs);
    out.seconds = once + n * (own + estimating + rate * cost);
    out.bytes = work.variants->kept_bytes() + work.variants->pass_bytes() + out.cells * 8 +
                std::ssize(sweep.result.cells) * static_cast<std::int64_t>(sizeof(SweepCell) + sizeof(SweepCellResult) + 200);
    for (const Tensors& source : work.plan.sources)
        for (const auto& [point, t] : source) out.bytes += static_cast<std::int64_t>(t.nbytes());
    return out;
}

std::string SweepForecast::text() const {
    const auto rounded = [](double value) { return significant(value); };
    const double size = static_cast<double>(bytes) / 1e6;
    const auto tenths = [](double s) {
        return std::to_string(std::llround(s * 10) / 10) + "." + std::to_string(std::llround(s * 10) % 10);
    };
    const std::string time = seconds >= 90    ? rounded(seconds / 60) + " min"
                             : seconds >= 10  ? std::to_string(std::llround(seconds)) + " s"
                             : seconds >= 0.1 ? tenths(seconds) + " s"
                                              : "under 0.1 s";
    return with_commas(cells) + " cells (" + with_commas(computed) + " computed), " + time + ", " +
           (size >= 1000 ? rounded(size / 1000) + " GB" : rounded(size) + " MB");
}

}  // namespace headlight::intervention
