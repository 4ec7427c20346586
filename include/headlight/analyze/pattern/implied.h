// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"

namespace headlight::analyze {

/// The implied map of a head whose layer updates a state (docs/hooks.md, Implied attention): [query, key], signed, rows of any
/// sum; later tokens are NaN. With fewer `cells` a side than tokens, each cell is the number farthest from 0 of its pairs; cell
/// (r, c) covers rows [r T / cells, (r + 1) T / cells) and such columns. Error for a layer with softmax attention.
Matrix implied_map(const trace::Trace&, HeadId, std::int64_t cells, const CancelToken& = {});

}  // namespace headlight::analyze
