// SPDX-License-Identifier: GPL-3.0-or-later
// What the commands that make a file again have in common.
#pragma once

#include "headlight/base/enum_table.h"
#include "headlight/base/fields.h"
#include "headlight/figure/core/request.h"
#include "headlight/figure/export/export.h"
#include "headlight/model/config.h"
#include "headlight/model/model.h"

#include <filesystem>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace headlight::figure {

using CommandOptions = OptionWords;

std::string number_word(double);
/// The value of an option as it is typed; of a switch whether it is on.
template <class T>
std::string option_words(const T& value) {
    if constexpr (std::is_enum_v<T>)
        return std::string(enum_word(value));
    else if constexpr (std::is_same_v<T, bool>)
        return value ? "on" : "off";
    else if constexpr (std::is_same_v<T, std::string>)
        return value;
    else if constexpr (std::is_same_v<T, double>)
        return number_word(value);
    else
        return std::to_string(value);
}
/// A built-in model by name, any other by its full path, however it was typed.
std::string model_reference(const std::filesystem::path& folder);
/// The value of `--attention` for a part of an encoder-decoder model; empty: the default.
std::string attention_word(model::Stack);
/// Theme, width, scale and what else of the output is no default.
void put_theme(CommandOptions&, const Style&);
void put_size(CommandOptions&, const ExportOptions&);
/// Those that count in a file of this format ("csv"): tables have neither a size nor a theme.
ExportOptions counted_in(const ExportOptions&, const std::string& format);
/// The path of a file as it is found from every folder.
std::string full_path(const std::string&);
/// Of an answer that no trace holds: its model and number type, and the program's version.
Provenance provenance_of(const model::Model&, const std::string& dtype);
/// "headlight VERB MODEL --option … --out figure.FORMAT", with the number type and what counts of the output.
std::string command_of(const std::string& verb, const model::Model&, CommandOptions, const std::string& dtype,
                       const ExportOptions&, const std::string& format);
/// " --name value --switch"
std::string command_words(const CommandOptions&);

}  // namespace headlight::figure
