// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "cli/run_text.h"

namespace headlight::cli {

/// The run beside the first, B beside A: another text, another model, or both.
struct OtherRun {
    std::string model, text, pair, image;

    void add(Definition&);
    bool given() const { return !model.empty() || !text.empty() || !pair.empty() || !image.empty(); }
    /// What B reads: A's input where nothing else is named.
    Loaded load(const Loaded& first, const TextArguments&, const ComputeOptions&, const Console&) const;
    /// Both runs; edits are B's.
    struct Runs {
        std::shared_ptr<const trace::Trace> a, b;
        CancelToken cancel;
    };
    Runs run(const ModelArgument&, const TextArguments&, const ComputeOptions&, const Console&) const;
};

}  // namespace headlight::cli
