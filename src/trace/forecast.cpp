// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/trace/capture.h"

#include "headlight/base/memory.h"
#include "headlight/base/memory_account.h"
#include "headlight/base/numbers.h"
#include "headlight/trace/remade.h"
#include "trace/forecast_internal.h"
#include "trace/head_kernels.h"
#include "trace/hook_sets.h"

#include <malloc.h>

#include <algorithm>
#include <map>

namespace headlight::trace {
namespace {

using model::Hook;
using model::HookPoint;

std::int64_t elements(const std::vector<std::int64_t>& shape) {
    std::int64_t count = 1;
    for (const std::int64_t side : shape) {
        if (__builtin_mul_overflow(count, side, &count)) return std::int64_t{1} << 56;  // more than any machine has
    }
    return count;
}

/// "hook_q" for every layer's q: what the user would write behind "blocks.*.".
std::string kind_name(HookPoint point) {
    const std::string name = name_of(point);
    return model::has_layer(point.hook) ? name.substr(name.find('.', name.find('.') + 1) + 1) : name;
}

/// resid_post of a layer and resid_pre of the next are one tensor unless one is replaced.
bool shares_storage(const model::ModelConfig& c, HookPoint p, const std::set<HookPoint>& stored) {
    return p.hook == Hook::resid_post && p.layer.value + 1 < c.n_layers &&
           stored.count({Hook::resid_pre, Layer(p.layer.value + 1)}) > 0;
}

std::int64_t bytes_of_stored(const model::ModelConfig& c, std::int64_t tokens, const std::set<HookPoint>& stored,
                             std::int64_t element_bytes, std::int64_t source) {
    std::int64_t bytes = 0;
    for (const HookPoint& point : stored)
        if (!shares_storage(c, point, stored)) bytes += elements(model::shape_of(point, c, tokens, source)) * element_bytes;
    return bytes;
}

/// Of the largest layer that is made again: a layer of experts takes more than a dense one.
std::int64_t layer_bytes(const model::ModelConfig& c, std::int64_t tokens, const std::set<HookPoint>& stored,
                         std::int64_t element_bytes, std::int64_t source) {
    std::map<std::int64_t, std::set<HookPoint>> layers;
    for (const HookPoint& point : stored)
        if (model::has_layer(point.hook)) layers[point.layer.value].insert(point);
    std::int64_t most = 0;
    for (const auto& [number, layer] : layers) most = std::max(most, bytes_of_stored(c, tokens, layer, element_bytes, source));
    return most;
}

/// Layers can be made again from what was asked for by name: the streams between them ("all").
bool has_checkpoints(const model::ModelConfig& c, const std::set<HookPoint>& stored) {
    for (std::int64_t l = 0; l < c.n_layers; ++l)
        if (!stored.contains({Hook::resid_pre, Layer(l)})) return false;
    return stored.contains({Hook::resid_post, Layer(c.n_layers - 1)});
}

/// What others take meanwhile, and what the heap loses, is not there for a run.
std::int64_t free_for_a_run() {
    const std::int64_t free = available_memory();
    return free - free / 16;
}

}  // namespace

Forecast forecast(const model::ModelConfig& c, std::int64_t tokens, const CapturePlan& plan, std::int64_t element_bytes,
                  std::int64_t source) {
    const bool part = c.stack != model::Stack::whole;
    const std::set<HookPoint> stored = stored_for(c, plan.resolve(c, part));
    const Keeping keeping = keeping_of(c, tokens, plan, stored, {}, element_bytes, source);
    Forecast result = forecast(c, tokens, keeping.kept, plan.overview, false, element_bytes, source);
    if (keeping.remade) result.working += layer_bytes(c, tokens, stored, element_bytes, source);
    return result;
}

std::int64_t remade_bytes(const model::ModelConfig& c, std::int64_t tokens, const CapturePlan& plan, std::int64_t element_bytes,
                          std::int64_t source) {
    const std::set<HookPoint> stored = stored_for(c, plan.resolve(c, c.stack != model::Stack::whole));
    const Keeping keeping = keeping_of(c, tokens, plan, stored, {}, element_bytes, source);
    if (!keeping.remade) return 0;
    return bytes_of_stored(c, tokens, stored, element_bytes, source) -
           bytes_of_stored(c, tokens, keeping.kept, element_bytes, source);
}

Keeping keeping_of(const model::ModelConfig& c, std::int64_t tokens, const CapturePlan& plan, std::set<HookPoint> stored,
                   const std::set<HookPoint>& hooked, std::int64_t element_bytes, std::int64_t source) {
    const bool can_be = plan.globs.empty() || has_checkpoints(c, stored);
    const bool remade = can_be && bytes_of_stored(c, tokens, stored, element_bytes, source) >
                                      std::min({kMostKept, memory_budget() / 2, memory_left()});
    if (!remade) return {std::move(stored), false};
    return {checkpoints_for(c, stored, hooked), true};
}

Forecast forecast(const model::ModelConfig& c, std::int64_t tokens, const std::set<HookPoint>& stored,
                  const HeadOverview& overview, bool whole_patterns, std::int64_t element_bytes, std::int64_t source) {
    Forecast result;
    std::map<std::string, std::int64_t> by_kind;
    for (const HookPoint& point : stored) {
        if (shares_storage(c, point, stored)) continue;
        by_kind[kind_name(point)] += elements(model::shape_of(point, c, tokens, source)) * element_bytes;
    }
    if (overview.pooled) {
        const std::int64_t cells = std::min(tokens, kPooledCells), across = std::min(source, kPooledCells);
        by_kind["overview"] = c.n_layers * c.n_heads * cells * (cells + across) * 2 * static_cast<std::int64_t>(sizeof(float));
    }
    for (const auto& [name, bytes] : by_kind) {
        result.parts.emplace_back(name, bytes);
        result.kept += bytes;
    }
    std::stable_sort(result.parts.begin(), result.parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });

    // One layer's own tensors: the stream, q k v twice (as projected and by heads), the MLP's hidden layer twice;
    // and pattern tiles of 256 rows. The unembedding comes after the layers.
    const std::int64_t heads = (c.n_heads + c.n_kv_heads) * c.d_head + c.n_kv_heads * model::value_width(c);
    const std::int64_t width = 4 * c.d_model + 2 * heads + 2 * c.d_mlp + 2 * (c.latent.rank + c.latent.query_rank);
    const std::int64_t tiles = 2 * c.n_heads * std::min<std::int64_t>(tokens, 256) * std::max(tokens, source);
    std::int64_t layer = (tokens * width + tiles) * element_bytes;
    if (whole_patterns) layer += 2 * elements(model::shape_of({Hook::pattern, Layer(0)}, c, tokens)) * element_bytes;
    // Whoever reads one of the blocks behind the layers makes the pass go on to the logits.
    const bool behind = std::ranges::any_of(stored, [](const HookPoint& p) { return p.hook > Hook::resid_post; });
    const bool passing = behind && c.has_unembedding && stored.count({Hook::logits, Layer(0)}) == 0;
    result.working = std::max(layer, passing ? tokens * logit_count(c) * element_bytes : 0);
    result.available = free_for_a_run();
    if (!result.fits()) {  // what earlier runs freed may still lie in this process's heap, where it counts as in use
        malloc_trim(0);
        result.available = free_for_a_run();
    }
    return result;
}

std::string Forecast::text() const {
    std::string text = "needs " + rounded_bytes(static_cast<double>(kept + working)) + " (kept " +
                       rounded_bytes(static_cast<double>(kept)) + ", working " + rounded_bytes(static_cast<double>(working)) +
                       "), " + rounded_bytes(static_cast<double>(available)) + " free";
    for (std::size_t i = 0; i < std::min<std::size_t>(3, parts.size()); ++i) {
        text += (i == 0 ? "; leave out: " : ", ") + parts[i].first + " " + rounded_bytes(static_cast<double>(parts[i].second));
    }
    return text;
}

}  // namespace headlight::trace
