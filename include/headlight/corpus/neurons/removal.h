// SPDX-License-Identifier: GPL-3.0-or-later
// The effect of removing a token before a trigger on the neuron's coefficient (Geva et al. 2021, section 3 and Fig. 3). Texts
// of the store are run again.
#pragma once

#include "headlight/analyze/contribution/neuron_id.h"
#include "headlight/analyze/table.h"
#include "headlight/base/enum_table.h"
#include "headlight/base/job.h"
#include "headlight/corpus/neurons/neurons.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/store/text_store.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace headlight::corpus {

/// Which token of a trigger's prefix (the tokens up to the trigger itself, without those that the tokenizer's template adds).
enum class Removed {
    first,
    last,   ///< the trigger's own
    random  ///< one between the two, drawn uniformly by (seed, chunk, position)
};
inline constexpr EnumRow<Removed> removed_tokens[] = {
    {Removed::first, "first", "First token"}, {Removed::last, "last", "Last token"}, {Removed::random, "random", "Random token"}};
constexpr const auto& enum_rows(Removed) { return removed_tokens; }
inline constexpr std::size_t kRemoved = std::size(removed_tokens);

/// A trigger with the coefficient at the end of its prefix, and at the end of the prefix without one token. Only the prefix is
/// run, so in a bidirectional model the former differs from the trigger's value.
struct TriggerRemoval {
    Trigger trigger;
    double whole = kNaN;
    std::array<std::int32_t, kRemoved> position{-1, -1, -1};  ///< by Removed; -1: there is no such token
    std::array<double, kRemoved> left{kNaN, kNaN, kNaN};      ///< NaN: no token remains, or there is none to remove
    /// Relative change of the coefficient: -0.3 is a loss of 30 %.
    double change(Removed which) const { return left[static_cast<std::size_t>(which)] / whole - 1; }
};
struct NeuronRemoval {
    analyze::NeuronId id;
    std::vector<TriggerRemoval> triggers;  ///< the strongest first
};

struct RemovalOptions {
    std::int64_t triggers = 50;  ///< maximum per neuron, among those with a positive coefficient
    std::uint64_t seed = 0;
};
/// Each prefix is run once for all neurons that it triggers, and once without each of up to three tokens. Errors: as
/// TextStore::chunk() and Neurons::largest(); a model that is not that of the neurons.
std::vector<NeuronRemoval> removal_test(const Neurons&, TextStore&, const std::shared_ptr<const model::Model>&,
                                        const std::shared_ptr<const headlight::text::Tokenizer>&,
                                        std::span<const analyze::NeuronId>, const RemovalOptions& = {}, const CancelToken& = {},
                                        const Progress& = {});

/// Up to this many neurons with a trigger from each layer, drawn uniformly by seed; by layer and number.
std::vector<analyze::NeuronId> drawn_neurons(const Neurons&, std::int64_t of_layer, std::uint64_t seed);

/// The change by layer: the mean over neurons of each one's mean over its triggers, with an interval over neurons.
struct LayerRemoval {
    Layer layer;
    std::int64_t neurons = 0, triggers = 0;
    std::array<Interval, kRemoved> change;  ///< by Removed
};
std::vector<LayerRemoval> removal_by_layer(const std::vector<NeuronRemoval>&, const BootstrapOptions& = {});

/// One row per trigger and removed token: rank, chunk, position, removed, removed_position, removed_token, coefficient, left,
/// change.
analyze::Table table_of(const NeuronRemoval&, TextStore&);
/// One row per layer: layer, neurons, triggers, then first, last and random, each with _low and _high.
analyze::Table table_of(const std::vector<LayerRemoval>&);

}  // namespace headlight::corpus
