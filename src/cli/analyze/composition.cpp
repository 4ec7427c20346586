// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/circuit/composition.h"
#include "cli/analyze/analyses.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/model/runtime.h"

namespace headlight::cli {
namespace {

struct CompositionArguments {
    ModelArgument model;
    ComputeOptions compute;
    ResultFile out;
    bool fold = false;
};

int composition(const CompositionArguments& o, const Console& console) {
    o.out.check();
    const std::filesystem::path folder = o.model.folder();
    model::start_runtime(o.compute.threads);
    const CancelToken cancel = interruptible();
    const auto model = load_model(folder, o.compute, cancel, console);
    const analyze::CompositionScores scores = analyze::composition_scores(*model, o.fold, cancel, console.progress());
    console.clear_progress();

    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts_of(*model)};
    result.facts.emplace_back("fold_norms", o.fold ? "true" : "false");
    result.definitions.emplace_back("score",
                                    "|A B|_F / (|A|_F |B|_F), A = W_OV of the earlier head, B = W_QK (Q), W_QK^T (K) or "
                                    "W_OV (V) of the later one; pairs that are not listed are 0");
    result.table.columns = {"kind", "from_layer", "from_head", "to_layer", "to_head", "score"};
    for (const auto& [kind, name] :
         {std::pair{analyze::Composition::q, "Q"}, {analyze::Composition::k, "K"}, {analyze::Composition::v, "V"}})
        for (std::int64_t from = 0; from < scores.n_layers * scores.n_heads; ++from)
            for (std::int64_t to = (from / scores.n_heads + 1) * scores.n_heads; to < scores.n_layers * scores.n_heads; ++to) {
                const auto id = [&](std::int64_t i) { return HeadId{Layer(i / scores.n_heads), Head(i % scores.n_heads)}; };
                result.table.rows.push_back({std::string(name), from / scores.n_heads, from % scores.n_heads, to / scores.n_heads,
                                             to % scores.n_heads, scores.at(kind, id(from), id(to))});
            }
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_composition(Definition& definition, const Frontend&) {
    auto options = std::make_shared<CompositionArguments>();
    options->model.add(definition);
    options->out.add(definition);
    definition.app->add_flag("--fold-norms", options->fold, "multiply the norms' gains (and centring) into the matrices");
    options->compute.add(definition);
    return [options, console = definition.console] { return composition(*options, *console); };
}

}  // namespace headlight::cli
