// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/export/export.h"
#include "headlight/intervention/sweep/pairs.h"

#include <memory>

namespace headlight::figure {

using SweepPtr = std::shared_ptr<const intervention::SweepResult>;

/// A heat map of every cell of a sweep, one panel a site (edges: one a head), on a scale that is symmetric around 0 and shared by
/// all panels. Cells whose interval holds 0 are faint, cells that are not aligned hatched, pending ones blank. With effect `both`
/// a scatter of total against direct effects. Its hits have the option "cell", the number of the cell.
std::unique_ptr<Figure> sweep_figure(SweepPtr);

/// The command that makes a file of a sweep.
std::string sweep_command(const model::Model&, const intervention::SweepRequest&, const std::string& dtype, const ExportOptions&,
                          const std::string& format);
/// Of the figure and its data, with that command. Reads the weights for their hash.
Provenance sweep_provenance(const model::Model&, const intervention::SweepRequest&, const std::string& dtype,
                            const ExportOptions&, const std::string& format);

/// What the numbers of a sweep depend on beside the ids of its texts: what is kept of another is refused. Reads the weights for
/// their hash.
intervention::SweepFacts sweep_facts(const model::Model&, const intervention::SweepRequest&, const std::string& dtype);

/// "z  L3H5  ·Mary (4)": a cell in words, with its axes' names and tokens.
QString sweep_cell_words(const intervention::SweepResult&, const intervention::SweepCell&);
/// "effect on the logit difference 3.15, normalised 0.737": both scales by name.
QString sweep_effect_words(const intervention::SweepResult&, const intervention::SweepCellResult&);

}  // namespace headlight::figure
