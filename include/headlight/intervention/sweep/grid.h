// SPDX-License-Identifier: GPL-3.0-or-later
// What a sweep goes over: one edit a cell.
#pragma once

#include "headlight/base/enum_table.h"
#include "headlight/intervention/recipe/recipe.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headlight::intervention {

/// The grids of TransformerLens' patching.py, neurons and experts. `_every`: several sites in one sweep.
enum class Grid {
    resid_pre,
    resid_mid,
    attn_out,
    mlp_out,
    block_every,
    z,
    q,
    k,
    v,
    pattern,
    head_every,
    z_by_position,
    q_by_position,
    k_by_position,
    v_by_position,
    head_every_by_position,
    pattern_by_destination,
    pattern_by_edge,
    edge,
    neuron,
    expert
};
inline constexpr EnumRow<Grid> grids[] = {
    {Grid::resid_pre, "resid_pre", "Stream before a layer", "layer x position"},
    {Grid::resid_mid, "resid_mid", "Stream behind attention", "layer x position"},
    {Grid::attn_out, "attn_out", "Output of attention", "layer x position"},
    {Grid::mlp_out, "mlp_out", "Output of the MLP", "layer x position"},
    {Grid::block_every, "block_every", "Stream, attention and MLP", "the three of layer x position"},
    {Grid::z, "z", "Outputs of heads", "layer x head, all positions at once"},
    {Grid::q, "q", "Queries", "layer x head, all positions at once"},
    {Grid::k, "k", "Keys", "layer x key/value head, all positions at once"},
    {Grid::v, "v", "Values", "layer x key/value head, all positions at once"},
    {Grid::pattern, "pattern", "Attention patterns", "layer x head, all queries at once"},
    {Grid::head_every, "head_every", "Output, query, key, value and pattern", "the five of layer x head"},
    {Grid::z_by_position, "z_by_position", "Outputs of heads by position", "layer x position x head"},
    {Grid::q_by_position, "q_by_position", "Queries by position", "layer x position x head"},
    {Grid::k_by_position, "k_by_position", "Keys by position", "layer x position x key/value head"},
    {Grid::v_by_position, "v_by_position", "Values by position", "layer x position x key/value head"},
    {Grid::head_every_by_position, "head_every_by_position", "Output, query, key, value and pattern by position",
     "the five of layer x position x head"},
    {Grid::pattern_by_destination, "pattern_by_destination", "Rows of attention patterns", "layer x head x query"},
    {Grid::pattern_by_edge, "pattern_by_edge", "Attention weights", "layer x head x query x key"},
    {Grid::edge, "edge", "Attention weights of all heads at once", "layer x query x key"},
    {Grid::neuron, "neuron", "Neurons", "layer x hidden unit, all positions at once"},
    {Grid::expert, "expert", "Experts", "layer x expert, all positions at once: its logits of the router"}};
constexpr const auto& enum_rows(Grid) { return grids; }

/// What a run is measured by. Natural logarithms; of several answers the mean of their logits, log-probabilities or ranks, the
/// sum of their probabilities.
enum class Metric { logit_diff, logprob, prob, rank, kl, loss };
inline constexpr EnumRow<Metric> metrics[] = {
    {Metric::logit_diff, "logit-diff", "logit difference", "mean logit of the answers minus mean logit of the wrong ones"},
    {Metric::logprob, "logprob", "log-probability", "of the answer"},
    {Metric::prob, "prob", "probability", "of the answer"},
    {Metric::rank, "rank", "rank", "1 + the number of tokens or classes with a higher logit than the answer"},
    {Metric::kl, "kl", "KL divergence", "KL(P_clean || P), in nats"},
    {Metric::loss, "loss", "loss", "mean -log p of the clean text's next token"}};
constexpr const auto& enum_rows(Metric) { return metrics; }

/// Heimersheim & Nanda 2024 (arXiv:2404.15255), section 2: denoising asks what restores the clean answer, noising what breaks it.
enum class Direction { denoise, noise };
inline constexpr EnumRow<Direction> directions[] = {
    {Direction::denoise, "denoise", "denoising", "the corrupt text is run, with parts of the clean run"},
    {Direction::noise, "noise", "noising", "the clean text is run, with parts of the corrupt run"}};
constexpr const auto& enum_rows(Direction) { return directions; }

/// Without a second text: what becomes of the cell's tensor in the clean run.
enum class Ablation { none, zero, mean, resample, knockout, forbid, force };
inline constexpr EnumRow<Ablation> ablations[] = {
    {Ablation::none, "none", "patching", "the tensor of the other run"},
    {Ablation::zero, "zero", "zero ablation", "t := 0 (of an attention weight, nothing renormalised)"},
    {Ablation::mean, "mean", "mean ablation",
     "t := its mean over the pairs' clean texts, position by position; of one text its mean over positions"},
    {Ablation::resample, "resample", "resample ablation", "t := that of other pairs' clean texts, the mean effect of up to 10"},
    {Ablation::knockout, "knockout", "knockout", "attention weight := 0, the rest of its row renormalised"},
    {Ablation::forbid, "forbid", "forbidding", "the expert's router logit := -inf: the router chooses another one"},
    {Ablation::force, "force", "forcing", "the expert's router logit := just above all others: every token goes to it"}};
constexpr const auto& enum_rows(Ablation) { return ablations; }

/// What an edit changes on its way to the answer. Direct: the path to the logits (Wang et al. 2022, arXiv:2211.00593, appendix
/// B): every head but the edited one keeps its output of the run that is edited, also the heads of the layer whose input is
/// edited and those of a window; MLPs and norms are computed. Both: the total effect, and the direct one next to it; what other
/// heads make up for is their difference (self-repair, McGrath et al. 2023,
/// arXiv:2307.15771).
enum class Effect { total, direct, both };
inline constexpr EnumRow<Effect> effect_kinds[] = {
    {Effect::total, "total", "total effect", "everything behind the edit is computed anew"},
    {Effect::direct, "direct", "direct effect", "other heads keep their outputs: the path to the logits through MLPs alone"},
    {Effect::both, "both", "total and direct effect", "one against the other: what other heads add or make up for"}};
constexpr const auto& enum_rows(Effect) { return effect_kinds; }

/// How a cell's effect is found. Attribution: from one backward pass of the run that is edited (Nanda 2023, attribution
/// patching), sum (edited - value) d metric / d value; of queries and keys with their head's softmax computed anew (Kramár et al.
/// 2024, arXiv:2403.00745).
/// GradDrop (the same paper, equation 11): how much a cell counts, without a sign: sum over layers |estimate with the derivatives
/// through this layer's attention and MLP left out| / (layers - 1), so that paths of opposite signs do not cancel.
enum class Method { exact, attribution, graddrop, both };
inline constexpr EnumRow<Method> methods[] = {
    {Method::exact, "exact", "exact", "a run of its own for each cell"},
    {Method::attribution, "attribution", "attribution", "an estimate of all cells from one backward pass"},
    {Method::graddrop, "graddrop", "attribution with GradDrop", "the size of estimates that leave out one layer after another"},
    {Method::both, "both", "exact, and the error of attribution", "exact, and how far the estimate is from it"}};
constexpr const auto& enum_rows(Method) { return methods; }
/// No cell has a run of its own.
constexpr bool estimates_alone(Method m) noexcept { return m == Method::attribution || m == Method::graddrop; }

/// The place of one edit; -1: the grid has no such axis.
struct SweepCell {
    Site site = Site::z;
    std::int64_t layer = 0;  ///< of a window its middle
    std::int64_t head = -1;  ///< of keys and values the key/value head
    std::int64_t position = -1;
    std::int64_t source = -1;
    std::int64_t neuron = -1;
    std::int64_t expert = -1;
    bool operator==(const SweepCell&) const = default;
};

/// The lengths of a sweep's axes.
struct SweepAxes {
    std::int64_t layers = 0, heads = 0, kv_heads = 0, positions = 0;
    std::vector<std::int64_t> neurons{};  ///< of each layer
    bool causal = true;                   ///< an edge's key is not behind its query
    std::vector<std::int64_t> experts{};  ///< of each layer; 0: it has none
    std::int64_t sources = 0;             ///< positions of keys and values of a cross attention; 0: those of `positions`
};
/// Which sites a grid goes over.
std::vector<Site> sites_of(Grid);
bool has_head(Grid) noexcept;
bool has_position(Grid) noexcept;
/// Keys and values, which a cross attention has of the source.
constexpr bool is_of_keys(Site site) noexcept { return site == Site::k || site == Site::v; }
/// Every cell, site by site, then layer, position, head (pattern_by_destination and _by_edge: head, query, key), as
/// TransformerLens orders its axes. `layers`, `heads` empty: all. `heads` are the units of the site; of grids of several sites
/// query heads, and keys and values are those of the groups that they read. Edges between named positions: `causal` must be
/// false, since both orders are cells.
std::vector<SweepCell> cells_of(Grid, const SweepAxes&, const std::vector<std::int64_t>& layers,
                                const std::vector<std::int64_t>& heads);

}  // namespace headlight::intervention
