// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/run_text.h"

#include "headlight/model/runtime.h"

namespace headlight::cli {

std::shared_ptr<const trace::Trace> run_text(const ModelArgument& model_argument, const TextArguments& text,
                                             const ComputeOptions& compute, const trace::CapturePlan& plan,
                                             const Console& console) {
    text.require();
    const trace::Prompt prompt{.text = text.text(), .pair = text.pair()};
    const std::filesystem::path folder = model_argument.folder();
    model::start_runtime(compute.threads);
    const CancelToken cancel = interruptible();
    const Progress progress = console.progress();
    // The tokenizer first: it is quick, and says at once when the folder or the text is not what it should be.
    const auto tokenizer = text::Tokenizer::load(folder);
    const model::ComputeType dtype = compute.dtype == "float64"    ? model::ComputeType::float64
                                     : compute.dtype == "bfloat16" ? model::ComputeType::bfloat16
                                                                   : model::ComputeType::float32;
    const auto loaded = model::Model::load(folder, {.dtype = dtype, .device = compute.device}, cancel, progress);
    const auto trace = trace::run(loaded, tokenizer, prompt, plan, cancel, progress);
    console.clear_progress();
    for (const std::string& warning : trace->info().warnings) console.note(warning);
    return trace;
}

}  // namespace headlight::cli
