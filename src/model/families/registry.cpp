// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/families/registry.h"

#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/model/model.h"
#include "model/load/config_reader.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace headlight::model {

std::span<const Family> families() {
    // One row per family; adding one: docs/adding-a-family.md.
    static const std::array kFamilies = {
        kBloom,      kGpt2,       kBert,       kLlama,      kMistral,    kQwen2,        kQwen3,
        kSmollm3,    kGranite,    kOlmo,       kOlmo2,      kStablelm,   kPhi3,         kGemma,
        kGemma2,     kGemma3,     kGptNeox,    kGptj,       kGptNeo,     kOpt,          kFalcon,
        kMpt,        kPhi,        kGptBigcode, kCohere,     kRoberta,    kDistilbert,   kElectra,
        kAlbert,     kModernbert, kMinistral,  kMinistral3, kOlmo3,      kStarcoder2,   kGlm,
        kGlm4,       kCohere2,    kErnie4_5,   kHelium,     kExaone4,    kSeedOss,      kNemotron,
        kArcee,      kApertus,    kHunyuan,    kMpnet,      kEsm,        kEurobert,     kModernbertDecoder,
        kQwen3Moe,   kOlmoe,      kGraniteMoe, kPhimoe,     kDeberta,    kDebertaV2,    kNomicBert,
        kMixtral,    kQwen2Moe,   kGptOss,     kDeepseekV2, kDeepseekV3, kT5,           kMt5,
        kBart,       kMbart,      kMarian,     kPegasus,    kM2m100,     kUmt5,         kVit,
        kDeit,       kClipText,   kClipVision, kDinov2,     kDinov3,     kSiglipVision, kDinov2Registers,
        kLongformer, kGlm4Moe,    kLlama4,     kLed,        kMamba2};
    return kFamilies;
}

std::vector<std::string> family_names() {
    std::vector<std::string> names;
    for (const Family& family : families()) names.emplace_back(family.name);
    return names;
}

std::string class_name(std::string_view model_type, bool whole) {
    for (const Family& family : families()) {
        if (family.model_type != model_type && std::ranges::find(family.other_types, model_type) == family.other_types.end())
            continue;
        for (const std::string_view each : family.architectures)
            if (each.ends_with("Model") != whole) return std::string(each);
        return std::string(family.architectures.front());
    }
    return {};
}

namespace {

/// "gemma3" of Gemma3ForConditionalGeneration and gemma3_text: what two models of one kind have in common.
std::string stem_of(std::string_view name) {
    for (const std::string_view part : {"For", "Text", "Model", "LMHead", "WithLMHead", "MTModel", "_"})
        if (const std::size_t at = name.find(part); at != std::string_view::npos && at > 0) name = name.substr(0, at);
    std::string stem(name);
    std::ranges::transform(stem, stem.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return stem;
}

/// A common beginning, or a slip of the keyboard: "Olmo3" and "Olmo2", not "Llava" and "Llama".
bool are_alike(const std::string& a, const std::string& b) {
    const std::size_t shorter = std::min(a.size(), b.size());
    const auto common = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
    return (common >= 3 && 4 * common >= 3 * shorter) || 6 * edit_distance(a, b) <= a.size();
}

/// The three nearest names of models that are like it: architectures or model types. Empty where no known model is.
std::string nearest_names(const std::string& name, bool architectures) {
    const std::string sought = name.substr(0, 200), stem = stem_of(sought);
    std::vector<std::pair<std::size_t, std::string>> scored;
    const auto add = [&](std::string_view known) {
        const std::string other = stem_of(known);
        if (are_alike(stem, other)) scored.emplace_back(1000 * edit_distance(stem, other) + edit_distance(sought, known), known);
    };
    for (const Family& family : families()) {
        if (!architectures) add(family.model_type);
        for (const std::string_view each : family.architectures)
            if (architectures) add(each);
    }
    return nearest_three(std::move(scored));
}

std::string listed() {
    std::string list;
    for (const std::string& name : family_names()) list += (list.empty() ? "" : ", ") + name;
    return list;
}

}  // namespace

const Family& family_for(const ConfigReader& config) {
    const std::string architecture = config.architecture();
    const std::string type = config.text({"model_type"}, "");
    for (const Family& family : families())
        if (std::ranges::find(family.architectures, architecture) != family.architectures.end()) return family;
    for (const Family& family : families())
        if (family.model_type == type || std::ranges::find(family.other_types, type) != family.other_types.end()) return family;
    const bool named = !architecture.empty();
    const std::string known = nearest_names(named ? architecture : type, named);
    const auto text = config.object_of_kind("text_config");
    const std::string wrapped = text ? "Its text model" +
                                           (text->has("model_type") ? " (" + text->text({"model_type"}) + ")" : "") +
                                           " is one part of it; models of several parts are not supported yet. "
                                     : "";
    if (const std::string_view why = why_unsupported(type); !why.empty())
        throw Error(ErrorFacts{.problem = "Models of this architecture are not supported",
                               .file = config.file().string(),
                               .item = "model_type",
                               .expected = known.empty() ? "a known one" : "a known one, such as " + known,
                               .found = named ? architecture + " (" + type + ")" : type,
                               .hint = std::string(why) + ". Which models open: docs/hooks.md, Families"});
    throw Error(ErrorFacts{.problem = "Unknown architecture",
                           .file = config.file().string(),
                           .item = named ? "architectures" : "model_type",
                           .expected = known.empty() ? "a known one" : "a known one, such as " + known,
                           .found = named          ? architecture
                                    : type.empty() ? "no such field"
                                                   : type,
                           .hint = wrapped + "Known families: " + listed() + ". How to add one: docs/adding-a-family.md"});
}

void add_unembedding(WeightMap& map, const ModelConfig& c) {
    if (c.tied_unembedding)
        map.ignored.push_back("*lm_head.weight");
    else
        map.rows.push_back({Slot::unembed, {"lm_head.weight"}, {c.vocab_size, c.d_model}, Layout::out_in});
}

bool generates(std::string_view architecture) {
    constexpr std::array<std::string_view, 3> kEndings{"ForConditionalGeneration", "WithLMHeadModel", "MTModel"};
    return architecture.empty() ||
           std::ranges::any_of(kEndings, [&](std::string_view ending) { return architecture.ends_with(ending); });
}

std::vector<std::string> embedding_names(bool decoder) {
    const std::string own = decoder ? "decoder" : "encoder", other = decoder ? "encoder" : "decoder";
    return {"shared.weight", own + ".embed_tokens.weight", other + ".embed_tokens.weight"};
}

void add_language_head(WeightMap& map, const ModelConfig& c, const std::string& name) {
    if (c.tied_unembedding) {
        map.ignored.push_back("*" + name);
        // Writers that store shared memory once may have used the name of the unembedding.
        for (WeightRow& row : map.rows)
            if (row.slot == Slot::embed) row.names.push_back(name);
        return;
    }
    const bool whole = c.architecture.ends_with("ForCausalLM") || c.architecture.ends_with("LMHeadModel");
    map.rows.push_back({Slot::unembed, {name}, {c.vocab_size, c.d_model}, Layout::out_in, !whole});
}

}  // namespace headlight::model
