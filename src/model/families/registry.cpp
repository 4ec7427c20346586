// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/families/registry.h"

#include "headlight/base/error.h"
#include "headlight/model/model.h"
#include "model/config_reader.h"

#include <algorithm>
#include <array>

namespace headlight::model {

std::span<const Family> families() {
    // One row per family; adding one: docs/adding-a-family.md.
    static const std::array kFamilies = {kBloom, kGpt2, kBert, kLlama};
    return kFamilies;
}

std::vector<std::string> family_names() {
    std::vector<std::string> names;
    for (const Family& family : families()) names.emplace_back(family.name);
    return names;
}

const Family& family_for(const ConfigReader& config) {
    const std::string architecture = config.architecture();
    const std::string type = config.text({"model_type"}, "");
    for (const Family& family : families())
        if (std::ranges::find(family.architectures, architecture) != family.architectures.end()) return family;
    for (const Family& family : families())
        if (family.model_type == type) return family;
    std::string known;
    for (const Family& family : families())
        for (const std::string_view name : family.architectures) known += (known.empty() ? "" : ", ") + std::string(name);
    const bool named = !architecture.empty();
    throw Error(ErrorFacts{.problem = "unknown architecture",
                           .file = config.file().string(),
                           .item = named ? "architectures" : "model_type",
                           .expected = "one of " + known,
                           .found = named ? architecture : type.empty() ? "no such field" : type});
}

void add_language_head(WeightMap& map, const ModelConfig& c, const std::string& name) {
    if (c.tied_unembedding) {
        map.ignored.push_back("*" + name);
        // Writers that store shared memory once may have chosen the unembedding's name for it.
        for (WeightRow& row : map.rows)
            if (row.slot == Slot::embed) row.names.push_back(name);
        return;
    }
    const bool whole = c.architecture.ends_with("ForCausalLM") || c.architecture.ends_with("LMHeadModel");
    map.rows.push_back({Slot::unembed, {name}, {c.vocab_size, c.d_model}, Layout::out_in, !whole});
}

}  // namespace headlight::model
