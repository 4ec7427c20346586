// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/edits/edit_effects.h"

#include "headlight/analyze/prediction/outputs.h"
#include "headlight/figure/picture/picture_file.h"
#include "headlight/intervention/recipe/problems.h"
#include "headlight/model/classes.h"

namespace headlight::ui {

namespace {

constexpr int pause_ms = 200;  ///< until B has most likely been run, and a weight is no longer dragged

std::vector<std::optional<std::size_t>> lines_of(const EditList& list) {
    std::vector<std::optional<std::size_t>> of;
    std::size_t next = 0;
    for (const EditLine& line : list.lines) of.push_back(read_edit(line).edit ? std::optional(next++) : std::nullopt);
    return of;
}

}  // namespace

EditEffects::EditEffects(Jobs& jobs, QObject* parent) : QObject(parent), jobs_(jobs) {
    pause_.setSingleShot(true);
    pause_.setInterval(pause_ms);
    connect(&pause_, &QTimer::timeout, this, &EditEffects::start);
    connect(&jobs_, &Jobs::failed, this, [this](Jobs::Lane lane, const Failure& failure) {
        if (lane != Jobs::Lane::edits) return;
        problem_ = failure.facts;
        Q_EMIT changed();
    });
}

void EditEffects::look(const EditList& edits, const OpenModel& model, const PromptText& prompt,
                       const std::shared_ptr<const trace::Trace>& run) {
    const Asked asked{edits, model, prompt, run};
    if (asked.same(asked_)) return;
    asked_ = asked;
    pause_.stop();
    jobs_.cancel(Jobs::Lane::edits);
    found_ = nullptr;
    problem_.reset();
    if (!run) {
        sources_ = nullptr;
        sources_of_ = nullptr;
    } else if (!edits.lines.empty() && !is_saved(model)) {
        if (run->config().has_unembedding)
            pause_.start();
        else
            problem_ = ErrorFacts{.problem = "This model gives no logits: B − A shows what the edits change"};
    }
    Q_EMIT changed();
}

void EditEffects::start() {
    if (!asked_.run) return;
    jobs_.start(Jobs::Lane::edits, QStringLiteral("Effects of the edits"),
                [this, asked = asked_, sources = sources_of_ == asked_.run ? sources_ : nullptr](
                    const CancelToken& cancel, const Progress& progress) mutable -> Jobs::Deliver {
                    check_files(asked.model);
                    if (!sources) {
                        sources = std::make_shared<intervention::Sources>(asked.model.model, asked.model.tokenizer,
                                                                          input_of(asked.prompt, asked.model));
                        sources->set_unedited(asked.run);
                        sources->set_picture_reader([](const std::string& file) {
                            return trace::Prompt{.image = file, .picture = figure::read_picture(file)};
                        });
                    }
                    intervention::Recipe recipe = recipe_of(asked.edits, true);
                    const auto problems = intervention::problems_of(*sources, recipe, cancel);
                    for (std::size_t i = 0; i < problems.size(); ++i)
                        if (problems[i]) recipe.edits[i].on = false;
                    const text::Tokenizer& tokenizer = *asked.model.tokenizer;
                    const model::ModelConfig& config = asked.model.model->config();
                    const auto label = [&](std::int64_t id) {
                        return QString::fromStdString(analyze::output_label(config, tokenizer, id));
                    };
                    const auto named = [&](const QString& words) -> std::optional<std::int64_t> {
                        if (words.isEmpty()) return std::nullopt;
                        return analyze::choose_output(config, tokenizer, words.toStdString()).id;
                    };
                    const auto token = named(asked.edits.watched), against = named(asked.edits.against);
                    const bool free = !model::text_class_position(config, asked.run->encoding().ids);
                    const Position at = free && asked.edits.watched_at ? Position(*asked.edits.watched_at)
                                                                       : intervention::answer_position(*sources);
                    auto found = std::make_shared<Found>();
                    found->effects = intervention::effects_of(*sources, recipe, at, token, against, cancel, progress);
                    found->answer = label(found->effects.token);
                    if (against)
                        found->answer += QStringLiteral(" − ") + QString::fromStdString(text::token_label(tokenizer, *against));
                    found->place = QString::fromStdString(asked.run->labels()[static_cast<std::size_t>(at.value)].text);
                    found->of = lines_of(asked.edits);
                    return [this, sources, run = asked.run, found] {
                        sources_ = sources;
                        sources_of_ = run;
                        found_ = found;
                        Q_EMIT changed();
                    };
                });
}

}  // namespace headlight::ui
