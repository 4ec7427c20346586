// SPDX-License-Identifier: GPL-3.0-or-later
// Which layers, units and positions an edit is of, in the run that it edits.
#pragma once

#include "intervention/recipe/sources.h"

#include <map>
#include <optional>
#include <vector>

namespace headlight::intervention {

/// Rows of a text; `all` also takes those that a continuation adds.
struct Rows {
    bool all = true;
    std::vector<std::int64_t> at{};  ///< sorted, each once
};
/// END: the last token, of a masked model the mask where the text has one; of a picture 0.
std::int64_t end_of(const text::Encoding&, const Sources::Internals&);
/// Error: a position that the text does not have, or a name that the recipe does not.
Rows rows_at(const Edit&, const Positions&, const text::Encoding&, const Recipe&, const Sources::Internals&);

/// Layer -> units of the site's own axis (key/value heads where it has them); nullopt: the whole tensor.
using Targets = std::map<std::int64_t, std::optional<std::vector<std::int64_t>>>;
/// Notes about query heads whose keys or values others share. Error: what the model does not have.
Targets targets_of(const Edit&, Sources::Internals&, const CancelToken&, const Progress&, std::vector<std::string>& notes);

/// Hooks of a site in the layers of `targets`: one each, but all scales of norms. Error: a site that the model does not have or
/// that no block reads.
std::vector<StackPoint> points_of(const Edit&, const Sources::Internals&, const Targets&);

}  // namespace headlight::intervention
