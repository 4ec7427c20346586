// SPDX-License-Identifier: GPL-3.0-or-later
// Can attention tell what is important? Attention of one position beside three measures of what its prediction really
// depends on. Jain & Wallace 2019 (1902.10186), Abnar & Zuidema 2020 (2005.00928), Kobayashi et al. 2020 (2004.10102).
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/fields.h"
#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/model/model.h"
#include "headlight/text/encoding.h"
#include "headlight/text/tokenizer.h"

#include <Eigen/Core>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headlight::analyze {

/// Which vectors x_j gradient x input is about.
enum class InputVectors {
    automatic,  ///< the stream where a norm follows the embedding, else the embedding
    embedding,  ///< rows of W_E. Behind them a norm takes out each row's length (BLOOM), so that x . dp/dx is about 0
    stream      ///< what enters the first layer: behind that norm, with positions
};

inline constexpr EnumRow<InputVectors> input_vectors[] = {{InputVectors::automatic, "auto", "As the model needs it"},
                                                          {InputVectors::embedding, "embedding", "Embedding"},
                                                          {InputVectors::stream, "stream", "Input of the first layer"}};
constexpr const auto& enum_rows(InputVectors) { return input_vectors; }

struct ImportanceOptions {
    /// The predicted token or class whose probability is asked about. Empty: the model's most probable one.
    std::optional<std::int64_t> target{};
    /// What a token is replaced by to blank it out. Empty: the tokenizer's mask, else its unknown, padding or end
    /// token.
    std::optional<std::int64_t> neutral{};
    InputVectors input = InputVectors::automatic;
    /// Encoder-decoder models: what the encoder reads. `encoding` is then the target with what stands before it.
    std::optional<text::Encoding> source{};
    bool blank_out = true;            ///< one pass a token
    std::int64_t permutations = 100;  ///< passes a layer; 0: no permutation test
    std::uint64_t seed = 0;
};

/// What is asked about a prediction. A number of shuffles of its own has each view and command.
struct ImportanceRequest {
    std::string target{};  ///< a token or class as typed; empty: the most probable one; "next": the one in the text
    InputVectors input = InputVectors::automatic;
    bool no_blank_out = false;
    std::int64_t permutations = ImportanceOptions().permutations;
    std::uint64_t seed = 0;
    bool operator==(const ImportanceRequest&) const = default;
};
void describe(Describes<ImportanceRequest> auto& r, const auto& field) {
    field(Field{"target", "Predicted token",
                "the predicted token, or class; next: the one in the text (default: the most probable one)"}
              .as(FieldKind::target),
          r.target);
    field(Field{"input", "Vectors of gradient × input",
                "vectors of gradient x input; auto: the stream where a norm follows the embedding"},
          r.input);
    field(Field{"no-blank-out", "Without blank-out", "leave out blank-out, which takes one pass a token"}, r.no_blank_out);
    field(
        Field{"permutations", "Shuffles", "shuffles of each layer's weights; 0: none"}.within(0, 1'000'000).formerly("shuffles"),
        r.permutations);
    field(Field{"seed", "Seed", "of the shuffles"}.within(0, 2147483647), r.seed);
}
/// Error for a token that does not exist. What the encoder reads is not among it.
ImportanceOptions importance_asked(const model::ModelConfig&, const text::Tokenizer&, const text::Encoding&, Position,
                                   const ImportanceRequest&);

/// How well one layer's attention orders the tokens as a measure of importance does. NaN where there is nothing to
/// order.
struct Agreement {
    double spearman = 0, kendall = 0;
};

struct LayerImportance {
    /// Attention (and |sum_h a v W_O|) of the layer against |gradient x input| and |blank-out|, over the tokens that
    /// the position may look at; tokens without a blank-out are left out there.
    Agreement attention_gradient, attention_blank, weighted_gradient, weighted_blank;
    /// Permutation test: total variation distance 1/2 sum |p - p'| between the prediction and the one after the weights
    /// of this position were shuffled among its keys, in every head of the layer; over the shuffles. NaN without them.
    double shuffled_low = 0, shuffled_median = 0, shuffled_high = 0;  ///< 10 %, 50 %, 90 %
    double largest_weight = 0;                                        ///< of the mean over heads
};

struct Importance {
    Position position;
    std::int64_t target = 0;
    double probability = 0;                        ///< of the target at the position
    InputVectors input = InputVectors::embedding;  ///< never automatic
    bool masked = false;                           ///< the position was read as the mask token (encoders)
    std::int64_t neutral = -1;                     ///< what tokens were replaced by; -1 without blank-out
    std::int64_t tokens = 0;                       ///< of the text that was read: up to the position in causal models
    /// Encoder-decoder models: so many of these, the first ones, are the source's; the rest is the target up to the position.
    std::int64_t source = 0;
    /// [tokens], all for the probability p of the target. gradient_x_input: x_j . dp/dx_j; gradient_norm: |dp/dx_j|;
    /// blank_out: p - p without the token (NaN for the position that is masked anyway).
    std::vector<double> gradient_x_input, gradient_norm, blank_out;
    /// [layer, token] of the position, mean over heads; of tokens of a source the cross attention's, which sums to 1 by itself.
    Eigen::MatrixXd attention;
    Eigen::MatrixXd value_weighted;             ///< [layer, token] |sum_h a_ij v_j W_O^h|
    std::vector<LayerImportance> layers;        ///< the attention to the own text, over its tokens
    std::vector<LayerImportance> cross_layers;  ///< the attention to the source, over its tokens; empty: there is none
};

/// Causal models predict the token after the position and read the text up to it; encoders read the whole text with the
/// mask token at the position (where the tokenizer has one) and predict it. Classifiers read the text as it is; the target is a
/// class, and the position the one that its head reads (model::class_position); of question answering the target is the start (0)
/// or end (1) of the answer, and its probability that of the position among all tokens. Of encoder-decoder models the decoder
/// predicts, and tokens of both texts are asked about. Errors: an encoder-decoder model without a source; no such position or
/// token; a model without unembedding; question answering by a causal model; blank-out without a neutral token. Progress counts
/// layers of passes.
Importance importance(const model::Model&, const text::Tokenizer&, const text::Encoding&, Position, const ImportanceOptions& = {},
                      const CancelToken& = {}, const Progress& = {});

/// Of one attention, by what a key is.
struct GradientByKey {
    std::vector<std::int64_t> group_tokens;  ///< keys in the group
    /// By group [layer, head]: mean of |d loss / d a_ij| (and of a_ij) over the pairs that the model may look at, j in
    /// the group; row 0 of causal models is left out. NaN for a group without keys.
    std::vector<Eigen::MatrixXd> gradient, weight;
};

/// Clark et al. 2019, section 3.1, figure 3: |d loss / d a_ij|. The loss is the mean of -ln p(next token) in causal
/// models; in encoders that of the original tokens where 15 % of them (seeded, at least one) are masked. Of an encoder-decoder
/// model the loss is that of the target's next tokens, and there is a gradient of each of its three attentions.
struct AttentionGradient : GradientByKey {
    double loss = 0;
    std::int64_t predicted = 0;  ///< tokens in the loss
    /// Whose column a key is, each key in one: "first" (position 0), "special" (other special tokens), "punctuation"
    /// ("." and ","), "other".
    std::vector<std::string> groups;
    /// Of the decoder's attention to the source and of the encoder's own: keys are tokens of the source, and every row counts.
    std::optional<GradientByKey> cross, encoder;
};
/// `source`: what the encoder reads; `encoding` is then the target with what stands before it.
/// Errors: no unembedding; nothing to predict (one token); an encoder whose tokenizer has no mask token; a decoder behind an
/// encoder without a source, and a source for another model.
AttentionGradient attention_gradient(const model::Model&, const text::Tokenizer&, const text::Encoding&, std::uint64_t seed = 0,
                                     const CancelToken& = {}, const Progress& = {},
                                     const std::optional<text::Encoding>& source = {});

/// A row a token: [text,] position, token_id, token, gradient_x_input, gradient_norm, blank_out, attention, value_weighted,
/// attention_layer_0, …. `text` only behind an encoder, whose `source` is then needed. NPZ also: attention_by_layer and
/// value_weighted_by_layer, [layer, token].
Table table_of(const Importance&, const text::Encoding&, const std::optional<text::Encoding>& source, const text::Tokenizer&);
/// Four rows a layer: [attention_to,] layer, measure, against, spearman, kendall, shuffled_low, shuffled_median, shuffled_high,
/// largest_weight.
Table layers_table(const Importance&);
/// A row for each head and group of keys: [attention,] layer, head, keys, number_of_keys, mean_abs_gradient, mean_weight.
Table table_of(const AttentionGradient&);

}  // namespace headlight::analyze
