// SPDX-License-Identifier: GPL-3.0-or-later
// BART, mBART, Marian, Pegasus, M2M-100 (NLLB) and LED, encoder and decoder. BART: post-norm and a norm after the embedding;
// Marian: without the latter, with sinusoidal positions; mBART: pre-norm and a final norm; Pegasus and M2M-100: as mBART with
// sinusoidal positions, those of M2M-100 counted from the padding id on; LED (Beltagy et al. 2020): BART whose encoder has
// windows and whose stacks have as many positions each as they need, without global tokens.
#include "model/families/encoders/encoder_shape.h"
#include "model/families/registry.h"
#include "model/families/rows.h"
#include "model/load/config_reader.h"

#include <cmath>

namespace headlight::model {
namespace bart {

enum class Kin { bart, mbart, marian, pegasus, m2m, led };

std::int64_t token_id(const ConfigReader& json, std::string_view field, std::int64_t fallback) {
    return static_cast<std::int64_t>(json.signed_number({field}, static_cast<double>(fallback)));
}

ModelConfig stack_config(const ConfigReader& json, Kin kin, bool decoder) {
    json.require_flag("is_encoder_decoder", true, true);
    json.require_flag("share_encoder_decoder_embeddings", true, true);
    ModelConfig c;
    c.stack = decoder ? Stack::decoder : Stack::encoder;
    read_sizes(json, c, {decoder ? "decoder_layers" : "encoder_layers"}, {"d_model"},
               {decoder ? "decoder_attention_heads" : "encoder_attention_heads"});
    c.d_mlp = json.size({decoder ? "decoder_ffn_dim" : "encoder_ffn_dim"}, kMaxWidth);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    if (kin == Kin::led)
        c.context_length = json.size({decoder ? "max_decoder_position_embeddings" : "max_encoder_position_embeddings"},
                                     kMaxContext, decoder ? 1024 : 16384);
    else
        c.context_length = json.size({"max_position_embeddings"}, kMaxWidth);
    c.causal = decoder;
    c.post_norm = kin == Kin::bart || kin == Kin::marian || kin == Kin::led;
    c.embed_norm = kin == Kin::bart || kin == Kin::mbart || kin == Kin::led;
    c.final_norm = !c.post_norm;
    c.query_bias = true;
    c.has_unembedding = decoder && generates(json.architecture());
    c.tied_unembedding = c.has_unembedding && json.flag("tie_word_embeddings", true);
    c.activation = read_activation(json, "activation_function", kin == Kin::m2m ? "relu" : "gelu");
    if (json.flag("scale_embedding", kin == Kin::m2m)) c.embed_scale = std::sqrt(static_cast<double>(c.d_model));
    c.positions = Positions::learned;
    c.sinusoidal = kin == Kin::marian || kin == Kin::pegasus || kin == Kin::m2m;
    c.position_offset = c.sinusoidal || kin == Kin::led ? 0 : 2;
    if (kin == Kin::led && !decoder) read_attention_windows(json, c);
    if (kin == Kin::m2m) {
        c.sines_to_end = true;
        c.position_pad_id = token_id(json, "pad_token_id", 1);
        c.position_offset = c.position_pad_id + 1;
        if (c.position_pad_id < 0 || c.d_model < 4) json.wrong("pad_token_id", "a token id", std::to_string(c.position_pad_id));
    }
    if (!decoder) return c;
    const std::int64_t end = token_id(json, "eos_token_id", 2), begin = token_id(json, "bos_token_id", -1);
    c.start_ids = {token_id(json, "decoder_start_token_id", end)};
    // A first token that is always the same is not a prediction.
    if (begin >= 0 && token_id(json, "forced_bos_token_id", -1) == begin) c.start_ids.push_back(begin);
    return c;
}

template <Kin kin, bool decoder>
ModelConfig config(const ConfigReader& json) {
    return stack_config(json, kin, decoder);
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, inner = c.n_heads * c.d_head;
    const bool decoder = c.stack == Stack::decoder;
    const std::string stack = decoder ? "decoder." : "encoder.", layer = stack + "layers.#.";
    WeightMap map{.prefixes = {"model.", "led.", ""}, .ignored = {"*coder.embed_tokens.weight", "*coder.version"}};
    map.rows.push_back({Slot::embed, embedding_names(decoder), {c.vocab_size, d}});
    const bool may_hold_sines = c.sinusoidal && !c.post_norm && !c.sines_to_end;  // Pegasus
    if (c.sinusoidal && !may_hold_sines)
        map.ignored.emplace_back("*embed_positions.weight");
    else
        map.rows.push_back({.slot = Slot::pos_embed,
                            .names = {stack + "embed_positions.weight"},
                            .shape = {c.context_length + c.position_offset, d},
                            .optional = may_hold_sines});
    if (c.embed_norm) add_norm(map, Slot::embed_norm_gain, stack + "layernorm_embedding", d);
    LayerNames names{.at = layer,
                     .ln1 = "self_attn_layer_norm",
                     .ln2 = "final_layer_norm",
                     .qkv = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
                     .o = "self_attn.out_proj",
                     .mlp_in = "fc1",
                     .mlp_out = "fc2"};
    if (!c.windows.empty()) {
        const std::string inside = "self_attn.longformer_self_attn.";
        names.qkv = {inside + "query", inside + "key", inside + "value"};
        names.o = "self_attn.output";
        map.ignored.push_back("*_global.*");  // of tokens that attend globally, of which there are none
    }
    add_layers(map, c, names);
    if (decoder) {
        add_linear(map, Slot::cross_q_weight, layer + "encoder_attn.q_proj", inner, d);
        add_linear(map, Slot::cross_k_weight, layer + "encoder_attn.k_proj", inner, d);
        add_linear(map, Slot::cross_v_weight, layer + "encoder_attn.v_proj", inner, d);
        add_linear(map, Slot::cross_o_weight, layer + "encoder_attn.out_proj", d, inner);
        add_norm(map, Slot::ln_cross_gain, layer + "encoder_attn_layer_norm", d);
    }
    if (c.final_norm) add_norm(map, Slot::final_norm_gain, stack + "layer_norm", d);
    if (c.has_unembedding) {
        add_unembedding(map, c);
        // A buffer of zeros unless somebody trained it: many a file does not have it.
        map.rows.push_back(
            {.slot = Slot::unembed_bias, .names = {"final_logits_bias"}, .shape = {1, c.vocab_size}, .optional = true});
    } else if (decoder) {
        map.ignored.insert(map.ignored.end(), {"*lm_head.weight", "*final_logits_bias"});
    }
    return map;
}

Spec spec(const ModelConfig& c) {
    Spec s{.before = {Block::token_embedding, Block::position_embedding}, .layer = {Block::attention, Block::mlp}, .after = {}};
    if (c.embed_norm) s.before.push_back(Block::embedding_norm);
    if (c.final_norm) s.after.push_back(Block::final_norm);
    if (c.stack == Stack::decoder) {
        s.layer = {Block::attention, Block::cross_attention, Block::mlp};
        if (c.has_unembedding) s.after.push_back(Block::unembedding);
    }
    return s;
}

constexpr std::string_view kBartArchitectures[] = {"BartForConditionalGeneration"};
constexpr std::string_view kMbartArchitectures[] = {"MBartForConditionalGeneration"};
constexpr std::string_view kMarianArchitectures[] = {"MarianMTModel"};
constexpr std::string_view kPegasusArchitectures[] = {"PegasusForConditionalGeneration"};
constexpr std::string_view kLedArchitectures[] = {"LEDForConditionalGeneration"};
constexpr std::string_view kM2mArchitectures[] = {"M2M100ForConditionalGeneration"};

}  // namespace bart

const Family kBart = {"bart",
                      bart::kBartArchitectures,
                      "bart",
                      bart::config<bart::Kin::bart, true>,
                      bart::weight_map,
                      bart::spec,
                      bart::config<bart::Kin::bart, false>};
const Family kMbart = {"mbart",
                       bart::kMbartArchitectures,
                       "mbart",
                       bart::config<bart::Kin::mbart, true>,
                       bart::weight_map,
                       bart::spec,
                       bart::config<bart::Kin::mbart, false>};
const Family kMarian = {"marian",
                        bart::kMarianArchitectures,
                        "marian",
                        bart::config<bart::Kin::marian, true>,
                        bart::weight_map,
                        bart::spec,
                        bart::config<bart::Kin::marian, false>};
const Family kPegasus = {"pegasus",
                         bart::kPegasusArchitectures,
                         "pegasus",
                         bart::config<bart::Kin::pegasus, true>,
                         bart::weight_map,
                         bart::spec,
                         bart::config<bart::Kin::pegasus, false>};
const Family kM2m100 = {"m2m_100",
                        bart::kM2mArchitectures,
                        "m2m_100",
                        bart::config<bart::Kin::m2m, true>,
                        bart::weight_map,
                        bart::spec,
                        bart::config<bart::Kin::m2m, false>};

const Family kLed = {"led",
                     bart::kLedArchitectures,
                     "led",
                     bart::config<bart::Kin::led, true>,
                     bart::weight_map,
                     bart::spec,
                     bart::config<bart::Kin::led, false>};

}  // namespace headlight::model
