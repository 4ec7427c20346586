// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/recipe/effects.h"

#include "headlight/base/error.h"
#include "headlight/intervention/recipe/words.h"
#include "headlight/model/classes.h"
#include "headlight/trace/saved.h"
#include "intervention/recipe/log_probabilities.h"
#include "intervention/recipe/selection.h"

#include <algorithm>

namespace headlight::intervention {
namespace {

at::Tensor row_of(const trace::Trace& run, Position at) {
    return trace::tensor_rows(run, {model::Hook::logits, Layer(0)}, at.value, 1)[0].to(at::kDouble);
}

struct Watched {
    const model::ModelConfig& config;
    std::int64_t token;
    std::optional<std::int64_t> against;

    Prediction operator()(const at::Tensor& logits) const {
        const auto logit = logits[token].item<double>();
        return {logit, log_probabilities(config, logits)[token].item<double>(),
                against ? logit - logits[*against].item<double>() : kNaN};
    }
};

}  // namespace

Position answer_position(Sources& sources) {
    const Sources::Internals& in = sources.internals();
    return Position(end_of(in.encodings.own, in));
}

RecipeEffects effects_of(Sources& sources, const Recipe& recipe, Position at, std::optional<std::int64_t> token,
                         std::optional<std::int64_t> against, const CancelToken& cancel, const Progress& progress) {
    Sources::Internals& in = sources.internals();
    trace::require_unembedding(*in.model);
    if (at.value < 0 || at.value >= in.encodings.own.size())
        throw Error({.problem = "There is no such position",
                     .expected = "0 to " + std::to_string(in.encodings.own.size() - 1),
                     .found = std::to_string(at.value)});
    model::require_class_position(in.model->config(), in.encodings.own.ids, at.value);
    RecipeEffects out{.token = 0, .position = at, .unedited = {}, .edits = {}};
    const at::Tensor usual = row_of(*in.plain(cancel, {}), at);
    out.token = token.value_or(usual.argmax().item<std::int64_t>());
    const Watched prediction_of{in.model->config(), out.token, against};
    out.unedited = prediction_of(usual);
    const trace::CapturePlan logits{.globs = {"logits"}, .overview = trace::no_overview};
    Recipe so_far = recipe;
    so_far.edits.clear();
    for (const Edit& edit : recipe.edits) {
        if (progress) progress({"Running", "edit", std::ssize(out.edits), std::ssize(recipe.edits)});
        EditEffect& effect = out.edits.emplace_back(EditEffect{words_of(edit), edit.on, {}, {}});
        if (!edit.on) continue;
        so_far.edits.push_back(edit);
        Recipe alone = recipe;
        alone.edits = {edit};
        effect.alone = prediction_of(row_of(*run_recipe(sources, alone, logits, cancel), at));
        effect.together =
            so_far.edits.size() == 1 ? effect.alone : prediction_of(row_of(*run_recipe(sources, so_far, logits, cancel), at));
    }
    return out;
}

analyze::Table table_of(const RecipeEffects& effects) {
    analyze::Table table;
    table.columns = {"edit", "on", "logit_alone", "log_probability_alone", "logit_together", "log_probability_together"};
    table.definitions = {{"logit_alone", "logit of the watched token under this edit alone, minus the unedited one"},
                         {"log_probability_alone", "the same of its natural log-probability"},
                         {"logit_together", "logit under this edit and those before it, minus the unedited one"},
                         {"log_probability_together", "the same of its natural log-probability"}};
    for (const EditEffect& effect : effects.edits) {
        std::vector<analyze::Table::Cell> row = {effect.words, std::int64_t{effect.on}};
        for (const auto& changed : {effect.alone, effect.together}) {
            if (!changed) continue;
            row.emplace_back(changed->logit - effects.unedited.logit);
            row.emplace_back(changed->log_probability - effects.unedited.log_probability);
        }
        table.add(std::move(row));
    }
    return table;
}

}  // namespace headlight::intervention
