// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace headlight::text {

/// What one text may cost: how much longer normalizers may make it and how long regular expressions may take, so that a
/// hostile tokenizer.json is an error and not a full memory. Shared by all stages and sections of the text.
class Budget {
public:
    using Clock = std::chrono::steady_clock;

    Budget(std::size_t bytes, std::string file);

    /// Bytes that the text may still grow by.
    std::size_t growth() const noexcept { return growth_; }
    /// Error naming the tokenizer's file when that is less than `more`.
    void grow(std::size_t more);
    [[noreturn]] void too_long() const;

    Clock::duration time() const noexcept { return time_; }
    void spend(Clock::duration time) noexcept { time_ -= time; }

private:
    std::string file_;
    std::size_t bytes_, growth_;
    Clock::duration time_;
};

}  // namespace headlight::text
