// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/model.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headlight::model {

/// One block of the pass, described for display.
struct BlockInfo {
    std::string id;               ///< "attention", "mlp", "token_embedding" …
    std::string part;             ///< of Model::parameter_counts(): "attention"
    std::string title;            ///< "Attention"
    std::string detail;           ///< "8 heads of 32, ALiBi"
    std::int64_t parameters = 0;  ///< of this one block, counted in the files' tensors
    std::int64_t layers = 0;      ///< of a layer's block: number of layers that have it; 0: all
    bool adds = false;            ///< reads the residual stream and adds to it; else it replaces the stream
};

/// The blocks in the order of the pass, from the specification that the pass itself follows.
struct BlockList {
    std::vector<BlockInfo> before, layer, after;
    std::int64_t n_layers = 0;  ///< how often `layer` is repeated
};

/// An outline has no blocks.
BlockList blocks_of(const Model&);

}  // namespace headlight::model
