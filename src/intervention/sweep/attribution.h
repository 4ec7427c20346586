// SPDX-License-Identifier: GPL-3.0-or-later
// What a cell's edit would do, estimated from one backward pass: attribution patching with the corrections of AtP* for queries
// and keys (Kramár et al. 2024, arXiv:2403.00745, section 3.1).
#pragma once

#include "headlight/trace/replay.h"
#include "intervention/sweep/work.h"

#include <vector>

namespace headlight::intervention {

class Attribution {
public:
    /// One pass with gradients of every site that the sweep edits, and, where queries or keys are edited, passes for their
    /// scores.
    Attribution(const Sweep&, const PairWork&, std::size_t pair, const CancelToken&);

    /// sum (edited - value) d metric / d value. Of queries and keys in place of that sum (pattern after - pattern before) d
    /// metric / d pattern, with the softmax of the head computed anew. With GradDrop the mean size of these without each layer.
    double estimate(const SweepCell&) const;

private:
    using Scores = std::map<model::HookPoint, at::Tensor>;  ///< [head, query, key]
    Scores scores_under(const trace::TokenIds&, Site, const Tensors* source, const Tensors& stream, const CancelToken&) const;
    /// A tensor and how an edit changes it.
    struct Shift {
        model::HookPoint point;
        at::Tensor change;  ///< float64
    };
    Shift through_pattern(model::HookPoint, const at::Tensor& edited, std::size_t source) const;

    const Sweep& sweep_;
    const SweepPlan& plan_;
    std::vector<trace::Gradients> at_;            ///< one; of GradDrop one for each layer that is left out
    Scores scores_;                               ///< of the run that is edited
    std::map<Site, std::vector<Scores>> edited_;  ///< [source] with every query, or every key, of all heads edited
};

}  // namespace headlight::intervention
