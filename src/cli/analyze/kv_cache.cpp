// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/analyze/analyses.h"

#include "cli/options.h"
#include "cli/result_file.h"
#include "headlight/analyze/architecture/kv_cache.h"
#include "headlight/base/version.h"
#include "headlight/model/peek.h"

namespace headlight::cli {
namespace {

struct KvCacheArguments {
    ModelArgument model;
    std::string contexts, type = "float16";
    analyze::KvCacheOptions cache;
    ResultFile out;
};

double bytes_of(const std::string& type) { return type == "float32" ? 4 : type == "fp8" ? 1 : type == "int4" ? 0.5 : 2; }

int kv_cache(const KvCacheArguments& o, const Console& console) {
    o.out.check();
    analyze::KvCacheOptions options = o.cache;
    options.bytes_per_element = bytes_of(o.type);
    if (!o.contexts.empty()) options.contexts = parse_index_list(o.contexts, "--context");
    const model::ModelConfig config = model::read_config(o.model.folder());
    const analyze::KvCache cache = analyze::kv_cache(config, options);

    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = {}};
    result.facts = {{"model", config.name},
                    {"version", std::string(version())},
                    {"n_layers", std::to_string(config.n_layers)},
                    {"n_heads", std::to_string(config.n_heads)},
                    {"n_kv_heads", std::to_string(config.n_kv_heads)},
                    {"d_head", std::to_string(config.d_head)},
                    {"cache_dtype", o.type},
                    {"batch", std::to_string(cache.batch)}};
    result.definitions = {{"elements_per_token",
                           "MHA 2 H d L, GQA 2 g d L, MQA 2 d L, MLA (d_c + d_r) L (DeepSeek-V2, table 1). "
                           "Of a model with a latent 2 d is a key's content and a value; expanded: the keys and values made of "
                           "the latent, H (d_head + d_value) L."},
                          {"bytes", "elements_per_token * context * batch * bytes of cache_dtype."},
                          {"own", "1: what this model does."}};
    result.table.columns = {"scheme", "what", "own", "context", "elements_per_token", "bytes", "share_of_mha"};
    for (const analyze::KvScheme& scheme : cache.schemes)
        for (const std::int64_t context : cache.contexts)
            result.table.rows.push_back({scheme.id, scheme.what, std::int64_t{scheme.own}, context, scheme.elements_per_token,
                                         cache.bytes(scheme, context), scheme.share_of_mha});
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_kv_cache(Definition& definition, const Frontend&) {
    auto options = std::make_shared<KvCacheArguments>();
    options->model.add(definition);
    definition.app->add_option("--context", options->contexts, "tokens in the cache: 4096,32768 (default: powers of two)")
        ->type_name("LIST");
    const auto number = [&](const char* flag, std::int64_t& value, const char* help) {
        definition.app->add_option(flag, value, help)->type_name("N")->check(CLI::PositiveNumber);
    };
    number("--batch", options->cache.batch, "texts at the same time");
    definition.add_choice("--cache-dtype", options->type, {"float16", "bfloat16", "float32", "fp8", "int4"},
                          "what keys and values are kept in");
    number("--groups", options->cache.groups, "key/value heads of GQA (default: the model's, or a quarter of its heads)");
    number("--latent", options->cache.latent, "width of MLA's latent (default: the model's, or 4 times the width of a head)");
    definition.app
        ->add_option("--rotary", options->cache.rotary,
                     "width of MLA's rotary key (default: the model's, or half the width of a head)")
        ->type_name("N")
        ->check(counted_from_zero());
    options->out.add(definition);
    return [options, console = definition.console] { return kv_cache(*options, *console); };
}

}  // namespace headlight::cli
