// SPDX-License-Identifier: GPL-3.0-or-later
// Sweeps of the tiny fixtures, and the passes that they are compared with.
#pragma once

#include "headlight/intervention/sweep/sweep.h"
#include "headlight/trace/replay.h"
#include "headlight/trace/variants.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace headlight::intervention::testing_support {

inline const std::filesystem::path kTests = std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests";

/// "models/gpt2", "encoder_decoders/t5".
inline std::shared_ptr<const model::Model> fixture(const std::string& name,
                                                   model::ComputeType type = model::ComputeType::float64) {
    return model::Model::load(kTests / "fixtures" / name, {.dtype = type});
}

inline std::vector<std::int64_t> ids_of_length(std::int64_t count, std::int64_t vocab, std::int64_t shift = 0) {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < count; ++i) ids.push_back((7 * i * i + 3 * i + 5 + shift) % vocab);
    return ids;
}

/// Two texts of one fixture that differ in the tokens 3 and 6 of 9; of an encoder-decoder model with one source of 7.
inline SweepPair some_pair(const model::Model& model, std::int64_t shift = 0) {
    const std::int64_t vocab = model.config().vocab_size;
    SweepPair pair{.clean = {.ids = ids_of_length(9, vocab, shift), .end = 8}, .answers = {3}, .wrong = {11}};
    pair.corrupt = pair.clean;
    for (const std::size_t i : {3, 6}) pair.corrupt.ids[i] = (pair.corrupt.ids[i] + 17) % vocab;
    if (const auto& encoder = model.part(model::Stack::encoder))
        pair.clean.source = pair.corrupt.source = ids_of_length(7, encoder->config().vocab_size, 4);
    return pair;
}

inline trace::TokenIds tokens_of(const SweepText& text) { return {text.ids, text.type_ids, {}, text.source}; }

inline const SweepCellResult& result_at(const SweepResult& r, const SweepCell& cell) {
    return r.results.at(static_cast<std::size_t>(std::ranges::find(r.cells, cell) - r.cells.begin()));
}

inline double difference_of(const at::Tensor& logits, const SweepPair& pair) {
    const at::Tensor last = logits[pair.clean.end];
    return (last[pair.answers.front()] - last[pair.wrong.front()]).item<double>();
}

/// The outputs of all heads in the runs of both texts.
struct HeadOutputs {
    std::vector<model::HookPoint> points;
    std::map<model::HookPoint, at::Tensor> clean, corrupt;

    HeadOutputs(const model::Model& model, const SweepPair& pair) {
        for (const model::HookPoint point : model::hooks_of(model.config()))
            if (point.hook == model::Hook::z || point.hook == model::Hook::cross_z) points.push_back(point);
        clean = trace::tensors_of(model, tokens_of(pair.clean), points);
        corrupt = trace::tensors_of(model, tokens_of(pair.corrupt), points);
    }
    /// Every head of every layer is what it is in the corrupt run, but one, which is what it is in the clean run.
    std::vector<trace::Intervention> all_frozen_but(model::HookPoint edited, std::int64_t head,
                                                    const model::ModelConfig& c) const {
        std::vector<trace::Intervention> hooks;
        for (const model::HookPoint point : points)
            hooks.push_back({name_of(point, c), [this, point, edited, head](model::HookPoint, const at::Tensor&) {
                                 at::Tensor z = corrupt.at(point).clone();
                                 if (point == edited) z.select(1, head).copy_(clean.at(point).select(1, head));
                                 return z;
                             }});
        return hooks;
    }
};

}  // namespace headlight::intervention::testing_support
