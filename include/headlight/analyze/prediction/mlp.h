// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/analyze/prediction/attribution.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/analyze/table.h"
#include "headlight/base/ids.h"
#include "headlight/trace/trace.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace headlight::analyze {

// A feed-forward layer as key-value memories (Geva 2021): neuron i has the key k_i (a column of W_in), the value
// v_i (a row of W_out) and, on a text, the coefficient m_i. mlp_out = sum of m_i v_i + b_out. Where the layer has experts the
// memories are those of all experts; m_i has the weight of the neuron's expert in it, and is 0 where that was not chosen;
// b_out is then the sum of the experts' biases, weighted alike.

/// One memory at one token.
struct Memory {
    Neuron neuron;
    std::int64_t expert = -1;  ///< the routed expert that it belongs to; -1: none
    double weight = 1;  ///< of the layer's router, or the shared expert's gate; 1 where experts weigh what they read (Llama 4)
    double coefficient = 0;        ///< m_i = weight act(x . k_i + b_i); gated: weight act(x . g_i) (x . u_i)
    double pre = 0;                ///< x . k_i + b_i; gated: the gate
    double up = 0;                 ///< gated: the linear branch; NaN in others
    double value_norm = 0;         ///< |v_i|
    double contribution_norm = 0;  ///< |m_i| |v_i|
    double adds = std::numeric_limits<double>::quiet_NaN();  ///< to a logit (neuron_parts()), where one was asked about
};

/// The memories of a layer at a token, largest contribution first; `top` 0: all of them.
/// Error when layer or position do not exist.
std::vector<Memory> memories(const trace::Trace&, Layer, Position, std::int64_t top = 0);

/// What a value promotes: p = softmax(v_i E), E the unembedding without bias and without norm as in the paper.
/// A negative coefficient turns the order round: it promotes the tokens of `bottom`.
struct Promoted {
    Neuron neuron;
    std::vector<TokenScore> top, bottom;
    double max_probability = 0;
    std::int64_t watched_rank = -1;  ///< 0: the likeliest; -1: none is watched
};

struct PromotedOptions {
    std::int64_t top = 10;
    bool gain = false;  ///< E with the final norm's gain folded in: softmax((gain * v_i) E)
    std::optional<std::int64_t> watched{};
};

/// Of the given neurons of a layer, in that order; no neurons: of every one. Computed in blocks: [neurons, vocab] never
/// stands whole. Errors: a model without unembedding, a neuron or watched token that does not exist.
std::vector<Promoted> promoted_tokens(const model::Model&, Layer, const std::vector<Neuron>&, const PromotedOptions& = {},
                                      const CancelToken& = {}, const Progress& = {});

/// The likeliest token of every value of a layer where it is one of `asked`, else -1: [neuron]. Exact, and for few tokens a
/// hundredth of the work of promoted_tokens(): most values already lose against a sample of the vocabulary.
std::vector<std::int64_t> top_tokens_among(const model::Model&, Layer, std::vector<std::int64_t> asked, bool gain = false,
                                           const CancelToken& = {});

/// How a value is read: the likeliest token of softmax(v E), its probability, and where another token stands.
struct ValueRead {
    std::int64_t top = 0;
    double probability = 0;
    std::int64_t rank = -1;  ///< of the neuron's watched token, 0: the likeliest; -1: none is watched
};
/// Of every neuron of a layer. `watched`: a token for each neuron, -1 for none; empty: none at all.
std::vector<ValueRead> value_reads(const model::Model&, Layer, const std::vector<std::int64_t>& watched = {}, bool gain = false,
                                   const CancelToken& = {}, const Progress& = {});
/// The likeliest token of every value of the model: [layer][neuron]. Computed once while the model is open (GPT-2 small: 2.9
/// TFLOP), and kept with it.
std::shared_ptr<const std::vector<std::vector<std::int32_t>>> top_tokens_of_values(const std::shared_ptr<const model::Model>&,
                                                                                   bool gain = false, const CancelToken& = {});

/// Coefficient of one neuron at every token: [token].
Vector neuron_activations(const trace::Trace&, Layer, Neuron);
/// Coefficients of some neurons (none: all) of a layer: [neuron, token].
Matrix layer_activations(const trace::Trace&, Layer, const std::vector<Neuron>& = {});
/// Share of a layer's memories with m_i > 0 (Geva's Fig. 6): [layer, token].
Matrix active_share(const trace::Trace&);

/// How many tokens of each end are listed in `raises` and `lowers`.
inline constexpr std::int64_t promoted_listed = 6;
enum class MemoryOrder { strength, logit };
inline constexpr EnumRow<MemoryOrder> memory_orders[] = {{MemoryOrder::strength, "strength", "What they write: |m| · |v|"},
                                                         {MemoryOrder::logit, "logit", "What they add to the logit"}};
constexpr const auto& enum_rows(MemoryOrder) { return memory_orders; }

/// What is asked about an MLP at a token.
struct MemoriesRequest {
    std::int64_t top = 20;  ///< 0: all
    bool gain = false;      ///< values read with the final norm's gain
    MemoryOrder order = MemoryOrder::strength;
    LogitRequest logit{};  ///< that the memories add to
};
void describe(Describes<MemoriesRequest> auto& r, const auto& field) {
    field(Field{"top", "Memories listed", "memories to list, largest contribution first; 0: all"}.within(0, 100'000'000), r.top);
    field(Field{"gain", "Values with the final norm's gain", "fold the final norm's gain into the values"}, r.gain);
    field(Field{"memories-by", "Order", "order of the memories"}, r.order);
    describe(r.logit, field);
}
/// The memories with what they promote, and the logit that they add to where a logit is a sum; nothing is promoted in a model
/// without unembedding.
struct MemoriesAnswer {
    std::vector<Memory> memories;
    std::vector<Promoted> promoted;
    std::optional<AttributionOptions> logit;
    std::int64_t active = 0;  ///< of all memories of the layer: m > 0
};
MemoriesAnswer memories_of(const trace::Trace&, Layer, Position, const MemoriesRequest&, const CancelToken& = {},
                           const Progress& = {});

/// A row a memory: neuron, coefficient, value_norm, contribution_norm, top_token_id, top_token, top_probability,
/// bottom_token_id, bottom_token, where the layer has experts expert and weight, then layer, position, pre_activation, up,
/// raises, lowers, and logit_contribution where `adds` is known. `promoted`: of each memory, or empty.
Table table_of(const std::vector<Memory>&, const std::vector<Promoted>& promoted, const trace::Trace&, Layer, Position);

}  // namespace headlight::analyze
