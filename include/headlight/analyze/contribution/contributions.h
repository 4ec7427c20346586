// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/fields.h"
#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/trace/trace.h"

#include <Eigen/Core>

#include <cstdint>
#include <vector>

namespace headlight::analyze {

/// What a token's new state is made of, layer by layer (LM Transparency Tool, Tufanov 2024; Ferrando & Voita 2024). A part p
/// of a whole w weighs max(|w|_1 - |w - p|_1, 1e-5), normalised over the parts of w. The whole behind attention is
/// resid_mid, its parts are resid_pre and a_ij v_j W_O^h of every legal source token j and head h (not b_O); the whole
/// behind the MLP is resid_post, its parts are mlp_out and resid_mid. In models that normalise behind the layer, or add to
/// the normalised stream, the whole is the sum itself and the stream's part is what is added to.
///
/// A decoder behind an encoder has a third sum in each layer: the whole behind its attention to the source is resid_mid_cross,
/// its parts are resid_mid and a_ij v_j W_O^h of every token j of the source and cross head h; the MLP then adds to that. What a
/// cross head reads of j is the encoder's last state of j (through its final norm, where it has one, as every head reads
/// through the norm in front of it), and that state is a sum like any other: the same definition goes on through the encoder.
struct AttentionShares {
    double residual = 0;         ///< part of the stream
    Eigen::MatrixXd from_heads;  ///< [head, key]; with `residual` sums to 1
};
struct MlpShares {
    double mlp = 0, residual = 0;
};
AttentionShares attention_shares(const trace::Trace&, Layer, Position);
/// Behind the attention to the source; `residual` is what was there behind the decoder's own. Error without a source.
AttentionShares cross_shares(const trace::Trace&, Layer, Position);
MlpShares mlp_shares(const trace::Trace&, Layer, Position);

enum class EdgeKind {
    attention,       ///< key -> query, through some heads
    residual,        ///< the token's own stream past the attention
    mlp,             ///< through the MLP
    mlp_residual,    ///< past the MLP
    cross,           ///< the encoder's last state of a token of the source -> token of the target, through some cross heads
    cross_residual,  ///< past the attention to the source
};

/// One edge of the graph: from the state of a token before the layer to a token's state behind attention, behind the
/// attention to the source, or behind the MLP.
struct ContributionEdge {
    EdgeKind kind = EdgeKind::attention;
    std::int64_t layer = 0;
    std::int64_t from = 0, to = 0;  ///< positions
    bool in_encoder = false;        ///< layer and positions are the encoder's; of `cross` only `from` is a position of the source
    double weight = 0;              ///< sum over heads
    std::vector<std::pair<std::int64_t, double>> heads;  ///< attention, cross: heads that stayed and their weights, largest first
};
const char* name_of(EdgeKind) noexcept;

struct ContributionOptions {
    double threshold = 0.04;  ///< parts (head and source token) below it are dropped
    bool renormalise = true;  ///< what stays sums to 1 again at each state
    std::int64_t from_layer = 0;
};

struct ContributionRequest {
    double least_share = ContributionOptions().threshold;
    bool keep_sizes = false;
};
void describe(Describes<ContributionRequest> auto& r, const auto& field) {
    field(Field{"least-share", "Threshold", "parts of a state under this share are dropped"}
              .within(0, 1)
              .slider(0.002, 0.5)
              .formerly("threshold"),
          r.least_share);
    field(Field{"keep-sizes", "Do not rescale what stays to a sum of 1", "do not rescale what stays to a sum of 1"},
          r.keep_sizes);
}

/// The part of the graph that reaches one token's last state, from the top down. Only states that something above still
/// uses are computed, one at a time: nothing of the size tokens x tokens x heads x width is made.
struct ContributionGraph {
    std::int64_t layers = 0, tokens = 0;
    std::int64_t source_layers = 0, source_tokens = 0;  ///< of the encoder that a decoder reads; 0: there is none
    Position target;
    double threshold = 0;
    std::vector<ContributionEdge> edges;  ///< from the last layer down, then by position; the encoder's behind the decoder's
};
/// Errors: a position that does not exist, a threshold that is not in [0, 1], layer 0 of a model with a convolution beside it.
ContributionGraph contribution_graph(const trace::Trace&, Position, const ContributionOptions& = {}, const CancelToken& = {},
                                     const Progress& = {});

/// Shares of one head over the text, as the map beside its attention map: [token, source token], before the threshold.
/// Costs a pass over every token of the layer.
Eigen::MatrixXd head_contribution_map(const trace::Trace&, HeadId, const CancelToken& = {});
/// The same of a head that reads the source, of the decoder's trace: [target, source].
Eigen::MatrixXd cross_contribution_map(const trace::Trace&, HeadId, const CancelToken& = {});

/// A row an edge, and one for each of its heads: [stack,] layer, kind, from, to, head, contribution, from_token, to_token.
/// `stack` only behind an encoder. The trace is that of the graph.
Table table_of(const ContributionGraph&, const trace::Trace&);

}  // namespace headlight::analyze
