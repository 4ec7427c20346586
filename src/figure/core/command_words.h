// SPDX-License-Identifier: GPL-3.0-or-later
// What the commands that make a file again have in common.
#pragma once

#include "headlight/figure/core/request.h"
#include "headlight/figure/export/export.h"
#include "headlight/model/config.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace headlight::figure {

using CommandOptions = std::vector<std::pair<std::string, std::string>>;  ///< names and values; of a switch it is empty

std::string number_word(double);
/// A built-in model by name, any other by its full path, however it was typed.
std::string model_reference(const std::filesystem::path& folder);
/// The value of `--attention` for a part of an encoder-decoder model; empty: the default.
std::string attention_word(model::Stack);
/// Theme, width, scale and what else of the output is no default.
void put_theme(CommandOptions&, const Style&);
void put_size(CommandOptions&, const ExportOptions&);
/// " --name value --switch"
std::string command_words(const CommandOptions&);

}  // namespace headlight::figure
