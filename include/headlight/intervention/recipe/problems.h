// SPDX-License-Identifier: GPL-3.0-or-later
// Edits that a text or a model does not have, one by one.
#pragma once

#include "headlight/base/error.h"
#include "headlight/intervention/recipe/run.h"

#include <optional>
#include <vector>

namespace headlight::intervention {

/// Of each edit of the recipe, why run_recipe() would refuse it; none: it would not, or the edit is off.
std::vector<std::optional<ErrorFacts>> problems_of(Sources&, const Recipe&, const CancelToken& = {}, const Progress& = {});

}  // namespace headlight::intervention
