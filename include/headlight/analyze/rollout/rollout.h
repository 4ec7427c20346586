// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/analyze/table.h"
#include "headlight/base/fields.h"
#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/trace/trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Attention through all layers down to the input (Abnar & Zuidema 2020; docs/measures.md).
///
/// A_l is the mean pattern of a layer's heads, J_l = (A_l + I) / 2 with rows that sum to 1: half of what a token hands
/// on is what it was. Maps are [query, key]: how much of what the query holds after layer l is from the key's input.
///
/// A decoder behind an encoder reads two texts (as Ferrando et al. 2022, "Towards Opening the Black Box of Neural Machine
/// Translation", section 3, put contributions together): its self-attention is J, its cross attention hands on (I + C) / 2, with
/// C the mean cross pattern, whose keys are the encoder's output and so rows of the encoder's rollout E. T_l = J_l T_{l-1} / 2 is
/// of the target's input, S_l = (J_l S_{l-1} + C_l E) / 2 of the source's; a row of T and the same row of S together sum to 1.
namespace headlight::analyze {

inline constexpr Field kByReceptiveField{"by-receptive-field", "Divided by what uniform attention gives",
                                         "causal models: divide by what uniform attention gives"};
struct RolloutOptions {
    std::optional<Head> head{};    ///< only this head of the map's own layer, without the residual: A_h R_{l-1}
    std::optional<Layer> layer{};  ///< only this layer's map; empty: every layer's
    /// Causal models: each number divided by what even attention to all earlier tokens gives at its place, rows then
    /// normalised, because first tokens are reached by more paths than later ones. Even attention gives even rows.
    bool by_receptive_field = false;
    std::optional<Position> query{};  ///< only this query: maps have one row
    bool of_source = false;           ///< decoder behind an encoder: what is from the source's tokens, not from the target's
    bool operator==(const RolloutOptions&) const = default;
};

struct Rollout {
    std::vector<Layer> layers;
    std::vector<Matrix> maps;        ///< of each layer [query, key], or [1, key]; every row sums to 1 (with a source: its share)
    std::vector<std::string> notes;  ///< sentences for the caption
};

/// R_l = J_l R_{l-1}, R_0 = J_0. Takes T^3 steps and T^2 numbers for the map of one layer, twice as many numbers in a model that
/// looks both ways, and for all layers as many more for each; a head takes two maps more. A query's row takes T^2 steps (of a
/// decoder behind an encoder: T^3). An Error with the numbers when there is no memory.
/// Errors: layer or head that does not exist, by_receptive_field for a model that looks both ways or reads a source, of_source
/// for a model of one stack.
Rollout rollout(const trace::Trace&, const RolloutOptions& = {}, const CancelToken& = {}, const Progress& = {});

/// Largest flow from the query's node after layer l to the key's input, with the numbers of J as capacities; then every
/// row divided by its sum. One maximum-flow problem for each pair, or each input of one `query`: an Error with the
/// numbers for texts that are too long. `head` is not possible.
/// A decoder behind an encoder: one network of both texts, in which a layer of the decoder is two steps, J and (I + C) / 2, and
/// the encoder's output one node a token for all layers; a row is divided by its sum over both texts.
Rollout attention_flow(const trace::Trace&, const RolloutOptions& = {}, const CancelToken& = {}, const Progress& = {});

/// How much a token hands down between two layers.
struct Ribbon {
    std::int64_t layer = 0;  ///< from the token after this layer to one before it
    Position from, to;
    double mass = 0;
};

/// From one token down to the input: what a picture of the layers draws.
struct TokenPaths {
    Layer layer;  ///< paths start after it
    Position query;
    std::optional<Position> key;  ///< flow: the input that they all end at
    double total = 1;             ///< mass at the start; flow: the largest flow, before any normalising
    /// Decoder behind an encoder: so many tokens, the first ones, are the source's, and `query` and `key` count them in. A level
    /// is then what a step leaves: one for each layer of the encoder, two for each of the decoder (its own attention, the one to
    /// the source). 0: one text, a level a layer.
    std::int64_t source = 0, source_layers = 0;
    /// [layer + 2][token]: mass at each token before layer 0, before layer 1, …, after `layer`.
    std::vector<Eigen::VectorXd> mass;
    std::vector<Ribbon> ribbons;  ///< with at least `least` of the total, layer by layer from the input up
    double least = 0;
    std::int64_t left_out = 0;  ///< ribbons thinner than that
    double left_out_mass = 0;   ///< the most that a layer's thin ribbons carry together, as a share of the total
    std::vector<std::string> notes;
};
/// Rollout: the token's 1 is handed down as J says; before layer 0 it is row `query` of R_layer.
TokenPaths rollout_paths(const trace::Trace&, Layer, Position query, double least = 0.01, const CancelToken& = {});
/// One largest flow to `key`; by default to the input that the largest flow of all goes to. Decoder behind an encoder: the key is
/// a token of the target, or (`of_source`) of the source.
TokenPaths flow_paths(const trace::Trace&, Layer, Position query, std::optional<Position> key, double least = 0.01,
                      const CancelToken& = {}, bool of_source = false);

// --- on plain numbers -----------------------------------------------------------------------------------------------

/// J: (A + I) with rows divided by their sums.
Matrix with_residual(const Matrix& attention);
/// R_l for every layer, of J_0, J_1, ….
std::vector<Matrix> rollout_of(const std::vector<Matrix>& joint, const CancelToken& = {}, const Progress& = {});
/// Largest flows after the last layer, not normalised: [query, key].
Matrix flow_of(const std::vector<Matrix>& joint, const CancelToken& = {}, const Progress& = {});

/// A row for each pair that is not masked: layer, query, query_token, key, key_token (of a source: target, target_token, source,
/// source_token), then rollout and flow as far as given, maps of the same `layers` and of `query` alone where that is given.
/// NPZ also: rollout and flow, [layer, query, key]. Error where the rows would be too many.
Table table_of(const trace::Trace&, const std::vector<Layer>& layers, const std::vector<Matrix>* rollout,
               const std::vector<Matrix>* flow = nullptr, std::optional<Position> query = {});
/// The arrays and definitions alone, of maps of any size.
Table arrays_of(const trace::Trace&, const std::vector<Matrix>* rollout, const std::vector<Matrix>* flow = nullptr);
/// How many rows that table has.
std::int64_t table_rows(const trace::Trace&, std::int64_t layers, std::optional<Position> query = {});

}  // namespace headlight::analyze
