// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/induction_probe.h"

#include "analyze/head_reader.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <utility>

namespace headlight::analyze {
namespace {

/// Steele, Lea & Flood 2014. Its numbers are the same everywhere, which std::uniform_int_distribution's are not.
class SplitMix64 {
public:
    explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
    double uniform() {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return static_cast<double>((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
    }

private:
    std::uint64_t state_;
};

void check(const ProbeOptions& options, std::size_t candidates) {
    const auto at_least = [](const char* name, std::int64_t value, std::int64_t least) {
        if (value >= least) return;
        throw Error({.problem = "The probe is too small",
                     .item = name,
                     .expected = "at least " + std::to_string(least),
                     .found = std::to_string(value)});
    };
    at_least("n", options.n, 2);
    at_least("batch", options.batch, 1);
    if (static_cast<std::size_t>(options.n) > candidates)
        throw Error({.problem = "The vocabulary is too small for the probe",
                     .item = "n",
                     .expected = "at most " + std::to_string(candidates) + " tokens that are not special",
                     .found = std::to_string(options.n)});
}

void check_length(const model::ModelConfig& c, std::int64_t tokens, std::int64_t n) {
    if (!c.context_is_hard_limit || c.context_length <= 0 || tokens <= c.context_length) return;
    throw Error({.problem = "The probe is too long for " + (c.name.empty() ? "this model" : c.name),
                 .item = "n",
                 .expected = "at most " + std::to_string((c.context_length - (tokens - 2 * n)) / 2) + " random tokens",
                 .found = std::to_string(n)});
}

}  // namespace

std::vector<std::vector<std::int64_t>> probe_ids(const text::Tokenizer& tokenizer, std::int64_t vocabulary,
                                                 const ProbeOptions& options) {
    std::vector<std::int64_t> candidates;
    for (std::int64_t id = 0; id < std::min(vocabulary, tokenizer.vocab_size()); ++id)
        if (!tokenizer.is_special(id) && !tokenizer.token_of(id).empty()) candidates.push_back(id);
    check(options, candidates.size());
    SplitMix64 random(options.seed);
    std::vector<std::vector<std::int64_t>> sequences;
    for (std::int64_t b = 0; b < options.batch; ++b) {
        std::vector<std::int64_t> ids = candidates;
        for (std::size_t i = 0; i < static_cast<std::size_t>(options.n); ++i) {
            const double left = static_cast<double>(ids.size() - i);
            std::swap(ids[i], ids[i + static_cast<std::size_t>(random.uniform() * left)]);
        }
        ids.resize(static_cast<std::size_t>(options.n));
        sequences.push_back(std::move(ids));
    }
    return sequences;
}

InductionProbe induction_probe(const std::shared_ptr<const model::Model>& model,
                               const std::shared_ptr<const text::Tokenizer>& tokenizer, const ProbeOptions& options,
                               const CancelToken& cancel, const Progress& progress) {
    if (!model || !tokenizer) throw Error("A probe needs a model and a tokenizer");
    const model::ModelConfig& c = model->config();
    InductionProbe probe;
    probe.ids = probe_ids(*tokenizer, c.vocab_size, options);
    for (Eigen::MatrixXd* m : {&probe.induction, &probe.previous, &probe.duplicate})
        *m = Eigen::MatrixXd::Zero(c.n_layers, c.n_heads);
    const trace::CapturePlan plan{.globs = {"*.hook_pattern"}, .overview = false};
    const std::int64_t n = options.n;
    for (std::size_t b = 0; b < probe.ids.size(); ++b) {
        cancel.throw_if_cancelled();
        if (progress)
            progress({"Random tokens, repeated", "sequence", static_cast<std::int64_t>(b), options.batch});
        std::vector<std::int64_t> twice = probe.ids[b];
        twice.insert(twice.end(), probe.ids[b].begin(), probe.ids[b].end());
        if (b == 0) check_length(c, tokenizer->encode_ids(twice).size(), n);
        const auto trace =
            trace::run(model, tokenizer, {.text = {}, .pair = {}, .ids = std::move(twice)}, plan, cancel, {});
        const std::vector<bool>& special = trace->encoding().special;
        const std::int64_t first = std::find(special.begin(), special.end(), false) - special.begin();
        const std::int64_t start = std::max<std::int64_t>(first, 1);
        for (std::int64_t layer = 0; layer < c.n_layers; ++layer)
            for (std::int64_t head = 0; head < c.n_heads; ++head) {
                double induction = 0, previous = 0, duplicate = 0;
                for_each_pattern_row(*trace, {Layer(layer), Head(head)}, start, first + 2 * n - start,
                                     [&](std::int64_t q, const float* row) {
                                         previous += static_cast<double>(row[q - 1]);
                                         if (q < first + n) return;
                                         induction += static_cast<double>(row[q - (n - 1)]);
                                         duplicate += static_cast<double>(row[q - n]);
                                     });
                const double sequences = static_cast<double>(options.batch);
                probe.induction(layer, head) += induction / static_cast<double>(n) / sequences;
                probe.previous(layer, head) += previous / static_cast<double>(first + 2 * n - start) / sequences;
                probe.duplicate(layer, head) += duplicate / static_cast<double>(n) / sequences;
            }
    }
    return probe;
}

}  // namespace headlight::analyze
