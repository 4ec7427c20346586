// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/other_run.h"

#include "headlight/analyze/heads/head_table.h"
#include "headlight/analyze/heads/model_probe.h"
#include "headlight/figure/picture/picture_file.h"
#include "headlight/intervention/compare/comparison.h"
#include "headlight/intervention/recipe/problems.h"
#include "headlight/intervention/recipe/words.h"

#include <utility>

namespace headlight::ui {

trace::Prompt input_of(const PromptText& prompt, const OpenModel& model) {
    if (reads_pictures(model))
        return {.image = prompt.image.toStdString(), .picture = figure::read_picture(prompt.image.toStdString())};
    const bool encodes = model.model->part(model::Stack::encoder) != nullptr;
    return {.text = prompt.text.toStdString(), .pair = prompt.has_pair || encodes ? prompt.pair.toStdString() : std::string()};
}

namespace {

constexpr qint64 soon_ms = 300;

void add_moved(analyze::HeadTable& table, const intervention::RunPair& pair) {
    constexpr double most_weights = 5e7;  // a quarter of a second, for which the first picture of a comparison waits
    if (double(table.n_layers * table.n_heads) * double(pair.a->tokens()) * double(pair.a->keys()) > most_weights) return;
    table.measures.push_back(
        {moved_measure, "attention moved, A to B",
         "The share of attention that moved from A to B: mean total variation of the rows that have a partner", "", 0, kNaN});
    Eigen::MatrixXd& values = table.values.emplace_back(Eigen::MatrixXd::Constant(table.n_layers, table.n_heads, kNaN));
    for (const intervention::HeadComparison& each : intervention::compare_heads(pair, intervention::same_heads(pair)).heads)
        values(each.head.layer.value, each.head.head.value) = each.tv;
}

/// Measures that both runs have.
std::shared_ptr<const analyze::HeadTable> differences_of(const intervention::RunPair& pair, const analyze::HeadTable& of_b) {
    auto table = std::make_shared<analyze::HeadTable>(analyze::head_table(*pair.a));
    for (std::size_t m = 0; m < table->measures.size(); ++m) {
        analyze::MeasureInfo& measure = table->measures[m];
        const Eigen::MatrixXd* values = of_b.find(measure.id);
        const bool differs = values && !(pair.same_model() && analyze::is_of_probe(measure.id));
        table->values[m] = differs ? Eigen::MatrixXd(*values - table->values[m])
                                   : Eigen::MatrixXd::Constant(table->n_layers, table->n_heads, kNaN);
        measure.title += ", B − A";
        measure.definition = "B − A: " + measure.definition;
        measure.group = figure::kDifferenceGroup;
    }
    table->queries.clear();
    add_moved(*table, pair);
    return table;
}

}  // namespace

void OtherRun::set_load(const model::LoadOptions& load) {
    if (load.dtype == load_.dtype && load.device == load_.device) return;
    load_ = load;
    next_ = nullptr;
    jobs_.cancel(Jobs::Lane::other);
    clear();
}

OtherRun::OtherRun(Jobs& jobs, model::LoadOptions load) : jobs_(jobs), load_(std::move(load)) {
    connect(&jobs_, &Jobs::failed, this, [this](Jobs::Lane lane, const Failure& failure) {
        if (lane != Jobs::Lane::other) return;
        problem_ = failure.facts;  // and what was tried stays known, or every change of an option would try it again
        b_ = nullptr;
        parts_.clear();
        edited_ = {};
        sources_ = nullptr;
        Q_EMIT changed();
    });
    connect(&jobs_, &Jobs::finished, this, [this](Jobs::Lane lane) {
        if (lane == Jobs::Lane::other && next_) std::exchange(next_, nullptr)();
    });
}

OtherRun::Made OtherRun::made_of(const OtherInput& input, const intervention::Recipe& recipe, const OpenModel& open,
                                 const PromptText& a) {
    if (!input.on)
        return {.prompt = {.text = a.text, .pair = a.pair, .has_pair = a.has_pair, .image = a.image},
                .model = open.reference,
                .recipe = recipe};
    const auto or_own = [](const QString& own, const QString& of_a) { return own.isEmpty() ? of_a : own; };
    const PromptText& b = input.prompt;
    return {.prompt = {.text = or_own(b.text, a.text),
                       .pair = or_own(b.pair, a.pair),
                       .has_pair = a.has_pair || !b.pair.isEmpty(),
                       .image = or_own(b.image, a.image)},
            .model = or_own(input.model, open.reference),
            .recipe = recipe};
}

void OtherRun::clear() {
    a_ = b_ = nullptr;
    other_model_ = {};
    made_.reset();
    b_of_.reset();
    sources_ = nullptr;
    sources_model_ = nullptr;
    edited_ = {};
    const bool had_problem = std::exchange(problem_, {}).has_value();
    if (!std::exchange(parts_, {}).empty() || had_problem) Q_EMIT changed();
}

OtherRun::Part OtherRun::part_of(const std::shared_ptr<const trace::Trace>& a, const std::shared_ptr<const trace::Trace>& b) {
    Part part{.beside = figure::beside(a, b), .measures = nullptr, .differences = nullptr};
    if (!part.beside->pair->same_shape() || !a->overview().numbers || !b->overview().numbers) return part;
    part.measures = std::make_shared<const analyze::HeadTable>(analyze::head_table(*b));
    part.differences = differences_of(*part.beside->pair, *part.measures);
    return part;
}

OtherRun::Parts OtherRun::parts_of(const std::shared_ptr<const trace::Trace>& a, const std::shared_ptr<const trace::Trace>& b) {
    Parts parts;
    const auto add = [&](model::Stack stack, const std::shared_ptr<const trace::Trace>& of_a,
                         const std::shared_ptr<const trace::Trace>& of_b) {
        if (of_a && of_b) parts[stack] = part_of(of_a, of_b);
    };
    add(model::Stack::decoder, a, b);
    for (const model::Stack stack : {model::Stack::encoder, model::Stack::cross}) add(stack, a->part(stack), b->part(stack));
    return parts;
}

void OtherRun::look(const OtherInput& input, const intervention::Recipe& recipe, const OpenModel& open, const PromptText& prompt,
                    const std::shared_ptr<const trace::Trace>& a) {
    if ((!input.on && !recipe.any()) || !a || !open.model || is_saved(open)) {
        next_ = nullptr;
        jobs_.cancel(Jobs::Lane::other);
        return clear();
    }
    const Made wanted = made_of(input, recipe, open, prompt);
    if (made_ == wanted && a_ == a && (b_ || problem_ || jobs_.busy(Jobs::Lane::other))) return;
    const bool own_model = wanted.model == open.reference;
    const bool same_b = b_ && b_of_ == wanted && (!own_model || b_->model() == open.model);
    const bool other_edits = b_ && b_of_ && a_ == a && b_of_->prompt == wanted.prompt && b_of_->model == wanted.model;
    problem_.reset();
    made_ = wanted;
    a_ = a;
    auto known = same_b ? b_ : nullptr;
    if (!other_edits) {
        if (!known) b_ = nullptr;
        parts_.clear();
    }
    Q_EMIT changed();
    next_ = [=, this] { begin(wanted, known, open, prompt); };
    // A view follows the weight that is dragged: a step that is soon done is seen before the next one begins.
    if (other_edits && !known && jobs_.busy(Jobs::Lane::other) && since_begin_.elapsed() < soon_ms) return;
    std::exchange(next_, nullptr)();
}

void OtherRun::begin(const Made& wanted, const std::shared_ptr<const trace::Trace>& known, const OpenModel& open,
                     const PromptText& prompt) {
    const bool own_model = wanted.model == open.reference;
    since_begin_.start();
    if (other_model_.reference != wanted.model) other_model_ = {};  // two models at most
    OpenModel model = own_model ? open : other_model_;
    Made of = wanted;
    of.recipe = {};
    auto sources = sources_of_ == of && (!own_model || sources_model_ == open.model) ? sources_ : nullptr;
    const bool of_a = own_model && of.prompt == made_of({}, {}, open, prompt).prompt;
    jobs_.start(Jobs::Lane::other, wanted.recipe.any() ? QStringLiteral("Running the edits") : QStringLiteral("Running B"),
                [this, wanted, of, own_model, of_a, a = a_, known, model, sources, edited = edited_, load = load_](
                    const CancelToken& cancel, const Progress& progress) mutable -> Jobs::Deliver {
                    if (!model.model) model = load_model(wanted.model, load, cancel, progress);
                    check_files(model);
                    auto b = known;
                    std::optional<ErrorFacts> problem;
                    if (!b && wanted.recipe.any()) {
                        if (!sources) {
                            sources = std::make_shared<intervention::Sources>(model.model, model.tokenizer,
                                                                              input_of(wanted.prompt, model));
                            sources->set_picture_reader([](const std::string& file) {
                                return trace::Prompt{.image = file, .picture = figure::read_picture(file)};
                            });
                        }
                        if (of_a) sources->set_unedited(a);
                        edited = {};
                        b = run_edits(*sources, wanted.recipe, edited, cancel, progress);
                        if (!b) problem = edited.problems.begin()->second;
                    } else if (!b) {
                        edited = {};
                        b = trace::run(model.model, model.tokenizer, input_of(wanted.prompt, model), {}, cancel, progress);
                    }
                    const Parts parts = b ? parts_of(a, b) : Parts();
                    return [this, wanted, own_model, model, b, parts, sources, of, edited, problem] {
                        if (!own_model) other_model_ = model;
                        b_ = b;
                        b_of_ = wanted;
                        parts_ = parts;
                        sources_ = sources;
                        sources_of_ = of;
                        sources_model_ = model.model;
                        edited_ = edited;
                        problem_ = problem;
                        Q_EMIT changed();
                    };
                });
}

/// With those of the edits that the model and the text have; null: with none.
std::shared_ptr<const trace::Trace> OtherRun::run_edits(intervention::Sources& sources, const intervention::Recipe& recipe,
                                                        Edited& edited, const CancelToken& cancel, const Progress& progress) {
    const auto problems = intervention::problems_of(sources, recipe, cancel, progress);
    intervention::Recipe fitting = recipe;
    fitting.edits.clear();
    for (std::size_t i = 0; i < problems.size(); ++i) {
        if (problems[i])
            edited.problems.emplace(intervention::words_of(recipe.edits[i]), *problems[i]);
        else
            fitting.edits.push_back(recipe.edits[i]);
    }
    if (!fitting.any()) return nullptr;
    const auto run = intervention::run_recipe(sources, fitting, {}, cancel, progress);
    edited.notes = run->info().warnings;
    return run;
}

std::shared_ptr<const figure::Beside> OtherRun::beside(model::Stack stack) const {
    const auto part = parts_.find(stack);
    return part == parts_.end() ? nullptr : part->second.beside;
}

std::shared_ptr<const analyze::HeadTable> OtherRun::measures(model::Stack stack) const {
    const auto part = parts_.find(stack);
    return part == parts_.end() ? nullptr : part->second.measures;
}

std::shared_ptr<const analyze::HeadTable> OtherRun::differences(model::Stack stack) const {
    const auto part = parts_.find(stack);
    return part == parts_.end() ? nullptr : part->second.differences;
}

}  // namespace headlight::ui
