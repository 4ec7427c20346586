// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace headlight::corpus {

/// A bootstrap of fewer texts (sentences, pairs) has no interval, low and high are NaN: what is drawn from so few covers far less
/// than 95 % (of two texts, at most half).
inline constexpr std::int64_t kLeastTexts = 5;

}  // namespace headlight::corpus
