// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/outline.h"

#include "model/internals.h"

namespace headlight::model {

namespace {

std::unique_ptr<Model::Internals> internals_of(ModelConfig config, const std::filesystem::path& origin, const std::string& hash) {
    auto m = std::make_unique<Model::Internals>();
    m->config = std::move(config);
    m->folder = origin;
    std::call_once(m->hash_once, [&] { m->hash = hash; });
    return m;
}

}  // namespace

std::shared_ptr<const Model> outline(ModelConfig config, const std::filesystem::path& origin, std::string hash) {
    return Model::Internals::model_of(internals_of(std::move(config), origin, hash));
}

std::shared_ptr<const Model> outline(ModelConfig decoder, ModelConfig encoder, ModelConfig cross,
                                     const std::filesystem::path& origin, std::string hash) {
    auto m = internals_of(std::move(decoder), origin, hash);
    m->encoder = outline(std::move(encoder), origin, hash);
    m->cross = outline(std::move(cross), origin, std::move(hash));
    return Model::Internals::model_of(std::move(m));
}

bool has_weights(const Model& model) noexcept {
    return !model.internals().layers.empty();  // models of pictures have no embedding of tokens
}

}  // namespace headlight::model
