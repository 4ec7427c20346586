// SPDX-License-Identifier: GPL-3.0-or-later
// Linear probes of every layer with the controls that give their accuracy a meaning.
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/probe/direction_heads.h"
#include "headlight/corpus/probe/labels.h"
#include "headlight/corpus/probe/linear_probe.h"
#include "headlight/corpus/probe/probe_kind.h"
#include "headlight/corpus/probe/states.h"
#include "headlight/corpus/statistics/bootstrap.h"

#include <Eigen/Core>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace headlight::corpus {

/// Length of the labels in bits under an online code (Voita & Titov 2020, section 2.2): the first `first` labels cost
/// log2(classes) each, every later portion the -log2 of the probabilities that a probe of all portions before it gives its
/// labels.
struct CodeLength {
    double bits = kNaN;
    double compression = kNaN;  ///< examples * log2(classes) / bits: 1 for a uniform code
};
CodeLength online_code(std::int64_t examples, std::int64_t first, std::int64_t classes, std::span<const double> later_bits);
/// Ends of the portions of n examples: 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.25, 12.5, 25, 50 and 100 %, without empty ones.
std::vector<std::int64_t> code_portions(std::int64_t n);

/// Labels of the control task (Hewitt & Liang 2019): every type gets one label, drawn from the distribution of the labels in
/// `training`, in all parts of the data. Only memory of types can solve it.
std::vector<std::int32_t> control_labels(const LabelledExamples&, const std::vector<std::size_t>& training, std::uint64_t seed);
/// Labels drawn from the same distribution for every example on its own: nothing can solve it.
std::vector<std::int32_t> random_labels(const LabelledExamples&, const std::vector<std::size_t>& training, std::uint64_t seed);

/// Unweighted mean over the classes that occur in `labels` of F1, a class that is never predicted having 0.
double macro_f1(std::span<const std::int32_t> labels, std::span<const std::int32_t> predicted, std::int64_t classes);

/// What does not depend on the layer.
struct ProbeSplit {
    std::vector<std::size_t> train, development, test;  ///< examples; those for training in a shuffled order
    double majority = kNaN;                             ///< accuracy on the test part of the most frequent training label
    double most_frequent_label = kNaN;  ///< of the most frequent training label of the type; of unseen ones the majority's
};
/// Errors: a part with less than two examples, fewer training examples than classes.
ProbeSplit split_examples(const LabelledExamples&, TextStore& texts, std::uint64_t seed);

struct ProbeOptions {
    std::uint64_t seed = 0;  ///< of the parts, the control task and the random labels
    bool controls = true;    ///< random labels, control task and code length, which take most of the time
    PenaltyPath path;
    FitOptions fit{.tolerance = 1e-5};
    BootstrapOptions bootstrap;
};

struct LayerProbe {
    std::int64_t layer = 0;  ///< 0: what enters the first block
    LinearProbe probe;
    Interval accuracy;  ///< on the test part; the interval is over its texts
    double macro_f1 = kNaN;
    double random_label = kNaN;  ///< accuracy of a probe of random_labels() on them
    double control = kNaN;       ///< accuracy of a probe of control_labels() on them
    double selectivity() const noexcept { return accuracy.mean - control; }
    CodeLength code;
    std::int64_t constant_features = 0;
    Eigen::Matrix<std::int64_t, Eigen::Dynamic, Eigen::Dynamic> confusion;  ///< [label, predicted]
    std::vector<std::int32_t> predicted;                                    ///< [test example]
};

/// `states`: [example, width] of all examples in their order. The control probes have the penalty of the real one.
LayerProbe probe_layer(std::int64_t layer, const ProbeRows& states, const LabelledExamples&, const ProbeSplit&,
                       const ProbeOptions&, const CancelToken& = {});

struct ProbeResult {
    std::string task;
    std::vector<std::string> classes;
    std::string unit = "word";  ///< as in LabelledExamples
    bool pairs = false;
    double majority = kNaN, most_frequent_label = kNaN;  ///< as in ProbeSplit
    std::int64_t n_train = 0, n_development = 0;
    std::int64_t unlabelled = 0, without = 0;  ///< as in LabelledExamples
    std::vector<ProbeExample> tested{};        ///< the test part
    std::vector<LayerProbe> layers{};
    DirectionHeads heads{};  ///< of the best layer; empty: not asked for
    /// The layer with the highest accuracy; ties go to the first. Error without a layer.
    const LayerProbe& best() const;
};
/// Probes every layer; a step of the progress is a layer. Errors: as for_each_layer() and split_examples().
ProbeResult run_probe(const Manifest&, const StatesOptions&, const LabelledExamples&, const ProbeOptions&,
                      const CancelToken& = {}, const Progress& = {});

analyze::Table table_of(const ProbeResult&);

/// [layer, class, feature] weights, [layer, class] biases and [layer, label, predicted] confusion, for NPZ.
std::vector<analyze::NamedArray> arrays_of(const ProbeResult&);
/// The same as members of a JSON object, without braces.
std::string json_members(const ProbeResult&);

/// Results are kept in the store's folder "probes", so that figures need neither the model nor the time.
void write_probe(const std::filesystem::path& store, const Manifest&, const ProbeResult&);
/// Error: there is none of the task, naming those that are there; one of other texts; a damaged file.
ProbeResult read_probe(const std::filesystem::path& store, const Manifest&, const std::string& task);

}  // namespace headlight::corpus
