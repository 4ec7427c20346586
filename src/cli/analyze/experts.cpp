// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/contribution/experts.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/token_argument.h"
#include "cli/result_file.h"
#include "cli/run_text.h"

#include <algorithm>

namespace headlight::cli {
namespace {

struct ExpertsArguments {
    ModelArgument model;
    TextArguments text;
    ComputeOptions compute;
    ResultFile out;
    std::int64_t layer = -1;
};

figure::NamedArray array_of(const std::string& name, const analyze::Matrix& m) {
    return {name, {m.rows(), m.cols()}, {m.data(), m.data() + m.size()}};
}

int experts(const ExpertsArguments& o, const Console& console) {
    o.out.check();
    const Loaded loaded = load_for_run(o.model, o.text, o.compute, console);
    const auto trace = run_loaded(loaded, {}, console);
    std::vector<Layer> layers = analyze::layers_with_experts(trace->config());
    if (o.layer >= 0 || layers.empty()) layers = {Layer(std::max<std::int64_t>(0, o.layer))};  // the error names what there is
    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts_of(*trace)};
    result.table.columns = {"layer", "position", "token", "expert", "weight", "router_logit"};
    result.definitions = {{"weight", "what the expert's output is multiplied with; experts that are not listed were not chosen"},
                          {"router_logit", "of the expert, before the softmax"},
                          {"expert", "-1: the shared one, which every token goes through"}};
    for (const Layer layer : layers) {
        const analyze::ExpertUse use = analyze::expert_use(*trace, layer);
        const std::string name = "layer_" + std::to_string(layer.value);
        result.arrays.push_back(array_of(name + "_weights", use.weights));
        result.arrays.push_back(array_of(name + "_logits", use.logits));
        for (std::int64_t p = 0; p < trace->tokens(); ++p) {
            const std::string& token = trace->labels()[static_cast<std::size_t>(p)].text;
            for (Eigen::Index e = 0; e < use.weights.cols(); ++e)
                if (use.weights(p, e) != 0)
                    result.table.rows.push_back({layer.value, p, token, static_cast<std::int64_t>(e),
                                                 static_cast<double>(use.weights(p, e)), static_cast<double>(use.logits(p, e))});
            if (use.shared.size() == 0) continue;
            auto& row = result.table.rows.emplace_back();
            row = {layer.value, p, token, std::int64_t{-1}, static_cast<double>(use.shared[p])};
            row.resize(result.table.columns.size());
        }
    }
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_experts(Definition& definition, const Frontend&) {
    auto o = std::make_shared<ExpertsArguments>();
    o->model.add(definition);
    o->text.add(definition);
    add_index(definition, "--layer", o->layer, "only this layer, from 0");
    o->out.add(definition);
    o->compute.add(definition);
    return [o, console = definition.console] { return experts(*o, *console); };
}

}  // namespace headlight::cli
