// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/fields.h"
#include "headlight/base/ids.h"
#include "headlight/trace/trace.h"

#include <Eigen/Core>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::analyze {

/// What writes into the residual stream, in the order of the pass.
enum class Component {
    embed,       ///< token embedding (BLOOM: behind its norm)
    pos,         ///< learned position
    token_type,  ///< sentence A or B (BERT)
    head,        ///< z_h W_O^h; layer and head
    attn_bias,   ///< b_O; layer
    mlp,         ///< whole MLP with its bias; layer
    cross_head,  ///< z_h W_O^h of a decoder's attention to its source; layer and head
    cross_bias,  ///< b_O of that attention; layer
    neuron,      ///< m_i v_i; layer and neuron (in place of mlp when neurons are asked for)
    mlp_bias,    ///< b_out; of experts with biases their sum, weighted as the experts are (GPT-OSS); layer
    conv,        ///< DeBERTa's convolution beside layer 0: what it adds at the position, made of its neighbours too
    norm_bias,   ///< biases of norms that lie in the stream's way (post-norm models and BLOOM's residual after norm)
    final_bias,  ///< what no component writes: the last norm's bias and the read-out's own
    nonlinear,   ///< of a class head with a dense layer: the logit minus what its derivative at the run makes of all the others
};
const char* name_of(Component) noexcept;  ///< "attn_bias"
std::optional<Component> component_named(std::string_view) noexcept;

struct Contribution {
    Component component = Component::embed;
    std::int64_t layer = -1;  ///< -1: none
    std::int64_t index = -1;  ///< head or neuron; -1: none
    double value = 0;
};

/// A number of the pass, split over what wrote into the stream at one position.
struct Decomposition {
    std::vector<Contribution> parts;
    double sum = 0;    ///< of the parts
    double total = 0;  ///< the number itself, as the run had it; equal to `sum` unless an intervention changed the stream

    /// Parts of the heads, [layer, head]; NaN where a head comes too late to count.
    Eigen::MatrixXd heads(const model::ModelConfig&) const;
    /// The same of the attention to a source; empty where the model has none.
    Eigen::MatrixXd cross_heads(const model::ModelConfig&) const;
};

struct AttributionOptions {
    std::int64_t token = 0;
    std::optional<std::int64_t> minus{};  ///< logit of `token` minus logit of this one
    bool neurons = false;                 ///< every neuron on its own
};

/// The logit, or the difference of two, that a question is about.
struct LogitRequest {
    std::string token{};  ///< as typed; empty: the likeliest at the position
    std::string minus{};
    bool operator==(const LogitRequest&) const = default;
};
void describe(Describes<LogitRequest> auto& r, const auto& field) {
    field(Field{"token", "Token", "the token whose logit is split (default: the most probable one there)"}.as(FieldKind::token),
          r.token);
    field(Field{"minus", "Difference to", "split the difference to the logit of this token"}.as(FieldKind::token), r.minus);
}
/// Error for a token or class that does not exist.
AttributionOptions logit_asked(const trace::Trace&, Position, const LogitRequest&);

/// False where a logit is no sum over what was written into the stream: a masked-word head, or a norm behind every layer of a
/// language model of one stack (OPT-350M).
bool splits_logits(const model::ModelConfig&);

/// Direct logit attribution (Elhage et al. 2021; Wang et al. 2022, section 3.1): component c adds ((c - mean c) / sigma * gain)
/// W_U[:, t] to the logit of t at position p, sigma of the run's own final norm (RMSNorm: no centring); beta W_U + b_U is
/// `final_bias`. In a decoder behind an encoder that has a norm behind every sub-layer (BART, Marian) a part is taken through all
/// norms that follow it, each with the scale it had in the run; their biases are `norm_bias`. The same in classifiers (BERT): a
/// part's share of a class logit is exact where the head is a linear classifier. A dense layer with its activation between the
/// two (BERT's pooler) is taken by its derivative at the run, J = W diag(f'(pre)): a part adds J W_U[:, class] to it, and
/// `nonlinear` is what that leaves of the logit. Where the head reads the mean of all tokens, parts are means over the tokens.
/// Float64. Errors: position, token or class that does not exist, models without unembedding, models in which logits are no sum
/// over the stream.
Decomposition attribution(const trace::Trace&, Position, const AttributionOptions&);

/// One head's part of the same number, split over the source tokens it read: a_pj v_j W_O^h: [token]; sums to the head's part.
Eigen::VectorXd head_sources(const trace::Trace&, HeadId, Position, const AttributionOptions&);

/// Of a head of a decoder's attention to its source, over the source's tokens: [source].
Eigen::VectorXd cross_head_sources(const trace::Trace&, HeadId, Position, const AttributionOptions&);

/// The same for all heads at once (a figure's click then costs nothing): [layer * head, token].
Eigen::MatrixXd all_head_sources(const trace::Trace&, Position, const AttributionOptions&, const CancelToken& = {});

/// The neurons that add most to the same number, largest amount first, of one layer or of all: each adds
/// its coefficient times its value vector (Geva et al. 2021).
std::vector<Contribution> largest_neurons(const trace::Trace&, Position, const AttributionOptions&, std::optional<Layer>,
                                          std::int64_t top);
/// What each neuron of a layer adds to it: [neuron].
std::vector<double> neuron_parts(const trace::Trace&, Position, const AttributionOptions&, Layer);

/// component, layer, index, contribution, source; after the parts a row `total`. With `sources`, then a row for each token that
/// `head` reads: `head_source`, or `cross_head_source` of a head that reads a source.
Table table_of(const Decomposition&, HeadId head = {}, const Eigen::VectorXd& sources = {}, bool cross = false);

}  // namespace headlight::analyze
