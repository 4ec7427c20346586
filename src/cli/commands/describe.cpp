// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/commands/describe.h"

namespace headlight::cli {

CommandFacts describe(const Command& command, const Frontend& frontend) {
    const Built built = build(command, frontend);
    const Definition& definition = built.definition;
    CommandFacts facts{std::string(command.name), std::string(command.summary), command.examples, {}, {},
                       std::string(command.view)};
    for (const CLI::Option* option : definition.app->get_options()) {
        OptionFacts one;
        for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
        for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
        one.help = option->get_description();
        one.default_value = option->get_default_str();
        one.required = option->get_required();
        one.repeats = option->get_items_expected_max() > 1;
        if (const auto found = definition.choices.find(option); found != definition.choices.end()) one.choices = found->second;
        if (const auto found = definition.kinds.find(option); found != definition.kinds.end()) one.kind = found->second;
        if (const auto found = definition.endings.find(option); found != definition.endings.end()) one.endings = found->second;
        if (option->get_items_expected_max() > 0) one.value = option->get_type_name();
        if (one.names.empty()) {
            one.value = option->get_name(true);
            facts.arguments.push_back(std::move(one));
        } else {
            facts.options.push_back(std::move(one));
        }
    }
    return facts;
}

std::vector<CommandFacts> describe_all(const Frontend& frontend) {
    std::vector<CommandFacts> all{describe(window_command(), frontend)};
    for (const Command& command : commands()) {
        all.push_back(describe(command, frontend));
        if (const CommandGroup* group = group_called(command.name))
            for (const Command& own : group->commands) all.push_back(describe(own, frontend));
    }
    return all;
}

}  // namespace headlight::cli
