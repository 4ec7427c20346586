// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "cli/options.h"
#include "headlight/intervention/recipe/run.h"
#include "headlight/trace/trace.h"

namespace headlight::cli {

/// A model and a text, ready to run: what `trace` and `render` begin with.
struct Loaded {
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const text::Tokenizer> tokenizer;
    trace::Prompt prompt;
    intervention::Recipe recipe{};  ///< under which the prompt is run
    CancelToken cancel;
    std::int64_t tokens() const;
};

/// Model and tokenizer alone; the prompt stays empty.
Loaded load_model(const ModelArgument&, const ComputeOptions&, const Console&);
std::shared_ptr<const model::Model> load_model(const std::filesystem::path& folder, const ComputeOptions&, const CancelToken&,
                                               const Console&);
Loaded load_for_run(const ModelArgument&, const TextArguments&, const ComputeOptions&, const Console&);
/// A prompt that is the picture in a file. An SVG's text is drawn with Qt's fonts.
trace::Prompt picture_prompt(const std::string& file);

/// The text that edits are of.
std::unique_ptr<intervention::Sources> sources_of(const Loaded&);
/// The default hooks without the overview, which most analyses do not read.
inline trace::CapturePlan hooks_alone() { return {.globs = {}, .overview = trace::no_overview}; }
/// Under the recipe. Warnings of the run become notes.
std::shared_ptr<const trace::Trace> run_loaded(const Loaded&, const trace::CapturePlan&, const Console&);

}  // namespace headlight::cli
