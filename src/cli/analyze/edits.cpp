// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/recipe/effects.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct EditsCommand : Analysis {
    std::int64_t position = 0;
    CLI::Option* where = nullptr;
    TokenArgument token{"--token"};

    void add(Definition& definition) {
        where = add_index(definition, kPosition, position,
                          "where the prediction is read, from 0 (default: the last token, or the mask)");
        token.add(definition, "the token that is watched (default: the likeliest of the unedited run)");
    }

    Result run(const Console& console) const {
        const Loaded loaded = load(console);
        if (loaded.recipe.edits.empty()) throw UsageError("there is nothing to compare: give --edit WORDS or --recipe FILE");
        const auto sources = sources_of(loaded);
        const text::Encoding read = trace::encodings_of(*loaded.model, *loaded.tokenizer, loaded.prompt).own;
        const Position at = where->count() > 0 ? position_of(where, position, loaded.model->config(), read.ids)
                                               : intervention::answer_position(*sources);
        const auto found = intervention::effects_of(*sources, loaded.recipe, at, token.id(loaded, console), {}, loaded.cancel,
                                                    console.progress());
        console.clear_progress();
        Result out{.table = intervention::table_of(found), .facts = facts_of(*loaded.model)};
        out.fact("text", loaded.prompt.picture ? loaded.prompt.image : loaded.prompt.text);
        out.fact("position", found.position.value)
            .fact("token", output_fact(loaded.model->config(), *loaded.tokenizer, found.token));
        return std::move(
            out.fact("unedited_logit", found.unedited.logit).fact("unedited_log_probability", found.unedited.log_probability));
    }
};

}  // namespace

Action define_analyze_edits(Definition& definition, const Frontend&) {
    return define_analysis<EditsCommand>(definition, kRun | kImage);
}

}  // namespace headlight::cli
