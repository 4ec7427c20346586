// SPDX-License-Identifier: GPL-3.0-or-later
// The small random models of every family, and inputs for them.
#pragma once

#include "headlight/trace/replay.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace headlight::trace::testing_support {

inline std::filesystem::path fixtures() { return std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures"; }

/// The folders of these kinds ("models", "encoder_decoders") that hold the file, in order.
inline std::vector<std::filesystem::path> fixture_folders(std::initializer_list<const char*> kinds, const char* file) {
    std::vector<std::filesystem::path> folders;
    for (const char* kind : kinds)
        for (const auto& entry : std::filesystem::directory_iterator(fixtures() / kind))
            if (std::filesystem::exists(entry.path() / file)) folders.push_back(entry.path());
    std::ranges::sort(folders);
    return folders;
}

/// Every family that reads text: "models/bloom", below fixtures().
inline std::vector<std::string> text_fixtures() {
    std::vector<std::string> names;
    for (const auto& folder : fixture_folders({"models", "encoder_decoders"}, "tokenizer.json"))
        names.push_back(folder.lexically_relative(fixtures()).string());
    return names;
}

struct Opened {
    explicit Opened(const std::filesystem::path& folder, model::ComputeType dtype = model::ComputeType::float32)
        : model(model::Model::load(folder, {.dtype = dtype, .device = "cpu"})), tokenizer(text::Tokenizer::load(folder)) {}
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const text::Tokenizer> tokenizer;
};

inline std::vector<std::int64_t> some_ids(std::int64_t count, std::int64_t vocabulary, std::int64_t first = 5) {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < count; ++i) ids.push_back((7 * i * i + 3 * i + first) % vocabulary);
    return ids;
}

/// Nine tokens, and seven others of the source for a model with an encoder; or a picture for a model that reads one.
inline TokenIds some_input(const model::Model& model) {
    TokenIds tokens;
    const model::ModelConfig& c = model.config();
    if (model::reads_pictures(c)) {
        std::vector<float> pixels(static_cast<std::size_t>(model::kColours * c.image_height * c.image_width));
        for (std::size_t i = 0; i < pixels.size(); ++i)
            pixels[i] = static_cast<float>((7 * i * i + 3 * i + 5) % 97) / 48.0f - 1.0f;
        tokens.ids.resize(static_cast<std::size_t>(c.context_length));
        tokens.pixels = std::make_shared<const std::vector<float>>(std::move(pixels));
        return tokens;
    }
    tokens.ids = some_ids(9, c.vocab_size);
    if (const auto& encoder = model.part(model::Stack::encoder)) tokens.source = some_ids(7, encoder->config().vocab_size, 11);
    return tokens;
}

}  // namespace headlight::trace::testing_support
