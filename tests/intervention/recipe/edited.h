// SPDX-License-Identifier: GPL-3.0-or-later
// A tiny fixture of any family under edits, in float64.
#pragma once

#include "headlight/intervention/recipe/compile.h"
#include "headlight/intervention/recipe/words.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace headlight::intervention::testing_support {

using model::Hook;
using model::HookPoint;

inline const char* const kText = "the nurse asked the old nurse";
inline const char* const kOther = "the old nurse asked the nurse";  ///< as many tokens, others

inline std::filesystem::path fixture_folder(const std::string& name) {
    return std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures" / name;
}

/// Every fixture that has a tokenizer or reads pictures: "models/gpt2".
inline std::vector<std::string> all_fixtures() {
    std::vector<std::string> names;
    for (const char* folder : {"models", "encoder_decoders"})
        for (const auto& entry : std::filesystem::directory_iterator(fixture_folder(folder))) {
            const std::string name = entry.path().filename().string();
            if (std::filesystem::exists(entry.path() / "tokenizer.json") || name == "vit" || name == "deit")
                names.push_back(std::string(folder) + "/" + name);
        }
    std::sort(names.begin(), names.end());
    return names;
}

inline trace::Prompt picture(int shift) {
    auto picture = std::make_shared<model::Picture>();
    picture->width = picture->height = 40;
    for (int y = 0; y < 40; ++y)
        for (int x = 0; x < 40; ++x)
            for (int c = 0; c < 3; ++c)
                picture->rgb.push_back(static_cast<std::uint8_t>((x * 5 + y * 3 * (c + 1) + shift) % 256));
    return {.image = "picture " + std::to_string(shift), .picture = picture};
}

inline Recipe recipe_of(const std::vector<std::string>& words, Recipe recipe = {}) {
    for (const std::string& each : words) recipe.edits.push_back(parse_edit(each));
    return recipe;
}

struct Fixture {
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const text::Tokenizer> tokenizer;
    trace::Prompt prompt;

    explicit Fixture(const std::string& name, model::ComputeType dtype = model::ComputeType::float64)
        : model(model::Model::load(fixture_folder(name), {.dtype = dtype})),
          tokenizer(trace::load_tokenizer(fixture_folder(name))) {
        prompt = text(kText);
    }
    const model::ModelConfig& config() const { return model->config(); }
    bool encodes() const { return model->part(model::Stack::encoder) != nullptr; }
    bool pictures() const { return model::reads_pictures(config()); }
    /// Of an encoder-decoder model the source, with one target.
    trace::Prompt text(const std::string& typed) const {
        if (pictures()) return picture(typed == kText ? 0 : 90);
        return {.text = typed, .pair = encodes() ? "the old nurse" : ""};
    }
    std::shared_ptr<const trace::Trace> plain(const std::string& typed = kText,
                                              const trace::CapturePlan& plan = trace::CapturePlan::everything()) const {
        return trace::run(model, tokenizer, text(typed), plan);
    }
    std::shared_ptr<const trace::Trace> edited(const std::vector<std::string>& words, Recipe recipe = {},
                                               const trace::CapturePlan& plan = trace::CapturePlan::everything()) const {
        Sources sources(model, tokenizer, prompt);
        sources.set_picture_reader(
            [](const std::string& shift) { return picture(std::filesystem::path(shift).filename() == kText ? 0 : 90); });
        return run_recipe(sources, recipe_of(words, std::move(recipe)), plan);
    }
};

inline at::Tensor at_hook(const std::shared_ptr<const trace::Trace>& trace, Hook hook, std::int64_t layer = 0,
                          model::Stack stack = model::Stack::decoder) {
    return trace::tensor(*trace::part_of(trace, stack), {hook, Layer(layer)}).to(at::kDouble);
}

/// Logits, or the last stream where there are none.
inline at::Tensor output_of(const std::shared_ptr<const trace::Trace>& trace) {
    const model::ModelConfig& c = trace->config();
    return c.has_unembedding ? at_hook(trace, Hook::logits) : at_hook(trace, Hook::resid_post, c.n_layers - 1);
}

inline double relative(const at::Tensor& a, const at::Tensor& b) {
    return ((a - b).norm() / b.norm().clamp_min(1e-30)).item<double>();
}

}  // namespace headlight::intervention::testing_support
