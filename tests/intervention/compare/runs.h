// SPDX-License-Identifier: GPL-3.0-or-later
// Runs of the committed models, each loaded once.
#pragma once

#include "headlight/base/error.h"
#include "headlight/trace/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace headlight::intervention {

inline std::filesystem::path source_folder() { return HEADLIGHT_SOURCE_DIR; }

/// Every tiny model of the fixtures that reads texts, one of each family.
inline std::vector<std::filesystem::path> family_folders() {
    std::vector<std::filesystem::path> folders;
    for (const char* kind : {"tests/fixtures/models", "tests/fixtures/encoder_decoders"})
        for (const auto& entry : std::filesystem::directory_iterator(source_folder() / kind))
            if (std::filesystem::exists(entry.path() / "tokenizer.json")) folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end());
    return folders;
}

inline std::shared_ptr<const trace::Trace> run_model(const std::filesystem::path& folder, const std::string& text,
                                                     const std::string& pair = {}) {
    static std::map<std::string, std::pair<std::shared_ptr<const model::Model>, std::shared_ptr<const text::Tokenizer>>> loaded;
    auto& [model, tokenizer] = loaded[folder.string()];
    if (!model) model = model::Model::load(folder);
    if (!tokenizer) tokenizer = trace::load_tokenizer(folder);
    return trace::run(model, tokenizer, {.text = text, .pair = pair});
}

}  // namespace headlight::intervention
