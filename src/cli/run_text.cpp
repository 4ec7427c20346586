// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/run_text.h"

#include "headlight/model/runtime.h"

namespace headlight::cli {

std::int64_t Loaded::tokens() const {
    std::optional<std::string_view> pair;
    if (!prompt.pair.empty()) pair = prompt.pair;
    return tokenizer->encode(prompt.text, pair, prompt.add_special_tokens).size();
}

std::int64_t Loaded::tokens_of(const std::string& text) const {
    return tokenizer->encode(text, std::nullopt, prompt.add_special_tokens).size();
}

namespace {

/// What is quick, and says at once when the folder is not what it should be.
Loaded load_tokenizer(const std::filesystem::path& folder, const ComputeOptions& compute) {
    Loaded loaded;
    model::start_runtime(compute.threads);
    loaded.cancel = interruptible();
    loaded.tokenizer = text::Tokenizer::load(folder);
    return loaded;
}

}  // namespace

std::shared_ptr<const model::Model> load_model(const std::filesystem::path& folder, const ComputeOptions& compute,
                                               const CancelToken& cancel, const Console& console) {
    const model::ComputeType dtype = compute.dtype == "float64"    ? model::ComputeType::float64
                                     : compute.dtype == "bfloat16" ? model::ComputeType::bfloat16
                                                                   : model::ComputeType::float32;
    auto model = model::Model::load(folder, {.dtype = dtype, .device = compute.device}, cancel, console.progress());
    console.clear_progress();
    return model;
}

Loaded load_model(const ModelArgument& model_argument, const ComputeOptions& compute, const Console& console) {
    const std::filesystem::path folder = model_argument.folder();
    Loaded loaded = load_tokenizer(folder, compute);
    loaded.model = load_model(folder, compute, loaded.cancel, console);
    return loaded;
}

Loaded load_for_run(const ModelArgument& model_argument, const TextArguments& text, const ComputeOptions& compute,
                    const Console& console) {
    text.require();
    trace::Prompt prompt = {.text = text.text(), .pair = text.pair()};
    const std::filesystem::path folder = model_argument.folder();
    Loaded loaded = load_tokenizer(folder, compute);
    prompt.text = text.as_model_text(prompt.text, *loaded.tokenizer);
    loaded.prompt = prompt;
    loaded.tokens();  // a text that cannot be read is told before the weights are
    loaded.model = load_model(folder, compute, loaded.cancel, console);
    return loaded;
}

std::shared_ptr<const trace::Trace> run_loaded(const Loaded& loaded, const trace::CapturePlan& plan,
                                               const Console& console) {
    const auto trace =
        trace::run(loaded.model, loaded.tokenizer, loaded.prompt, plan, loaded.cancel, console.progress());
    console.clear_progress();
    for (const std::string& warning : trace->info().warnings) console.note(warning);
    return trace;
}

}  // namespace headlight::cli
