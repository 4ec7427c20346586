// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/config.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::model {

/// What can be said of a model from its config.json (or GGUF metadata) and the headers of its files, before anything is loaded.
struct Peek {
    ModelConfig config;        ///< of a family that is known; else empty but for `architecture` and `name`
    std::uintmax_t bytes = 0;  ///< of the files that hold weights
    std::string problem;       ///< why it cannot be opened; empty: it can, as far as the headers tell
};

/// Never throws: what is wrong is in `problem`.
Peek peek(const std::filesystem::path& folder_or_file);

/// The configuration alone; Error as for loading.
ModelConfig read_config(const std::filesystem::path& folder_or_file);

/// The folder's name, with its parent's where it says nothing ("model"); of a snapshot in the Hugging Face cache
/// (models--org--name/snapshots/0a1b2c…) the model's; of a GGUF file its own.
std::string name_of_model(const std::filesystem::path& folder_or_file);

/// Folders of the Hugging Face cache in the order they are searched: $HF_HUB_CACHE, $HF_HOME/hub,
/// $XDG_CACHE_HOME/huggingface/hub, ~/.cache/huggingface/hub.
std::vector<std::filesystem::path> cache_folders();

/// A model of the cache: its id ("org/name") and the snapshot that opens. Sorted by id, each id once. Entries without a
/// snapshot, and of other kinds than models, are left out.
struct CachedModel {
    std::string id;
    std::filesystem::path folder;
};
std::vector<CachedModel> cached_models();

/// Folders in `folder` (two levels) that hold a config.json, and GGUF files: what a person keeps beside each other. At
/// most 500.
std::vector<std::filesystem::path> model_folders_in(const std::filesystem::path& folder);

}  // namespace headlight::model
