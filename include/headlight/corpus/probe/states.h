// SPDX-License-Identifier: GPL-3.0-or-later
// The residual stream of every token of a store, a layer at a time.
#pragma once

#include "headlight/base/job.h"
#include "headlight/corpus/probe/labels.h"
#include "headlight/corpus/probe/linear_probe.h"
#include "headlight/corpus/store/manifest.h"
#include "headlight/corpus/store/text_store.h"
#include "headlight/model/model.h"
#include "headlight/text/tokenizer.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

namespace headlight::corpus {

/// The states of one layer. Layer 0 is what enters the first block, layer l what leaves block l - 1 (hook_resid_post).
class LayerStates {
public:
    virtual ~LayerStates() = default;
    /// [example, width]: the mean over the tokens of each span; pairs have twice the width.
    virtual ProbeRows pooled(std::span<const ProbeExample>) const = 0;
    /// [token, width] of the tokens of all spans, one behind the other.
    virtual ProbeRows tokens(std::span<const TokenSpan>) const = 0;
};

/// Where states come from: files of the store's folder "states", made by running the store's texts once where they are not there.
struct StatesOptions {
    std::filesystem::path store;
    std::int64_t disk_budget = std::int64_t{4} << 30;  ///< bytes. More: the texts are run once for each group of layers that fits
    std::shared_ptr<const model::Model> model{};       ///< null: the files must be there
    std::shared_ptr<const headlight::text::Tokenizer> tokenizer{};
};

/// Error for a model or a tokenizer other than the store's.
void check_model(const Manifest&, const StatesOptions&);
/// The number of layers with states: one more than the model has blocks. 0: no files, and no model.
std::int64_t state_layers(const Manifest&, const StatesOptions&);
/// Calls `use` for each layer in ascending order. Files stay for later probes where all layers fit the budget. Errors: a model or
/// tokenizer other than the store's, files of other texts, a full disk (nothing is left then).
void for_each_layer(const Manifest&, const StatesOptions&, const std::function<void(std::int64_t layer, const LayerStates&)>& use,
                    const CancelToken& = {}, const Progress& = {});

}  // namespace headlight::corpus
