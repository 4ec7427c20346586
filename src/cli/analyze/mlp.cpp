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
    std::int64_t layer = 0, position = 0;
    analyze::MemoriesRequest asked;

    void add(Definition& definition) {
        add_index(definition, "--layer", layer, "the layer, from 0")->required();
        add_index(definition, kPosition, position, "the token, from 0")->required();
        add_fields(definition, asked);
    }

    Result run(const Console& console) const {
        const Run run = run_text(console);
        const trace::Trace& trace = *run.trace;
        note_tokens(asked.logit, run.loaded, console);
        const analyze::MemoriesAnswer found =
            analyze::memories_of(trace, Layer(layer), Position(position), asked, run.loaded.cancel, console.progress());
        console.clear_progress();
        if (!analyze::unembeds_stream(trace.config()))
            console.note("this model has no unembedding: what the memories promote is left empty");
        Result out = result(trace, analyze::table_of(found.memories, found.promoted, trace, Layer(layer), Position(position)));
        out.fact("layer", layer).fact("position", position);
        const auto name = [&](std::int64_t id) { return output_fact(trace.config(), *run.loaded.tokenizer, id); };
        if (found.logit) out.fact("token", name(found.logit->token));
        if (found.logit && found.logit->minus) out.fact("minus", name(*found.logit->minus));
        return std::move(out.fact("gain", asked.gain ? "final norm's gain folded in" : "none"));
    }
};

}  // namespace

Action define_analyze_mlp(Definition& definition, const Frontend&) {
    return define_analysis<MlpCommand>(definition, kRun | kImage);
}

}  // namespace headlight::cli
