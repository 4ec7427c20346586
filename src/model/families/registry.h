// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "model/families/family.h"

namespace headlight::model {

extern const Family kBloom, kGpt2, kBert, kLlama, kMistral, kQwen2, kQwen3, kSmollm3, kGranite, kOlmo, kOlmo2, kStablelm, kPhi3,
    kGemma, kGemma2, kGemma3, kGptNeox, kGptj, kGptNeo, kOpt, kFalcon, kMpt, kPhi, kGptBigcode, kCohere, kRoberta, kDistilbert,
    kElectra, kAlbert, kModernbert, kDeberta, kDebertaV2, kNomicBert, kMixtral, kQwen2Moe, kGptOss, kDeepseekV2, kDeepseekV3;
extern const Family kMinistral, kMinistral3, kOlmo3, kStarcoder2, kGlm, kGlm4, kCohere2, kErnie4_5, kHelium, kExaone4, kSeedOss,
    kNemotron, kArcee, kApertus, kHunyuan;
extern const Family kMamba2;  // without attention
extern const Family kMpnet, kEsm, kEurobert, kModernbertDecoder, kLongformer;
extern const Family kQwen3Moe, kOlmoe, kGraniteMoe, kPhimoe, kGlm4Moe, kLlama4;                              // with experts
extern const Family kT5, kMt5, kBart, kMbart, kMarian, kPegasus, kM2m100, kUmt5, kLed;                       // encoder-decoder
extern const Family kVit, kDeit, kClipText, kClipVision, kDinov2, kDinov2Registers, kDinov3, kSiglipVision;  // pictures

/// The name of a model type's whole class ("…ForCausalLM" or the like) or of its base class; "" where no family has the type.
std::string class_name(std::string_view model_type, bool whole);
/// Why models of this type are not supported; "" where nothing is known of it, or where they are.
std::string_view why_unsupported(std::string_view model_type);

/// The row of an untied unembedding, Linear layout; a tied one's stored copy is ignored by name. Base models without
/// a head ("…Model") may lack it, whole language models may not.
void add_language_head(WeightMap&, const ModelConfig&, const std::string& name);
/// The unembedding of an encoder-decoder model that has one, "lm_head.weight": tied or not.
void add_unembedding(WeightMap&, const ModelConfig&);
/// Whether an encoder-decoder class has a language head; a config.json that names no class is of one that has.
bool generates(std::string_view architecture);
/// The embedding that both stacks share; files that hold it once may do so under the name of either stack.
std::vector<std::string> embedding_names(bool decoder);

}  // namespace headlight::model
