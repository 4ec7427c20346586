// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/tasks/task_pairs.h"

#include "headlight/base/error.h"
#include "headlight/intervention/tasks/tasks.h"

namespace headlight::intervention {

bool names_task(const SweepRequest& asked) { return is_task(asked.pairs) && !std::filesystem::exists(asked.pairs); }

std::vector<SweepPair> asked_pairs(const SweepRequest& asked, const model::Model& model, const text::Tokenizer& tokenizer,
                                   const PictureReader& picture) {
    if (!names_task(asked)) return pairs_of(asked, model, tokenizer, picture);
    const FittedTask fitted = fit(task_called(asked.pairs), model, tokenizer);
    const std::vector<std::int64_t> years = year_tokens(tokenizer);
    const auto one = [](const std::string& word) { return word.empty() ? std::vector<std::string>() : std::vector{word}; };
    std::vector<SweepPair> pairs;
    for (const TaskPair& of : fitted.pairs) {
        SweepPair pair = pairs_of({.clean = of.clean,
                                   .corrupt = of.corrupt,
                                   .position = asked.position,
                                   .answers = one(of.answer),
                                   .wrong = one(of.wrong)},
                                  model, tokenizer)
                             .front();
        pair.group = of.group;
        for (std::int64_t year = 0; of.year >= 0 && year < 100; ++year)
            if (const std::int64_t token = years[static_cast<std::size_t>(year)]; token >= 0)
                (year > of.year ? pair.answers : pair.wrong).push_back(token);
        if (!pair.answers.empty() && !pair.wrong.empty()) pairs.push_back(std::move(pair));
    }
    if (pairs.empty())
        throw Error(ErrorFacts{.problem = "This model cannot do this task",
                               .item = "--pairs " + asked.pairs,
                               .found = fitted.why_not.empty() ? "no later year is one token" : fitted.why_not});
    return pairs;
}

}  // namespace headlight::intervention
