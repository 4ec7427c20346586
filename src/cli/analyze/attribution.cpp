// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/attribution.h"
#include "cli/analyze/analyses.h"
#include "cli/analyze/split_table.h"
#include "cli/analyze/token_argument.h"
#include "cli/result_file.h"
#include "cli/run_text.h"

namespace headlight::cli {
namespace {

struct AttributionArguments {
    ModelArgument model;
    TextArguments text;
    ComputeOptions compute;
    ResultFile out;
    std::int64_t position = 0;
    TokenArgument token{"--token"}, minus{"--minus"};
    bool neurons = false;
};

int dla(const AttributionArguments& o, const Console& console) {
    o.out.check();
    const Loaded loaded = load_for_run(o.model, o.text, o.compute, console);
    const model::ModelConfig& config = loaded.model->config();
    const analyze::AttributionOptions options{.token = *o.token.id(*loaded.tokenizer, config, console),
                                              .minus = o.minus.id(*loaded.tokenizer, config, console),
                                              .neurons = o.neurons};
    const auto trace = run_loaded(loaded, {}, console);
    const analyze::Split split = analyze::attribution(*trace, Position(o.position), options);
    Result result{.table = split_table(split), .arrays = {}, .definitions = {}, .facts = facts_of(*trace)};
    const auto token = [&](std::int64_t id) { return std::to_string(id) + " " + text::token_label(*trace->tokenizer(), id); };
    result.facts.emplace_back("position", std::to_string(o.position));
    result.facts.emplace_back("token", token(options.token));
    if (options.minus) result.facts.emplace_back("minus", token(*options.minus));
    result.definitions = {{"component", "what wrote into the stream; total: the logit (difference) of the run"},
                          {"index", "head or neuron"},
                          {"contribution",
                           "((c - mean c) / sigma * gain) W_U of the token, sigma of the run's final norm; "
                           "RMSNorm: no mean; final_bias: the final norm's and the unembedding's bias"}};
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_dla(Definition& definition, const Frontend&) {
    auto o = std::make_shared<AttributionArguments>();
    o->model.add(definition);
    o->text.add(definition);
    o->text.add_image(definition);
    add_index(definition, "--position", o->position, "the token whose prediction is split, from 0")->required();
    o->token.add(definition, "the token whose logit is split")->required();
    o->minus.add(definition, "split the difference to this token's logit");
    definition.app->add_flag("--neurons", o->neurons, "every neuron instead of whole MLPs");
    o->out.add(definition);
    o->compute.add(definition);
    return [o, console = definition.console] { return dla(*o, *console); };
}

}  // namespace headlight::cli
