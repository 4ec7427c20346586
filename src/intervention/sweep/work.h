// SPDX-License-Identifier: GPL-3.0-or-later
// A sweep before its numbers: what it goes over, and each pair ready to run.
#pragma once

#include "intervention/sweep/metric.h"
#include "intervention/sweep/plan.h"

#include <optional>
#include <vector>

namespace headlight::intervention {

using ModelPtr = std::shared_ptr<const model::Model>;

inline bool patches(const SweepOptions& o) { return o.ablation == Ablation::none; }

inline const SweepText& base_of(const SweepPair& pair, const SweepOptions& o) {
    return patches(o) && o.direction == Direction::denoise ? pair.corrupt : pair.clean;
}
inline const SweepText& other_of(const SweepPair& pair, const SweepOptions& o) {
    return o.direction == Direction::denoise ? pair.clean : pair.corrupt;
}

/// Everything about a sweep that does not depend on its numbers.
struct Sweep {
    ModelPtr model;
    const std::vector<SweepPair>& pairs;
    SweepResult result;  ///< without numbers
    std::vector<model::HookPoint> points{};
    std::vector<Receiver> receivers{};  ///< of a path

    const SweepOptions& options() const { return result.options; }
    const model::ModelConfig& config() const { return model->config(); }
    bool by_name() const { return !result.position_names.empty(); }
};
/// Errors: as run_sweep().
Sweep prepare(const ModelPtr&, const std::vector<SweepPair>&, const SweepOptions&);

/// The means that all pairs share; empty where each has its own, or none.
Tensors shared_means(const Sweep&, const CancelToken&);

/// One pair, ready to run.
struct PairWork {
    MetricReader base_metric;
    std::optional<trace::Variants> variants{};
    SweepPlan plan;
    double base = kNaN, other = kNaN;  ///< the metric of the run that is edited, and of the other one

    PairWork(const Sweep&, std::size_t pair, const Tensors* means, const CancelToken&);
};

}  // namespace headlight::intervention
