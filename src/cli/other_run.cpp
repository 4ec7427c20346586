// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/other_run.h"

#include "headlight/base/error.h"

#include <utility>

namespace headlight::cli {

void OtherRun::add(Definition& definition) {
    add_path(definition, "--other", model, "the model of B: a folder, a name, a checkpoint (default: MODEL)", "MODEL2",
             ValueKind::model);
    CLI::Option* with = add_value(definition, "--with", text, "the text of B (default: that of A)", "TEXT");
    add_value(definition, "--with-pair", pair, "the second sentence of B (default: that of A)", "TEXT");
    add_path(definition, "--with-image", image, "the picture of B (default: that of A)")->excludes(with);
}

Loaded OtherRun::load(const Loaded& first, const TextArguments& typed, const ComputeOptions& compute,
                      const Console& console) const {
    Loaded second = first;
    if (!model.empty()) {
        ModelArgument argument;
        argument.typed = model;
        second = load_model(argument, compute, console);
        second.prompt = first.prompt;
        second.recipe = first.recipe;
    }
    if (!text.empty()) second.prompt.text = typed.as_model_text(text, *second.tokenizer);
    if (!pair.empty()) second.prompt.pair = pair;
    if (!image.empty()) second.prompt = picture_prompt(image);
    return second;
}

OtherRun::Runs OtherRun::run(const ModelArgument& argument, const TextArguments& typed, const ComputeOptions& compute,
                             const Console& console) const {
    Loaded first = load_for_run(argument, typed, compute, console);
    const Loaded second = load(first, typed, compute, console);
    first.recipe = {};
    auto a = run_loaded(first, {}, console);
    return {std::move(a), run_loaded(second, {}, console), first.cancel};
}

}  // namespace headlight::cli
