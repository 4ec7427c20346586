// SPDX-License-Identifier: GPL-3.0-or-later
// `headlight compare --pairs`: many pairs of texts in place of one.
#pragma once

#include "cli/open_or_run.h"
#include "cli/picture_options.h"
#include "cli/result_file.h"
#include "headlight/intervention/compare/paired_heads.h"

namespace headlight::cli {

struct ComparePairs {
    std::string pairs;  ///< a file, or the id of a built-in task
    intervention::PairedOptions options;
    PictureOptions picture;

    void add(Definition&);
    bool given() const { return !pairs.empty(); }
    /// UsageError for an option of the command that has no effect on pairs, or of pairs without them.
    void check(const CLI::App&, const std::string& out) const;
    void run(const ModelArgument&, const AttentionArgument&, const ComputeOptions&, const ResultFile&, const Console&) const;
};

}  // namespace headlight::cli
