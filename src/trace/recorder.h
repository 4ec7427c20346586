// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/trace/tensors.h"
#include "model/forward.h"
#include "trace/head_kernels.h"
#include "trace/internals.h"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace headlight::trace {

/// Which interventions are called at which hook.
using Hooked = std::map<model::HookPoint, std::vector<const HookFn*>>;
/// Error when a glob matches no hook of this model.
Hooked resolve_interventions(const model::ModelConfig&, const std::vector<Intervention>&);

/// The observer of one run: calls the interventions, stores what the plan asked for, gathers the overview.
class Recorder final : public model::Observer {
public:
    Recorder(const model::Model&, const text::Tokenizer&, const text::Encoding&, std::set<model::HookPoint> stored,
             Hooked hooked, bool overview);

    bool wants(model::HookPoint) const override;
    at::Tensor visit(model::HookPoint, at::Tensor) override;
    bool wants_pattern_tiles() const override { return !heads_.empty(); }
    void pattern_tile(Layer, std::int64_t head0, std::int64_t row0, const at::Tensor&) override;

    /// Moves everything into the trace's internals. Once, after the pass.
    void finish(Trace::Internals&);

private:
    at::Tensor intervene(model::HookPoint, const at::Tensor&, const std::vector<const HookFn*>&);

    void weigh_values(Layer, const at::Tensor& v);

    const model::Model& model_;
    const model::ModelConfig& config_;
    std::map<std::int64_t, TextFacts> facts_;  ///< by the window of a layer
    std::set<model::HookPoint> wanted_;  ///< to store
    Hooked hooked_;
    std::set<model::HookPoint> replaced_;
    std::map<model::HookPoint, at::Tensor> stored_;
    std::vector<PooledPattern> pooled_;
    std::vector<HeadSummaries> summaries_;
    std::vector<std::unique_ptr<HeadAccumulator>> heads_;  ///< [layer * head]; empty: no overview
};

}  // namespace headlight::trace
