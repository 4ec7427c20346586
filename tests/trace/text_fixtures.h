// SPDX-License-Identifier: GPL-3.0-or-later
// The small random models that read text: every decoder, encoder and encoder-decoder family with a tokenizer.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace headlight::trace::testing_support {

inline std::filesystem::path fixtures() { return std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures"; }

/// "models/bloom", below fixtures().
inline std::vector<std::string> text_fixtures() {
    std::vector<std::string> names;
    for (const char* kind : {"models", "encoder_decoders"})
        for (const auto& entry : std::filesystem::directory_iterator(fixtures() / kind))
            if (std::filesystem::exists(entry.path() / "tokenizer.json"))
                names.push_back(std::string(kind) + "/" + entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace headlight::trace::testing_support
