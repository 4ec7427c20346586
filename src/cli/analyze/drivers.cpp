// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/contribution/drivers.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct DriversCommand : Analysis {
    std::int64_t layer = 0, neuron = -1, head = -1, position = 0, top = 50, heads = 3;
    CLI::Option *layer_option = nullptr, *position_option = nullptr;
    bool up = false;
    TokenArgument token{"--token"};

    void add(Definition& definition) {
        layer_option = add_index(definition, "--layer", layer, "the layer, from 0");
        position_option = add_index(definition, kPosition, position, "the token, from 0");
        add_index(definition, "--neuron", neuron, "what drives this neuron's pre-activation");
        add_index(definition, "--head", head, "which neurons this head drives");
        token.add(
            definition,
            "which neurons write this token's direction (needs no text); with --position: and which heads drive them there");
        definition.app->add_flag("--up", up, std::string(analyze::kUpBranch.help));
        add_count(definition, "--top", top, "neurons to list", 1, 100000000);
        add_count(definition, "--drivers", heads, "with --token and --position: heads to list for each neuron", 1, 1000000);
    }

    Result run(const Console& console) const {
        if ((neuron >= 0) + (head >= 0) + token.given() != 1) throw UsageError("one of --neuron, --head and --token is needed");
        refuse_unused(*cli_app,
                      {{"--layer", token.given(), "--token is about the neurons of all layers"},
                       {"--up", neuron < 0, "it is for --neuron"},
                       {"--top", neuron >= 0, "the drivers of one neuron are all listed"},
                       {"--drivers", !token.given() || position_option->count() == 0, "it is for --token with --position"}});
        if (token.given()) return of_token(console);
        if (layer_option->count() == 0 || position_option->count() == 0)
            throw UsageError("--layer and --position are needed with --neuron and --head");
        const auto trace = run_text(console).trace;
        const Position at(position);
        if (neuron >= 0) {
            const auto branch = up ? analyze::Branch::up : analyze::Branch::gate;
            Result found = result(
                *trace, analyze::drivers_table(analyze::neuron_drivers(*trace, {Layer(layer), Neuron(neuron)}, at, branch)));
            found.fact("neuron", "layer " + std::to_string(layer) + ", neuron " + std::to_string(neuron));
            return std::move(found.fact("position", position));
        }
        Result found =
            result(*trace, analyze::downstream_table(analyze::downstream_neurons(*trace, {Layer(layer), Head(head)}, at, top)));
        return std::move(found.fact("head", "L" + std::to_string(layer) + "H" + std::to_string(head)).fact("position", position));
    }

    /// The neurons that write the token, and on a text the heads that drive each of them most.
    Result of_token(const Console& console) const {
        const bool on_text = position_option->count() > 0;
        const Loaded loaded = on_text ? load(console) : load_weights(console);
        const std::int64_t id = *token.id(loaded, console);
        const std::string name = output_fact(loaded.model->config(), *loaded.tokenizer, id);
        if (!on_text) {
            Result found{.table = analyze::next_token_table(analyze::next_token_neurons(*loaded.model, id, top)),
                         .facts = facts_of(*loaded.model)};
            return std::move(found.fact("token", name));
        }
        const auto trace = run_loaded(loaded, hooks_alone(), console);
        Result found = result(*trace, analyze::table_of(analyze::next_token_drivers(*trace, id, Position(position), top, heads)));
        return std::move(found.fact("token", name).fact("position", position));
    }
};

}  // namespace

Action define_analyze_drivers(Definition& definition, const Frontend&) {
    return define_analysis<DriversCommand>(definition, kRun | kImage);
}

}  // namespace headlight::cli
