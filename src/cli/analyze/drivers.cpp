// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/contribution/drivers.h"
#include "cli/analyze/analyses.h"
#include "cli/analyze/split_table.h"
#include "cli/analyze/token_argument.h"
#include "cli/result_file.h"
#include "cli/run_text.h"

namespace headlight::cli {
namespace {

struct DriversArguments {
    ModelArgument model;
    TextArguments text;
    ComputeOptions compute;
    ResultFile out;
    std::int64_t layer = 0, neuron = -1, head = -1, position = 0, top = 50, heads = 3;
    CLI::Option *layer_option = nullptr, *position_option = nullptr;
    bool up = false;
    TokenArgument token{"--token"};

    int questions() const { return (neuron >= 0) + (head >= 0) + token.given(); }
};

/// What drives one neuron.
Result of_neuron(const DriversArguments& o, const trace::Trace& trace) {
    const analyze::NeuronId id{Layer(o.layer), Neuron(o.neuron)};
    const analyze::Split split =
        analyze::neuron_drivers(trace, id, Position(o.position), o.up ? analyze::Branch::up : analyze::Branch::gate);
    Result result{.table = split_table(split), .arrays = {}, .definitions = {}, .facts = facts_of(trace)};
    result.facts.emplace_back("neuron", "layer " + std::to_string(o.layer) + ", neuron " + std::to_string(o.neuron));
    result.facts.emplace_back("position", std::to_string(o.position));
    result.definitions = {{"contribution",
                           "part of the neuron's pre-activation, through the norm before the MLP at its scale in the "
                           "run; final_bias: that norm's bias through the key, and the neuron's own"}};
    return result;
}

Result of_head(const DriversArguments& o, const trace::Trace& trace, const std::vector<analyze::NeuronScore>& found) {
    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts_of(trace)};
    result.facts.emplace_back("head", "L" + std::to_string(o.layer) + "H" + std::to_string(o.head));
    result.facts.emplace_back("position", std::to_string(o.position));
    result.table.columns = {"layer", "neuron", "contribution", "pre_activation"};
    result.definitions = {{"contribution", "what the head's output adds to the neuron's pre-activation by the direct path"},
                          {"pre_activation", "the whole of it"}};
    for (const analyze::NeuronScore& n : found)
        result.table.rows.push_back({n.id.layer.value, n.id.neuron.value, n.value, n.pre});
    return result;
}

Result of_token(const model::Model& model, const std::string& token, const std::vector<analyze::NeuronScore>& found) {
    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts_of(model)};
    result.facts.emplace_back("token", token);
    result.table.columns = {"layer", "neuron", "score"};
    result.definitions = {{"score", "<w_out, W_U[:, token]>"}};
    for (const analyze::NeuronScore& n : found) result.table.rows.push_back({n.id.layer.value, n.id.neuron.value, n.value});
    return result;
}

/// The same neurons on a text, a row for each of the heads that drive one most.
Result of_token_at(const DriversArguments& o, const trace::Trace& trace, const std::string& token, std::int64_t id) {
    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts_of(trace)};
    result.facts.emplace_back("token", token);
    result.facts.emplace_back("position", std::to_string(o.position));
    result.table.columns = {"layer",          "neuron",     "score",     "coefficient",
                            "pre_activation", "from_layer", "from_head", "contribution"};
    result.definitions = {{"score", "<w_out, W_U[:, token]>"},
                          {"coefficient", "of the neuron at the position; times the score: what it writes along W_U[:, token]"},
                          {"pre_activation", "what the activation function reads; gated MLPs: the gate"},
                          {"contribution", "part of the pre-activation that the head gives by the direct path"}};
    for (const analyze::NextTokenNeuron& n : analyze::next_token_drivers(trace, id, Position(o.position), o.top, o.heads)) {
        if (n.heads.empty()) {  // its expert was not chosen here: nothing drives it
            auto& row = result.table.rows.emplace_back();
            row = {n.id.layer.value, n.id.neuron.value, n.score, n.coefficient};
            row.resize(result.table.columns.size());
        }
        for (const auto& [head, part] : n.heads)
            result.table.rows.push_back(
                {n.id.layer.value, n.id.neuron.value, n.score, n.coefficient, n.pre, head.layer.value, head.head.value, part});
    }
    return result;
}

int drivers(const DriversArguments& o, const Console& console) {
    if (o.questions() != 1) throw UsageError("one of --neuron, --head and --token is needed");
    if (!o.token.given() && (o.layer_option->count() == 0 || o.position_option->count() == 0))
        throw UsageError("--layer and --position are needed with --neuron and --head");
    o.out.check();
    if (o.token.given()) {
        const bool on_text = o.position_option->count() > 0;
        const Loaded loaded =
            on_text ? load_for_run(o.model, o.text, o.compute, console) : load_model(o.model, o.compute, console);
        const std::int64_t id = *o.token.id(*loaded.tokenizer, loaded.model->config(), console);
        const std::string name = std::to_string(id) + " " + text::token_label(*loaded.tokenizer, id);
        if (on_text)
            o.out.write(of_token_at(o, *run_loaded(loaded, {}, console), name, id), console);
        else
            o.out.write(of_token(*loaded.model, name, analyze::next_token_neurons(*loaded.model, id, o.top)), console);
        return 0;
    }
    const Loaded loaded = load_for_run(o.model, o.text, o.compute, console);
    const auto trace = run_loaded(loaded, {}, console);
    if (o.neuron >= 0)
        o.out.write(of_neuron(o, *trace), console);
    else
        o.out.write(
            of_head(o, *trace, analyze::downstream_neurons(*trace, {Layer(o.layer), Head(o.head)}, Position(o.position), o.top)),
            console);
    return 0;
}

}  // namespace

Action define_analyze_drivers(Definition& definition, const Frontend&) {
    auto o = std::make_shared<DriversArguments>();
    o->model.add(definition);
    o->text.add(definition);
    o->text.add_image(definition);
    o->layer_option = add_index(definition, "--layer", o->layer, "the layer, from 0");
    o->position_option = add_index(definition, "--position", o->position, "the token, from 0");
    add_index(definition, "--neuron", o->neuron, "what drives this neuron's pre-activation");
    add_index(definition, "--head", o->head, "which neurons this head drives");
    o->token.add(definition,
                 "which neurons write this token's direction (needs no text); with --position: and which heads drive them there");
    definition.app->add_flag("--up", o->up, "of a gated MLP: the linear branch instead of the gate");
    definition.app->add_option("--top", o->top, "neurons to list")
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::Range(1, 100000000));
    definition.app->add_option("--drivers", o->heads, "with --token and --position: heads to list for each neuron")
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000000));
    o->out.add(definition);
    o->compute.add(definition);
    return [o, console = definition.console] { return drivers(*o, *console); };
}

}  // namespace headlight::cli
