// SPDX-License-Identifier: GPL-3.0-or-later
// Heads that lower the probability of what the text already said and the model is about to say again. McDougall et al.
// 2023, "Copy Suppression: Comprehensively Understanding an Attention Head" (2310.04625).
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/fields.h"
#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/trace/trace.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace headlight::analyze {

struct CopySuppressionOptions {
    double threshold = 0.1;            ///< pairs with more attention than this
    bool include_first_query = false;  ///< row 0 can only attend to itself
    double kept_share = 0.05;          ///< explained fraction: this share of the sources of a destination, at least one
    /// Decoder behind an encoder: its heads that read the source. Source and target have one vocabulary, so that a token of the
    /// source can be what the model is about to say; the lens reads the stream behind the decoder's own attention, and row 0,
    /// which attends to all of the source, counts like any other.
    bool of_source = false;
};

struct CopySuppressionRequest {
    double attention_above = CopySuppressionOptions().threshold;
    bool explained = false;  ///< how much of a head it is, by ablation
    double kept_share = CopySuppressionOptions().kept_share;
    CopySuppressionOptions options(bool of_source) const {
        return {.threshold = attention_above, .kept_share = kept_share, .of_source = of_source};
    }
};
void describe(Describes<CopySuppressionRequest> auto& r, const auto& field) {
    field(Field{"attention-above", "Attention above", "pairs with more attention than this"}.within(0, 1).formerly("threshold"),
          r.attention_above);
    field(Field{"explained", "Explained fraction", "how much of a head is copy suppression, by ablation"}, r.explained);
    field(Field{"kept-share", "Sources that stay", "share of a destination's sources that may stay"}.within(0, 1).when(
              r.explained, "--explained"),
          r.kept_share);
}

/// A source token that a destination attends to.
struct SuppressedPair {
    HeadId head;
    Position destination, source;
    double attention = 0;
    /// Rank of the source's token by the logit lens of the stream before the head's layer, 0: the top prediction.
    /// Small: the model was about to say it.
    std::int64_t predicted_rank = 0;
    /// The head's direct effect at the destination on the logit of the source's token, through the final norm of the
    /// run, and the number of tokens whose logit it lowers more: 0 is the most suppressed of all.
    double logit_change = 0;
    std::int64_t rank = 0;
    double pair_logit_change = 0;  ///< what this source alone adds of that: a_ds v_s W_O
};

/// Every pair above the threshold, by layer, head, destination, source. Empty `head`: of all heads.
/// The trace is the run: of an encoder-decoder model its decoder's, whose own heads look at the target.
/// Errors: the trace lacks z, v or the streams; models whose logits are not one norm and W_U behind the stream
/// (post-norm, masked-word head) or that have no unembedding; of_source for a model of one stack.
std::vector<SuppressedPair> suppressed_pairs(const trace::Trace&, std::optional<HeadId> head, const CopySuppressionOptions& = {},
                                             const CancelToken& = {}, const Progress& = {});

/// How much of a head is copy suppression: copy-suppression-preserving ablation. Every result vector a_ds v_s W_O is
/// projected onto its source token's unembedding and kept where the projection is negative, for the sources of each
/// destination that the logit lens before the layer ranks highest; everything else the head writes becomes its mean
/// over the destinations of this text (the paper takes the mean over a corpus). Row 0 is left as it is and out of all
/// means.
struct SuppressionExplained {
    HeadId head;
    std::int64_t pairs = 0;        ///< above the threshold
    double share_bottom_10 = 0;    ///< of the pairs: source among the ten tokens that the head lowers most; NaN without pairs
    double share_bottom_5pc = 0;   ///< among the lowest 5 % of the vocabulary
    double mean_logit_change = 0;  ///< NaN without pairs
    double kl_preserved = 0;       ///< mean over positions of KL(usual prediction || ablated but for copy suppression), nats
    double kl_ablated = 0;         ///< the same with the head's output replaced by its mean
    double explained = 0;          ///< 1 - kl_preserved / kl_ablated; NaN when the head does nothing
};
SuppressionExplained suppression_explained(const trace::Trace&, HeadId, const CopySuppressionOptions& = {},
                                           const CancelToken& = {});

/// layer, head, destination, destination_token, source, source_token_id, source_token, attention, predicted_rank,
/// logit_change, rank, pair_logit_change. The trace is that whose rows and columns the pairs are.
Table table_of(const std::vector<SuppressedPair>&, const trace::Trace&);
/// A row a head: layer, head, pairs, share_bottom_10, share_bottom_5_percent, mean_logit_change, kl_preserved, kl_ablated,
/// explained.
Table table_of(const std::vector<SuppressionExplained>&);

}  // namespace headlight::analyze
