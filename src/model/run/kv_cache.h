// SPDX-License-Identifier: GPL-3.0-or-later
// Keys and values of the tokens that a pass need not compute again.
#pragma once

#include "model/run/forward.h"

#include <ATen/ATen.h>

#include <utility>
#include <vector>

namespace headlight::model {

class KvCache {
public:
    explicit KvCache(std::int64_t layers) : layers_(static_cast<std::size_t>(layers)) {}

    /// Tokens that went through all layers.
    std::int64_t tokens() const { return static_cast<std::int64_t>(ids_.size()); }
    const std::vector<std::int64_t>& ids() const { return ids_; }
    void advance(const std::vector<std::int64_t>& ids) { ids_.insert(ids_.end(), ids.begin(), ids.end()); }

    /// Puts k and v, [kv_head, pos, d_head] after rotation, after those kept, and returns all: contiguous.
    std::pair<at::Tensor, at::Tensor> append(Layer layer, const at::Tensor& k, const at::Tensor& v) {
        Kept& kept = layers_[static_cast<std::size_t>(layer.value)];
        kept.k = kept.k.defined() ? at::cat({kept.k, k}, 1) : k;
        kept.v = kept.v.defined() ? at::cat({kept.v, v}, 1) : v;
        return {kept.k, kept.v};
    }

private:
    struct Kept {
        at::Tensor k, v;
    };
    std::vector<Kept> layers_;
    std::vector<std::int64_t> ids_;
};

/// A pass over the tokens after those in the cache: the whole prompt first, then one token at a time (more at once is an
/// Error). Logits are of the last token only: [1, vocab]. Otherwise as forward(): where the rotation of earlier keys
/// changes with the length of the text (dynamic, longrope), all of it is computed again.
void forward_cached(const Model&, const ForwardInput&, KvCache&, Observer&, const CancelToken&);

/// Whether the keys of a text of `tokens` tokens stay the same if the text grows to `longer` tokens.
bool rotation_stays(const ModelConfig&, std::int64_t tokens, std::int64_t longer);

}  // namespace headlight::model
