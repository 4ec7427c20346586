// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/budget.h"

#include "headlight/base/error.h"

#include <algorithm>
#include <utility>

namespace headlight::text {
namespace {

// Of Unicode's own forms the worst makes 11 bytes of one.
constexpr std::size_t kTimes = 32, kAtLeast = 64 << 10, kAtMost = std::size_t{256} << 20;
constexpr auto kPatterns = std::chrono::seconds(2);
constexpr auto kPatternsPerByte = std::chrono::nanoseconds(200);

}  // namespace

Budget::Budget(std::size_t bytes, std::string file)
    : file_(std::move(file)),
      bytes_(bytes),
      growth_(std::min(kTimes * bytes + kAtLeast, kAtMost)),
      time_(kPatterns + kPatternsPerByte * bytes) {}

void Budget::too_long() const {
    throw Error(ErrorFacts{.problem = "The normalizer makes the text too long",
                           .file = file_,
                           .item = "normalizer",
                           .expected = "at most " + std::to_string(std::min(kTimes * bytes_ + kAtLeast, kAtMost)) +
                                       " bytes more than the " + std::to_string(bytes_) + " of the text",
                           .hint = "The tokenizer's file may be damaged"});
}

void Budget::grow(std::size_t more) {
    if (more > growth_) too_long();
    growth_ -= more;
}

}  // namespace headlight::text
