// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/command.h"
#include "cli/memory_option.h"
#include "cli/open_or_run.h"
#include "cli/options.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/base/version.h"
#include "headlight/figure/core/view_spec.h"
#include "headlight/trace/saved.h"

#include <cstdlib>
#include <filesystem>

namespace headlight::cli {
namespace {

struct WindowArguments {
    ModelArgument model;
    TextArguments text;
    ComputeOptions compute;
    AttentionArgument attention;
    std::string view, heads;
    std::int64_t layer = -1, query = -1, key = -1;
    bool announces = false;
};

bool is_session(const std::string& typed) {
    std::error_code ec;
    return std::filesystem::path(typed).extension() == ".headlight" && std::filesystem::is_regular_file(typed, ec);
}

void define_first_look(Definition& definition, WindowArguments& o) {
    std::vector<std::string> views;
    for (const figure::ViewSpec& spec : figure::view_specs()) views.push_back(spec.id);
    definition.add_choice("--view", o.view, views, "the view that opens")->default_str("");
    o.attention.add(definition);
    add_index(definition, "--layer", o.layer, "the selected layer, from 0 (default: that of an interesting head)");
    add_value(definition, "--heads,--head", o.heads, "its selected heads, from 0: 5 or 0,2,4-7", "LIST");
    add_index(definition, kPosition, o.query, "pin the query token, by position from 0");
    add_index(definition, "--key", o.key, "pin the key token, by position from 0");
    definition.app->add_flag("--announce", o.announces, "print a line on standard output once the window is shown");
}

void take_first_look(const WindowArguments& o, WindowRequest& request) {
    if (!o.view.empty()) request.view = o.view;
    request.attention = enum_value<model::Stack>(o.attention.word).value();
    if (o.layer >= 0) request.layer = Layer(o.layer);
    if (!o.heads.empty())
        for (const std::int64_t head : parse_index_list(o.heads, "--heads")) request.heads.emplace_back(head);
    if (o.query >= 0) request.query = Position(o.query);
    if (o.key >= 0) request.key = Position(o.key);
    const bool any =
        request.view || o.attention.given() || request.layer || !request.heads.empty() || request.query || request.key;
    if (any && is_session(o.model.typed))
        throw UsageError(o.model.typed +
                         " says what is selected: leave --view, --attention, --layer, --head, --query and --key out");
    request.announces = o.announces;
}

/// Reports a wrong model on the terminal, before a window opens.
void check_model(const ModelArgument& model) {
    if (is_session(model.typed) || trace::is_saved(model.typed)) return;  // the window opens them too
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
    define_first_look(definition, *options);
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
        take_first_look(*options, request);
        if (!open)
            throw Error(ErrorFacts{.problem = "This build of Headlight has no window",
                                   .hint = "Build with -DHEADLIGHT_GUI=ON, or use a command: headlight --help"});
        check_display();
        return open(request);
    };
}

}  // namespace headlight::cli
