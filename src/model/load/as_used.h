// SPDX-License-Identifier: GPL-3.0-or-later
// Weights that stay in their files as they lie there and are converted when something uses them.
#pragma once

#include "headlight/base/memory_account.h"
#include "model/load/source.h"

#include <array>
#include <memory>
#include <mutex>
#include <optional>

namespace headlight::model {

/// True where the opened model has only an outline (a tensor without memory) of this row's matrix.
bool is_deferred(const Source&, const ResolvedRow&, const Model::Internals&);

/// The matrices of a model's layers, a part of a layer at a time, and its embedding and unembedding by rows. What is handed out
/// lasts as long as somebody has it; beside that the first parts to be used are kept up to `kept` bytes (a pass comes to all of
/// them in turn, so that keeping the latest would keep none that is needed again), and the latest one of each kind. A weight is
/// checked when it is converted first. Errors: a weight that is not finite; a file that was cut short. Thread-safe.
class WeightsAsUsed {
public:
    /// The rows, which are the map's, that the finished model has outlines of.
    WeightsAsUsed(std::shared_ptr<const Source>, std::shared_ptr<const WeightMap>, std::vector<ResolvedRow>,
                  const Model::Internals&, std::int64_t kept);
    /// Of the attention of a decoder to its source, whose weights are the decoder's.
    explicit WeightsAsUsed(std::shared_ptr<const WeightsAsUsed> decoder) : decoder_(std::move(decoder)) {}

    /// The part's matrices and all else of the layer; outlines of the other part's.
    std::shared_ptr<const LayerWeights> layer(std::int64_t layer, LayerPart) const;
    at::Tensor embedding(const at::Tensor& ids) const;                     ///< W_E of these tokens: [id, d_model]
    at::Tensor embedding(std::int64_t first, std::int64_t count) const;    ///< [count, d_model]
    at::Tensor unembedding(std::int64_t first, std::int64_t count) const;  ///< W_U of these tokens: [d_model, count]

private:
    struct Unit {
        std::vector<ResolvedRow> rows;
        std::weak_ptr<const LayerWeights> now;
        bool checked = false;
    };
    at::Tensor numbers(const ResolvedRow&, std::int64_t first, std::int64_t count, bool check) const;
    at::Tensor columns(const ResolvedRow&, std::int64_t first, std::int64_t count, bool check) const;

    std::shared_ptr<const Source> source_;
    std::shared_ptr<const WeightMap> map_;     ///< whose rows are used
    std::unique_ptr<Model::Internals> shape_;  ///< configuration, layout and outlines, for place()
    std::optional<ResolvedRow> embed_, unembed_;
    bool keeps_unembedding_ = false;  ///< it takes at most two thirds of the room
    std::int64_t room_ = 0;
    std::shared_ptr<const WeightsAsUsed> decoder_;

    mutable std::timed_mutex mutex_;
    mutable std::vector<Unit> units_;  ///< [2 layer + part]
    mutable std::vector<std::shared_ptr<const LayerWeights>> kept_;
    mutable MemoryAccount account_{MemoryUse::weights};  ///< of these, with the unembedding where that is kept
    mutable at::Tensor whole_unembedding_;
    mutable std::int64_t checked_tokens_ = 0;  ///< of the unembedding, from its first on
    mutable std::array<std::shared_ptr<const LayerWeights>, 2> latest_;
    int blanked_ = 0;  ///< io::MappedFile::blanked() when the model was opened
};

}  // namespace headlight::model
