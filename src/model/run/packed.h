// SPDX-License-Identifier: GPL-3.0-or-later
// Several texts in one pass. Internal to src/model and src/trace.
#pragma once

#include "model/run/forward.h"

#include <span>

namespace headlight::model {

/// A text of a pack and who sees it, as it would alone. Observers of different texts are called from several threads at once.
struct PackedText {
    const ForwardInput& input;
    Observer& observer;
};

/// forward() of every text, at the cost of one over as many tokens: short texts do not read all weights for a few rows. There is
/// no padding. With SameProducts of rows the numbers of a text do not depend on the others of its pack; else they are equal to
/// rounding. Errors as there, positions being those in their text; models of pictures or with a source cannot be packed.
void forward_packed(const Model&, std::span<const PackedText>, const CancelToken&, const Progress&);

}  // namespace headlight::model
