// SPDX-License-Identifier: GPL-3.0-or-later
// Sweeps of the tiny fixtures, and the passes that they are compared with.
#pragma once

#include "headlight/intervention/sweep/sweep.h"
#include "headlight/model/peek.h"
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

/// Every fixture of a model that reads text.
inline std::vector<std::filesystem::path> family_folders() {
    std::vector<std::filesystem::path> found;
    for (const char* kind : {"fixtures/models", "fixtures/encoder_decoders"})
        for (const auto& entry : std::filesystem::directory_iterator(kTests / kind))
            if (std::filesystem::exists(entry.path() / "config.json") && !model::reads_pictures(model::read_config(entry.path())))
                found.push_back(entry.path());
    std::ranges::sort(found);
    return found;
}

/// Direct effects by their definition (Wang et al. 2022, appendix B): a run of the corrupt text in which every attention reads
/// what it reads without the edits, but for what is edited of it.
class FrozenAttention {
public:
    FrozenAttention(const model::Model& model, const SweepPair& pair) : model_(model) {
        using model::Hook;
        for (const model::HookPoint point : model::hooks_of(model.config()))
            if (point.hook == Hook::q || point.hook == Hook::k || point.hook == Hook::v || point.hook == Hook::cross_q)
                read_.push_back(point);
        corrupt_ = trace::tensors_of(model, tokens_of(pair.corrupt), read_);
        clean_ = trace::tensors_of(model, tokens_of(pair.clean), model::hooks_of(model.config()));
    }
    /// One position of a tensor, or all; one unit of it, or all: that of the clean run.
    std::vector<trace::Intervention> hooks(const SweepCell& cell, std::int64_t window = 1,
                                           model::Stack attention = model::Stack::decoder) const {
        std::vector<trace::Intervention> out;
        for (const model::HookPoint point : read_)
            out.push_back({name_of(point, model_.config()),
                           [t = corrupt_.at(point)](model::HookPoint, const at::Tensor&) { return t.clone(); }});
        model::Hook hook = row_of(cell.site).hook;
        if (attention == model::Stack::cross) hook = model::in_decoder(hook).value();
        const std::int64_t first = std::max<std::int64_t>(0, cell.layer - window / 2);
        for (std::int64_t l = first; l < std::min(model_.config().n_layers, cell.layer + (window + 1) / 2); ++l) {
            const model::HookPoint point{hook, Layer(l)};
            const auto part = [cell](at::Tensor t) {
                if (cell.head >= 0) t = t.select(cell.site == Site::pattern ? 0 : 1, cell.head);
                return cell.position >= 0 ? t.narrow(0, cell.position, 1) : t;
            };
            out.push_back(
                {name_of(point, model_.config()), [part, from = clean_.at(point)](model::HookPoint, const at::Tensor& t) {
                     at::Tensor changed = t.clone();
                     part(changed).copy_(part(from));
                     return changed;
                 }});
        }
        return out;
    }

private:
    const model::Model& model_;
    std::vector<model::HookPoint> read_;
    std::map<model::HookPoint, at::Tensor> corrupt_, clean_;
};

}  // namespace headlight::intervention::testing_support
