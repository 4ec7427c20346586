// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/export/export.h"
#include "headlight/intervention/compare/paired_heads.h"

#include <memory>
#include <string>

namespace headlight::figure {

/// A mosaic of the mean difference of PairedHeads::shown(), and all heads sorted by its size, with their intervals. Heads whose
/// interval holds 0 are faint. `words`: what the pairs are.
std::unique_ptr<Figure> paired_heads_figure(std::shared_ptr<const intervention::PairedHeads>, const QString& words);

/// Of a file of `headlight compare --pairs`: `pairs` is the file or the task, `options` those of the command line that differ
/// from the default, without the output's.
Provenance paired_heads_provenance(const model::Model&, const std::string& pairs,
                                   std::vector<std::pair<std::string, std::string>> options, const std::string& dtype,
                                   const ExportOptions&, const std::string& format);

}  // namespace headlight::figure
