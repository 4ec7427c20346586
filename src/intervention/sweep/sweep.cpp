// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/sweep/sweep.h"

#include "headlight/base/error.h"
#include "headlight/io/hash.h"
#include "intervention/sweep/attribution.h"
#include "intervention/sweep/noise.h"
#include "intervention/sweep/paths.h"
#include "intervention/sweep/statistics.h"
#include "intervention/sweep/unfinished.h"
#include "intervention/sweep/work.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>

namespace headlight::intervention {
namespace {

using Clock = std::chrono::steady_clock;

void note_gap(SweepResult& r, const std::vector<SweepPair>& pairs) {
    if (r.corrupt.empty()) return;
    const auto n = static_cast<double>(r.clean.size());
    std::vector<double> gaps;
    for (std::size_t i = 0; i < r.clean.size(); ++i) gaps.push_back(r.clean[i] - r.corrupt[i]);
    const double mean = std::accumulate(gaps.begin(), gaps.end(), 0.0) / n;
    if (std::abs(mean) < r.options.least_gap)
        return r.notes.push_back("Nothing is normalised: clean and corrupt differ by " + significant(mean) + ", less than " +
                                 significant(r.options.least_gap));
    if (std::abs(mean) < 3 * standard_error(gaps, groups_of(pairs)))
        r.notes.push_back("The gap between clean and corrupt is less than 3 of its standard errors");
    const auto small = std::ranges::count_if(gaps, [&](double gap) { return gap * mean < 0 || std::abs(gap) < 0.1; });
    if (n > 1 && small > 0 && r.options.metric == Metric::logit_diff)
        r.notes.push_back(std::to_string(small) + " of " + std::to_string(gaps.size()) +
                          " pairs have a gap below 0.1 or of the other sign");
}

std::string of_all(std::int64_t some, std::int64_t all) { return with_commas(some) + " of " + with_commas(all); }

/// Why cells have no number of their own.
void note_cells(SweepResult& r, const std::vector<SweepPair>& pairs) {
    if (r.computed == 0)
        r.notes.push_back("No cell was run; certain, since nothing that is measured depends on them: " + with_commas(r.certain) +
                          "; missing, without a partner in the other text: " + with_commas(r.missing));
    if (!patches(r.options)) return;
    std::int64_t tokens = 0, alone = 0, with_some = 0, equal = 0;
    for (const SweepPair& pair : pairs) {
        const SweepText &text = base_of(pair, r.options), &other = other_of(pair, r.options);
        std::vector<std::int64_t> from = partners_in(text, other);
        if (r.options.attention == model::Stack::cross)
            for (const std::int64_t at : text::align_positions(text.source, other.source)) from.push_back(at);
        const auto lacking = std::ranges::count(from, -1);
        tokens += std::ssize(from);
        alone += lacking;
        with_some += lacking > 0;
        equal += r.options.noise.empty() && text.ids == other.ids && text.source == other.source && text.pixels == other.pixels;
    }
    const std::string run = r.options.direction == Direction::denoise ? "corrupt" : "clean",
                      other = r.options.direction == Direction::denoise ? "clean" : "corrupt";
    if (alone > 0)
        r.notes.push_back((pairs.size() > 1 ? "In " + of_all(with_some, std::ssize(pairs)) + " pairs: " : std::string()) +
                          of_all(alone, tokens) + " tokens of the " + run + " text without a partner in the " + other +
                          " one, which keep their values");
    if (equal > 0)
        r.notes.push_back(pairs.size() > 1 ? of_all(equal, std::ssize(pairs)) + " pairs have the same text twice"
                                           : "The clean and the corrupt text are the same");
}

std::string hash_of(const std::vector<SweepPair>& pairs) {
    std::string bytes;
    const auto put = [&](const std::vector<std::int64_t>& numbers) {
        for (const std::int64_t n : numbers) bytes += std::to_string(n) + " ";
        bytes += "; ";
    };
    for (const SweepPair& pair : pairs) {
        for (const SweepText* text : {&pair.clean, &pair.corrupt}) {
            for (const auto* ids : {&text->ids, &text->type_ids, &text->source}) put(*ids);
            put({text->end});
            if (text->pixels) bytes += io::sha256_hex(std::as_bytes(std::span(*text->pixels)));
            for (const auto& [name, rows] : text->places) bytes += name + ": ", put(rows);
        }
        put(pair.answers);
        put(pair.wrong);
        bytes += pair.group + "\n";
    }
    return io::sha256_hex(std::as_bytes(std::span(bytes)));
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
    std::vector<std::vector<double>> beside;     ///< [pair][cell] estimates by attribution, or direct effects; empty: neither
    std::vector<std::vector<CellState>> states;  ///< [pair][cell]
    std::vector<double> base, other;             ///< [pair]; NaN: not begun
    /// [pair] of cells that some of their variants have been taken of.
    std::vector<std::map<std::size_t, CellSum>> parts;
    std::optional<UnfinishedSweep> file{};
    bool shifted = false;
    double seconds = 0;

    Internals(const ModelPtr& model, std::vector<SweepPair> all, const SweepOptions& options)
        : pairs(with_noise(model, std::move(all), options)),
          sweep(prepare(model, pairs, options)),
          effects(pairs.size(), std::vector<double>(sweep.result.cells.size(), kNaN)),
          beside(has_beside() ? pairs.size() : 0, std::vector<double>(sweep.result.cells.size(), kNaN)),
          states(pairs.size(), std::vector<CellState>(sweep.result.cells.size(), CellState::pending)),
          base(pairs.size(), kNaN),
          other(pairs.size(), kNaN),
          parts(pairs.size()) {}

    bool has_beside() const { return sweep.options().method != Method::exact || sweep.options().effect == Effect::both; }
    std::vector<double> estimates_of(std::size_t pair, const PairWork&, const CancelToken&) const;
    std::vector<double> directs_of(const PairWork&, const CancelToken&) const;
    void begin_pair(std::size_t pair, const PairWork&, const CancelToken&);
    void run_pair(std::size_t pair, const PairWork&, std::int64_t& done, const CancelToken&, const Progress&);
    std::int64_t restore(const SweepContent&);
    SweepFacts with_texts(SweepFacts) const;
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

/// Positions are independent behind frozen heads, so that these passes are short.
std::vector<double> SweepRun::Internals::directs_of(const PairWork& work, const CancelToken& cancel) const {
    SweepPlan plan = work.plan;
    plan.frozen = true;
    std::vector<double> out;
    std::vector<trace::Variant> variants;
    std::vector<std::pair<std::size_t, double>> cell_of;  // and how many variants it has
    for (std::size_t i = 0; i < sweep.result.cells.size(); ++i) {
        SweepPlan::Cell cell = plan.cell(sweep.result.cells[i]);
        out.push_back(cell.state == CellState::missing ? kNaN : 0);
        for (trace::Variant& v : cell.variants) {
            cell_of.emplace_back(i, std::ssize(cell.variants));
            variants.push_back(std::move(v));
        }
    }
    work.variants->run(
        variants,
        [&](std::int64_t v, const at::Tensor& logits) {
            const auto [i, count] = cell_of[static_cast<std::size_t>(v)];
            out[i] += (work.base_metric(logits) - work.base) / count;
        },
        cancel);
    return out;
}

/// What a pair has before its first pass.
void SweepRun::Internals::begin_pair(std::size_t pair, const PairWork& work, const CancelToken& cancel) {
    if (!std::isnan(base[pair])) return;
    BegunPair begun{.base = work.base, .other = work.other, .shifted = work.plan.shifted};
    if (has_beside())
        begun.beside = sweep.options().effect == Effect::both ? directs_of(work, cancel) : estimates_of(pair, work, cancel);
    if (file) {
        for (const SweepCell& cell : sweep.result.cells) begun.states.push_back(work.plan.cell(cell).state);
        file->begin(pair, begun);
    }
    const std::lock_guard lock(mutex);
    if (!begun.beside.empty()) beside[pair] = std::move(begun.beside);
    base[pair] = begun.base;
    other[pair] = begun.other;
    shifted = shifted || begun.shifted;
}

/// Cells of one pair that are pending. Which of them share a pass does not depend on where an earlier run stopped: its passes are
/// the first of all.
void SweepRun::Internals::run_pair(std::size_t pair, const PairWork& work, std::int64_t& done, const CancelToken& cancel,
                                   const Progress& progress) {
    const std::vector<SweepCell>& cells = sweep.result.cells;
    const bool paths = !work.plan.receivers.empty();
    std::vector<trace::Variant> variants;
    std::vector<std::size_t> cell_of;
    std::vector<bool> there;  // [variant] taken by an earlier run: a path's first pass has it all the same
    std::vector<std::size_t> of(cells.size(), 0);
    const auto put = [&](std::size_t i, double effect, CellState state) {
        const std::lock_guard lock(mutex);
        effects[pair][i] = effect;
        states[pair][i] = state;
        ++done;
    };
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const bool pending = states[pair][i] == CellState::pending;
        if (!pending && !(paths && states[pair][i] == CellState::computed)) continue;
        SweepPlan::Cell cell = work.plan.cell(cells[i]);
        if (cell.state != CellState::computed) {
            put(i, cell.state == CellState::certain ? 0 : kNaN, cell.state);
            continue;
        }
        if (estimates_alone(sweep.options().method)) {
            put(i, beside[pair][i], CellState::computed);
            continue;
        }
        of[i] = cell.variants.size();
        const auto part = parts[pair].find(i);
        const std::size_t taken = !pending ? of[i] : part == parts[pair].end() ? 0 : part->second.taken;
        for (std::size_t v = paths ? 0 : taken; v < of[i]; ++v) {
            variants.push_back(std::move(cell.variants[v]));
            cell_of.push_back(i);
            there.push_back(v < taken);
        }
    }
    const auto all = std::ssize(pairs) * std::ssize(cells);
    const auto report = [&](const ProgressStep&) {
        if (file) file->end_pass();
        if (progress) progress({"Sweeping", "cell", done, all});
    };
    report({});
    if (paths) {
        std::vector<trace::Variant> behind = behind_receivers(work, std::move(variants), cancel);
        variants.clear();
        std::vector<std::size_t> cell_of_pending;
        for (std::size_t v = 0; v < behind.size(); ++v) {
            if (there[v]) continue;
            variants.push_back(std::move(behind[v]));
            cell_of_pending.push_back(cell_of[v]);
        }
        cell_of = std::move(cell_of_pending);
    }
    work.variants->run(
        variants,
        [&](std::int64_t v, const at::Tensor& logits) {
            const std::size_t i = cell_of[static_cast<std::size_t>(v)];
            const double effect = work.base_metric(logits) - work.base;
            CellSum part{.cell = i, .of = of[i]};
            {
                const std::lock_guard lock(mutex);
                CellSum& kept = parts[pair].try_emplace(i, part).first->second;
                kept.sum += effect;
                ++kept.taken;
                part = kept;
                if (part.taken == of[i]) parts[pair].erase(i);
            }
            if (file) file->add(pair, part);
            if (part.taken == of[i]) put(i, part.sum / static_cast<double>(of[i]), CellState::computed);
        },
        cancel, report);
}

/// Whole passes. Returns how many cells there are.
std::int64_t SweepRun::Internals::restore(const SweepContent& content) {
    const std::lock_guard lock(mutex);
    sweep.result.options.memory = content.memory;
    for (const auto& [pair, begun] : content.pairs) {
        base[pair] = begun.base;
        other[pair] = begun.other;
        shifted = shifted || begun.shifted;
        if (!begun.beside.empty()) beside[pair] = begun.beside;
        const bool estimated = estimates_alone(sweep.options().method);
        if (estimated && begun.beside.empty())
            throw Error({.problem = "The numbers that are kept have no estimates", .item = "pair " + std::to_string(pair)});
        for (std::size_t i = 0; i < begun.states.size(); ++i) {
            if (begun.states[i] == CellState::computed && !estimated) continue;
            states[pair][i] = begun.states[i];
            effects[pair][i] = begun.states[i] == CellState::certain    ? 0
                               : begun.states[i] == CellState::computed ? begun.beside[i]
                                                                        : kNaN;
        }
    }
    for (const auto& [pair, sum] : content.sums) parts[pair][sum.cell] = sum;
    for (std::size_t pair = 0; pair < pairs.size(); ++pair)
        std::erase_if(parts[pair], [&](const auto& part) {
            const auto& [i, sum] = part;
            if (sum.taken < sum.of) return false;
            effects[pair][i] = sum.sum / static_cast<double>(sum.of);
            states[pair][i] = CellState::computed;
            return true;
        });
    std::int64_t there = 0;
    for (const auto& of : states) there += std::ssize(of) - std::ranges::count(of, CellState::pending);
    return there;
}

SweepFacts SweepRun::Internals::with_texts(SweepFacts facts) const {
    facts.emplace_back("texts, positions and answers of the pairs", hash_of(pairs));
    if (const auto& over = sweep.options().over) {
        std::vector<SweepPair> texts;
        for (const SweepText& text : *over) texts.push_back({.clean = text});
        facts.emplace_back("texts of --over", hash_of(texts));
    }
    return facts;
}

SweepRun::SweepRun(std::shared_ptr<const model::Model> model, std::vector<SweepPair> pairs, const SweepOptions& options)
    : in_(std::make_unique<Internals>(model, std::move(pairs), options)) {}
SweepRun::~SweepRun() = default;
SweepRun::SweepRun(SweepRun&&) noexcept = default;

const std::vector<SweepPair>& SweepRun::pairs() const noexcept { return in_->pairs; }

std::int64_t SweepRun::keep_in(const std::filesystem::path& path, SweepFacts facts) {
    Internals& in = *in_;
    const SweepResult& r = in.sweep.result;
    in.file.emplace(path, in.with_texts(std::move(facts)), r.options.memory, in.pairs.size(), r.cells.size());
    return in.restore(in.file->content());
}

std::string SweepRun::kept(SweepFacts facts) const {
    const Internals& in = *in_;
    const std::lock_guard lock(in.mutex);
    std::string lines = header_line(in.with_texts(std::move(facts)), in.sweep.result.options.memory);
    for (std::size_t pair = 0; pair < in.pairs.size() && !std::isnan(in.base[pair]); ++pair) {
        BegunPair begun{.base = in.base[pair], .other = in.other[pair], .shifted = in.shifted};
        if (in.has_beside()) begun.beside = in.beside[pair];
        begun.states = in.states[pair];
        lines += pair_line(pair, begun);
        std::vector<CellSum> sums;
        for (std::size_t i = 0; i < begun.states.size(); ++i)
            if (begun.states[i] == CellState::computed && !estimates_alone(in.sweep.options().method))
                sums.push_back({i, in.effects[pair][i], 1});
        for (const auto& [i, part] : in.parts[pair]) sums.push_back(part);
        lines += pass_line(pair, sums);
    }
    return lines;
}

std::int64_t SweepRun::take(std::string_view kept, SweepFacts facts, const std::string& file) {
    Internals& in = *in_;
    return in.restore(content_of(kept, in.with_texts(std::move(facts)), in.pairs.size(), in.sweep.result.cells.size(),
                                 {file, "Sweep again", "Sweep again"}));
}

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
            in.begin_pair(i, work, cancel);
            in.run_pair(i, work, done, cancel, progress);
        }
        if (in.file) in.file->end_pass();
    } catch (...) {
        if (in.file) in.file->end_pass();
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
        if (r.options.method == Method::both) r.estimates.assign(in.beside.begin(), in.beside.begin() + begun);
        if (r.options.effect == Effect::both) r.directs.assign(in.beside.begin(), in.beside.begin() + begun);
        states = in.states;
        r.complete = in.complete();
        r.seconds = in.seconds;
        shifted = in.shifted;
    }
    if (!r.options.noise.empty())
        for (const SweepPair& pair : in.pairs) r.noise.push_back(pair.corrupt.noise);
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
    note_gap(r, in.pairs);
    note_cells(r, in.pairs);
    if (shifted && in.sweep.config().positions == model::Positions::learned)
        r.notes.push_back("Tokens have partners at other positions: the stream carries the other text's learned positions along");
    return r;
}

SweepResult run_sweep(const ModelPtr& model, const std::vector<SweepPair>& pairs, const SweepOptions& options,
                      const CancelToken& cancel, const Progress& progress) {
    SweepRun run(model, pairs, options);
    run.run(cancel, progress);
    return run.result();
}

}  // namespace headlight::intervention
