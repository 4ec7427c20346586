// SPDX-License-Identifier: GPL-3.0-or-later
// Mixed layers of a store's labels: at which layer a model knows them (Tenney et al. 2019).
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/corpus/probe/labels.h"
#include "headlight/corpus/probe/layer_mix.h"
#include "headlight/corpus/probe/probe_kind.h"
#include "headlight/corpus/probe/states.h"
#include "headlight/corpus/statistics/bootstrap.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headlight::corpus {

struct MixRow {
    std::int64_t layer = 0;  ///< the probe mixes layers 0 to this one
    Interval score, gain;    ///< of LayerMixStep, with a bootstrap over the texts of the test part; the gain's is paired
    double deviation = kNaN, weight = kNaN;  ///< over seeds; of the layer in the mixture of all
};

struct MixResult {
    ProbeKind kind = ProbeKind::mix;  ///< or edge
    std::string task;
    std::vector<std::string> classes;
    std::string unit = "word";  ///< as in LabelledExamples
    bool pairs = false;
    std::vector<MixRow> rows{};                          ///< [layer]
    Interval expected{};                                 ///< expected_layer() of the scores
    double centre = kNaN;                                ///< centre of gravity of the weights
    double majority = kNaN, most_frequent_label = kNaN;  ///< as in ProbeSplit
    std::int64_t n_train = 0, n_development = 0, n_test = 0, unlabelled = 0, without = 0;
};

struct MixRunOptions {
    ProbeKind kind = ProbeKind::mix;  ///< or edge: tokens of the examples instead of means over their spans
    LayerMixOptions fit;
    BootstrapOptions bootstrap;
    std::uint64_t seed = 0;  ///< of the parts and the fits
};

/// Keeps the states of the examples, or of their tokens, of all layers in memory. Errors: as for_each_layer(), split_examples()
/// and fit_layer_mix(); more states than there is memory.
MixResult run_layer_mix(const Manifest&, const StatesOptions&, const LabelledExamples&, const MixRunOptions&,
                        const CancelToken& = {}, const Progress& = {});
analyze::Table table_of(const MixResult&);

void write_layer_mix(const std::filesystem::path& store, const Manifest&, const MixResult&);
/// Errors: as read_probe().
MixResult read_layer_mix(const std::filesystem::path& store, const Manifest&, ProbeKind kind, const std::string& task);

}  // namespace headlight::corpus
