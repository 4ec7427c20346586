// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/attribution.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"
#include "headlight/trace/edits.h"

namespace headlight::cli {
namespace {

struct AttributionCommand : Analysis {
    std::int64_t position = 0;
    TokenArgument token{"--token"}, minus{"--minus"};
    bool neurons = false;
    CLI::Option* at = nullptr;

    void add(Definition& definition) {
        at = add_index(definition, kPosition, position,
                       "the token whose prediction is split, from 0; classifiers: the one that their head reads");
        token.add(definition, "the token whose logit is split")->required();
        minus.add(definition, "split the difference to this token's logit");
        definition.app->add_flag("--neurons", neurons, "every neuron instead of whole MLPs");
    }

    Result run(const Console& console) const {
        const Loaded loaded = load(console);
        const analyze::AttributionOptions options{
            .token = *token.id(loaded, console), .minus = minus.id(loaded, console), .neurons = neurons};
        const text::Encoding read = trace::encodings_of(*loaded.model, *loaded.tokenizer, loaded.prompt).own;
        const Position p = position_of(at, position, loaded.model->config(), read.ids);
        const auto trace = run_loaded(loaded, hooks_alone(), console);
        Result found = result(*trace, analyze::table_of(analyze::attribution(*trace, p, options)));
        if (trace->config().class_head.dense)
            found.fact("head", "its dense layer by the derivative at the run; the part nonlinear is what that leaves");
        found.fact("position", p.value).fact("token", output_fact(loaded.model->config(), *loaded.tokenizer, options.token));
        if (options.minus) found.fact("minus", output_fact(loaded.model->config(), *loaded.tokenizer, *options.minus));
        return found;
    }
};

}  // namespace

Action define_analyze_attribution(Definition& definition, const Frontend&) {
    return define_analysis<AttributionCommand>(definition, kRun | kImage);
}

}  // namespace headlight::cli
