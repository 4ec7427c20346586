// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>

namespace headlight::cli {

/// A temporary model folder of GPT-2 small's shape (12 layers, 12 heads, width 768, about 500 MB, fp32) with random
/// weights from a fixed seed. Its tokenizer knows the words w1 ... w50256: a text of N words has N tokens.
class RandomGpt2 {
public:
    RandomGpt2();
    ~RandomGpt2();
    RandomGpt2(const RandomGpt2&) = delete;
    RandomGpt2& operator=(const RandomGpt2&) = delete;
    const std::filesystem::path& folder() const { return folder_; }

private:
    std::filesystem::path folder_;
};

}  // namespace headlight::cli
