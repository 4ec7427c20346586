// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/error.h"
#include "headlight/intervention/recipe/recipe.h"

#include <QString>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headlight::ui {

/// An edit of the run as it was typed (docs/recipe.md). Words that cannot be read are kept.
struct EditLine {
    QString words;
    bool on = true;
    bool operator==(const EditLine&) const = default;
};

/// The edits under which the text runs beside itself, in the recipe's order.
struct EditList {
    std::vector<EditLine> lines{};
    std::map<std::string, std::int64_t> names{};  ///< named positions, from a recipe's file
    std::uint64_t seed = 1;
    QString watched{};  ///< the answer whose probability is watched, as a person names a token; empty: the likeliest
    QString against{};  ///< the token whose logit is taken from its; empty: none, and its log-probability is watched
    std::optional<std::int64_t> watched_at{};  ///< after this token; none: where the text ends, of a masked model at its mask
    bool operator==(const EditList&) const = default;
};

/// Without "off" and the space around it; "off zero L9H6" is a line that is switched off.
EditLine edit_line(const QString& typed);
/// The edit, or why the words cannot be read: the column, what is expected there and the nearest right word.
struct ReadEdit {
    std::optional<intervention::Edit> edit;
    std::optional<ErrorFacts> problem;
};
ReadEdit read_edit(const EditLine&);
/// Lines that can be read and are on; with `off` also those that are switched off.
intervention::Recipe recipe_of(const EditList&, bool off = false);
/// All of its edits.
EditList edit_list(const intervention::Recipe&);
bool any_edit(const EditList&);
/// The one line whose words differ, or that was added at the end; none: several differ, lines went, or were switched.
std::optional<std::size_t> changed_line(const EditList&, const EditList&);

}  // namespace headlight::ui
