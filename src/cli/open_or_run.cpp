// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/open_or_run.h"

#include "headlight/model/runtime.h"
#include "headlight/trace/saved.h"

namespace headlight::cli {

std::shared_ptr<const trace::Trace> open_or_run(const ModelArgument& model_argument, const TextArguments& text,
                                                const ComputeOptions& compute, const trace::CapturePlan& plan,
                                                const Console& console) {
    if (!trace::is_saved(model_argument.typed))
        return run_loaded(load_for_run(model_argument, text, compute, console), plan, console);
    if (text.given() || text.has_pair())
        throw UsageError(model_argument.typed + " holds its own text: leave --text, --pair and --image out");
    if (text.has_edits()) throw UsageError(model_argument.typed + " is a saved run: --edit and --recipe need the model");
    model::start_runtime(compute.threads);
    const auto trace = trace::open_saved(model_argument.typed, interruptible(), console.progress());
    console.clear_progress();
    for (const std::string& warning : trace->info().warnings) console.note(warning);
    return trace;
}

void AttentionArgument::add(Definition& definition) {
    definition.add_choice("--attention", word, enum_words<model::Stack>(),
                          "of an encoder-decoder model: the decoder's own, the encoder's, or from target to source");
}

std::shared_ptr<const trace::Trace> AttentionArgument::of(const std::shared_ptr<const trace::Trace>& run) const {
    return trace::part_of(run, enum_value<model::Stack>(word).value());
}

}  // namespace headlight::cli
