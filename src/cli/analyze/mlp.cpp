// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/analyze/prediction/attribution.h"
#include "headlight/analyze/prediction/predictions.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"
#include "headlight/analyze/prediction/logit_lens.h"

#include <optional>

namespace headlight::cli {
namespace {

struct MlpCommand : Analysis {
    std::int64_t layer = 0, position = 0, top = 20;
    bool gain = false;

    void add(Definition& definition) {
        add_index(definition, "--layer", layer, "the layer, from 0")->required();
        add_index(definition, kPosition, position, "the token, from 0")->required();
        add_index(definition, "--top", top, "memories to list, largest contribution first; 0: all")->capture_default_str();
        definition.app->add_flag("--gain", gain, "fold the final norm's gain into the values");
    }

    Result run(const Console& console) const {
        const Run run = run_text(console);
        auto found = analyze::memories(*run.trace, Layer(layer), Position(position), top);
        std::optional<std::int64_t> token;
        if (analyze::splits_logits(run.trace->config())) {
            token = analyze::next_tokens(*run.trace, Position(position), 1).front().id;
            const std::vector<double> adds =
                analyze::neuron_parts(*run.trace, Position(position), {.token = *token}, Layer(layer));
            for (analyze::Memory& m : found) m.adds = adds[static_cast<std::size_t>(m.neuron.value)];
        }
        std::vector<analyze::Promoted> promoted;
        if (analyze::unembeds_stream(run.trace->config())) {
            std::vector<Neuron> neurons;
            for (const analyze::Memory& m : found) neurons.push_back(m.neuron);
            promoted =
                analyze::promoted_tokens(*run.trace->model(), Layer(layer), neurons,
                                         {.top = analyze::promoted_listed, .gain = gain}, run.loaded.cancel, console.progress());
            console.clear_progress();
        } else {
            console.note("this model has no unembedding: what the memories promote is left empty");
        }
        Result out = result(*run.trace, analyze::table_of(found, promoted, *run.trace, Layer(layer), Position(position)));
        out.fact("layer", layer).fact("position", position);
        if (token) out.fact("token", output_fact(run.loaded.model->config(), *run.loaded.tokenizer, *token));
        return std::move(out.fact("gain", gain ? "final norm's gain folded in" : "none"));
    }
};

}  // namespace

Action define_analyze_mlp(Definition& definition, const Frontend&) {
    return define_analysis<MlpCommand>(definition, kRun | kImage);
}

}  // namespace headlight::cli
