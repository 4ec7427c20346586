// SPDX-License-Identifier: GPL-3.0-or-later
// What each edit of a recipe does to one prediction.
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/ids.h"
#include "headlight/base/numbers.h"
#include "headlight/intervention/recipe/run.h"

#include <optional>
#include <string>
#include <vector>

namespace headlight::intervention {

/// Of the watched token: its logit and its natural log-probability; its logit minus that of the token it is watched against (NaN:
/// against none).
struct Prediction {
    double logit = 0, log_probability = 0, difference = kNaN;
};
struct EditEffect {
    std::string words;
    bool on = true;
    std::optional<Prediction> alone;     ///< under this edit alone; none: it is off
    std::optional<Prediction> together;  ///< under it and all before it that are on; none: it is off
};
struct RecipeEffects {
    std::int64_t token = 0;
    Position position;
    Prediction unedited;
    std::vector<EditEffect> edits;  ///< as in the recipe
};
/// END, where the answer is read: the last token, of a masked model its mask; of a picture 0, where its classes are.
Position answer_position(Sources&);
/// Two runs for each edit that is on. Without a token the one that the unedited run predicts is watched. `against`: another
/// token. Errors: as run_recipe(); a model without unembedding, a position that the text does not have.
RecipeEffects effects_of(Sources&, const Recipe&, Position, std::optional<std::int64_t> token,
                         std::optional<std::int64_t> against = {}, const CancelToken& = {}, const Progress& = {});

/// Columns edit, on, logit_alone, log_probability_alone, logit_together, log_probability_together: changes against the unedited
/// run.
analyze::Table table_of(const RecipeEffects&);

}  // namespace headlight::intervention
