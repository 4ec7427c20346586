// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/command.h"
#include "cli/memory_option.h"
#include "cli/options.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/base/version.h"
#include "headlight/trace/saved.h"

#include <cstdlib>
#include <filesystem>

namespace headlight::cli {
namespace {

struct WindowArguments {
    ModelArgument model;
    TextArguments text;
    ComputeOptions compute;
};

/// Reports a wrong model on the terminal, before a window opens.
void check_model(const ModelArgument& model) {
    std::error_code ec;
    const std::filesystem::path typed(model.typed);
    const bool session = typed.extension() == ".headlight" && std::filesystem::is_regular_file(typed, ec);
    if (session || trace::is_saved(model.typed)) return;  // the window opens them too
    try {
        model.folder();
    } catch (const Error&) {
        std::vector<std::string> names;
        for (const Command& command : commands()) names.emplace_back(command.name);
        const std::string near = nearest(model.typed, names);
        if (near.empty()) throw;
        throw UsageError("\"" + model.typed + "\" is neither a model nor a command; did you mean headlight " + near + "?");
    }
}

/// Without a display Qt ends the program: report it first.
void check_display() {
    const auto is_set = [](const char* name) {
        const char* value = std::getenv(name);
        return value && *value;
    };
    if (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") || is_set("QT_QPA_PLATFORM")) return;
    throw Error(ErrorFacts{.problem = "There is no display to open a window on",
                           .hint = "headlight render and headlight gallery draw without one"});
}

}  // namespace

Action define_window(Definition& definition, const Frontend& frontend) {
    auto options = std::make_shared<WindowArguments>();
    options->model.add(definition);
    definition.app->get_option("MODEL")->required(false);
    options->text.add(definition);
    options->text.add_image(definition);
    options->compute.add_type_and_device(definition);
    add_memory(definition);
    definition.app->set_version_flag("--version", std::string("headlight ") + version());
    return [options, open = frontend.open_window] {
        WindowRequest request;
        request.load = options->compute.load();
        if (!options->model.typed.empty()) {
            check_model(options->model);
            request.model = options->model.reference();
        }
        if (options->text.has_image())
            request.image = options->text.image;
        else if (options->text.given())
            request.text = options->text.text();
        if (options->text.has_pair()) request.pair = options->text.pair();
        if (!open)
            throw Error(ErrorFacts{.problem = "This build of Headlight has no window",
                                   .hint = "Build with -DHEADLIGHT_GUI=ON, or use a command: headlight --help"});
        check_display();
        return open(request);
    };
}

}  // namespace headlight::cli
