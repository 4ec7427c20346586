// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/text/tokenizer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

/// Every text without special tokens against the golden's ids; texts that hold `but_with` are left out ("": none).
inline void expect_same_ids(const Tokenizer& tokenizer, const nlohmann::json& texts, const nlohmann::json& ids,
                            std::string_view but_with = {}) {
    ASSERT_GT(texts.size(), 200u);
    int shown = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto text = texts[i].get<std::string>();
        if (!but_with.empty() && text.find(but_with) != std::string::npos) continue;
        const std::vector<std::int64_t> found = tokenizer.encode(text, std::nullopt, false).ids;
        if (found != ids[i].get<std::vector<std::int64_t>>() && ++shown <= 5)
            ADD_FAILURE() << testing::PrintToString(text) << ": " << testing::PrintToString(found) << ", not " << ids[i];
    }
    EXPECT_EQ(shown, 0) << "texts differ";
}

}  // namespace headlight::text
