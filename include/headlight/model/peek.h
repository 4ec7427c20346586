// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/config.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::model {

/// What config.json (or GGUF metadata) and the file headers tell about a model, without loading it.
struct Peek {
    ModelConfig config;        ///< of a known family; else only `architecture` and `name` are set
    std::uintmax_t bytes = 0;  ///< of the files that hold weights
    std::string problem;       ///< why it cannot be opened; empty if the headers are fine
};

/// Never throws: see `problem`.
Peek peek(const std::filesystem::path& folder_or_file);

/// Only the configuration; Error as for loading.
ModelConfig read_config(const std::filesystem::path& folder_or_file);

/// The folder's name, with its parent's if it is generic ("model"); for a snapshot of the Hugging Face cache
/// (models--org--name/snapshots/0a1b2c…) the model's id; for a GGUF file its file name.
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

/// Folders in `folder` (two levels) with a config.json, and GGUF files. At most 500.
std::vector<std::filesystem::path> model_folders_in(const std::filesystem::path& folder);

}  // namespace headlight::model
