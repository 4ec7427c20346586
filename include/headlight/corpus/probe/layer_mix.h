// SPDX-License-Identifier: GPL-3.0-or-later
// At which layer does a model know a label? A classifier reads a mixture of layers 0 to l, whose weights it learns (Tenney et al.
// 2019, "BERT Rediscovers the Classical NLP Pipeline"): where it turns for the label, and which layer adds what. The classifier
// is linear, or that of edge probing (Tenney et al. 2019, "What do you learn from context?", section 3.2).
#pragma once

#include "headlight/base/job.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/probe/structural_probe.h"

#include <Eigen/Core>

#include <cstdint>
#include <span>
#include <vector>

namespace headlight::corpus {

/// Rows of states: the tokens of an example's span, and of the second span of a pair (else empty).
struct SpanRows {
    std::int64_t begin = 0, end = 0, second_begin = 0, second_end = 0;
};

/// Examples of a classification task: their states by layer, of which each feature is standardised on the training part (as for
/// linear probes: states of later layers are larger, and weights of layers would not be comparable), and their labels.
struct LayerMixTask {
    std::vector<StateRows> layers;         ///< [layer] states [row, d]; layer 0: the embedding
    std::span<const std::int32_t> labels;  ///< [example] from 0
    std::int32_t classes = 0;
    std::span<const std::int64_t> train, dev, test;  ///< examples
    /// [example] for the classifier of edge probing, which reads tokens: all of pairs, or none. Without them the classifier is
    /// linear and a row of the states is an example, of a pair the states of both spans side by side.
    std::span<const SpanRows> spans{};
};

/// The classifier of edge probing. Tokens of a span are projected and summed by weights softmax(v . e) that it learns, separately
/// for the second span of a pair; both sums pass a hidden layer (tanh, layer norm, dropout) of the same width; a class has the
/// probability sigmoid(its output), and the cross entropies of all classes are added. The class with the largest one is
/// predicted.
struct EdgeClassifier {
    std::int64_t width = 256;  ///< of the projection and of the hidden layer
    double dropout = 0.3;
};

struct LayerMixOptions {
    std::int64_t seeds = 3;       ///< fits from different starts, whose results are averaged
    double learning_rate = 1e-3;  ///< of Adam; halved after every epoch in which the loss of the dev part does not fall
    std::int64_t batch = 32;      ///< examples
    std::int64_t epochs = 40;     ///< at most; ends after 4 that do not improve the loss of the dev part by 1e-4
    std::uint64_t seed = 0;
    EdgeClassifier edge{};
};

/// The probe on layers 0 to `last`: a classifier of h = gamma sum over l of softmax(s)_l h_l; the linear one is softmax(W h + c).
struct LayerMixStep {
    std::int64_t last = 0;
    double score = kNaN;          ///< accuracy on the test part (micro F1 of one label an example), mean over seeds
    double deviation = kNaN;      ///< standard deviation over seeds (of n - 1); NaN with one
    double gain = kNaN;           ///< score - that of the step before; NaN for layer 0
    std::vector<double> weights;  ///< [layer] softmax(s), mean over seeds
    std::vector<double> hits;     ///< [test example] share of the seeds that are right
};
struct LayerMix {
    std::vector<LayerMixStep> steps;  ///< [last]
    double centre = kNaN;             ///< centre of gravity: sum of l softmax(s)_l, of the probe on all layers
    double expected = kNaN;           ///< expected_layer() of the scores
    double majority = kNaN;           ///< accuracy on the test part of the most frequent label of the training part
};
/// The same bits on any number of threads. Errors: an empty part, labels outside the classes, layers of different shapes, a state
/// that is not finite, options below 1, an empty span or one beyond the rows.
LayerMix fit_layer_mix(const LayerMixTask&, const LayerMixOptions& = {}, const CancelToken& = {}, const Progress& = {});

/// Sum over l >= 1 of l gain_l / sum of gains, gain_l = score_l - score_{l-1}, some of which may be negative. NaN where the gains
/// cancel: their sum is below 1e-6 of the largest score.
double expected_layer(std::span<const double> scores);

}  // namespace headlight::corpus
