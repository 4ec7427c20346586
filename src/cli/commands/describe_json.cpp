// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/commands/describe.h"
#include "cli/picture_options.h"
#include "headlight/base/version.h"
#include "headlight/figure/core/view_spec.h"

#include <nlohmann/json.hpp>

namespace headlight::cli {
namespace {

using nlohmann::ordered_json;

const char* word_of(ValueKind kind) {
    switch (kind) {
        case ValueKind::file: return "file";
        case ValueKind::folder: return "folder";
        case ValueKind::model: return "model";
        case ValueKind::text: break;
    }
    return "text";
}

ordered_json described(const std::vector<OptionFacts>& options) {
    ordered_json list = ordered_json::array();
    for (const OptionFacts& option : options)
        list.push_back({{"names", option.names},
                        {"value", option.value},
                        {"help", option.help},
                        {"default", option.default_value},
                        {"choices", option.choices},
                        {"endings", option.endings},
                        {"kind", word_of(option.kind)},
                        {"repeats", option.repeats},
                        {"required", option.required}});
    return list;
}

}  // namespace

std::string commands_json(const std::vector<CommandFacts>& all) {
    ordered_json object{{"version", version()},
                        {"picture_options", PictureOptions::names},
                        {"commands", ordered_json::array()},
                        {"views", ordered_json::array()}};
    for (const CommandFacts& command : all)
        object["commands"].push_back({{"name", command.name},
                                      {"summary", command.summary},
                                      {"examples", command.examples},
                                      {"view", command.view},
                                      {"arguments", described(command.arguments)},
                                      {"options", described(command.options)}});
    for (const figure::ViewSpec& spec : figure::view_specs()) {
        ordered_json options = ordered_json::array();
        for (const figure::ViewOption& option : spec.options) options.push_back("--" + option.name);
        object["views"].push_back({{"id", spec.id}, {"title", spec.title}, {"options", options}});
    }
    return object.dump(1) + "\n";
}

}  // namespace headlight::cli
