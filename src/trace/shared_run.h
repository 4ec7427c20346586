// SPDX-License-Identifier: GPL-3.0-or-later
// What a run has in common with an earlier one: of the same text, everything before the first layer with an intervention; of a
// text that begins alike, in a causal model, the rows of the tokens before the first other one.
#pragma once

#include "model/run/last_rows.h"
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
                                          const std::set<model::HookPoint>& hooked, const HeadOverview&);
/// Puts them beside what the run itself has computed.
void share(const SharedLayers&, const Trace& unedited, Trace::Internals&);
/// Only the pooled maps and the numbers of heads, of an attention to a source.
void share_overview(const SharedLayers&, const Trace& unedited, Trace::Internals&);

/// Below it a whole run is over at once.
constexpr std::int64_t kFewestShared = 32;

/// How many of the run's rows are those of `earlier`; 0: another model, an edited run, few tokens, or not all that is to be kept
/// (`hooked`: with interventions no row is shared) and read again.
std::int64_t shared_rows(const Trace& earlier, const model::Model&, const text::Encoding&, const Keeping&,
                         const std::set<model::HookPoint>& hooked);

/// Puts the earlier run's rows before those that the pass shows, and hands all of them to an observer of whole texts.
class RowJoiner final : public model::Observer {
public:
    RowJoiner(const Trace& earlier, std::int64_t rows, model::Observer& whole) : earlier_(earlier), rows_(rows), whole_(whole) {}

    model::EarlierRows earlier() const;
    bool wants(model::HookPoint point) const override { return whole_.wants(point); }
    at::Tensor visit(model::HookPoint, at::Tensor rows) override;
    bool wants_pattern_tiles() const override { return whole_.wants_pattern_tiles(); }
    void pattern_tile(Layer layer, std::int64_t head0, std::int64_t row0, const at::Tensor& tile,
                      std::span<const model::RowLogs> logs) override {
        whole_.pattern_tile(layer, head0, row0, tile, logs);
    }

private:
    const Trace& earlier_;
    std::int64_t rows_;
    model::Observer& whole_;
    at::Tensor last_, last_joined_;  ///< resid_post of a layer is resid_pre of the next, and stays the same memory
};

}  // namespace headlight::trace
