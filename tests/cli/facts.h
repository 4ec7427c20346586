// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <regex>

namespace headlight::test {

/// A JSON result. Numbers and truth values among its facts must not be texts, which would be rounded for people.
inline nlohmann::json read_result(const std::filesystem::path& file) {
    nlohmann::json result = nlohmann::json::parse(slurp(file));
    EXPECT_FALSE(result.at("facts").empty());
    static const std::regex number(R"([-−]?[0-9][0-9.,]*(e[-+]?[0-9]+)?( ?%)?|yes|no|true|false)");
    for (const auto& [name, value] : result["facts"].items())
        EXPECT_FALSE(!name.ends_with("version") && value.is_string() && std::regex_match(value.get<std::string>(), number))
            << name << ": " << value;
    return result;
}

}  // namespace headlight::test
