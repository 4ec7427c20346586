// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "cli/run_text.h"

namespace headlight::cli {

/// The trace that MODEL names, when it is a saved one (no text is given then), else a run of the model.
std::shared_ptr<const trace::Trace> open_or_run(const ModelArgument&, const TextArguments&, const ComputeOptions&,
                                                const trace::CapturePlan&, const Console&);

/// --attention self|encoder|cross: which attention of an encoder-decoder model is meant.
struct AttentionArgument {
    std::string word{enum_word(model::Stack::decoder)};
    void add(Definition&);
    bool given() const { return word != enum_word(model::Stack::decoder); }
    /// Error for a model of one stack.
    std::shared_ptr<const trace::Trace> of(const std::shared_ptr<const trace::Trace>& run) const;
};

}  // namespace headlight::cli
