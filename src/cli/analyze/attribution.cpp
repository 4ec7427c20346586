// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/attribution.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"
#include "headlight/trace/edits.h"

namespace headlight::cli {
namespace {

struct AttributionCommand : Analysis {
    std::int64_t position = 0;
    analyze::LogitRequest asked;
    bool neurons = false;
    CLI::Option* at = nullptr;

    void add(Definition& definition) {
        at = add_index(definition, kPosition, position,
                       "the token whose prediction is split, from 0 (default: the last; classifiers: the one their head reads)");
        add_fields(definition, asked);
        definition.app->add_flag("--neurons", neurons, "every neuron instead of whole MLPs");
    }

    Result run(const Console& console) const {
        const Loaded loaded = load(console);
        note_tokens(asked, loaded, console);
        const model::ModelConfig& config = loaded.model->config();
        const text::Encoding read = trace::encodings_of(*loaded.model, *loaded.tokenizer, loaded.prompt).own;
        const Position p = position_of(at, position, config, read.ids);
        const auto trace = run_loaded(loaded, hooks_alone(), console);
        analyze::AttributionOptions options = analyze::logit_asked(*trace, p, asked);
        options.neurons = neurons;
        Result found = result(*trace, analyze::table_of(analyze::attribution(*trace, p, options)));
        if (config.class_head.dense)
            found.fact("head", "its dense layer by the derivative at the run; the part nonlinear is what that leaves");
        found.fact("position", p.value).fact("token", output_fact(config, *loaded.tokenizer, options.token));
        if (options.minus) found.fact("minus", output_fact(config, *loaded.tokenizer, *options.minus));
        return found;
    }
};

}  // namespace

Action define_analyze_attribution(Definition& definition, const Frontend&) {
    return define_analysis<AttributionCommand>(definition, kRun | kImage);
}

}  // namespace headlight::cli
