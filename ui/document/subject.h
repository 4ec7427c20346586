// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/state.h"

#include <optional>
#include <vector>

namespace headlight::ui {

class Document;

/// What a view is about, beside its heads: the chips above it. All views share one of each.
enum class Subject {
    at,        ///< the pinned query
    to,        ///< the pinned key
    answer,    ///< the token that is explained or watched
    contrast,  ///< the token that it is compared with
    neuron,    ///< the followed neuron
    passage,   ///< the passage whose reach is shown
    against,   ///< what the key of an explained weight is compared with
};

/// In the order of the chips.
std::vector<Subject> subjects_of(const figure::ViewSpec&);
/// The word in front of the chip: "at", "answer", "−".
QString subject_word(Subject);
/// The view's own option that holds it; null: the selection does, or the view has none.
const figure::ViewOption* option_of(const figure::ViewSpec&, Subject);
/// The view that explains a weight, which compares its key with others.
View view_of_a_weight();
/// Which subject an option of a view is; none: it is appearance.
std::optional<Subject> subject_of(const figure::ViewOption&);
/// Sets it in every view that has it; empty: the default of each.
void set_subject(ViewOptions&, Subject, const std::string& value);

/// view_of_a_weight() is open.
bool explains_weight(const Document&);
/// It is another key of the row of the pinned pair.
bool can_compare_with_key(const Document&, Position);
/// The pinned key is compared with this one, or by default if it is so already. False, and nothing is changed: it cannot be.
bool compare_with_key(Document&, Position);
/// The one key that a pinned key is compared with.
std::optional<Position> compared_key(const Document&);

/// Answer and contrast are chosen for a text: another one drops them unless they are locked. What stands for the text's own token
/// ("next") stays.
ViewOptions without_answers(ViewOptions);
/// A passage is of a text altogether, and so is the position of a key that a weight is compared with.
ViewOptions without_passages(ViewOptions);

/// The view's options that are not its subject, and the shared ones of its weights, are the defaults.
bool looks_default(const ViewOptions&, const View&);
ViewOptions with_default_looks(ViewOptions, const View&);

}  // namespace headlight::ui
