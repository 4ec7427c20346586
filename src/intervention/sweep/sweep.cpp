// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/sweep/sweep.h"

#include "intervention/sweep/attribution.h"
#include "intervention/sweep/paths.h"
#include "intervention/sweep/statistics.h"
#include "intervention/sweep/work.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numeric>

namespace headlight::intervention {
namespace {

using Clock = std::chrono::steady_clock;

void note_gap(SweepResult& r) {
    if (r.corrupt.empty()) return;
    const auto n = static_cast<double>(r.clean.size());
    std::vector<double> gaps;
    for (std::size_t i = 0; i < r.clean.size(); ++i) gaps.push_back(r.clean[i] - r.corrupt[i]);
    const double mean = std::accumulate(gaps.begin(), gaps.end(), 0.0) / n;
    if (std::abs(mean) < r.options.least_gap)
        return r.notes.push_back("Nothing is normalised: clean and corrupt differ by " + significant(mean) + ", less than " +
                                 significant(r.options.least_gap));
    double square = 0;
    for (const double gap : gaps) square += (gap - mean) * (gap - mean);
    if (n > 1 && std::abs(mean) < 3 * std::sqrt(square / (n - 1) / n))
        r.notes.push_back("The gap between clean and corrupt is less than 3 of its standard errors");
    const auto small = std::ranges::count_if(gaps, [&](double gap) { return gap * mean < 0 || std::abs(gap) < 0.1; });
    if (n > 1 && small > 0 && r.options.metric == Metric::logit_diff)
        r.notes.push_back(std::to_string(small) + " of " + std::to_string(gaps.size()) +
                          " pairs have a gap below 0.1 or of the other sign");
}

}  // namespace

double SweepResult::clean_mean() const {
    return std::accumulate(clean.begin(), clean.end(), 0.0) / static_cast<double>(clean.size());
}
double SweepResult::corrupt_mean() const {
    return corrupt.empty() ? kNaN : std::accumulate(corrupt.begin(), corrupt.end(), 0.0) / static_cast<double>(corrupt.size());
}
double SweepResult::base_mean() const {
    return corrupt.empty() || options.direction == Direction::noise ? clean_mean() : corrupt_mean();
}
double SweepResult::gap() const {
    const double gap = clean_mean() - corrupt_mean();
    return std::abs(gap) < options.least_gap ? kNaN : options.direction == Direction::denoise ? gap : -gap;
}

/// What is known so far, under the lock; the rest belongs to the thread that runs.
struct SweepRun::Internals {
    std::vector<SweepPair> pairs;
    Sweep sweep;
    Tensors means{};
    mutable std::mutex mutex{};
    std::vector<std::vector<double>> effects;    ///< [pair][cell]
    std::vector<std::vector<double>> estimates;  ///< [pair][cell]; empty without attribution
    std::vector<std::vector<CellState>> states;  ///< [pair][cell]
    std::vector<double> base, other;             ///< [pair]; NaN: not begun
    bool shifted = false;
    double seconds = 0;

    Internals(const ModelPtr& model, std::vector<SweepPair> all, const SweepOptions& options)
        : pairs(std::move(all)),
          sweep(prepare(model, pairs, options)),
          effects(pairs.size(), std::vector<double>(sweep.result.cells.size(), kNaN)),
          estimates(options.method == Method::exact ? 0 : pairs.size(), std::vector<double>(sweep.result.cells.size(), kNaN)),
          states(pairs.size(), std::vector<CellState>(sweep.result.cells.size(), CellState::pending)),
          base(pairs.size(), kNaN),
          other(pairs.size(), kNaN) {}

    std::vector<double> estimates_of(std::size_t pair, const PairWork&, const CancelToken&) const;
    void run_pair(std::size_t pair, const PairWork&, std::int64_t& done, const CancelToken&, const Progress&);
    bool complete() const;
};

bool SweepRun::Internals::complete() const {
    return std::ranges::none_of(states, [](const auto& of) { return std::ranges::find(of, CellState::pending) != of.end(); });
}

std::vector<double> SweepRun::Internals::estimates_of(std::size_t pair, const PairWork& work, const CancelToken& cancel) const {
    const Attribution attribution(sweep, work, pair, cancel);
    std::vector<double> out;
    for (const SweepCell& cell : sweep.result.cells) {
        cancel.throw_if_cancelled();
        const CellState state = work.plan.cell(cell).state;
        out.push_back(state == CellState::computed ? attribution.estimate(cell) : state == CellState::certain ? 0 : kNaN);
    }
    return out;
}

/// Cells of one pair that are pending.
void SweepRun::Internals::run_pair(std::size_t pair, const PairWork& work, std::int64_t& done, const CancelToken& cancel,
                                   const Progress& progress) {
    const std::vector<SweepCell>& cells = sweep.result.cells;
    std::vector<trace::Variant> variants;
    std::vector<std::size_t> cell_of;
    std::vector<double> sum(cells.size(), 0);
    std::vector<std::size_t> of(cells.size(), 0), to_come(cells.size(), 0);
    const auto put = [&](std::size_t i, double effect, CellState state) {
        const std::lock_guard lock(mutex);
        effects[pair][i] = effect;
        states[pair][i] = state;
        ++done;
    };
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (states[pair][i] != CellState::pending) continue;
        SweepPlan::Cell cell = work.plan.cell(cells[i]);
        if (cell.state != CellState::computed) {
            put(i, cell.state == CellState::certain ? 0 : kNaN, cell.state);
            continue;
        }
        if (sweep.options().method == Method::attribution) {
            put(i, estimates[pair][i], CellState::computed);
            continue;
        }
        of[i] = to_come[i] = cell.variants.size();
        for (trace::Variant& v : cell.variants) {
            variants.push_back(std::move(v));
            cell_of.push_back(i);
        }
    }
    const auto all = std::ssize(pairs) * std::ssize(cells);
    const auto report = [&](const ProgressStep&) {
        if (progress) progress({"Sweeping", "cell", done, all});
    };
    report({});
    if (!work.plan.receivers.empty()) variants = behind_receivers(work, std::move(variants), cancel);
    work.variants->run(
        variants,
        [&](std::int64_t v, const at::Tensor& logits) {
            const std::size_t i = cell_of[static_cast<std::size_t>(v)];
            sum[i] += work.base_metric(logits) - work.base;
            if (--to_come[i] == 0) put(i, sum[i] / static_cast<double>(of[i]), CellState::computed);
        },
        cancel, report);
}

SweepRun::SweepRun(std::shared_ptr<const model::Model> model, std::vector<SweepPair> pairs, const SweepOptions& options)
    : in_(std::make_unique<Internals>(model, std::move(pairs), options)) {}
SweepRun::~SweepRun() = default;
SweepRun::SweepRun(SweepRun&&) noexcept = default;

const std::vector<SweepPair>& SweepRun::pairs() const noexcept { return in_->pairs; }

void SweepRun::run(const CancelToken& cancel, const Progress& progress) {
    Internals& in = *in_;
    const Clock::time_point start = Clock::now();
    const auto count_time = [&] {
        const std::lock_guard lock(in.mutex);
        in.seconds += std::chrono::duration<double>(Clock::now() - start).count();
    };
    try {
        if (in.means.empty()) in.means = shared_means(in.sweep, cancel);
        std::int64_t done = 0;
        for (std::size_t i = 0; i < in.pairs.size(); ++i) {
            const auto pending = std::ranges::count(in.states[i], CellState::pending);
            done += std::ssize(in.states[i]) - pending;
            if (pending == 0) continue;
            const PairWork work(in.sweep, i, in.means.empty() ? nullptr : &in.means, cancel);
            std::vector<double> estimates;
            if (in.sweep.options().method != Method::exact && std::isnan(in.base[i]))
                estimates = in.estimates_of(i, work, cancel);
            {
                const std::lock_guard lock(in.mutex);
                if (!estimates.empty()) in.estimates[i] = std::move(estimates);
                in.base[i] = work.base;
                in.other[i] = work.other;
                in.shifted = in.shifted || work.plan.other_length;
            }
            in.run_pair(i, work, done, cancel, progress);
        }
    } catch (...) {
        count_time();
        throw;
    }
    count_time();
}

SweepResult SweepRun::result() const {
    const Internals& in = *in_;
    SweepResult r = in.sweep.result;
    bool shifted = false;
    std::vector<std::vector<CellState>> states;
    {
        const std::lock_guard lock(in.mutex);
        const auto begun = std::ranges::find_if(in.base, [](double v) { return std::isnan(v); }) - in.base.begin();
        const bool swap = patches(r.options) && r.options.direction == Direction::denoise;
        (swap ? r.corrupt : r.clean).assign(in.base.begin(), in.base.begin() + begun);
        if (patches(r.options)) (swap ? r.clean : r.corrupt).assign(in.other.begin(), in.other.begin() + begun);
        r.effects.assign(in.effects.begin(), in.effects.begin() + begun);
        if (r.options.method == Method::both) r.estimates.assign(in.estimates.begin(), in.estimates.begin() + begun);
        states = in.states;
        r.complete = in.complete();
        r.seconds = in.seconds;
        shifted = in.shifted;
    }
    r.results.resize(r.cells.size());
    for (std::size_t i = 0; i < r.cells.size(); ++i) {
        // The state of a cell is the best that any pair has of it.
        for (const CellState state : {CellState::missing, CellState::pending, CellState::certain, CellState::computed})
            if (std::ranges::any_of(states, [&](const auto& of) { return of[i] == state; })) r.results[i].state = state;
        for (const auto& of : states) {
            r.computed += of[i] == CellState::computed;
            r.certain += of[i] == CellState::certain;
            r.missing += of[i] == CellState::missing;
        }
    }
    summarise(r, in.pairs);
    if (!r.complete) return r;
    note_gap(r);
    if (shifted && in.sweep.config().positions == model::Positions::learned)
        r.notes.push_back("The texts have unequal lengths: the stream carries the other text's learned positions along");
    return r;
}

SweepResult run_sweep(const ModelPtr& model, const std::vector<SweepPair>& pairs, const SweepOptions& options,
                      const CancelToken& cancel, const Progress& progress) {
    SweepRun run(model, pairs, options);
    run.run(cancel, progress);
    return run.result();
}

}  // namespace headlight::intervention
