// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/families/registry.h"

#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/model/model.h"
#include "model/load/config_reader.h"

#include <algorithm>
#include <array>

namespace headlight::model {

std::span<const Family> families() {
    // One row per family; adding one: docs/adding-a-family.md.
    static const std::array kFamilies = {
        kBloom,   kGpt2,      kBert,    kLlama,      kMistral,  kQwen2,      kQwen3,      kSmollm3, kGranite, kOlmo,
        kOlmo2,   kStablelm,  kPhi3,    kGemma,      kGemma2,   kGemma3,     kGptNeox,    kGptj,    kGptNeo,  kOpt,
        kFalcon,  kMpt,       kPhi,     kGptBigcode, kCohere,   kRoberta,    kDistilbert, kElectra, kAlbert,  kModernbert,
        kDeberta, kNomicBert, kMixtral, kQwen2Moe,   kGptOss,   kDeepseekV2, kDeepseekV3, kT5,      kMt5,     kBart,
        kMbart,   kMarian,    kVit,     kDeit,       kClipText, kClipVision};
    return kFamilies;
}

std::vector<std::string> family_names() {
    std::vector<std::string> names;
    for (const Family& family : families()) names.emplace_back(family.name);
    return names;
}

namespace {

/// The three nearest names: architectures or model types.
std::string nearest_names(const std::string& name, bool architectures) {
    const std::string sought = name.substr(0, 200);
    std::vector<std::pair<std::size_t, std::string>> scored;
    for (const Family& family : families()) {
        if (!architectures) scored.emplace_back(edit_distance(sought, family.model_type), family.model_type);
        for (const std::string_view each : family.architectures)
            if (architectures) scored.emplace_back(edit_distance(sought, each), each);
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
        if (family.model_type == type) return family;
    const bool named = !architecture.empty();
    const std::string known = nearest_names(named ? architecture : type, named);
    throw Error(ErrorFacts{.problem = "Unknown architecture",
                           .file = config.file().string(),
                           .item = named ? "architectures" : "model_type",
                           .expected = "a known one, such as " + known,
                           .found = named          ? architecture
                                    : type.empty() ? "no such field"
                                                   : type,
                           .hint = "Known families: " + listed() + ". How to add one: docs/adding-a-family.md"});
}

void add_unembedding(WeightMap& map, const ModelConfig& c) {
    if (c.tied_unembedding)
        map.ignored.push_back("*lm_head.weight");
    else
        map.rows.push_back({Slot::unembed, {"lm_head.weight"}, {c.vocab_size, c.d_model}, Layout::out_in});
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
