// SPDX-License-Identifier: GPL-3.0-or-later
// What a token in front of a trigger is worth: the coefficient of a neuron once it is taken away (Geva et al. 2021, section 3 and
// Fig. 3). Texts of the store are run again.
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
#include <string>
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

/// A trigger with the coefficient at the end of its prefix, and at the end of what is left of it without a token. The prefix
/// alone is run, so that of a model that reads in both directions the first differs from the trigger's value.
struct TriggerRemoval {
    Trigger trigger;
    double whole = kNaN;
    std::array<std::int32_t, kRemoved> position{-1, -1, -1};  ///< by Removed; -1: there is no such token
    std::array<double, kRemoved> left{kNaN, kNaN, kNaN};      ///< NaN: no token is left, or there is none to remove
    /// Of the coefficient: -0.3 is a loss of 30 %.
    double change(Removed which) const { return left[static_cast<std::size_t>(which)] / whole - 1; }
};
struct NeuronRemoval {
    analyze::NeuronId id;
    std::vector<TriggerRemoval> triggers;  ///< the strongest first
};

struct RemovalOptions {
    std::int64_t triggers = 50;  ///< of each neuron at most, of those with a positive coefficient
    std::uint64_t seed = 0;
};
/// Each prefix is run once for all neurons that it triggers, and once without each of up to three tokens. Errors: as
/// TextStore::chunk() and Neurons::largest(); a model that is not the neurons'.
std::vector<NeuronRemoval> removal_test(const Neurons&, TextStore&, const std::shared_ptr<const model::Model>&,
                                        const std::shared_ptr<const headlight::text::Tokenizer>&,
                                        std::span<const analyze::NeuronId>, const RemovalOptions& = {}, const CancelToken& = {},
                                        const Progress& = {});

/// Of each layer up to so many neurons that have a trigger, drawn uniformly by seed; by layer and number.
std::vector<analyze::NeuronId> drawn_neurons(const Neurons&, std::int64_t of_layer, std::uint64_t seed);

/// The change by layer: the mean over neurons of each one's mean over its triggers, with an interval over neurons.
struct LayerRemoval {
    Layer layer;
    std::int64_t neurons = 0, triggers = 0;
    std::array<Interval, kRemoved> change;  ///< by Removed
};
std::vector<LayerRemoval> removal_by_layer(const std::vector<NeuronRemoval>&, const BootstrapOptions& = {});

/// A row a trigger and removed token: rank, chunk, position, removed, removed_position, removed_token, coefficient, left, change.
analyze::Table table_of(const NeuronRemoval&, TextStore&);
/// A row a layer: layer, neurons, triggers, then first, last and random, each with _low and _high.
analyze::Table table_of(const std::vector<LayerRemoval>&);

}  // namespace headlight::corpus
