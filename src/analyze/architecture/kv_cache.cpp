// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/architecture/kv_cache.h"

#include "headlight/base/error.h"

#include <algorithm>
#include <cmath>

namespace headlight::analyze {
namespace {

constexpr std::int64_t kLongest = std::int64_t{1} << 40;

void require(bool good, const char* item, const std::string& expected, std::int64_t found) {
    if (good) return;
    throw Error(ErrorFacts{
        .problem = "The cache cannot be computed", .item = item, .expected = expected, .found = std::to_string(found)});
}

std::string heads_text(std::int64_t n) { return std::to_string(n) + (n == 1 ? " key/value head" : " key/value heads"); }

/// H / 4, or the nearest divisor of H below.
std::int64_t usual_groups(std::int64_t heads) {
    std::int64_t groups = std::max<std::int64_t>(1, heads / 4);
    while (heads % groups != 0) --groups;
    return groups;
}

std::vector<std::int64_t> usual_contexts(std::int64_t context_length) {
    const std::int64_t longest = std::clamp<std::int64_t>(context_length, 32'768, std::int64_t{1} << 22);
    std::vector<std::int64_t> contexts;
    for (std::int64_t t = 128; t < longest; t *= 2) contexts.push_back(t);
    contexts.push_back(longest);
    if (context_length > 0 && std::ranges::find(contexts, context_length) == contexts.end()) {
        contexts.push_back(context_length);
        std::ranges::sort(contexts);
    }
    return contexts;
}

}  // namespace

KvCache kv_cache(const model::ModelConfig& c, const KvCacheOptions& o) {
    model::require_attention(c, "The cache of keys and values");
    require(c.n_layers > 0 && c.n_heads > 0 && c.d_head > 0, "d_head", "a model whose head width is known", c.d_head);
    require(o.batch >= 1 && o.batch <= 1 << 20, "batch", "1 to 1048576", o.batch);
    if (!(o.bytes_per_element > 0 && o.bytes_per_element <= 16))
        throw Error(ErrorFacts{.problem = "The cache cannot be computed",
                               .item = "bytes of an element",
                               .expected = "above 0, at most 16",
                               .found = std::to_string(o.bytes_per_element)});
    const bool grouped = c.n_kv_heads > 1 && c.n_kv_heads < c.n_heads;
    const std::int64_t groups = o.groups > 0 ? o.groups : grouped ? c.n_kv_heads : usual_groups(c.n_heads);
    require(o.groups >= 0 && groups <= c.n_heads && c.n_heads % groups == 0, "groups",
            "a divisor of the " + std::to_string(c.n_heads) + " heads", o.groups);
    // A head of a model with a latent, were it an ordinary one: a key without the part that rotates, and a value.
    const bool has_latent = c.latent.any();
    const std::int64_t width = has_latent ? c.latent.content + model::value_width(c) : 2 * c.d_head;
    const std::int64_t latent = o.latent > 0 ? o.latent : has_latent ? c.latent.rank : 2 * width;
    require(o.latent >= 0 && latent <= 1 << 24, "latent", "1 to 16777216", o.latent);
    const std::int64_t rotary = o.rotary >= 0 ? o.rotary : has_latent ? c.d_head - c.latent.content : c.d_head / 2;
    require(o.rotary >= -1 && rotary <= 1 << 24, "rotary", "0 to 16777216", o.rotary);

    KvCache out;
    out.batch = o.batch;
    out.bytes_per_element = o.bytes_per_element;
    out.context_length = c.context_length;
    out.contexts = o.contexts.empty() ? usual_contexts(c.context_length) : o.contexts;
    std::ranges::sort(out.contexts);
    for (const std::int64_t context : out.contexts)
        require(context >= 1 && context <= kLongest, "context", "1 to " + std::to_string(kLongest), context);

    const std::int64_t per_head = width * c.n_layers;
    const auto add = [&](const char* id, std::string what, std::int64_t elements, bool own) {
        out.schemes.push_back(
            {id, std::move(what), own, elements, static_cast<double>(elements) / static_cast<double>(per_head * c.n_heads)});
    };
    add("MHA", heads_text(c.n_heads), per_head * c.n_heads, !has_latent && c.n_kv_heads == c.n_heads && c.n_heads > 1);
    add("GQA", heads_text(groups), per_head * groups, !has_latent && grouped && groups == c.n_kv_heads);
    add("MQA", heads_text(1), per_head, !has_latent && c.n_kv_heads == 1);
    const auto add_latent = [&](std::int64_t rank, std::int64_t turned, bool own) {
        add("MLA", "latent " + std::to_string(rank) + " + rotary " + std::to_string(turned), (rank + turned) * c.n_layers, own);
    };
    const std::int64_t own_rotary = c.d_head - c.latent.content;
    if (has_latent) add_latent(c.latent.rank, own_rotary, true);
    if (!has_latent || latent != c.latent.rank || rotary != own_rotary) add_latent(latent, rotary, false);
    if (has_latent)
        add("expanded",
            "keys of " + std::to_string(c.d_head) + " and values of " + std::to_string(model::value_width(c)) + " of every head",
            c.n_heads * (c.d_head + model::value_width(c)) * c.n_layers, false);
    return out;
}

Table table_of(const KvCache& cache) {
    Table table;
    table.columns = {"scheme", "what", "own", "context", "elements_per_token", "bytes", "share_of_mha"};
    table.definitions = {{"elements_per_token",
                          "MHA 2 H d L, GQA 2 g d L, MQA 2 d L, MLA (d_c + d_r) L (DeepSeek-V2, table 1). "
                          "Of a model with a latent 2 d is a key's content and a value; expanded: the keys and values made of "
                          "the latent, H (d_head + d_value) L."},
                         {"bytes", "elements_per_token * context * batch * bytes of cache_dtype."},
                         {"own", "1: what this model does."}};
    for (const KvScheme& scheme : cache.schemes)
        for (const std::int64_t context : cache.contexts)
            table.add({scheme.id, scheme.what, std::int64_t{scheme.own}, context, scheme.elements_per_token,
                       cache.bytes(scheme, context), scheme.share_of_mha});
    return table;
}

}  // namespace headlight::analyze
