// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/neurons/neurons.h"

#include "corpus/accumulate/archive.h"
#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/trace/tensors.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>

namespace headlight::corpus {
namespace {

using model::Hook;

constexpr std::int64_t kBlockOfNeurons = 16;  ///< a cache line of coefficients; their histograms fit the first cache
constexpr std::int64_t kSideBins = kCoefficientBins / 2;
constexpr std::int32_t kLowestBin = (127 - 8) << 2;  ///< exponent and two bits of the mantissa of 2^-8
constexpr std::int32_t kFull = std::numeric_limits<std::int32_t>::max();

constexpr std::int64_t kMostExamples = std::numeric_limits<std::uint8_t>::max();  ///< of a neuron and a kind

/// A bin of a histogram that is not empty.
struct BinCount {
    std::uint8_t bin = 0;
    std::int32_t count = 0;
};

float edge_of(std::int64_t side_bin) {
    return side_bin == 0 ? 0.0F : std::bit_cast<float>(static_cast<std::int32_t>((kLowestBin + side_bin) << 21));
}

/// Is `a` better than `b`, where larger (or smaller) values are better?
bool better(const Trigger& a, const Trigger& b, bool larger) {
    if (a.value != b.value) return larger ? a.value > b.value : a.value < b.value;
    return std::tie(a.text, a.position) < std::tie(b.text, b.position);
}

/// The draw of a token; neurons mix their own number into it.
std::uint64_t token_draw(std::uint64_t seed, const Trigger& t) { return draw(seed, t.text, t.position); }
std::uint64_t neuron_key(std::uint64_t seed, std::int64_t row) { return draw(seed, -1, row); }
/// One to one in the token's draw, so that neurons sample different tokens at the cost of a product.
std::uint64_t mixed(std::uint64_t of_token, std::uint64_t key) { return (of_token ^ key) * 0x9e3779b97f4a7c15u; }

}  // namespace

/// Data of a chunk's tokens shared by all neurons.
struct Neurons::Ends {
    std::vector<Trigger> at;           ///< [position] address and next token
    std::vector<std::uint64_t> draws;  ///< [position]
};

std::int64_t coefficient_bin(float m) noexcept {
    const std::int32_t bits = std::bit_cast<std::int32_t>(m) & 0x7fffffff;
    const std::int32_t bin = std::clamp((bits >> 21) - kLowestBin, 0, static_cast<std::int32_t>(kSideBins) - 1);
    return m > 0 ? kSideBins + bin : bin;
}

double coefficient_of(std::int64_t bin) noexcept {
    const std::int64_t side = bin % kSideBins;
    const double a = static_cast<double>(edge_of(side)), b = static_cast<double>(edge_of(side + 1));
    const double middle = side == 0 ? b : side == kSideBins - 1 ? a : 2 * a * b / (a + b);
    return bin < kSideBins ? -middle : middle;
}

std::pair<double, double> level_range(std::int64_t level) noexcept {
    const std::int64_t side = level * kBinsOfLevel % kSideBins;
    const double near = static_cast<double>(edge_of(side));
    const double far = side + kBinsOfLevel == kSideBins ? std::numeric_limits<double>::infinity()
                                                        : static_cast<double>(edge_of(side + kBinsOfLevel));
    return level < kActivityLevels / 2 ? std::pair(-far, -near) : std::pair(near, far);
}

AccumulatorKind neurons_kind() {
    return {
        .id = "neurons",
        .title = "Neurons",
        .note = "chunks that trigger each MLP neuron most, histograms and samples of its coefficients; 3.3 kB a neuron",
        .usual = true,
        .of_treebank = false,
        .make =
            [](const AccumulatorContext& context) { return new_accumulator(Neurons(context.config, {.seed = context.seed})); },
        .open = [](const Arrays& arrays, std::uint64_t seed) { return new_accumulator(Neurons(arrays, seed)); }};
}

Neurons::Neurons(const model::ModelConfig& c, const NeuronsOptions& options) : options_(options), first_{0} {
    if (std::min(options.triggers, options.samples) < 1 || std::max(options.triggers, options.samples) > kMostExamples)
        throw Error({.problem = "A neuron cannot keep that many examples",
                     .expected = "1 to 255 triggers, 1 to 255 samples",
                     .found = std::to_string(options.triggers) + " and " + std::to_string(options.samples)});
    for (std::int64_t l = 0; l < c.n_layers; ++l) first_.push_back(first_.back() + model::mlp_width(c, l));
    resize();
}

Neurons::Neurons(const Arrays& arrays, std::uint64_t seed)
    : options_{.seed = seed}, first_(arrays.get<std::int64_t>("neurons.first", {-1})) {
    if (first_.empty() || first_.front() != 0 || !std::ranges::is_sorted(first_))
        arrays.throw_damaged("neurons.first", "the first neuron of each layer");
    const auto limits = arrays.get_within<std::int64_t>("neurons.limits", {2}, 1, kMostExamples);
    options_.triggers = limits[0], options_.samples = limits[1];
    arrays.require<std::uint8_t>("neurons.histogram.in_use", {neurons()});
    resize();
    load(arrays);
}

void Neurons::resize() {
    const auto n = static_cast<std::size_t>(neurons());
    for (Extremes* best : {&largest_, &smallest_}) {
        best->triggers.resize(n * static_cast<std::size_t>(options_.triggers));
        best->in_use.resize(n);
    }
    histogram_.resize(n * kCoefficientBins);
    samples_.resize(n * static_cast<std::size_t>(kActivityLevels * options_.samples));
    largest_draw_.resize(n * kActivityLevels, std::numeric_limits<std::uint64_t>::max());
}

std::unique_ptr<Accumulator> Neurons::fresh() const {
    auto other = std::make_unique<Neurons>(model::ModelConfig{}, options_);
    other->first_ = first_;
    other->resize();
    return other;
}

void Neurons::offer_trigger(Extremes& best, std::int64_t row, const Trigger& trigger) const {
    Trigger* heap = best.triggers.data() + row * options_.triggers;
    std::uint8_t& count = best.in_use[static_cast<std::size_t>(row)];
    const auto first = [larger = best.larger](const Trigger& a, const Trigger& b) { return better(a, b, larger); };
    if (count == options_.triggers) {
        if (!first(trigger, heap[0])) return;
        std::pop_heap(heap, heap + count, first);
        heap[count - 1] = trigger;
    } else {
        heap[count++] = trigger;
    }
    std::push_heap(heap, heap + count, first);
}

std::uint64_t Neurons::sample_draw(std::int64_t row, const Trigger& t) const {
    return mixed(token_draw(options_.seed, t), neuron_key(options_.seed, row));
}

void Neurons::offer_sample(std::int64_t slot, std::uint64_t drawn, const Trigger& trigger) {
    const std::int64_t row = slot / kActivityLevels, size = options_.samples;
    Trigger* kept = samples_.data() + slot * size;
    const auto in_use = std::find_if(kept, kept + size, [](const Trigger& t) { return t.text < 0; }) - kept;
    std::int64_t place = 0;
    while (place < in_use) {
        const std::uint64_t other = sample_draw(row, kept[place]);
        if (drawn < other || (drawn == other && better(trigger, kept[place], true))) break;
        ++place;
    }
    if (place == size) return;
    std::move_backward(kept + place, kept + std::min(in_use, size - 1), kept + std::min(in_use + 1, size));
    kept[place] = trigger;
    if (kept[size - 1].text >= 0) largest_draw_[static_cast<std::size_t>(slot)] = sample_draw(row, kept[size - 1]);
}

/// Neurons [begin, end) of a layer at `count` tokens; m is [token, width].
void Neurons::add_block(const float* m, std::int64_t count, std::int64_t width, std::int64_t begin, std::int64_t end,
                        std::int64_t row, const Ends& ends) {
    const auto size = static_cast<std::size_t>(end - begin);
    std::array<float, kBlockOfNeurons> high{}, low{};  // a trigger is above, or below, zero
    std::array<std::int32_t, kBlockOfNeurons> high_at{}, low_at{};
    std::array<std::uint64_t, kBlockOfNeurons> keys{};
    for (std::size_t j = 0; j < size; ++j) keys[j] = neuron_key(options_.seed, row + begin + static_cast<std::int64_t>(j));
    for (std::int64_t p = 0; p < count; ++p) {
        const float* x = m + p * width + begin;
        for (std::size_t j = 0; j < size; ++j) {
            const bool above = x[j] > high[j], below = x[j] < low[j];
            high[j] = above ? x[j] : high[j];
            high_at[j] = above ? static_cast<std::int32_t>(p) : high_at[j];
            low[j] = below ? x[j] : low[j];
            low_at[j] = below ? static_cast<std::int32_t>(p) : low_at[j];
        }
    }
    for (std::int64_t p = 0; p < count; ++p) {
        const float* x = m + p * width + begin;
        const std::uint64_t of_token = ends.draws[static_cast<std::size_t>(p)];
        for (std::size_t j = 0; j < size; ++j) {
            const std::int64_t here = row + begin + static_cast<std::int64_t>(j), bin = coefficient_bin(x[j]);
            std::int32_t& counted = histogram_[static_cast<std::size_t>(here * kCoefficientBins + bin)];
            counted += counted != kFull;
            const std::int64_t slot = here * kActivityLevels + bin / kBinsOfLevel;
            const std::uint64_t drawn = mixed(of_token, keys[j]);
            if (drawn > largest_draw_[static_cast<std::size_t>(slot)]) continue;
            Trigger sample = ends.at[static_cast<std::size_t>(p)];
            sample.value = x[j];
            offer_sample(slot, drawn, sample);
        }
    }
    const auto offer = [&](Extremes& best, std::int64_t here, float value, std::int32_t at) {
        const bool full = best.in_use[static_cast<std::size_t>(here)] == options_.triggers;
        const float worst = best.triggers[static_cast<std::size_t>(here * options_.triggers)].value;
        if (value == 0 || (full && (best.larger ? value < worst : value > worst))) return;
        Trigger trigger = ends.at[static_cast<std::size_t>(at)];
        trigger.value = value;
        offer_trigger(best, here, trigger);
    };
    for (std::size_t j = 0; j < size; ++j) {
        const std::int64_t here = row + begin + static_cast<std::int64_t>(j);
        offer(largest_, here, high[j], high_at[j]);
        offer(smallest_, here, low[j], low_at[j]);
    }
}

void Neurons::add_layer(const TextRun& run, std::int64_t layer, std::int64_t first) {
    const trace::Trace& trace = *run.trace;
    const std::int64_t count = trace.tokens() - first;
    const at::NoGradGuard no_grad;
    const at::Tensor m =
        trace::tensor_rows(trace, {Hook::mlp_post, Layer(layer)}, first, count).to(at::kCPU, at::kFloat).contiguous();
    if (!at::isfinite(m).all().item<bool>())
        throw Error({.problem = "A neuron's coefficient is not finite",
                     .file = run.text.id,
                     .item = model::name_of({Hook::mlp_post, Layer(layer)}),
                     .hint = "Run the model in float32, or leave this text out"});
    Ends ends;
    for (std::int64_t p = first; p < trace.tokens(); ++p) {
        Trigger at{.text = static_cast<std::int32_t>(run.number), .position = static_cast<std::int32_t>(p)};
        if (p + 1 < trace.tokens()) at.next = static_cast<std::int32_t>(trace.encoding().ids[static_cast<std::size_t>(p + 1)]);
        ends.at.push_back(at);
        ends.draws.push_back(token_draw(options_.seed, at));
    }
    const std::int64_t width = m.size(1), row = first_[static_cast<std::size_t>(layer)];
    at::parallel_for(0, (width + kBlockOfNeurons - 1) / kBlockOfNeurons, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t block = begin; block < end; ++block)
            add_block(m.data_ptr<float>(), count, width, block * kBlockOfNeurons, std::min(width, (block + 1) * kBlockOfNeurons),
                      row, ends);
    });
}

void Neurons::add(const TextRun& run, TextPatterns*) {
    if (run.number > std::numeric_limits<std::int32_t>::max())
        throw Error({.problem = "A corpus has more texts than neurons can be given examples of",
                     .item = run.text.id,
                     .expected = "at most 2^31 chunks"});
    ++texts_;
    const std::int64_t first = std::max<std::int64_t>(run.first_query, 1);
    if (first >= run.tokens()) return;
    tokens_ += run.tokens() - first;
    for (std::int64_t l = 0; l < layers(); ++l) add_layer(run, l, first);
}

void Neurons::merge(const Accumulator& from) {
    const auto& other = dynamic_cast<const Neurons&>(from);
    texts_ += other.texts_;
    tokens_ += other.tokens_;
    at::parallel_for(0, neurons(), 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
            const auto i = static_cast<std::size_t>(r);
            for (const auto best : {&Neurons::largest_, &Neurons::smallest_})
                for (std::int64_t k = 0; k < (other.*best).in_use[i]; ++k)
                    offer_trigger(this->*best, r, (other.*best).triggers[static_cast<std::size_t>(r * options_.triggers + k)]);
            for (std::int64_t bin = r * kCoefficientBins; bin < (r + 1) * kCoefficientBins; ++bin) {
                std::int32_t& counted = histogram_[static_cast<std::size_t>(bin)];
                const std::int32_t more = other.histogram_[static_cast<std::size_t>(bin)];
                counted = more > kFull - counted ? kFull : counted + more;
            }
            for (std::int64_t slot = r * kActivityLevels; slot < (r + 1) * kActivityLevels; ++slot)
                for (std::int64_t k = 0; k < options_.samples; ++k) {
                    const Trigger& sample = other.samples_[static_cast<std::size_t>(slot * options_.samples + k)];
                    if (sample.text < 0) break;
                    const std::uint64_t drawn = sample_draw(r, sample);
                    if (drawn <= largest_draw_[static_cast<std::size_t>(slot)]) offer_sample(slot, drawn, sample);
                }
        }
    });
}

std::vector<Trigger> Neurons::listed(const Extremes& best, std::int64_t r) const {
    const auto begin = best.triggers.begin() + r * options_.triggers;
    std::vector<Trigger> out(begin, begin + best.in_use[static_cast<std::size_t>(r)]);
    std::ranges::sort(out, [&](const Trigger& a, const Trigger& b) { return better(a, b, best.larger); });
    return out;
}

void Neurons::stored(Archive& a) {
    a.facts("neurons.first", first_);
    a.counts("neurons.counted", {2}, {&texts_, &tokens_});
    if (!a.saves() && !a.loads()) return;
    std::vector<std::int64_t> limits{options_.triggers, options_.samples};
    a.facts("neurons.limits", limits);
    // Lists: few texts leave most of them short and most bins empty.
    const auto triggers = [&](StoredRows<Trigger>& rows, const std::string& name) {
        rows.column<float>(name + ".value", {}, within(0, &Trigger::value))
            .column<std::int32_t>(name + ".text", {}, a.chunk(&Trigger::text))
            .column<std::int32_t>(name + ".position", {}, within(0, &Trigger::position))
            .column<std::int32_t>(name + ".next", {}, within(-1, &Trigger::next));
    };
    const auto count_at = [&](std::int64_t row, std::int64_t bin) -> std::int32_t& {
        return histogram_[static_cast<std::size_t>(row * kCoefficientBins + bin)];
    };
    a.lists<BinCount>(
        "neurons.histogram", {neurons()}, kCoefficientBins,
        [&](std::int64_t row) {
            std::vector<BinCount> counted;
            for (std::int64_t bin = 0; bin < kCoefficientBins; ++bin)
                if (const std::int32_t count = count_at(row, bin); count > 0)
                    counted.push_back({static_cast<std::uint8_t>(bin), count});
            return counted;
        },
        [&](std::int64_t row, std::int64_t, const BinCount& counted) { count_at(row, counted.bin) = counted.count; },
        [](StoredRows<BinCount>& rows, const std::string& name) {
            rows.column<std::uint8_t>(name + ".bin", {}, within(0, &BinCount::bin, kCoefficientBins - 1))
                .column<std::int32_t>(name + ".count", {}, within(1, &BinCount::count));
        });
    for (const auto& [name, best] : {std::pair("neurons.largest", &largest_), std::pair("neurons.smallest", &smallest_)})
        a.lists<Trigger>(
            name, {neurons()}, options_.triggers, [&, best](std::int64_t row) { return listed(*best, row); },
            [&, best](std::int64_t row, std::int64_t, const Trigger& trigger) { offer_trigger(*best, row, trigger); }, triggers);
    a.lists<Trigger>(
        "neurons.samples", {neurons(), kActivityLevels}, options_.samples, [&](std::int64_t slot) { return samples_in(slot); },
        [&](std::int64_t slot, std::int64_t i, const Trigger& sample) {
            samples_[static_cast<std::size_t>(slot * options_.samples + i)] = sample;
            if (i + 1 == options_.samples)
                largest_draw_[static_cast<std::size_t>(slot)] = sample_draw(slot / kActivityLevels, sample);
        },
        triggers);
}

std::int64_t Neurons::width(Layer layer) const {
    if (layer.value < 0 || layer.value >= layers())
        throw Error({.problem = "There is no such layer",
                     .expected = "0 to " + std::to_string(layers() - 1),
                     .found = std::to_string(layer.value)});
    const auto l = static_cast<std::size_t>(layer.value);
    return first_[l + 1] - first_[l];
}

std::int64_t Neurons::row(Layer layer, Neuron neuron) const {
    if (neuron.value < 0 || neuron.value >= width(layer))
        throw Error({.problem = "There is no such neuron",
                     .expected = "0 to " + std::to_string(width(layer) - 1),
                     .found = std::to_string(neuron.value)});
    return first_[static_cast<std::size_t>(layer.value)] + neuron.value;
}

std::vector<Trigger> Neurons::largest(Layer layer, Neuron neuron) const { return listed(largest_, row(layer, neuron)); }

std::vector<Trigger> Neurons::smallest(Layer layer, Neuron neuron) const { return listed(smallest_, row(layer, neuron)); }

std::vector<Trigger> Neurons::samples(Layer layer, Neuron neuron, std::int64_t level) const {
    const std::int64_t r = row(layer, neuron);
    if (level < 0 || level >= kActivityLevels)
        throw Error({.problem = "There is no such level of activity",
                     .expected = "0 to " + std::to_string(kActivityLevels - 1),
                     .found = std::to_string(level)});
    return samples_in(r * kActivityLevels + level);
}

std::vector<Trigger> Neurons::samples_in(std::int64_t slot) const {
    const auto begin = samples_.begin() + slot * options_.samples;
    std::vector<Trigger> out(begin, begin + options_.samples);
    std::erase_if(out, [](const Trigger& t) { return t.text < 0; });
    return out;
}

std::span<const std::int32_t> Neurons::histogram(Layer layer, Neuron neuron) const {
    return std::span(histogram_).subspan(static_cast<std::size_t>(row(layer, neuron) * kCoefficientBins), kCoefficientBins);
}

std::int64_t Neurons::active(Layer layer, Neuron neuron) const {
    std::int64_t sum = 0;
    for (const std::int32_t count : histogram(layer, neuron).subspan(kSideBins)) sum += count;
    return sum;
}

}  // namespace headlight::corpus
