// SPDX-License-Identifier: GPL-3.0-or-later
// How much syntax do all heads have together? The attention-only probe (Clark et al. 2019, section 5) predicts the word that a
// word depends on from the attention between the two, by one weight for each head and direction.
#pragma once

#include "headlight/base/job.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/store/text_store.h"
#include "headlight/model/model.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace headlight::corpus {

/// A sentence with the attention between its words by every head (word_attention()), and its tree.
struct ArcSentence {
    /// [head, n, n] for n = places(): a row the word that attends. Behind the words come the special tokens in front of the text
    /// and behind it, which stand for ROOT, as far as the model reads any.
    std::vector<float> attention;
    std::int64_t special = 0;               ///< 0, 1 (in front alone, or behind alone) or 2
    std::vector<std::int32_t> heads;        ///< [word] the word that it depends on; -1: ROOT
    std::vector<std::uint8_t> punctuation;  ///< [word] 1: learnt from, but not scored
    std::int64_t words() const noexcept { return std::ssize(heads); }
    std::int64_t places() const noexcept { return words() + special; }
};

struct ArcOptions {
    double penalty = 1e-6;           ///< lambda, see ArcProbe
    double tolerance = 1e-6;         ///< norm of the gradient at which L-BFGS ends
    std::int64_t iterations = 1000;  ///< at most
};

/// p(i | j) is proportional to exp(sum over heads k of w_k alpha^k_ji + u_k alpha^k_ij), for candidates i other than j; alpha_ji
/// is the attention of j to i. ROOT's score is c plus a and b times the score of the special tokens by the same w and u. Weights
/// minimise the mean cross entropy of words + lambda / 2 (|w|^2 + |u|^2 + a^2 + b^2): convex without special tokens; with them
/// the minimum is the one that L-BFGS finds from w = u = 0, a = b = 1.
struct ArcProbe {
    std::vector<double> to_head;    ///< w [head]: of the dependent's attention to its head
    std::vector<double> from_head;  ///< u [head]: of the head's attention to its dependent
    double first = 1, last = 1;     ///< a, b
    double root = 0;                ///< c
    double loss = kNaN;             ///< the minimum, with the penalty
    std::int64_t iterations = 0;
    bool converged = false;  ///< the gradient is within the tolerance

    /// [word] the most probable head; -1: ROOT. Of equal ones the first, ROOT last.
    std::vector<std::int32_t> predict(const ArcSentence&) const;
};
/// The same bits on any number of threads. Errors: no words, sentences with different numbers of heads, heads that are no words,
/// attention that is not finite, a negative penalty.
ArcProbe fit_arc_probe(std::span<const ArcSentence>, const ArcOptions& = {}, const CancelToken& = {}, const Progress& = {});

/// The objective of a probe's weights (`w`, `u`, a, b, c one after the other) and its gradient.
double arc_loss(std::span<const ArcSentence>, double penalty, std::span<const double> weights, std::span<double> gradient);

/// Words whose head is found, and words, of every sentence, without punctuation: what a bootstrap takes.
std::vector<TextTerm> arc_hits(const ArcProbe&, std::span<const ArcSentence>);
/// The same where the head is always the word at one offset, clamped to the sentence.
std::vector<TextTerm> offset_hits(std::int64_t offset, std::span<const ArcSentence>);
/// The offset with most hits, up to 6 words either way; ties go to the shortest, then to the one on the left.
std::int64_t best_arc_offset(std::span<const ArcSentence>);

/// Runs texts of a treebank's store again for the attention between their words; `chunks` are numbers of chunks, of whole texts.
/// Errors: as TextStore::chunk(), a chunk that is a part of a text, more attention than the memory has room for.
std::vector<ArcSentence> gather_word_attention(TextStore&, std::span<const std::int64_t> chunks,
                                               const std::shared_ptr<const model::Model>&,
                                               const std::shared_ptr<const headlight::text::Tokenizer>&, const CancelToken& = {},
                                               const Progress& = {});

}  // namespace headlight::corpus
