// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/figure.h"

#include <cstdint>
#include <vector>

namespace headlight::ui {

/// The same selection on the edited text: pins move with their tokens, pins of tokens that are gone go. Queries and keys
/// are tokens of two texts in a cross attention.
figure::Selection align_selection(figure::Selection, const std::vector<std::int64_t>& queries,
                                  const std::vector<std::int64_t>& keys);

}  // namespace headlight::ui
