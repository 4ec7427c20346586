// SPDX-License-Identifier: GPL-3.0-or-later
// A recipe as hook functions. With torch in it (as trace/tensors.h): never for figure or ui.
#pragma once

#include "headlight/intervention/recipe/run.h"
#include "headlight/trace/edited.h"

#include <functional>
#include <string>
#include <vector>

namespace headlight::intervention {

struct Compiled {
    std::vector<trace::Intervention> interventions;  ///< in an order that applies edits of one tensor as the recipe does
    trace::EditsTold told;
    /// Where the rows of the next pass stand in the text; a plain run needs none.
    std::function<void(std::int64_t first_row, std::int64_t rows)> begin_pass;
};
/// Errors as run_recipe(). Runs what the edits refer to.
Compiled compile(Sources&, const Recipe&, const CancelToken& = {}, const Progress& = {});

}  // namespace headlight::intervention
