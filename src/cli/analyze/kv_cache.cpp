// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/architecture/kv_cache.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"
#include "headlight/base/version.h"
#include "headlight/model/peek.h"

namespace headlight::cli {
namespace {

/// Types of the keys and values by name, for --cache-dtype.
constexpr std::pair<const char*, double> kTypes[] = {{"float16", 2}, {"bfloat16", 2}, {"float32", 4}, {"fp8", 1}, {"int4", 0.5}};

struct KvCacheCommand : Analysis {
    std::string type = "float16";
    analyze::KvCacheOptions options;

    void add(Definition& definition) {
        add_fields(definition, options);
        std::vector<std::string> words;
        for (const auto& [word, bytes] : kTypes) words.emplace_back(word);
        definition.add_choice("--cache-dtype", type, words, "--cache-bytes by the name of the type")
            ->excludes(definition.app->get_option("--cache-bytes"));
    }

    Result run(const Console&) const {
        analyze::KvCacheOptions asked = options;
        const bool named = cli_app->count("--cache-bytes") == 0;
        if (named) asked.bytes_per_element = std::ranges::find(kTypes, type, [](const auto& t) { return t.first; })->second;
        const model::ModelConfig config = model::read_config(model.folder());
        const analyze::KvCache cache = analyze::kv_cache(config, asked);
        Result found{.table = analyze::table_of(cache), .facts = {{"model", config.name}, {"version", std::string(version())}}};
        found.fact("n_layers", config.n_layers).fact("n_heads", config.n_heads).fact("n_kv_heads", config.n_kv_heads);
        found.fact("d_head", config.d_head);
        found.fact("cache_dtype", named ? Fact(type) : Fact(asked.bytes_per_element));
        return std::move(found.fact("batch", cache.batch));
    }
};

}  // namespace

Action define_analyze_kv_cache(Definition& definition, const Frontend&) {
    return define_analysis<KvCacheCommand>(definition, kConfig);
}

}  // namespace headlight::cli
