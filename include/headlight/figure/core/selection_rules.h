// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/figure.h"

namespace headlight::figure {

/// A click on a head's square (BertViz's rules): a click switches the head on or off, but the last active one stays on;
/// a double-click leaves only that head on, and switches all on when it was the only one already.
/// `focus` follows to the head that was switched on, and leaves one that was switched off.
/// A double-click may come after the single click that began it; the result is the same.
void toggle_head(Selection&, std::int64_t n_heads, Head, bool double_click);

/// The heads to draw of a figure that holds `available`: those active in this layer, or all if the selection is of another
/// layer or none of its heads are held (a newer figure is being made then).
std::vector<Head> active_heads(const Selection&, Layer, const std::vector<Head>& available);

}  // namespace headlight::figure
