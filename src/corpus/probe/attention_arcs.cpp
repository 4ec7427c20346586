// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/attention_arcs.h"

#include "headlight/base/error.h"
#include "headlight/base/lanes.h"

#include <ATen/Parallel.h>
#include <LBFGS.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace headlight::corpus {
namespace {

constexpr std::int64_t kSentencesAtATime = 16;  ///< summed together, so that a sum has the same bits on any number of threads
constexpr std::int64_t kFarthestArc = 6;

/// by_row[i] += w a[i], by_column[i] += u a[i]
HEADLIGHT_WIDE void add_head(const float* a, std::int64_t n, double w, double u, double* by_row, double* by_column) {
    for (std::int64_t i = 0; i < n; ++i) {
        by_row[i] += w * static_cast<double>(a[i]);
        by_column[i] += u * static_cast<double>(a[i]);
    }
}

/// Sum of a[i] g[i].
HEADLIGHT_WIDE double product_with(const float* a, const double* g, std::int64_t n) {
    constexpr std::int64_t kSums = 16;
    double sums[kSums] = {};
    const std::int64_t whole = n / kSums * kSums;
    for (std::int64_t i = 0; i < whole; i += kSums)
        for (std::int64_t k = 0; k < kSums; ++k) sums[k] += static_cast<double>(a[i + k]) * g[i + k];
    double sum = 0;
    for (const double part : sums) sum += part;
    for (std::int64_t i = whole; i < n; ++i) sum += static_cast<double>(a[i]) * g[i];
    return sum;
}

std::int64_t heads_of(const ArcSentence& sentence) {
    const std::int64_t pairs = sentence.places() * sentence.places();
    return pairs > 0 ? std::ssize(sentence.attention) / pairs : 0;
}

/// The parts of a probe's weights.
struct ArcWeights {
    std::span<const double> w, u;
    double first, last, root;
    explicit ArcWeights(std::span<const double> all)
        : w(all.first((all.size() - 3) / 2)),
          u(all.subspan(w.size(), w.size())),
          first(all[2 * w.size()]),
          last(all[2 * w.size() + 1]),
          root(all[2 * w.size() + 2]) {}
    /// What ROOT's score takes of the special token number `i` of a sentence.
    double factor(std::int64_t i) const { return i == 0 ? first : last; }
};

/// [place that attends, place]: the score of the second as head of the first.
std::vector<double> arc_scores(const ArcSentence& sentence, const ArcWeights& weights) {
    const std::int64_t n = sentence.places();
    std::vector<double> scores(static_cast<std::size_t>(n * n)), turned(scores.size());
    for (std::size_t k = 0; k < weights.w.size(); ++k)
        add_head(sentence.attention.data() + static_cast<std::int64_t>(k) * n * n, n * n, weights.w[k], weights.u[k],
                 scores.data(), turned.data());
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j)
            scores[static_cast<std::size_t>(i * n + j)] += turned[static_cast<std::size_t>(j * n + i)];
    return scores;
}

/// Scores of the candidates of a word: [word], and ROOT behind them. The word itself is none: -infinity.
std::vector<double> candidates_of(const ArcSentence& sentence, const ArcWeights& weights, const std::vector<double>& scores,
                                  std::int64_t word) {
    const auto row = scores.begin() + word * sentence.places();
    std::vector<double> out(row, row + sentence.words());
    out[static_cast<std::size_t>(word)] = -INFINITY;
    double root = weights.root;
    for (std::int64_t i = 0; i < sentence.special; ++i) root += weights.factor(i) * row[sentence.words() + i];
    out.push_back(root);
    return out;
}

/// Adds the cross entropies of a sentence's words, and their gradient [weight].
double add_sentence(const ArcSentence& sentence, const ArcWeights& weights, std::span<double> gradient) {
    const std::int64_t n = sentence.places(), words = sentence.words();
    const std::vector<double> scores = arc_scores(sentence, weights);
    std::vector<double> by_score(scores.size()), turned(scores.size());
    const std::size_t heads = weights.w.size();
    double loss = 0;
    for (std::int64_t word = 0; word < words; ++word) {
        std::vector<double> p = candidates_of(sentence, weights, scores, word);
        const std::int32_t head = sentence.heads[static_cast<std::size_t>(word)];
        const auto gold = static_cast<std::size_t>(head < 0 ? words : head);
        const double highest = *std::ranges::max_element(p), of_gold = p[gold];
        double sum = 0;
        for (double& x : p) sum += x = std::exp(x - highest);
        loss += std::log(sum) + highest - of_gold;
        for (double& x : p) x /= sum;
        p[gold] -= 1;
        double* const row = by_score.data() + word * n;
        std::copy_n(p.begin(), words, row);
        for (std::int64_t i = 0; i < sentence.special; ++i) {
            row[words + i] = p.back() * weights.factor(i);
            gradient[2 * heads + static_cast<std::size_t>(i)] +=
                p.back() * scores[static_cast<std::size_t>(word * n + words + i)];
        }
        gradient[2 * heads + 2] += p.back();
    }
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j)
            turned[static_cast<std::size_t>(j * n + i)] = by_score[static_cast<std::size_t>(i * n + j)];
    for (std::size_t k = 0; k < heads; ++k) {
        const float* const a = sentence.attention.data() + static_cast<std::int64_t>(k) * n * n;
        gradient[k] += product_with(a, by_score.data(), n * n);
        gradient[heads + k] += product_with(a, turned.data(), n * n);
    }
    return loss;
}

std::int64_t check_sentences(std::span<const ArcSentence> sentences) {
    std::int64_t heads = -1;
    const auto fail = [](const std::string& problem, const std::string& expected, const std::string& found) {
        throw Error({.problem = problem, .expected = expected, .found = found});
    };
    for (const ArcSentence& sentence : sentences) {
        if (sentence.words() == 0) continue;
        const std::int64_t of_sentence = heads_of(sentence);
        if (heads < 0) heads = of_sentence;
        if (sentence.special < 0 || sentence.special > 2 || std::ssize(sentence.punctuation) != sentence.words() ||
            of_sentence != heads || of_sentence * sentence.places() * sentence.places() != std::ssize(sentence.attention))
            fail("The attention of a sentence does not fit its words",
                 std::to_string(heads) + " heads of " + std::to_string(sentence.places()) + " words and special tokens",
                 std::to_string(sentence.attention.size()) + " weights");
        for (std::int64_t w = 0; w < sentence.words(); ++w)
            if (const std::int32_t head = sentence.heads[static_cast<std::size_t>(w)];
                head < -1 || head >= sentence.words() || head == w)
                fail("A head of a word is no other word of its sentence", "-1 to " + std::to_string(sentence.words() - 1),
                     std::to_string(head) + " of word " + std::to_string(w));
        if (!std::ranges::all_of(sentence.attention, [](float x) { return std::isfinite(x); }))
            fail("A weight of attention is not a finite number", "", "");
    }
    if (heads < 1) fail("An attention probe needs words to learn from", "sentences with words and heads", "none");
    return heads;
}

template <class Head>
TextTerm hits_of(const ArcSentence& sentence, Head head) {
    TextTerm term;
    for (std::int64_t w = 0; w < sentence.words(); ++w) {
        if (sentence.punctuation[static_cast<std::size_t>(w)]) continue;
        term.weight += 1;
        term.sum += head(w) == sentence.heads[static_cast<std::size_t>(w)];
    }
    return term;
}

double hits_at(std::int64_t offset, std::span<const ArcSentence> sentences) {
    double hits = 0;
    for (const TextTerm& term : offset_hits(offset, sentences)) hits += term.sum;
    return hits;
}

}  // namespace

double arc_loss(std::span<const ArcSentence> sentences, double penalty, std::span<const double> all, std::span<double> gradient) {
    const ArcWeights weights(all);
    const std::int64_t count = std::ssize(sentences), blocks = (count + kSentencesAtATime - 1) / kSentencesAtATime;
    std::vector<double> losses(static_cast<std::size_t>(blocks));
    std::vector<std::vector<double>> gradients(losses.size(), std::vector<double>(all.size()));
    at::parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t block = begin; block < end; ++block)
            for (std::int64_t s = block * kSentencesAtATime; s < std::min(count, (block + 1) * kSentencesAtATime); ++s)
                losses[static_cast<std::size_t>(block)] +=
                    add_sentence(sentences[static_cast<std::size_t>(s)], weights, gradients[static_cast<std::size_t>(block)]);
    });
    std::int64_t words = 0;
    for (const ArcSentence& sentence : sentences) words += sentence.words();
    double loss = 0;
    std::ranges::fill(gradient, 0.0);
    for (std::size_t block = 0; block < losses.size(); ++block) {
        loss += losses[block] / static_cast<double>(words);
        for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += gradients[block][i] / static_cast<double>(words);
    }
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {  // all but c
        loss += penalty / 2 * all[i] * all[i];
        gradient[i] += penalty * all[i];
    }
    return loss;
}

ArcProbe fit_arc_probe(std::span<const ArcSentence> sentences, const ArcOptions& options, const CancelToken& cancel,
                       const Progress& progress) {
    const std::int64_t heads = check_sentences(sentences);
    if (!(options.penalty >= 0) || !(options.tolerance > 0) || options.iterations < 1)
        throw Error({.problem = "An attention probe cannot be fitted with these options",
                     .expected = "a penalty of at least 0, a tolerance above 0, at least 1 iteration",
                     .found = significant(options.penalty) + ", " + significant(options.tolerance) + ", " +
                              std::to_string(options.iterations)});
    Eigen::VectorXd x = Eigen::VectorXd::Zero(2 * heads + 3), best = x;
    x(2 * heads) = x(2 * heads + 1) = 1;
    ArcProbe probe;
    probe.loss = INFINITY;
    std::int64_t evaluations = 0;
    double slope = INFINITY;
    const auto size = static_cast<std::size_t>(x.size());
    auto objective = [&](const Eigen::VectorXd& at, Eigen::VectorXd& gradient) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Fitting the attention probe", "evaluation", ++evaluations, 0});
        const double loss = arc_loss(sentences, options.penalty, {at.data(), size}, {gradient.data(), size});
        if (loss <= probe.loss) {
            probe.loss = loss;
            best = at;
            slope = gradient.norm();
        }
        return loss;
    };
    LBFGSpp::LBFGSParam<double> parameters;
    parameters.m = 10;
    parameters.epsilon = options.tolerance;
    parameters.epsilon_rel = 0;
    parameters.max_iterations = static_cast<int>(options.iterations);
    parameters.max_linesearch = 64;
    LBFGSpp::LBFGSSolver<double, LBFGSpp::LineSearchBracketing> solver(parameters);
    double loss = 0;
    try {
        probe.iterations = solver.minimize(objective, x, loss);
    } catch (const std::runtime_error&) {
        // At the bottom rounding leaves nothing to gain along the direction: the best weights so far are the result.
    }
    probe.converged = slope <= options.tolerance;
    const ArcWeights weights({best.data(), size});
    probe.to_head.assign(weights.w.begin(), weights.w.end());
    probe.from_head.assign(weights.u.begin(), weights.u.end());
    probe.first = weights.first;
    probe.last = weights.last;
    probe.root = weights.root;
    return probe;
}

std::vector<std::int32_t> ArcProbe::predict(const ArcSentence& sentence) const {
    if (sentence.words() > 0 && heads_of(sentence) != std::ssize(to_head))
        throw Error({.problem = "The probe was fitted on another number of heads",
                     .expected = std::to_string(to_head.size()),
                     .found = std::to_string(heads_of(sentence))});
    std::vector<double> all = to_head;
    all.insert(all.end(), from_head.begin(), from_head.end());
    all.insert(all.end(), {first, last, root});
    const ArcWeights weights(all);
    const std::vector<double> scores = arc_scores(sentence, weights);
    std::vector<std::int32_t> out;
    for (std::int64_t word = 0; word < sentence.words(); ++word) {
        const std::vector<double> candidates = candidates_of(sentence, weights, scores, word);
        const auto best = static_cast<std::int32_t>(std::ranges::max_element(candidates) - candidates.begin());
        out.push_back(best == sentence.words() ? -1 : best);
    }
    return out;
}

std::vector<TextTerm> arc_hits(const ArcProbe& probe, std::span<const ArcSentence> sentences) {
    std::vector<TextTerm> terms;
    for (const ArcSentence& sentence : sentences) {
        const std::vector<std::int32_t> predicted = probe.predict(sentence);
        terms.push_back(hits_of(sentence, [&](std::int64_t w) { return predicted[static_cast<std::size_t>(w)]; }));
    }
    return terms;
}

std::vector<TextTerm> offset_hits(std::int64_t offset, std::span<const ArcSentence> sentences) {
    std::vector<TextTerm> terms;
    for (const ArcSentence& sentence : sentences)
        terms.push_back(
            hits_of(sentence, [&](std::int64_t w) { return std::clamp<std::int64_t>(w + offset, 0, sentence.words() - 1); }));
    return terms;
}

std::int64_t best_arc_offset(std::span<const ArcSentence> sentences) {
    std::int64_t best = -1;
    double most = -1;
    for (std::int64_t distance = 1; distance <= kFarthestArc; ++distance)
        for (const std::int64_t offset : {-distance, distance})
            if (const double hits = hits_at(offset, sentences); hits > most) {
                most = hits;
                best = offset;
            }
    return best;
}

}  // namespace headlight::corpus
