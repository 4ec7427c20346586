// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/fields.h"
#include "headlight/figure/export/export.h"
#include "headlight/intervention/sweep/pairs.h"

#include <memory>

namespace headlight::figure {

using SweepPtr = std::shared_ptr<const intervention::SweepResult>;

/// A heat map of every cell of a sweep, one panel a site (edges: one a head), on a scale that is symmetric around 0 and shared by
/// all panels. Cells whose interval holds 0 are faint, cells that are not aligned hatched, pending ones blank. With effect `both`
/// a scatter of total against direct effects. Its hits have the option "cell", the number of the cell.
std::unique_ptr<Figure> sweep_figure(SweepPtr);

/// The command that makes a file of a sweep; `more`: options of the command that are not the request's.
std::string sweep_command(const model::Model&, const intervention::SweepRequest&, const std::string& dtype, const ExportOptions&,
                          const std::string& format, const OptionWords& more = {});
/// Of the figure and its data, with that command. Reads the weights for their hash.
Provenance sweep_provenance(const model::Model&, const intervention::SweepRequest&, const std::string& dtype,
                            const ExportOptions&, const std::string& format, const OptionWords& more = {});

/// What the numbers of a sweep depend on beside the ids of its texts: what is kept of another is refused. Reads the weights for
/// their hash.
intervention::SweepFacts sweep_facts(const model::Model&, const intervention::SweepRequest&, const std::string& dtype);

/// "z  L3H5  ·Mary (4)": a cell in words, with its axes' names and tokens. The name lacks the site where there is but one.
QString sweep_cell_words(const intervention::SweepResult&, const intervention::SweepCell&);
QString sweep_cell_name(const intervention::SweepResult&, const intervention::SweepCell&);
/// "With z L26H0 taken from the clean run, the logit difference “·are” − “·is” goes from −4.79 to 1.85: 81.0 % of the
/// way to 3.41."
/// Empty: the cell has no number yet, or no position in common.
QString sweep_story(const intervention::SweepResult&, std::size_t cell);
/// "logit difference “·are” − “·is”": without the answers where pairs have different ones.
QString sweep_metric_words(const intervention::SweepResult&);
/// Three significant digits with a true minus sign.
QString sweep_number(double);

}  // namespace headlight::figure
