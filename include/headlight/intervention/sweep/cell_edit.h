// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/intervention/sweep/pairs.h"

#include <string>

namespace headlight::intervention {

/// A cell of a sweep as one line of a recipe (docs/recipe.md): the text that the sweep runs, under this edit, has the cell's
/// value.
struct CellEdit {
    std::string words{};    ///< empty: no single line does the same
    std::string why_not{};  ///< then the reason
};
/// `pair`: the one of the request's pairs whose positions count.
CellEdit edit_of(const SweepRequest&, const SweepPair&, const SweepResult&, const SweepCell&);

/// The text that is run: the corrupt one when denoising.
const std::string& text_that_runs(const SweepRequest&) noexcept;

}  // namespace headlight::intervention
