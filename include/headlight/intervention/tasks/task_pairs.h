// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/intervention/sweep/pairs.h"

namespace headlight::intervention {

/// The request's pairs are those of a built-in task (tasks.h): no file has this name.
bool names_task(const SweepRequest&);

/// pairs_of() or, where the request names a task, its pairs that fit the model. Years: those above the pair's own are right, the
/// others wrong. Error: none fits, with the reason.
std::vector<SweepPair> asked_pairs(const SweepRequest&, const model::Model&, const text::Tokenizer&, const PictureReader& = {});

}  // namespace headlight::intervention
