// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/sweep/sweep.h"

#include "headlight/base/error.h"
#include "headlight/text/alignment.h"
#include "intervention/sweep/metric.h"
#include "intervention/sweep/plan.h"
#include "intervention/sweep/statistics.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <set>

namespace headlight::intervention {
namespace {

using model::Hook;
using model::HookPoint;
using ModelPtr = std::shared_ptr<const model::Model>;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool patches(const SweepOptions& o) { return o.ablation == Ablation::none; }

const SweepText& base_of(const SweepPair& pair, const SweepOptions& o) {
    return patches(o) && o.direction == Direction::denoise ? pair.corrupt : pair.clean;
}
const SweepText& other_of(const SweepPair& pair, const SweepOptions& o) {
    return o.direction == Direction::denoise ? pair.clean : pair.corrupt;
}

void check_site(const model::ModelConfig& c, Site site, const SweepOptions& o) {
    const std::vector<HookPoint> hooks = model::hooks_of(c);
    const SiteRow& row = row_of(site);
    if (std::ranges::none_of(hooks, [&](HookPoint p) { return p.hook == row.hook; }))
        throw Error(
            ErrorFacts{.problem = "This model has no " + std::string(row.title), .item = c.name, .found = std::string(row.word)});
    if (site == Site::resid_mid && c.parallel)
        throw Error(ErrorFacts{.problem = "No block of this model reads the stream between attention and MLP",
                               .item = c.name,
                               .found = "resid_mid",
                               .hint = "Attention and MLP stand beside each other here: sweep resid_pre, attn_out or mlp_out"});
    if (o.ablation == Ablation::knockout && site != Site::pattern)
        throw Error(ErrorFacts{.problem = "Only attention weights can be knocked out",
                               .expected = "pattern, pattern_by_destination or pattern_by_edge",
                               .found = std::string(enum_word(o.grid))});
}

void check_indices(const std::vector<std::int64_t>& list, std::int64_t count, const char* what) {
    for (const std::int64_t i : list)
        if (i < 0 || i >= count)
            throw Error(ErrorFacts{.problem = std::string("There is no such ") + what + " in this model",
                                   .expected = "0 to " + std::to_string(count - 1),
                                   .found = std::to_string(i)});
}

void check_text(const SweepText& text, const char* which, std::size_t pair) {
    const auto where = [&] { return "pair " + std::to_string(pair + 1) + ", " + which; };
    if (text.ids.empty()) throw Error(ErrorFacts{.problem = "A text of the sweep has no tokens", .item = where()});
    if (text.end < 0 || text.end >= std::ssize(text.ids))
        throw Error(ErrorFacts{.problem = "The position of the answer is not in the text",
                               .item = where(),
                               .expected = "0 to " + std::to_string(text.ids.size() - 1),
                               .found = std::to_string(text.end)});
    for (const auto& [name, rows] : text.places)
        for (const std::int64_t row : rows)
            if (row < 0 || row >= std::ssize(text.ids))
                throw Error(ErrorFacts{.problem = "A named position is not in the text",
                                       .item = where() + ", " + name,
                                       .expected = "0 to " + std::to_string(text.ids.size() - 1),
                                       .found = std::to_string(row)});
}

/// Everything about a sweep that does not depend on its numbers.
struct Sweep {
    ModelPtr model;
    const std::vector<SweepPair>& pairs;
    SweepResult result;
    std::vector<HookPoint> points{};

    const SweepOptions& options() const { return result.options; }
    const model::ModelConfig& config() const { return model->config(); }
    bool by_name() const { return !result.position_names.empty(); }
};

/// Names that every pair has, in the order of their places in the first text.
std::vector<std::string> shared_names(const std::vector<SweepPair>& pairs, const SweepOptions& o) {
    std::vector<std::string> names;
    for (const auto& [name, rows] : base_of(pairs.front(), o).places) {
        const bool everywhere =
            std::ranges::all_of(pairs, [&](const SweepPair& pair) { return base_of(pair, o).places.contains(name); });
        if (everywhere && !rows.empty()) names.push_back(name);
    }
    const auto& places = base_of(pairs.front(), o).places;
    std::ranges::stable_sort(names, {}, [&](const std::string& name) { return places.at(name).front(); });
    return names;
}

Sweep prepare(const ModelPtr& model, const std::vector<SweepPair>& pairs, const SweepOptions& o) {
    const model::ModelConfig& c = model->config();
    if (pairs.empty()) throw Error(ErrorFacts{.problem = "There is no pair of texts to sweep"});
    if (o.window < 1) throw Error(ErrorFacts{.problem = "A window has at least one layer", .found = std::to_string(o.window)});
    if (o.grid == Grid::neuron && o.layers.empty())
        throw Error(ErrorFacts{.problem = "A sweep of neurons needs its layers",
                               .found = std::to_string(c.n_layers * c.d_mlp) + " neurons in all",
                               .hint = "Name one or a few layers"});
    if (o.ablation == Ablation::resample && pairs.size() < 2)
        throw Error(ErrorFacts{.problem = "Resampling needs other texts", .expected = "two pairs or more", .found = "1"});
    if (o.ablation == Ablation::mean && pairs.size() < 2 && sites_of(o.grid).front() == Site::pattern)
        throw Error(ErrorFacts{.problem = "The mean of a pattern over the positions of one text is not defined",
                               .hint = "Give several pairs, or another ablation"});
    if (o.metric == Metric::loss && !c.causal)
        throw Error(ErrorFacts{.problem = "This model does not predict the next token, so a text has no loss",
                               .item = c.name,
                               .hint = "Use another metric, read at the mask"});
    if (has_cross_attention(c) != !pairs.front().clean.source.empty())
        throw Error(ErrorFacts{.problem = has_cross_attention(c) ? "A sweep of this model needs the text that its encoder reads"
                                                                 : "This model reads no source",
                               .item = c.name});
    Sweep sweep{model, pairs, {}};
    SweepResult& r = sweep.result;
    r.options = o;
    bool one_length = true;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        check_text(pairs[i].clean, "clean", i);
        if (patches(o)) check_text(pairs[i].corrupt, "corrupt", i);
        for (const auto* answers : {&pairs[i].answers, &pairs[i].wrong}) check_indices(*answers, c.vocab_size, "token");
        one_length = one_length && base_of(pairs[i], o).ids.size() == base_of(pairs.front(), o).ids.size();
    }
    const auto tokens = std::ssize(base_of(pairs.front(), o).ids);
    if ((!one_length || o.by_name) && has_position(o.grid)) {
        r.position_names = shared_names(pairs, o);
        if (r.position_names.empty())
            throw Error(ErrorFacts{
                .problem = one_length ? "No position has a name" : "Pairs of unequal length have no positions in common",
                .expected = "texts of one length, or positions of the same names in every pair",
                .hint = "Name positions in the file of pairs, or sweep heads at all positions"});
    }
    for (const Site site : sites_of(o.grid)) {
        check_site(c, site, o);
        for (const HookPoint point : model::hooks_of(c))
            if (point.hook == row_of(site).hook) sweep.points.push_back(point);
    }
    const auto width = [&](Hook hook, std::int64_t layer) { return model::shape_of({hook, Layer(layer)}, c, tokens)[1]; };
    r.axes = {.layers = c.n_layers,
              .heads = c.n_heads,
              .kv_heads = width(Hook::k, 0),
              .positions = sweep.by_name() ? std::ssize(r.position_names) : tokens,
              .causal = c.causal && !sweep.by_name()};
    for (std::int64_t l = 0; l < c.n_layers; ++l) r.axes.neurons.push_back(width(Hook::mlp_post, l));
    check_indices(o.layers, c.n_layers, "layer");
    const bool of_groups = std::ranges::all_of(sites_of(o.grid), [](Site site) { return row_of(site).axis == Axis::kv_head; });
    check_indices(o.heads, of_groups ? r.axes.kv_heads : c.n_heads, of_groups ? "key/value head" : "head");
    r.cells = cells_of(o.grid, r.axes, o.layers, o.heads);
    r.labels = base_of(pairs.front(), o).labels;
    return sweep;
}

/// Mean over positions, as many rows as the text has; with several pairs of one length over their clean texts, position by
/// position.
Tensors mean_tensors(const Sweep& sweep, const SweepPair& pair, const CancelToken& cancel) {
    Tensors sum;
    if (sweep.pairs.size() < 2) {
        sum = trace::tensors_of(*sweep.model, token_ids(pair.clean), sweep.points, cancel);
        for (auto& [point, t] : sum) t = t.mean(0, true).expand_as(t).contiguous();
        return sum;
    }
    for (const SweepPair& each : sweep.pairs) {
        if (each.clean.ids.size() != pair.clean.ids.size())
            throw Error(ErrorFacts{.problem = "A mean position by position needs texts of equal length",
                                   .expected = std::to_string(pair.clean.ids.size()) + " tokens",
                                   .found = std::to_string(each.clean.ids.size())});
        for (auto& [point, t] : trace::tensors_of(*sweep.model, token_ids(each.clean), sweep.points, cancel))
            sum[point] = sum.contains(point) ? sum[point] + t : t;
    }
    for (auto& [point, t] : sum) t = t / static_cast<double>(sweep.pairs.size());
    return sum;
}

/// The means that all pairs share; empty where each has its own, or none.
Tensors shared_means(const Sweep& sweep, const CancelToken& cancel) {
    const bool shared = sweep.options().ablation == Ablation::mean && sweep.pairs.size() > 1;
    return shared ? mean_tensors(sweep, sweep.pairs.front(), cancel) : Tensors();
}

/// Other pairs of the same length, without repetition.
std::vector<std::size_t> donors_of(const Sweep& sweep, std::size_t pair) {
    std::vector<std::size_t> donors;
    for (std::size_t i = 0; i < sweep.pairs.size(); ++i)
        if (i != pair && sweep.pairs[i].clean.ids.size() == sweep.pairs[pair].clean.ids.size()) donors.push_back(i);
    if (donors.empty())
        throw Error(ErrorFacts{.problem = "No other text is as long as this one, so none can be resampled from",
                               .item = "pair " + std::to_string(pair + 1)});
    std::mt19937_64 random(sweep.options().bootstrap.seed * 1000003ULL + pair);
    for (std::size_t i = donors.size() - 1; i > 0; --i) std::swap(donors[i], donors[random() % (i + 1)]);
    donors.resize(std::min(donors.size(), static_cast<std::size_t>(std::max<std::int64_t>(sweep.options().donors, 1))));
    return donors;
}

/// One pair, ready to run.
struct PairWork {
    MetricReader base_metric;
    std::optional<trace::Variants> variants{};
    SweepPlan plan;
    double base = kNaN, other = kNaN;

    PairWork(const Sweep& sweep, std::size_t index, const Tensors* means, const CancelToken& cancel)
        : base_metric(sweep.pairs[index], base_of(sweep.pairs[index], sweep.options()), sweep.options().metric),
          plan{sweep.config(), sweep.options()} {
        const SweepOptions& o = sweep.options();
        const SweepPair& pair = sweep.pairs[index];
        const SweepText& text = base_of(pair, o);
        const auto run_of = [&](const SweepText& of, const MetricReader& metric) {
            return trace::Variants(
                sweep.model, token_ids(of),
                {.first = metric.first(), .last = metric.last(), .columns = metric.columns(), .memory = o.memory}, cancel);
        };
        variants.emplace(run_of(text, base_metric));
        plan.tokens = std::ssize(text.ids);
        plan.first_asked = base_metric.first();
        plan.last_asked = base_metric.last();
        if (o.metric == Metric::kl) {
            MetricReader clean(pair, pair.clean, o.metric);
            base_metric.set_reference(patches(o) ? run_of(pair.clean, clean).logits() : variants->logits());
        }
        base = base_metric(variants->logits());
        if (o.effect == Effect::direct) {
            std::vector<HookPoint> outputs;
            for (const HookPoint point : model::hooks_of(sweep.config()))
                if (point.hook == Hook::z || point.hook == Hook::cross_z) outputs.push_back(point);
            plan.own = trace::tensors_of(*sweep.model, token_ids(text), outputs, cancel);
        }
        if (patches(o)) {
            const SweepText& from = other_of(pair, o);
            MetricReader metric(pair, from, o.metric);
            if (o.metric == Metric::kl) metric = with_end(base_metric, metric);
            other = metric(run_of(from, metric).logits());
            plan.sources = {trace::tensors_of(*sweep.model, token_ids(from), sweep.points, cancel)};
            plan.from = text::align_positions(text.ids, from.ids);
            plan.other_length = text.ids.size() != from.ids.size();
            if (sweep.config().causal && text.source == from.source)
                plan.same = std::ranges::mismatch(text.ids, from.ids).in1 - text.ids.begin();
        } else {
            plan.from.resize(text.ids.size());
            std::iota(plan.from.begin(), plan.from.end(), 0);
            if (o.ablation == Ablation::mean) plan.sources = {means ? *means : mean_tensors(sweep, pair, cancel)};
            if (o.ablation == Ablation::resample)
                for (const std::size_t donor : donors_of(sweep, index))
                    plan.sources.push_back(
                        trace::tensors_of(*sweep.model, token_ids(sweep.pairs[donor].clean), sweep.points, cancel));
        }
        for (std::int64_t p = 0; p < sweep.result.axes.positions; ++p)
            plan.position_rows.push_back(sweep.by_name()
                                             ? text.places.at(sweep.result.position_names[static_cast<std::size_t>(p)])
                                             : std::vector<std::int64_t>{p});
        for (std::vector<std::int64_t>& rows : plan.position_rows) std::ranges::sort(rows);
    }

private:
    static MetricReader with_end(const MetricReader& reference, MetricReader at) {
        at.share_reference(reference);
        return at;
    }
};

/// Effects of one pair's cells.
std::vector<double> run_pair(Sweep& sweep, const PairWork& work, const CancelToken& cancel, const Progress& progress,
                             std::size_t pair) {
    SweepResult& r = sweep.result;
    std::vector<double> effects(r.cells.size(), kNaN);
    std::vector<trace::Variant> variants;
    std::vector<std::size_t> cell_of;
    std::vector<double> share(r.cells.size(), 1);
    for (std::size_t i = 0; i < r.cells.size(); ++i) {
        SweepPlan::Cell cell = work.plan.cell(r.cells[i]);
        CellState& state = r.results[i].state;
        if (cell.state == CellState::missing) {
            ++r.missing;
            continue;
        }
        effects[i] = 0;
        if (cell.state == CellState::certain) {
            ++r.certain;
            if (state == CellState::missing) state = CellState::certain;
            continue;
        }
        ++r.computed;
        state = CellState::computed;
        share[i] = 1.0 / static_cast<double>(cell.variants.size());
        for (trace::Variant& v : cell.variants) {
            variants.push_back(std::move(v));
            cell_of.push_back(i);
        }
    }
    const auto count = std::ssize(variants), of_all = std::ssize(sweep.pairs);
    const auto report = [&](const ProgressStep& step) {
        if (progress) progress({"Sweeping", "cell", static_cast<std::int64_t>(pair) * count + step.done, of_all * count});
    };
    work.variants->run(
        variants,
        [&](std::int64_t v, const at::Tensor& logits) {
            const std::size_t cell = cell_of[static_cast<std::size_t>(v)];
            effects[cell] += share[cell] * (work.base_metric(logits) - work.base);
        },
        cancel, report);
    return effects;
}

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

SweepResult run_sweep(const ModelPtr& model, const std::vector<SweepPair>& pairs, const SweepOptions& options,
                      const CancelToken& cancel, const Progress& progress) {
    const Clock::time_point start = Clock::now();
    Sweep sweep = prepare(model, pairs, options);
    SweepResult& r = sweep.result;
    r.results.resize(r.cells.size());
    const Tensors means = shared_means(sweep, cancel);
    bool shifted = false;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const PairWork work(sweep, i, means.empty() ? nullptr : &means, cancel);
        const bool base_is_clean = !patches(options) || options.direction == Direction::noise;
        r.clean.push_back(base_is_clean ? work.base : work.other);
        if (patches(options)) r.corrupt.push_back(base_is_clean ? work.other : work.base);
        shifted = shifted || work.plan.other_length;
        r.effects.push_back(run_pair(sweep, work, cancel, progress, i));
    }
    note_gap(r);
    if (shifted && model->config().positions == model::Positions::learned)
        r.notes.push_back("The texts have unequal lengths: the stream carries the other text's learned positions along");
    summarise(r, pairs);
    r.seconds = seconds_since(start);
    return std::move(r);
}

SweepForecast forecast_sweep(const ModelPtr& model, const std::vector<SweepPair>& pairs, const SweepOptions& options,
                             const CancelToken& cancel) {
    constexpr std::size_t kMeasured = 24, kShare = 6;
    Sweep sweep = prepare(model, pairs, options);
    const Clock::time_point start = Clock::now();
    const Tensors means = shared_means(sweep, cancel);
    const double once = seconds_since(start);
    const PairWork work(sweep, 0, means.empty() ? nullptr : &means, cancel);
    const double own = seconds_since(start) - once;
    std::vector<trace::Variant> all;
    std::int64_t cost = 0;
    SweepForecast out;
    for (const SweepCell& cell : sweep.result.cells) {
        SweepPlan::Cell planned = work.plan.cell(cell);
        if (planned.state == CellState::computed) ++out.computed;
        for (trace::Variant& v : planned.variants) {
            cost += work.variants->cost(v);
            all.push_back(std::move(v));
        }
    }
    // Some of all layers and positions, after a few that set up threads and memory.
    const auto timed = [&](std::size_t wanted) {
        std::vector<trace::Variant> some;
        std::int64_t measured = 0;
        const std::size_t step = std::max<std::size_t>(all.size() / std::max<std::size_t>(wanted, 1), 1);
        for (std::size_t i = step / 2; i < all.size(); i += step) {
            some.push_back(all[i]);
            measured += work.variants->cost(all[i]);
        }
        const Clock::time_point passes = Clock::now();
        work.variants->run(
            some, [&](std::int64_t, const at::Tensor& logits) { work.base_metric(logits); }, cancel);
        return measured > 0 ? seconds_since(passes) / static_cast<double>(measured) : 0;
    };
    timed(kMeasured / 4);
    const auto n = static_cast<double>(pairs.size());
    const double rate = timed(std::max(kMeasured, all.size() / kShare));
    out.cells = std::ssize(sweep.result.cells) * std::ssize(pairs);
    out.computed *= std::ssize(pairs);
    out.seconds = once + n * (own + rate * static_cast<double>(cost));
    out.bytes = work.variants->kept_bytes() + work.variants->pass_bytes() + out.cells * 8 +
                std::ssize(sweep.result.cells) * static_cast<std::int64_t>(sizeof(SweepCell) + sizeof(SweepCellResult) + 200);
    for (const Tensors& source : work.plan.sources)
        for (const auto& [point, t] : source) out.bytes += static_cast<std::int64_t>(t.nbytes());
    return out;
}

std::string SweepForecast::text() const {
    const auto rounded = [](double value) { return significant(value); };
    const double size = static_cast<double>(bytes) / 1e6;
    const std::string time = seconds >= 90 ? rounded(seconds / 60) + " min" : rounded(seconds) + " s";
    return with_commas(cells) + " cells (" + with_commas(computed) + " computed), " + time + ", " +
           (size >= 1000 ? rounded(size / 1000) + " GB" : rounded(size) + " MB");
}

}  // namespace headlight::intervention
