// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/mlp.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/token_argument.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/analyze/prediction/logit_lens.h"

namespace headlight::cli {
namespace {

struct MlpArguments {
    ModelArgument model;
    TextArguments text;
    ComputeOptions compute;
    ResultFile out;
    std::int64_t layer = 0, position = 0, top = 20;
    bool gain = false;
};

int memories(const MlpArguments& o, const Console& console) {
    o.out.check();
    const Loaded loaded = load_for_run(o.model, o.text, o.compute, console);
    const auto trace = run_loaded(loaded, {}, console);
    const std::vector<analyze::Memory> found = analyze::memories(*trace, Layer(o.layer), Position(o.position), o.top);
    std::vector<analyze::Promoted> promoted;
    if (analyze::unembeds_stream(trace->config())) {
        std::vector<Neuron> neurons;
        for (const analyze::Memory& m : found) neurons.push_back(m.neuron);
        promoted = analyze::promoted_tokens(*trace->model(), Layer(o.layer), neurons, {.top = 1, .gain = o.gain, .watched = {}},
                                            loaded.cancel, console.progress());
        console.clear_progress();
    } else {
        console.note("this model has no unembedding: what the memories promote is left empty");
    }
    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts_of(*trace)};
    result.facts.emplace_back("layer", std::to_string(o.layer));
    result.facts.emplace_back("position", std::to_string(o.position));
    result.facts.emplace_back("gain", o.gain ? "final norm's gain folded in" : "none");
    result.table.columns = {"neuron",    "coefficient",     "value_norm",      "contribution_norm", "top_token_id",
                            "top_token", "top_probability", "bottom_token_id", "bottom_token"};
    result.definitions = {{"coefficient", "m = act(x . k + b); gated: act(x . g) (x . u)"},
                          {"value_norm", "|v|"},
                          {"contribution_norm", "|m| |v|"},
                          {"top_token", "likeliest of softmax(v E); a negative coefficient promotes the bottom token"}};
    const bool experts = model::has_experts(trace->config(), o.layer);
    if (experts) {
        result.table.columns.insert(result.table.columns.end(), {"expert", "weight"});
        result.definitions[0].second = "m = weight act(x . g) (x . u); 0 where the expert was not chosen";
        result.definitions.emplace_back("expert", "that the neuron belongs to; -1: the shared one");
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        const analyze::Memory& m = found[i];
        auto& row = result.table.rows.emplace_back();
        row = {m.neuron.value, m.coefficient, m.value_norm, m.contribution_norm};
        if (!promoted.empty()) {
            const analyze::TokenScore &top = promoted[i].top.front(), &bottom = promoted[i].bottom.front();
            row.emplace_back(top.id);
            row.emplace_back(text::token_label(*trace->tokenizer(), top.id));
            row.emplace_back(static_cast<double>(top.probability));
            row.emplace_back(bottom.id);
            row.emplace_back(text::token_label(*trace->tokenizer(), bottom.id));
        }
        row.resize(result.table.columns.size() - (experts ? 2 : 0));
        if (experts) {
            row.emplace_back(m.expert);
            row.emplace_back(m.weight);
        }
    }
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_memories(Definition& definition, const Frontend&) {
    auto o = std::make_shared<MlpArguments>();
    o->model.add(definition);
    o->text.add(definition);
    o->text.add_image(definition);
    add_index(definition, "--layer", o->layer, "the layer, from 0")->required();
    add_index(definition, "--position", o->position, "the token, from 0")->required();
    definition.app->add_option("--top", o->top, "memories to list, largest contribution first; 0: all")
        ->type_name("N")
        ->capture_default_str()
        ->check(counted_from_zero());
    definition.app->add_flag("--gain", o->gain, "fold the final norm's gain into the values");
    o->out.add(definition);
    o->compute.add(definition);
    return [o, console = definition.console] { return memories(*o, *console); };
}

}  // namespace headlight::cli
