// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "model/families/family.h"

namespace headlight::model {

extern const Family kBloom, kGpt2, kBert, kLlama, kMistral, kQwen2, kQwen3, kSmollm3, kGranite, kOlmo, kOlmo2, kStablelm, kPhi3,
    kGemma, kGemma2, kGemma3, kGptNeox, kGptj, kGptNeo, kOpt, kFalcon, kMpt, kPhi, kGptBigcode, kCohere, kRoberta, kDistilbert,
    kElectra, kAlbert, kModernbert, kDeberta, kNomicBert, kMixtral, kQwen2Moe, kGptOss, kDeepseekV2, kDeepseekV3;
extern const Family kT5, kMt5, kBart, kMbart, kMarian;    // encoder-decoder
extern const Family kVit, kDeit, kClipText, kClipVision;  // pictures

/// The row of an untied unembedding, Linear layout; a tied one's stored copy is ignored by name. Base models without
/// a head ("…Model") may lack it, whole language models may not.
void add_language_head(WeightMap&, const ModelConfig&, const std::string& name);
/// The unembedding of an encoder-decoder model, "lm_head.weight": tied or not, there is one.
void add_unembedding(WeightMap&, const ModelConfig&);

}  // namespace headlight::model
