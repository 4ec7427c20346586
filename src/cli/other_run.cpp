// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/other_run.h"

#include "cli/offscreen.h"
#include "headlight/base/error.h"
#include "headlight/figure/picture/picture_file.h"

#include <QCoreApplication>

#include <optional>
#include <utility>

namespace headlight::cli {

void OtherRun::add(Definition& definition) {
    CLI::App& app = *definition.app;
    CLI::Option* other = app.add_option("--other", model, "the model of B: a folder, a name, a checkpoint (default: MODEL)");
    definition.kinds[other->type_name("MODEL2")] = ValueKind::model;
    CLI::Option* with = app.add_option("--with", text, "the text of B (default: that of A)")->type_name("TEXT");
    app.add_option("--with-pair", pair, "the second sentence of B (default: that of A)")->type_name("TEXT");
    CLI::Option* picture =
        app.add_option("--with-image", image, "the picture of B (default: that of A)")->type_name("FILE")->excludes(with);
    definition.kinds[picture] = ValueKind::file;
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
    if (!image.empty()) {
        std::optional<Offscreen> offscreen;  // an SVG's text is drawn with Qt's fonts
        if (!QCoreApplication::instance()) offscreen.emplace();
        second.prompt = {.image = image, .picture = figure::read_picture(image)};
    }
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
