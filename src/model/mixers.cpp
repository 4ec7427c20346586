// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/model/config.h"

namespace headlight::model {
namespace {

/// "all layers" or "3 of 4 layers": those with an implied map.
std::string implied_layers(const ModelConfig& c) {
    std::int64_t count = 0;
    for (std::int64_t l = 0; l < c.n_layers; ++l) count += has_implied_map(c, l);
    return count == c.n_layers ? "all layers" : std::to_string(count) + " of " + std::to_string(c.n_layers) + " layers";
}

}  // namespace

void require_attention(const ModelConfig& c, const std::string& what) {
    if (!has_implied_maps(c)) return;
    throw Error(ErrorFacts{.problem = what + " needs softmax attention in every layer",
                           .item = c.name,
                           .found = "a state update in " + implied_layers(c),
                           .hint = "Head, matrix and model view show the implied maps of such layers; the logit lens and "
                                   "predictions need no attention"});
}

void require_attention(const ModelConfig& c, std::int64_t layer, const std::string& what) {
    if (!has_implied_map(c, layer)) return;
    throw Error(ErrorFacts{.problem = what + " needs softmax attention",
                           .item = "layer " + std::to_string(layer),
                           .found = "a state update, which has an implied map",
                           .hint = "Head, matrix and model view show implied maps"});
}

std::string why_no_attention(const ModelConfig& c) {
    if (!has_implied_maps(c)) return {};
    return "This view needs softmax attention in every layer, and this model has a state update in " + implied_layers(c) +
           ". Head, matrix and model view show the implied maps.";
}

}  // namespace headlight::model
