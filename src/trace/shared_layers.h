// SPDX-License-Identifier: GPL-3.0-or-later
// What an edited run has in common with the unedited one: everything before the first layer with an intervention.
#pragma once

#include "trace/forecast_internal.h"
#include "trace/internals.h"

#include <optional>
#include <set>

namespace headlight::trace {

struct SharedLayers {
    std::int64_t layers = 0;
    at::Tensor stream{};                  ///< [pos, d_model] behind them
    std::set<model::HookPoint> common{};  ///< what the unedited run has of the tensors that are to be stored
    std::set<model::HookPoint> own{};     ///< what is left to store
    /// Behind the layers, made when something reads them: a third of a small model's work.
    std::set<model::HookPoint> later{};
};

/// Nothing where the unedited run is of another text or model, is edited itself, or lacks what is to be kept, and where an
/// intervention comes before the layers.
std::optional<SharedLayers> shared_layers(const Trace& unedited, const model::Model&, const text::Encoding&, const Keeping&,
                                          const std::set<model::HookPoint>& hooked, bool overview);
/// Puts them beside what the run itself has computed.
void share(const SharedLayers&, const Trace& unedited, Trace::Internals&);
/// Only the pooled maps and the numbers of heads, of an attention to a source.
void share_overview(const SharedLayers&, const Trace& unedited, Trace::Internals&);

}  // namespace headlight::trace
