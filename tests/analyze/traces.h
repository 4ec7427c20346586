// SPDX-License-Identifier: GPL-3.0-or-later
// Traces of the committed models for the tests of analyze.
#pragma once

#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/trace.h"
#include "tests/support/case_name.h"
#include "tests/support/error_of.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace headlight::analyze {

using TracePtr = std::shared_ptr<const trace::Trace>;

inline std::filesystem::path source_folder() { return HEADLIGHT_SOURCE_DIR; }

inline constexpr const char* cats = "The cats asked; the old cat asked.";
inline constexpr const char* doctor = "The old doctor asked the nurse to wait, because the old doctor was late.";

/// The built-in model and every tiny model of the fixtures that has a tokenizer: one of each family.
inline std::vector<std::filesystem::path> model_folders() {
    std::vector<std::filesystem::path> folders;
    for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "tests/fixtures/models"))
        if (std::filesystem::exists(entry.path() / "tokenizer.json")) folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end());
    folders.insert(folders.begin(), source_folder() / "models/novella-7m");
    return folders;
}

/// Those with numbers of the reference in tests/golden/FOLDER: the measures do not ask which family it is, so a few do.
inline std::vector<std::filesystem::path> folders_with_golden(const std::string& folder) {
    std::vector<std::filesystem::path> folders = model_folders();
    std::erase_if(folders, [&](const auto& each) {
        return !std::filesystem::exists(source_folder() / "tests/golden" / folder / (each.filename().string() + ".json"));
    });
    return folders;
}

inline TracePtr run_model(const std::filesystem::path& folder, const std::string& text, const std::string& pair = {},
                          const trace::CapturePlan& plan = {}) {
    static std::map<std::string, std::shared_ptr<const model::Model>> models;
    static std::map<std::string, std::shared_ptr<const text::Tokenizer>> tokenizers;
    auto& loaded = models[folder.string()];
    auto& tokenizer = tokenizers[folder.string()];
    if (!loaded) loaded = model::Model::load(folder);
    if (!tokenizer) tokenizer = text::Tokenizer::load(folder);
    return trace::run(loaded, tokenizer, {.text = text, .pair = pair}, plan);
}

inline TracePtr built_in(const std::string& text) { return run_model(source_folder() / "models/novella-7m", text); }

/// The same with every score 0: a query attends to all its keys alike.
inline TracePtr flat_attention(const std::string& text) {
    const TracePtr plain = built_in(text);
    return trace::run_with_hooks(plain->model(), plain->tokenizer(), {.text = text}, {},
                                 {{"blocks.*.attn.hook_attn_scores", [](model::HookPoint, const at::Tensor& s) {
                                       return at::where(at::isfinite(s), at::zeros_like(s), s);
                                   }}});
}

/// Name of a test that runs for every model.
inline std::string model_name(const testing::TestParamInfo<std::filesystem::path>& instance) {
    return test::case_name(instance.param.filename());
}

using test::error_facts;

inline HeadId head_id(std::int64_t layer, std::int64_t head) { return {Layer(layer), Head(head)}; }

}  // namespace headlight::analyze
