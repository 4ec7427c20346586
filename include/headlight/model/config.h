// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/enum_table.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace headlight::model {

/// relative: a bias of the score by the bucketed distance of query and key (T5).
enum class Positions { learned, alibi, rotary, none, relative };
enum class Norm { layer_norm, rms_norm };
/// gelu: erf form; gelu_tanh: tanh form (GPT-2's gelu_new); gelu_bloom: the same with sqrt(2/pi) cut to 0.79788456.
/// quick_gelu: x sigmoid(1.702 x) (CLIP). relu_squared: max(x, 0)^2 (Nemotron). xielu: with two parameters of each layer
/// (Huang and Schlag 2024, Apertus).
enum class Activation { gelu, gelu_tanh, gelu_bloom, relu, silu, quick_gelu, tanh, relu_squared, xielu };
enum class RopeScaling { none, linear, llama3, dynamic, yarn, longrope };
/// What a norm of queries and keys runs over: nothing; each head's d_head with one gain for all heads (Qwen 3, Gemma 3) or
/// with one for each (Cohere, StableLM); all heads' numbers together (OLMo 2).
enum class QkNorm { none, head, each_head, whole };
/// Which frequencies a layer rotates with. `none`: it does not rotate (SmolLM3).
enum class LayerRope { global, local, none };
/// ALiBi's variants: slopes in the order of Press et al. (BLOOM) or of MPT if the number of heads is no power of two; Falcon's
/// are BLOOM's, with slope, position and their product rounded to bfloat16, and scaled as the scores are.
enum class Alibi { bloom, mpt, falcon };

/// Frequencies of a rotation (Su et al. 2021) and how they are stretched for long texts.
struct Rope {
    double theta = 10000.0;
    RopeScaling scaling = RopeScaling::none;
    double factor = 1.0;                                   ///< linear, llama3, dynamic, yarn
    double low_freq_factor = 1.0, high_freq_factor = 4.0;  ///< llama3
    std::int64_t original_context = 0;                     ///< llama3, yarn, longrope; dynamic: longer texts are stretched
    double beta_fast = 32.0, beta_slow = 1.0;              ///< yarn
    bool truncate = true;                                  ///< yarn: whole dimensions at both ends of the ramp
    double attention_factor = 1.0;                         ///< yarn, longrope: cos and sin are multiplied with it
    double far_attention_factor = 0;  ///< longrope: in texts beyond the original context instead of it (PhiMoE); 0: the same
    std::vector<double> short_factors = {}, long_factors = {};  ///< longrope: one for each frequency
};

/// The part of a model that a configuration describes. An encoder-decoder model has three: the decoder is the model and owns
/// the other two (Model::part). `cross`: the decoder's attentions to the encoder's output, layers of attention alone.
enum class Stack { whole, decoder, encoder, cross };
/// The attentions one chooses from; a whole model reads as its decoder.
inline constexpr EnumRow<Stack> stacks[] = {
    {Stack::decoder, "self", "Decoder", "The decoder's own attention: the target attends to itself"},
    {Stack::encoder, "encoder", "Encoder", "The encoder's attention: the source attends to itself"},
    {Stack::cross, "cross", "Cross", "Cross attention: the target attends to the source"}};
constexpr const auto& enum_rows(Stack) { return stacks; }

/// An MLP made of experts, of which a router chooses some for every token (Shazeer et al. 2017). The layer's hidden units are
/// those of all experts one after another, then those of the shared expert.
struct Experts {
    std::int64_t count = 0;          ///< of a layer, without the shared one; 0: the MLPs have no experts
    std::int64_t chosen = 0;         ///< for each token
    std::int64_t width = 0;          ///< hidden units of one
    std::int64_t shared_width = 0;   ///< hidden units of the one that every token goes through; 0: there is none
    bool shared_gate = false;        ///< its output is weighted too, by a sigmoid (Qwen2-MoE)
    bool normalized = false;         ///< the weights of the chosen are divided by their sum
    bool sigmoid = false;            ///< weights are sigmoids of the router's logits (DeepSeek-V3), not their softmax
    double scale = 1.0;              ///< factor of the final weights (DeepSeek's routed_scaling_factor)
    std::int64_t groups = 0;         ///< groups of experts; a token chooses groups first; 0: none
    std::int64_t groups_chosen = 0;  ///< for each token
    std::int64_t group_best = 1;     ///< a group's score is the sum of this many best experts
    bool correction = false;         ///< a bias per expert is added while choosing, not to the weights (DeepSeek-V3)
    bool weighs_input = false;       ///< an expert reads its input times its weight, and what it gives has none (Llama 4)
    std::int64_t dense_width = 0;    ///< hidden units of layers without experts
    double mixer_jitter = 0;    ///< experts are chosen one after another by SparseMixer, see blocks/experts.cpp; 0: not (PhiMoE)
    bool wide_router = false;   ///< the router's product is in float32 in a bfloat16 run (DeepSeek)
    bool wide_weights = false;  ///< the weights of the chosen stay float32 there (Mixtral, DeepSeek)
    std::vector<bool> layers = {};  ///< [layer] has experts; empty: all have
    std::int64_t units() const noexcept { return count * width + shared_width; }
};

/// Disentangled attention (DeBERTa, He et al. 2021, section 3.1): score = scale (q_i.k_j + q_i.K_r + k_j.Q_r). K_r and Q_r are
/// projections of row r of one table of relative embeddings; r follows from the distance i - j.
struct Disentangled {
    bool content_to_position = false;  ///< the term q_i.K_r
    bool position_to_content = false;  ///< the term k_j.Q_r
    bool shared_projections = false;   ///< K_r and Q_r are made with the layer's W_K and W_Q (share_att_key)
    bool by_layer = false;          ///< K_r = Q_r is row r of a table of the layer's own, one for all heads (BERT's relative_key,
                                    ///< Huang et al. 2020)
    bool normed = false;            ///< the table goes through a LayerNorm first
    std::int64_t span = 0;          ///< the table has 2 span rows; by layer: 2 span - 1
    std::int64_t buckets = 0;       ///< distances beyond buckets / 2 share rows by their logarithm; 0: each has its own
    std::int64_t max_distance = 0;  ///< of the buckets: farther distances share the last row
    bool any() const noexcept { return content_to_position || position_to_content; }
};
/// Row of the table for query - key, in [0, 2 span); grows with the distance.
std::int64_t relative_row(const Disentangled&, std::int64_t distance) noexcept;

/// A convolution over the tokens beside layer 0 (the larger DeBERTa-v2; "nGram induced input encoding" in the words
/// of its authors): it reads what the layer read, and the stream goes on as LN(layer's output + act(conv)).
struct Convolution {
    std::int64_t width = 0;   ///< tokens of the kernel, an odd number; 0: there is none
    std::int64_t groups = 1;  ///< channel groups, as in a grouped convolution
    Activation activation = Activation::tanh;
    bool any() const noexcept { return width > 0; }
};

/// What the logits of a model are of.
enum class HeadKind {
    none,
    language_model,
    masked_language_model,
    image_classifier,
    sequence_classifier,
    token_classifier,
    question_answering,
    multiple_choice
};
inline constexpr EnumRow<HeadKind> head_kinds[] = {
    {HeadKind::none, "none", "No logits"},
    {HeadKind::language_model, "language model", "Logits of the next token"},
    {HeadKind::masked_language_model, "masked language model", "Logits of a masked token"},
    {HeadKind::image_classifier, "image classifier", "Logits of a picture's classes"},
    {HeadKind::sequence_classifier, "sequence classifier", "Logits of a text's classes"},
    {HeadKind::token_classifier, "token classifier", "Logits of each token's classes"},
    {HeadKind::question_answering, "question answering", "Logits of each token as start and end of the answer"},
    {HeadKind::multiple_choice, "multiple choice", "A text's score as one of several choices"}};
constexpr const auto& enum_rows(HeadKind) { return head_kinds; }

/// Which rows of the stream the classes of a text are read from: all of them, each for itself; the first ([CLS]); the last that
/// is no padding; the mean of all; that of the source's last end token (mBART, whose language token comes after it). Of a
/// picture: the mean of its patches (CLIP, SigLIP); [CLS] and behind it the mean of its patches, one vector of 2 d_model
/// (DINOv2).
enum class ClassRow { every, first, last, mean, end, patches, class_and_patches };

/// The head of a model that classifies texts or tokens, marks answers, or classifies pictures by more than their [CLS]. It reads
/// the stream behind the final norm, where there is one: an optional dense layer with its activation (BERT calls it the pooler)
/// and an optional norm, then the classifier, which is the unembedding. The classes are ModelConfig::labels; a choice among
/// several texts has one, its score.
struct ClassHead {
    HeadKind kind = HeadKind::none;  ///< none: the model has no such head
    ClassRow reads = ClassRow::first;
    bool dense = false;                        ///< d_model to d_model
    bool norm = false;                         ///< a LayerNorm behind the activation (ModernBERT)
    Activation activation = Activation::tanh;  ///< of the dense layer
    std::int64_t pad_id = -1;                  ///< ClassRow::last: tokens that do not count; -1: all count
    std::int64_t end_id = -1;                  ///< ClassRow::end: the end token
    bool wraps = false;                        ///< the decoder starts with the source's last token (mBART), not with start_ids
    bool independent = false;                  ///< several classes may be right: sigmoids of the logits, not their softmax
    bool any() const noexcept { return kind != HeadKind::none; }
};

/// Queries are multiplied by 1 + beta ln(1 + floor(position / context)), so that softmax stays sharp in long texts (Llama 4,
/// Ministral 3).
struct QueryGrowth {
    double beta = 0;  ///< 0: they are not
    std::int64_t context = 0;
    std::int64_t first = 0;  ///< position of the first token
    bool unrotated = false;  ///< only in layers that do not rotate (Llama 4)
    bool any() const noexcept { return beta != 0; }
};

/// Multi-head latent attention (DeepSeek-V2 2024, section 2.1): keys and values are made of one narrow vector for each token,
/// normalised, which is what a cache would keep. The first numbers of a query and a key are of content; the others rotate, and
/// those of the key are one vector for all heads: score = scale (content_i.content_j + rotary_i.rotary_j).
struct Latent {
    std::int64_t rank = 0;        ///< numbers of the latent of keys and values; 0: the model has none
    std::int64_t query_rank = 0;  ///< numbers of the latent that queries are made of; 0: they are made of the stream
    std::int64_t content = 0;     ///< numbers of a head's query and key that are of content; rope_dims are the others
    double epsilon = 1e-6;        ///< of the latents' norms
    bool any() const noexcept { return rank > 0; }
};

/// How a layer mixes tokens. attention: softmax of scores. state_space: the update of a state that is linear in its inputs
/// (Mamba-2, Dao and Gu 2024); unrolled it is a map of signed weights from token to token, the layer's implied attention.
enum class Mixer { attention, state_space };

/// Layers of Mixer::state_space. n_heads heads have states of value_width() x d_head numbers; queries (C) and keys (B) are of
/// `groups`, each written out for the heads that read it, so n_kv_heads is n_heads. The weight of key j for query t is
/// (q_t.k_j) step_j exp(sum of rate step_s for s = j + 1 ... t), where rate < 0 is the head's own.
struct StateSpace {
    std::int64_t groups = 1;                   ///< of queries and keys; a divisor of the heads
    std::int64_t conv_width = 0;               ///< tokens of the causal convolution before the update, its own included
    bool conv_bias = true;                     ///< the convolution has a bias
    Activation activation = Activation::silu;  ///< behind the convolution; the gate's is SiLU
    double least_step = 0, largest_step = std::numeric_limits<double>::infinity();  ///< steps are cut to these
    std::int64_t norm_groups = 1;  ///< parts of the output, each with a scale of its own in the norm behind the gate
    /// Numbers that the convolution runs over: those of values, keys and queries.
    std::int64_t conv_channels(std::int64_t values, std::int64_t d_state) const noexcept { return values + 2 * groups * d_state; }
};

/// Everything about a model that is not a weight, whatever the family calls it. Filled by a family's parse_config.
struct ModelConfig {
    std::string family;        ///< registry name: "bloom", "gpt2", "bert", "llama"
    std::string architecture;  ///< as config.json says: "BloomForCausalLM"
    std::string name;          ///< display name: the folder's name

    std::int64_t n_layers = 0;
    std::int64_t d_model = 0;
    std::int64_t n_heads = 0;     ///< query heads
    std::int64_t n_kv_heads = 0;  ///< key/value heads; query head h reads kv head h / (n_heads / n_kv_heads)
    std::int64_t d_head = 0;      ///< width of a query and a key; value_width() of a value
    std::int64_t d_mlp = 0;       ///< the widest if layers differ; see mlp_width()
    std::int64_t vocab_size = 0;
    std::int64_t type_vocab_size = 0;  ///< token types (BERT); 0: none
    std::int64_t d_embed = 0;          ///< width of the embeddings where a product widens them (ALBERT, ELECTRA); 0: d_model
    /// OPT-350M: width of the embeddings in the file; W_E and W_U are their products with two projections. 0: as d_embed says.
    std::int64_t d_factored = 0;

    std::int64_t context_length = 0;    ///< positions the model was trained for; 0: unknown
    bool context_is_hard_limit = true;  ///< false for ALiBi and rotary: longer input runs with a warning

    bool causal = true;
    bool post_norm = false;             ///< BERT: resid_mid = LN(x + attn_out)
    bool embed_norm = false;            ///< BLOOM, BERT: LayerNorm right after the embedding
    bool residual_after_norm = false;   ///< BLOOM's apply_residual_connection_post_layernorm
    bool gated_mlp = false;             ///< Llama: post = act(pre) * pre_linear
    bool parallel = false;              ///< attention and MLP read the same stream: resid_post = resid_pre + attn_out + mlp_out
    bool shared_norm = false;           ///< parallel: the MLP reads ln1's output, there is no ln2
    bool input_norm = true;             ///< not post-norm: attention and MLP read the stream through ln1 and ln2 (OLMo 2: false)
    bool branch_norm = false;           ///< ln1_post, ln2_post: outputs of attention and MLP are normalised before they are added
    bool first_layer_unnormed = false;  ///< ModernBERT: attention of layer 0 reads the stream as it is
    bool query_bias = false;            ///< q, k and v have biases
    bool out_bias = false;              ///< Seed-OSS: the output of attention has one, whatever q, k and v have
    bool mlp_bias = true;
    bool final_norm = true;
    bool tied_unembedding = false;
    bool unembed_bias = false;    ///< Phi-MoE: the unembedding has one where the file says so
    bool has_unembedding = true;  ///< false: no logits (sentence encoders); see head_of()
    bool mlm_head = false;        ///< BERT: dense, activation and LayerNorm before the unembedding

    Norm norm = Norm::layer_norm;
    double norm_epsilon = 1e-5;
    bool norm_gain = true;  ///< false: norms without any parameter (OLMo)
    Activation activation = Activation::gelu;
    Activation mlm_activation = Activation::gelu;  ///< of the masked-word head
    /// ESM: rows of this token are 0, and the others of a text are multiplied by kept_share / (1 - the token's share of the
    /// text).
    std::int64_t dropped_token = -1;
    double kept_share = 1.0;
    double embed_scale = 1.0;     ///< hook_embed is the embedding's row times this (Gemma, Granite)
    double residual_scale = 1.0;  ///< factor of attention and MLP outputs (Granite); in W_O, b_O, W_out, b_out
    bool layer_scale = false;     ///< a factor of each of their numbers (Touvron et al. 2021; DINOv2); in the same
    double logit_scale = 1.0;     ///< logits are the unembedded times this (Cohere, Granite); in the final norm's gain and bias
    QkNorm qk_norm = QkNorm::none;
    Norm qk_norm_kind = Norm::rms_norm;
    bool norm_after_rotation = false;  ///< queries and keys are normalised behind the rotation (HunYuan), not before it
    bool qk_norm_gain = true;          ///< that norm has a gain (Llama 4: not)
    bool norm_rotated = false;         ///< only layers that rotate have that norm (Llama 4)
    double qkv_clip = 0;               ///< q, k and v are clamped to +-this (OLMo); 0: not
    bool clip_normed = false;          ///< q and k behind their norm (OLMoE)
    Positions positions = Positions::learned;
    std::int64_t position_offset = 0;   ///< learned: row of the first position (OPT 2, RoBERTa pad id + 1)
    std::int64_t position_pad_id = -1;  ///< learned: this token has no position and takes row position_offset - 1
    Alibi alibi = Alibi::bloom;
    double alibi_max = 8;               ///< MPT: slopes are 2^(-alibi_max i / heads)
    Rope rope, local_rope;              ///< local: of layers with LayerRope::local
    std::int64_t rope_dims = 0;         ///< rotated part of d_head, from first_rotated() on
    bool rope_interleaved = false;      ///< pairs are neighbours (GPT-J) and not a half apart (Llama)
    std::vector<LayerRope> layer_rope;  ///< [layer]; empty: all global
    QueryGrowth query_growth;           ///< behind the rotation
    /// [layer] queries see keys nearer than this: |query - key| < window; 0: no limit; less than 0: keys of their own chunk of as
    /// many tokens (Llama 4). Empty: no limit anywhere.
    std::vector<std::int64_t> windows;
    double score_scale = 1.0;     ///< score = score_scale_of() * q.k + bias; 1/sqrt(d_head) in most models
    bool scale_by_layer = false;  ///< layer l divides it by l + 1 (GPT-2's scale_attn_by_inverse_layer_idx)
    bool wide_scores = false;     ///< scores stay float32 in a bfloat16 run (GPT-2's reorder_and_upcast_attn)
    double score_softcap = 0;     ///< score = cap tanh(that / cap) before masking (Gemma 2); 0: none
    double final_softcap = 0;     ///< logits = cap tanh(unembedded / cap) (Gemma 2); 0: none

    // Encoder-decoder models.
    Stack stack = Stack::whole;
    bool sinusoidal = false;    ///< Positions::learned with a table of sines that no file holds (Marian)
    bool sines_to_end = false;  ///< whose last frequency is 1/10000, and whose row of padding is 0 (M2M-100)
    /// Positions::relative; MPNet has the bias beside learned positions. 0: there is none.
    std::int64_t relative_buckets = 0, relative_max_distance = 0;
    bool relative_by_layer = false;       ///< each layer has a table of its own (UMT5), not one for all (T5)
    std::vector<std::int64_t> start_ids;  ///< decoder: tokens before the target

    Experts experts;
    double mlp_clamp =
        0;  ///< gated: the gate is cut above it, the linear branch to +- it and then 1 larger (GPT-OSS); 0: neither
    bool attention_sinks = false;  ///< each head has a learned score without a key in its softmax (GPT-OSS)

    // Models that read a picture: their tokens are its patches, row by row, after the class tokens.
    std::int64_t patch_size = 0;                     ///< side of a patch in pixels; 0: the model reads text
    std::int64_t image_height = 0, image_width = 0;  ///< pixels; those beyond whole patches are not read
    std::int64_t class_tokens = 0;                   ///< learned rows before the patches: [CLS], DeiT's [DIST], registers
    std::int64_t registers = 0;                      ///< how many of these, the last ones, are registers (Darcet et al. 2024)
    /// The file's positions are of so many rows and columns of patches, interpolated to the picture's (DINOv2); 0: they fit.
    std::int64_t table_side = 0;
    bool smooth_table = false;  ///< with a filter against aliasing (DINOv2 with registers)
    bool patch_bias = true;
    std::int64_t d_projection = 0;  ///< CLIP: width that both towers are projected to; 0: no projection

    std::vector<std::string> labels;  ///< classes that the logits are of (id2label); empty: they are of the vocabulary
    ClassHead class_head;             ///< of a model that classifies texts, or pictures by several rows
    std::string other_head;           ///< a tensor of a head that is not computed and takes the unembedding's place; "": none

    Disentangled disentangled;    ///< DeBERTa's terms of the score; beside `positions`
    Convolution convolution;      ///< DeBERTa's, beside layer 0
    bool legacy_mlm_head = true;  ///< DeBERTa: which masked-word head counts where a file holds both (its `legacy`)

    std::vector<Mixer> mixers;  ///< [layer]; empty: attention in all
    StateSpace state_space;

    Latent latent;
    std::int64_t d_value = 0;  ///< width of a head's values and outputs where it is not d_head (DeepSeek); 0: d_head
};

/// Numbers of a head's values, and of what it mixes of them.
inline std::int64_t value_width(const ModelConfig& c) noexcept { return c.d_value > 0 ? c.d_value : c.d_head; }
inline Mixer mixer_of(const ModelConfig& c, std::int64_t layer) noexcept {
    return c.mixers.empty() ? Mixer::attention : c.mixers[static_cast<std::size_t>(layer)];
}
/// The layer has an implied map in the place of a pattern: signed weights, whose rows do not sum to 1.
inline bool has_implied_map(const ModelConfig& c, std::int64_t layer) noexcept { return mixer_of(c, layer) != Mixer::attention; }
/// Some layer has.
inline bool has_implied_maps(const ModelConfig& c) noexcept {
    return std::ranges::any_of(c.mixers, [](Mixer mixer) { return mixer != Mixer::attention; });
}
/// The first of a head's numbers that rotate.
inline std::int64_t first_rotated(const ModelConfig& c) noexcept { return c.latent.any() ? c.latent.content : 0; }

/// The scores have a bias by the bucketed distance of query and key.
inline bool has_relative_bias(const ModelConfig& c) noexcept { return c.relative_buckets > 0; }
/// Scores have a position term added to q.k (a rotation is not one).
inline bool has_position_term(const ModelConfig& c) noexcept {
    return c.positions == Positions::alibi || has_relative_bias(c) || c.disentangled.any();
}

inline bool reads_pictures(const ModelConfig& c) noexcept { return c.patch_size > 0; }
/// The logits are of classes, not of tokens.
inline bool has_classes(const ModelConfig& c) noexcept { return c.has_unembedding && !c.labels.empty(); }
/// Numbers of a row of logits.
inline std::int64_t logit_count(const ModelConfig& c) noexcept {
    return c.labels.empty() ? c.vocab_size : static_cast<std::int64_t>(c.labels.size());
}
/// The logits are of the token at each position itself, seen from both sides.
inline bool fills_masks(const ModelConfig& c) noexcept { return c.has_unembedding && !c.causal && !has_classes(c); }
inline HeadKind head_of(const ModelConfig& c) noexcept {
    return !c.has_unembedding   ? HeadKind::none
           : c.class_head.any() ? c.class_head.kind
           : reads_pictures(c)  ? HeadKind::image_classifier
           : fills_masks(c)     ? HeadKind::masked_language_model
                                : HeadKind::language_model;
}
/// The classes are read from several rows together: every row of the logits is the output, and none is that of its position.
inline bool reads_mean(const ModelConfig& c) noexcept {
    return c.class_head.reads == ClassRow::mean || c.class_head.reads == ClassRow::patches ||
           c.class_head.reads == ClassRow::class_and_patches;
}
/// Vectors of d_model numbers that the classifier reads, one behind the other.
inline std::int64_t head_parts(const ModelConfig& c) noexcept {
    return c.class_head.reads == ClassRow::class_and_patches ? 2 : 1;
}
/// A layer that is not linear stands between the stream and the unembedding.
inline bool has_dense_head(const ModelConfig& c) noexcept { return c.mlm_head || c.class_head.dense; }
inline std::int64_t patch_rows(const ModelConfig& c) noexcept { return c.patch_size > 0 ? c.image_height / c.patch_size : 0; }
inline std::int64_t patch_columns(const ModelConfig& c) noexcept { return c.patch_size > 0 ? c.image_width / c.patch_size : 0; }
/// Patches that the file's table of positions is of.
inline std::int64_t table_patches(const ModelConfig& c) noexcept {
    return c.table_side > 0 ? c.table_side * c.table_side : patch_rows(c) * patch_columns(c);
}
inline constexpr std::int64_t kColours = 3;  ///< of a pixel: red, green, blue

/// The encoder and the decoder of one model have different layers, heads and hooks; a decoder's layers have a second attention.
inline bool has_cross_attention(const ModelConfig& c) noexcept { return c.stack == Stack::decoder; }

/// Keys [first, last) that a query may see.
struct KeyRange {
    std::int64_t first = 0, last = 0;
    std::int64_t count() const noexcept { return last - first; }
    bool has(std::int64_t key) const noexcept { return key >= first && key < last; }
    auto operator<=>(const KeyRange&) const = default;
};
/// `window` as in ModelConfig::windows.
inline KeyRange legal_keys(std::int64_t query, std::int64_t keys, bool causal, std::int64_t window) noexcept {
    KeyRange range{0, causal ? std::min(query + 1, keys) : keys};
    if (window == 0) return range;
    if (window < 0) {
        range.first = std::min(query / -window * -window, range.last);
        range.last = std::min(range.last, range.first - window);
        return range;
    }
    range.first = std::clamp<std::int64_t>(query - window + 1, 0, range.last);
    range.last = std::min(range.last, query + window);
    return range;
}
inline std::int64_t window_of(const ModelConfig& c, std::int64_t layer) noexcept {
    return c.windows.empty() ? 0 : c.windows[static_cast<std::size_t>(layer)];
}
inline double score_scale_of(const ModelConfig& c, std::int64_t layer) noexcept {
    return c.scale_by_layer ? c.score_scale / static_cast<double>(layer + 1) : c.score_scale;
}
inline LayerRope rope_of(const ModelConfig& c, std::int64_t layer) noexcept {
    return c.layer_rope.empty() ? LayerRope::global : c.layer_rope[static_cast<std::size_t>(layer)];
}
/// Queries and keys of the layer go through a norm.
inline bool has_qk_norm(const ModelConfig& c, std::int64_t layer) noexcept {
    return c.qk_norm != QkNorm::none && !(c.norm_rotated && rope_of(c, layer) == LayerRope::none);
}
/// True if the sublayer reads the stream through a norm.
inline bool norm_before_attention(const ModelConfig& c, std::int64_t layer) noexcept {
    return !c.post_norm && c.input_norm && !(c.first_layer_unnormed && layer == 0);
}
inline bool norm_before_mlp(const ModelConfig& c) noexcept { return !c.post_norm && c.input_norm; }
inline bool has_experts(const ModelConfig& c, std::int64_t layer) noexcept {
    return c.experts.count > 0 && (c.experts.layers.empty() || c.experts.layers[static_cast<std::size_t>(layer)]);
}
/// Hidden units of a layer's MLP.
inline std::int64_t mlp_width(const ModelConfig& c, std::int64_t layer) noexcept {
    if (c.experts.count == 0) return c.d_mlp;
    return has_experts(c, layer) ? c.experts.units() : c.experts.dense_width;
}
/// The routed expert of a hidden unit; -1: none, it is active for every token.
inline std::int64_t expert_of(const ModelConfig& c, std::int64_t layer, std::int64_t unit) noexcept {
    return has_experts(c, layer) && unit < c.experts.count * c.experts.width ? unit / c.experts.width : -1;
}
/// False: the layer ends behind what mixes its tokens (Mamba-2).
inline bool has_mlp(const ModelConfig& c, std::int64_t layer) noexcept {
    return !has_implied_map(c, layer) || mlp_width(c, layer) > 0;
}
/// The layer whose output a convolution is added to.
inline bool has_convolution(const ModelConfig& c, std::int64_t layer) noexcept { return c.convolution.any() && layer == 0; }
inline std::int64_t embedding_width(const ModelConfig& c) noexcept { return c.d_embed > 0 ? c.d_embed : c.d_model; }
/// How a layer differs from others: "local 512", "global", "no rotation", "experts"; "" if all layers are alike.
std::string layer_label(const ModelConfig&, std::int64_t layer);

/// Error where some layer has an implied map: `what` ("Sweeps") needs softmax attention in all.
void require_attention(const ModelConfig&, const std::string& what);
/// The same of one layer.
void require_attention(const ModelConfig&, std::int64_t layer, const std::string& what);
/// Why a view of attention has nothing to show of such a model; "" where all layers have attention.
std::string why_no_attention(const ModelConfig&);

}  // namespace headlight::model
