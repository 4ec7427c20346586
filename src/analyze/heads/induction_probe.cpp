// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/heads/induction_probe.h"
#include "headlight/base/numbers.h"

#include "analyze/pattern/head_reader.h"
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

void check_probe(const ProbeOptions& options, std::size_t candidates) {
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
                     .expected = "at most " + with_commas(candidates) + " tokens that are not special",
                     .found = std::to_string(options.n)});
}

void check_length(const model::ModelConfig& c, std::int64_t tokens, std::int64_t n) {
    if (!c.context_is_hard_limit || c.context_length <= 0 || tokens <= c.context_length) return;
    throw Error({.problem = "The probe is too long for " + (c.name.empty() ? "this model" : c.name),
                 .item = "n",
                 .expected = "at most " + with_commas((c.context_length - (tokens - 2 * n)) / 2) + " random tokens",
                 .found = std::to_string(n)});
}

}  // namespace

std::vector<std::vector<std::int64_t>> probe_ids(const text::Tokenizer& tokenizer, std::int64_t vocabulary,
                                                 const ProbeOptions& options) {
    std::vector<std::int64_t> candidates;
    for (std::int64_t id = 0; id < std::min(vocabulary, tokenizer.vocab_size()); ++id)
        if (!tokenizer.is_special(id) && !tokenizer.token_of(id).empty()) candidates.push_back(id);
    check_probe(options, candidates.size());
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

namespace {

/// One run of a sequence; position of its first random token.
struct Sequence {
    std::shared_ptr<const trace::Trace> trace;
    std::int64_t first = 0;
};

class Prober {
public:
    Prober(std::shared_ptr<const model::Model> model, std::shared_ptr<const text::Tokenizer> tokenizer,
           const ProbeOptions& options, const CancelToken& cancel)
        : model_(std::move(model)), tokenizer_(std::move(tokenizer)), n_(options.n), cancel_(cancel) {}

    Sequence run(const std::vector<std::int64_t>& ids) const {
        check_length(model_->config(), tokenizer_->encode_ids(ids).size(), n_);
        const trace::CapturePlan plan{.globs = {"*.hook_pattern"}, .overview = trace::no_overview};
        const auto trace = trace::run(model_, tokenizer_, {.text = {}, .pair = {}, .ids = ids}, plan, cancel_, {});
        const std::vector<bool>& special = trace->encoding().special;
        return {trace, std::find(special.begin(), special.end(), false) - special.begin()};
    }

    /// Adds a head's mean over `queries` of the weight on query - back, times `share`.
    void add(const Sequence& s, const std::vector<std::int64_t>& queries, std::int64_t back, double share,
             Eigen::MatrixXd& to) const {
        if (queries.empty()) return;
        std::vector<bool> asked(static_cast<std::size_t>(s.trace->tokens()), false);
        for (const std::int64_t q : queries) asked[static_cast<std::size_t>(q)] = true;
        for (std::int64_t layer = 0; layer < to.rows(); ++layer)
            for (std::int64_t head = 0; head < to.cols(); ++head) {
                cancel_.throw_if_cancelled();
                double sum = 0;
                for_each_pattern_row(*s.trace, {Layer(layer), Head(head)}, queries.front(), queries.back() - queries.front() + 1,
                                     [&](std::int64_t q, const float* row) {
                                         if (asked[static_cast<std::size_t>(q)]) sum += static_cast<double>(row[q - back]);
                                     });
                to(layer, head) += sum / static_cast<double>(queries.size()) * share;
            }
    }

private:
    std::shared_ptr<const model::Model> model_;
    std::shared_ptr<const text::Tokenizer> tokenizer_;
    std::int64_t n_;
    const CancelToken& cancel_;
};

std::vector<std::int64_t> range(std::int64_t first, std::int64_t end, std::int64_t step = 1) {
    std::vector<std::int64_t> out;
    for (std::int64_t i = first; i < end; i += step) out.push_back(i);
    return out;
}

}  // namespace

InductionProbe induction_probe(const std::shared_ptr<const model::Model>& model,
                               const std::shared_ptr<const text::Tokenizer>& tokenizer, const ProbeOptions& options,
                               const CancelToken& cancel, const Progress& progress) {
    if (!model || !tokenizer) throw Error("A probe needs a model and a tokenizer");
    const model::ModelConfig& c = model->config();
    InductionProbe probe;
    probe.ids = probe_ids(*tokenizer, c.vocab_size, options);
    const Eigen::MatrixXd zero = Eigen::MatrixXd::Zero(c.n_layers, c.n_heads);
    probe.induction = probe.previous = probe.duplicate = zero;
    const std::int64_t n = options.n;
    // Masks that have a token of the first copy on both sides of the one they hide.
    const std::vector<std::int64_t> places = range(2, n - 1, 5);
    const bool masks = !c.causal && tokenizer->mask_id() && !places.empty();
    if (masks) probe.masked_copy = probe.masked_before = probe.masked_after = zero;
    const Prober prober(model, tokenizer, options, cancel);
    const double share = 1 / static_cast<double>(options.batch);
    std::int64_t done = 0;
    for (const std::vector<std::int64_t>& once : probe.ids) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Random tokens, repeated", "sequence", done++, options.batch});
        std::vector<std::int64_t> twice = once;
        twice.insert(twice.end(), once.begin(), once.end());
        const Sequence s = prober.run(twice);
        const std::vector<std::int64_t> second = range(s.first + n, s.first + 2 * n);
        prober.add(s, second, n - 1, share, probe.induction);
        prober.add(s, second, n, share, probe.duplicate);
        prober.add(s, range(std::max<std::int64_t>(s.first, 1), s.first + 2 * n), 1, share, probe.previous);
        if (!masks) continue;
        std::vector<std::int64_t> queries;
        for (const std::int64_t place : places) {
            twice[static_cast<std::size_t>(n + place)] = *tokenizer->mask_id();
            queries.push_back(s.first + n + place);
        }
        const Sequence masked = prober.run(twice);
        prober.add(masked, queries, n, share, probe.masked_copy);
        prober.add(masked, queries, n + 1, share, probe.masked_before);
        prober.add(masked, queries, n - 1, share, probe.masked_after);
    }
    return probe;
}

}  // namespace headlight::analyze
