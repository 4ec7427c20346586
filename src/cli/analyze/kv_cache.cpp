// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/architecture/kv_cache.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"
#include "headlight/base/version.h"
#include "headlight/model/peek.h"

namespace headlight::cli {
namespace {

struct KvCacheCommand : Analysis {
    std::string contexts, type = "float16";
    analyze::KvCacheOptions options;

    void add(Definition& definition) {
        add_value(definition, "--context", contexts, "tokens in the cache: 4096,32768 (default: powers of two)", "LIST");
        const auto number = [&](const char* flag, std::int64_t& value, const char* help) {
            add_value(definition, flag, value, help, "N")->check(CLI::PositiveNumber);
        };
        number("--batch", options.batch, "texts at the same time");
        definition.add_choice("--cache-dtype", type, {"float16", "bfloat16", "float32", "fp8", "int4"},
                              "type of the keys and values in the cache");
        number("--groups", options.groups, "key/value heads of GQA (default: the model's, or a quarter of its heads)");
        number("--latent", options.latent, "width of MLA's latent (default: the model's, or 4 times the width of a head)");
        add_index(definition, "--rotary", options.rotary,
                  "width of MLA's rotary key (default: the model's, or half the width of a head)");
    }

    Result run(const Console&) const {
        analyze::KvCacheOptions asked = options;
        asked.bytes_per_element = type == "float32" ? 4 : type == "fp8" ? 1 : type == "int4" ? 0.5 : 2;
        if (!contexts.empty()) asked.contexts = parse_index_list(contexts, "--context");
        const model::ModelConfig config = model::read_config(model.folder());
        const analyze::KvCache cache = analyze::kv_cache(config, asked);
        Result found{.table = analyze::table_of(cache), .facts = {{"model", config.name}, {"version", std::string(version())}}};
        found.fact("n_layers", config.n_layers).fact("n_heads", config.n_heads).fact("n_kv_heads", config.n_kv_heads);
        return std::move(found.fact("d_head", config.d_head).fact("cache_dtype", type).fact("batch", cache.batch));
    }
};

}  // namespace

Action define_analyze_kv_cache(Definition& definition, const Frontend&) {
    return define_analysis<KvCacheCommand>(definition, kConfig);
}

}  // namespace headlight::cli
