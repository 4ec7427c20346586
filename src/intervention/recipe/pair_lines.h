// SPDX-License-Identifier: GPL-3.0-or-later
// What files of pairs have in common: one JSON object a line.
#pragma once

#include "headlight/intervention/recipe/place_text.h"
#include "headlight/text/tokenizer.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace headlight::intervention {

/// Calls with every line's object and where it stands ("line 3"). Errors, those of the function too, name file and line.
void for_each_pair(const std::filesystem::path&, const std::function<void(const nlohmann::json&, const std::string& where)>&);

/// A field that is a text or a list of texts; none where it is missing or null. Error for another value.
std::vector<std::string> strings_of(const nlohmann::json& line, const char* field, const std::string& where);
/// The first of them, or an empty text.
std::string string_of(const nlohmann::json& line, const char* field, const std::string& where);
/// Words, a position or a list of positions. Error for another value.
PlaceText place_of(const nlohmann::json&, const std::string& where);

/// Positions of the tokens that overlap words of the text, whole words before parts of words. Errors, which name `name`: words
/// that are not there or more than once; no patch of the picture.
std::vector<std::int64_t> positions_of(const text::Encoding&, const std::string& text, const std::string& words,
                                       const std::string& name);

}  // namespace headlight::intervention
