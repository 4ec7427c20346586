// SPDX-License-Identifier: GPL-3.0-or-later
// What a head keeps of its attention under a sparse scheme.
#pragma once

#include "headlight/analyze/sparsity/sparsity.h"
#include "headlight/figure/pattern/pattern_views.h"

#include <QStringList>

#include <memory>

namespace headlight::figure {

/// The head's map with the regions of the scheme over it and the mass kept of each row beside it; below, every head's mean, and
/// the mean of the layer's heads against the budget and the length of the text. Reads the patterns of all heads.
std::unique_ptr<Figure> sparsity_view(TracePtr, HeadId, const analyze::SparsityOptions&, const CancelToken& = {},
                                      const Progress& = {});
/// Why a scheme keeps everything of a text that is this short, and what to choose; empty: it leaves something out.
QStringList whole_text_notes(const analyze::SparsityOptions&, std::int64_t tokens);

}  // namespace headlight::figure
