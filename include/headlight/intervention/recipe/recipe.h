// SPDX-License-Identifier: GPL-3.0-or-later
// Edits of a run as plain data. What each operation computes, with examples: docs/recipe.md.
#pragma once

#include "headlight/base/enum_table.h"
#include "headlight/model/config.h"
#include "headlight/model/hook_name.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headlight::intervention {

/// What becomes of the selected part t of a tensor. The last eight are of attention patterns.
enum class Operation {
    zero,
    mean,
    resample,
    patch,
    freeze,
    scale,
    clamp,
    add,
    project,
    direct,
    forbid,
    force,
    knockout,
    set,
    write,
    temperature,
    uniform,
    diagonal,
    previous,
    first,
    swap
};
inline constexpr EnumRow<Operation> operations[] = {
    {Operation::zero, "zero", "Zero", "t := 0"},
    {Operation::mean, "mean", "Mean", "t := its mean over this text, a file of texts, or a reference set"},
    {Operation::resample, "resample", "Resample", "t := t in another text of a file"},
    {Operation::patch, "patch", "Patch", "t := t in the run of another text"},
    {Operation::freeze, "freeze", "Freeze", "t := t of the unedited run, or of another text"},
    {Operation::scale, "scale", "Scale", "t := factor t"},
    {Operation::clamp, "clamp", "Clamp", "t := a number"},
    {Operation::add, "add", "Add a direction", "t := t + c v"},
    {Operation::project, "project", "Project out a direction", "t := t - (t.v) v, |v| = 1"},
    {Operation::direct, "direct", "Set along a direction", "t := t + (c - t.v) v, |v| = 1"},
    {Operation::forbid, "forbid", "Forbid an expert", "its router logit := -inf"},
    {Operation::force, "force", "Force an expert", "it is chosen for every token"},
    {Operation::knockout, "knockout", "Knock out", "score := -inf before the softmax: the other weights share what it had"},
    {Operation::set, "set", "Set and renormalise", "a := weight, the others times (1 - weight) / (1 - a)"},
    {Operation::write, "write", "Write", "a := weight, nothing else: the row no longer sums to 1"},
    {Operation::temperature, "temperature", "Temperature", "softmax(scores / temperature)"},
    {Operation::uniform, "uniform", "Uniform pattern", "equal weights on all visible keys"},
    {Operation::diagonal, "diagonal", "Diagonal pattern", "every query attends to itself"},
    {Operation::previous, "previous", "Previous-token pattern", "every query attends to the token before it"},
    {Operation::first, "first", "First-token pattern", "every query attends to position 0"},
    {Operation::swap, "swap", "Pattern of another head", "a := the pattern of another head of the layer"}};
constexpr const auto& enum_rows(Operation) { return operations; }
constexpr bool is_of_pattern(Operation o) noexcept { return o >= Operation::knockout; }

/// Along a vector.
constexpr bool has_direction(Operation o) noexcept {
    return o == Operation::add || o == Operation::project || o == Operation::direct;
}
/// From another run of the model.
constexpr bool copies_run(Operation o) noexcept {
    return o == Operation::patch || o == Operation::freeze || o == Operation::resample;
}

/// Its words have a number.
constexpr bool has_value(Operation o) noexcept {
    return o == Operation::scale || o == Operation::clamp || o == Operation::add || o == Operation::direct ||
           o == Operation::set || o == Operation::write || o == Operation::temperature;
}

/// The tensor that is edited, as a layer's own attention calls it. `norm`: every scale that a norm divides by.
enum class Site {
    embed,
    resid_pre,
    q_latent,
    q,
    latent,
    k,
    v,
    rot_q,
    rot_k,
    scores,
    sink,
    pattern,
    z,
    result,
    attn_out,
    resid_mid,
    router,
    experts,
    shared_gate,
    pre,
    pre_linear,
    post,
    mlp_out,
    resid_post_mlp,
    conv_out,
    resid_post,
    norm
};
/// What a site's units are: positions alone have none. kv_head: a query head names the group it reads.
enum class Axis { none, head, kv_head, neuron, expert };
struct SiteRow {
    Site site;
    std::string_view word, title;
    model::Hook
        hook;  ///< of the layer's own attention (model::in_decoder() names the cross attention's); norm: the first of several
    Axis axis = Axis::none;
};
inline constexpr SiteRow sites[] = {
    {Site::embed, "embed", "embedding", model::Hook::embed},
    {Site::resid_pre, "resid_pre", "stream before the layer", model::Hook::resid_pre},
    {Site::q_latent, "q_latent", "latent of queries", model::Hook::q_latent},
    {Site::q, "q", "queries", model::Hook::q, Axis::head},
    {Site::latent, "latent", "latent of keys and values", model::Hook::latent},
    {Site::k, "k", "keys", model::Hook::k, Axis::kv_head},
    {Site::v, "v", "values", model::Hook::v, Axis::kv_head},
    {Site::rot_q, "rot_q", "rotated queries", model::Hook::rot_q, Axis::head},
    {Site::rot_k, "rot_k", "rotated keys", model::Hook::rot_k, Axis::kv_head},
    {Site::scores, "scores", "attention scores", model::Hook::attn_scores, Axis::head},
    {Site::sink, "sink", "share of the sink", model::Hook::sink, Axis::head},
    {Site::pattern, "pattern", "attention pattern", model::Hook::pattern, Axis::head},
    {Site::z, "z", "outputs of heads", model::Hook::z, Axis::head},
    {Site::result, "result", "results of heads", model::Hook::result, Axis::head},
    {Site::attn_out, "attn_out", "output of attention", model::Hook::attn_out},
    {Site::resid_mid, "resid_mid", "stream behind attention", model::Hook::resid_mid},
    {Site::router, "router", "logits of the router", model::Hook::router, Axis::expert},
    {Site::experts, "experts", "weights of experts", model::Hook::experts, Axis::expert},
    {Site::shared_gate, "shared_gate", "weight of the shared expert", model::Hook::shared_gate},
    {Site::pre, "pre", "neurons before the activation", model::Hook::mlp_pre, Axis::neuron},
    {Site::pre_linear, "pre_linear", "linear branch of neurons", model::Hook::mlp_pre_linear, Axis::neuron},
    {Site::post, "post", "neurons", model::Hook::mlp_post, Axis::neuron},
    {Site::mlp_out, "mlp_out", "output of the MLP", model::Hook::mlp_out},
    {Site::resid_post_mlp, "resid_post_mlp", "stream before the convolution is added", model::Hook::resid_post_mlp},
    {Site::conv_out, "conv_out", "output of the convolution", model::Hook::conv_out},
    {Site::resid_post, "resid_post", "stream behind the layer", model::Hook::resid_post},
    {Site::norm, "norm", "scales of norms", model::Hook::ln1_scale}};
constexpr const SiteRow& row_of(Site site) noexcept { return sites[static_cast<std::size_t>(site)]; }

/// Both ends count.
struct Span {
    std::int64_t first = 0, last = 0;
    auto operator<=>(const Span&) const = default;
};
/// L7-8H0,3: layers times units. No layers: every one; no units: the whole tensor of a layer.
struct Place {
    std::vector<Span> layers{}, units{};
    auto operator<=>(const Place&) const = default;
};

/// A position that a person names: an index, END (the last token, of a masked model the mask) or a name of the recipe,
/// and so many tokens behind it.
struct PositionName {
    std::string name{};  ///< empty: `offset` is the index
    std::int64_t offset = 0;
    auto operator<=>(const PositionName&) const = default;
};
enum class TokenClass { none, special, punctuation, words };
inline constexpr EnumRow<TokenClass> token_classes[] = {{TokenClass::none, "", ""},
                                                        {TokenClass::special, "special", "special tokens"},
                                                        {TokenClass::punctuation, "punctuation", "punctuation"},
                                                        {TokenClass::words, "words", "all other tokens"}};
constexpr const auto& enum_rows(TokenClass) { return token_classes; }
struct PositionRange {
    PositionName first{}, last{};
    TokenClass of_class = TokenClass::none;  ///< then first and last do not count
    auto operator<=>(const PositionRange&) const = default;
};
/// Empty: all.
using Positions = std::vector<PositionRange>;

/// Attention weights from each of `queries` to each of `keys`: "12<-4", "END<-0-3".
struct Edges {
    Positions queries{}, keys{};
    auto operator<=>(const Edges&) const = default;
};

/// Where replacements and directions come from.
enum class From { none, text, texts, reference, file, token, neuron, singular, difference, head };
struct Source {
    From from = From::none;  ///< none: this text's unedited run, where the operation needs one
    /// text: what is run; texts, reference: a file of texts, one a line; file: .npz or .npy; token: a token's text
    std::string what{};
    std::string target{};       ///< text, for encoder-decoder models: what the decoder reads; empty: the same as here
    Place place{};              ///< neuron, singular (OV), head (swap)
    std::int64_t index = 0;     ///< singular: which of the OV circuit's directions, 0 the largest
    Positions plus{}, minus{};  ///< difference: mean at plus minus mean at minus, of the site in this text's unedited run
    auto operator<=>(const Source&) const = default;
};

/// `norm`: the number counts lengths of what is edited, position by position.
enum class Unit { plain, norm };

struct Edit {
    bool on = true;
    Operation operation = Operation::zero;
    model::Stack stack = model::Stack::decoder;  ///< as in enum_rows(model::Stack): a model of one stack is its decoder
    Site site = Site::z;
    std::vector<Place> where{};  ///< empty: everywhere
    bool groups = false;         ///< units of keys and values are key/value heads, not the query heads that read them
    std::string finder{};        ///< of `where` only heads that this expression finds in the unedited run (docs/measures.md)
    Positions positions{};       ///< of a pattern its queries
    std::optional<Edges> edges{};
    double value = 0;  ///< scale, clamp, add, direct, set, write, temperature
    Unit unit = Unit::plain;
    Source source{};
    bool without_value_bias = false;  ///< zero of z: z := what the value bias alone gives (TransformerLens' zero)
    bool without_first = false;       ///< mean: leaves position 0 out of the mean
    bool operator==(const Edit&) const = default;
};

/// Edits in the order in which they apply to one tensor. Those of different tensors apply when the pass makes each.
struct Recipe {
    std::string model{}, sha256{};                ///< for which it was made; empty: any
    std::string text{};                           ///< likewise, informative
    std::map<std::string, std::int64_t> names{};  ///< named positions: "IO" -> 4
    std::vector<Edit> edits{};
    std::uint64_t seed = 1;  ///< draws the text of resample
    bool any() const noexcept {
        for (const Edit& edit : edits)
            if (edit.on) return true;
        return false;
    }
    bool operator==(const Recipe&) const = default;
};

}  // namespace headlight::intervention
