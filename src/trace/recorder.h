// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/trace/tensors.h"
#include "model/internals.h"
#include "model/run/forward.h"
#include "trace/internals.h"
#include "trace/overview.h"
#include "trace/whole_patterns.h"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace headlight::trace {

/// Which interventions are called at which hook.
using Hooked = std::map<model::HookPoint, std::vector<const HookFn*>>;
/// Error when a glob matches no hook of this model, unless it may be one of another part.
Hooked resolve_interventions(const model::ModelConfig&, const std::vector<Intervention>&, bool may_be_elsewhere = false);

/// The observer of one run (`source`: the text that a decoder's cross attention reads): calls the interventions, stores what the
/// plan asked for, gathers the overview, gives patterns to `reader`.
class Recorder final : public model::Observer {
public:
    Recorder(const model::Model&, const text::Tokenizer&, const text::Encoding&, std::set<model::HookPoint> stored, Hooked hooked,
             const HeadOverview& overview, const text::Encoding* source = nullptr, std::int64_t first_counted = 0,
             PatternReader* reader = nullptr);

    bool wants(model::HookPoint) const override;
    at::Tensor visit(model::HookPoint, at::Tensor) override;
    bool wants_pattern_tiles() const override { return own_.gathers() || whole_ || rows_; }
    void pattern_tile(Layer, std::int64_t head0, std::int64_t row0, const at::Tensor&, std::span<const model::RowLogs>) override;
    void cross_pattern_tile(Layer, std::int64_t head0, std::int64_t row0, const at::Tensor&) override;

    /// Moves everything into the trace's internals. Once, after the pass. `alone`: other traces have no part of its memory.
    void finish(Trace::Internals&, bool alone = true);
    /// The overview of the attention to the source.
    void finish_cross(Trace::Internals&);

private:
    at::Tensor intervene(model::HookPoint, const at::Tensor&, const std::vector<const HookFn*>&);
    /// A tile as float32 on the CPU, with contiguous rows; of a GPU's, until the next one is copied.
    at::Tensor floats_of(const at::Tensor& tile);

    const model::Model& model_;
    const model::ModelConfig& config_;
    std::set<model::HookPoint> wanted_;  ///< to store
    Hooked hooked_;
    std::set<model::HookPoint> replaced_;
    std::map<model::HookPoint, at::Tensor> stored_;
    Overview own_, cross_;
    at::Tensor pinned_;                     ///< what a GPU copies tiles to: several times as fast as to other memory
    PatternReader* rows_ = nullptr;         ///< takes rows; nullptr: nobody does
    std::unique_ptr<WholePatterns> whole_;  ///< nullptr: nobody reads them
};

}  // namespace headlight::trace
