// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/recipe/compile.h"

#include "headlight/base/error.h"
#include "headlight/intervention/recipe/problems.h"
#include "headlight/intervention/recipe/words.h"
#include "intervention/recipe/tensor_edits.h"
#include "model/internals.h"

#include <ATen/core/grad_mode.h>

namespace headlight::intervention {
namespace {

using model::Hook;
using model::HookPoint;

/// An edit with everything that its words name.
struct Resolved {
    Edit edit;
    Targets targets;
    std::vector<StackPoint> points;
};

class Compiler {
public:
    Compiler(Sources::Internals& sources, const Recipe& recipe, const CancelToken& cancel, const Progress& progress)
        : sources_(sources), recipe_(recipe), cancel_(cancel), progress_(progress) {}

    Compiled compile() {
        const at::NoGradGuard no_grad;
        std::vector<Resolved> edits;
        sources_.wanted.clear();
        for (const Edit& edit : recipe_.edits) {
            if (!edit.on) continue;
            Resolved one{edit, {}, {}};
            one.targets = targets_of(edit, sources_, cancel_, progress_, notes_before_);
            one.points = points_of(edit, sources_, one.targets);
            if (edit.source.from == From::text || edit.source.from == From::texts || edit.source.from == From::reference)
                for (const StackPoint& point : one.points) sources_.wanted.insert(hook_name(*sources_.model, point));
            edits.push_back(std::move(one));
        }
        for (const Resolved& edit : edits) {
            cancel_.throw_if_cancelled();
            out_.told.words.push_back(words_of(resolved(edit.edit, recipe_)));
            is_of_pattern(edit.edit.operation) || edit.edit.site == Site::pattern ? add_pattern(edit) : add_tensor(edit);
        }
        finish();
        return std::move(out_);
    }

private:
    void hook(const StackPoint& point, std::function<at::Tensor(const at::Tensor&)> fn) {
        out_.interventions.push_back(
            {hook_name(*sources_.model, point), [fn = std::move(fn)](HookPoint, const at::Tensor& t) { return fn(t); }});
    }

    ChangeFrom from(const Resolved& r, const StackPoint& point) const {
        const auto layer = r.targets.find(point.point.layer.value);
        return {.edit = r.edit,
                .point = point,
                .layer = point.point.layer.value,
                .units = layer == r.targets.end() ? std::nullopt : layer->second,
                .sources = sources_,
                .recipe = recipe_,
                .cancel = cancel_,
                .progress = progress_,
                .notes = *notes_};
    }

    PatternEdits& pattern_edits(const Edit& edit, std::int64_t layer) {
        auto& kept = patterns_[{edit.stack, {Hook::pattern, Layer(layer)}}];
        if (kept) return *kept;
        const model::Model& part = sources_.part(edit);
        at::Tensor sinks;
        if (part.config().attention_sinks)
            sinks = part.internals().layers[static_cast<std::size_t>(layer)].sinks.to(at::kCPU).to(at::kDouble);
        kept = std::make_shared<PatternEdits>(part.config(), layer, sinks, rows_, notes_);
        if (kept->has_sinks())
            hook({edit.stack, {Hook::sink, Layer(layer)}}, [edits = kept](const at::Tensor& t) { return edits->at_sink(t); });
        return *kept;
    }

    void add_pattern(const Resolved& r) {
        const Edit& edit = r.edit;
        const model::ModelConfig& c = sources_.part(edit).config();
        const bool own_text =
            edit.operation == Operation::diagonal || edit.operation == Operation::previous || edit.operation == Operation::first;
        if (own_text && edit.stack == model::Stack::cross)
            fail_edit(edit, "The queries of a cross attention are not among its keys", "uniform",
                      std::string(enum_word(edit.operation)));
        for (const auto& [layer, units] : r.targets) {
            PatternStep step{.edit = edit, .heads = {}, .queries = {}, .keys = {}};
            if (units)
                step.heads = *units;
            else
                for (std::int64_t h = 0; h < c.n_heads; ++h) step.heads.push_back(h);
            const text::Encoding& queries = sources_.rows_of(edit);
            step.queries = rows_at(edit, edit.edges ? edit.edges->queries : edit.positions, queries, recipe_, sources_);
            if (edit.edges) step.keys = rows_at(edit, edit.edges->keys, sources_.keys_of(edit), recipe_, sources_);
            if (edit.operation == Operation::swap) step.other_head = other_head(edit, layer, c.n_heads);
            if (copies_run(edit.operation)) {
                const StackPoint point{edit.stack, {Hook::pattern, Layer(layer)}};
                const ChangeFrom source = from(r, point);
                Donor donor = donor_of(source);
                keep_aligned(source, donor, step.queries);
                step.source = donor.tensor.contiguous();
                step.to_query = std::move(donor.rows);
                step.to_key = std::move(donor.keys);
                step.same_texts = donor.same_length;
            }
            PatternEdits& edits = pattern_edits(edit, layer);
            const std::size_t number = edits.add(std::move(step));
            const StackPoint pattern{edit.stack, {Hook::pattern, Layer(layer)}};
            if (edits.step_at_scores(number))
                hook({edit.stack, {Hook::attn_scores, Layer(layer)}},
                     [kept = patterns_.at(pattern), number](const at::Tensor& t) { return kept->at_scores(number, t); });
        }
    }

    std::int64_t other_head(const Edit& edit, std::int64_t layer, std::int64_t heads) const {
        const Place& place = edit.source.place;
        if (!names_one(place.units) || !names_one(place.layers))
            fail_edit(edit, "A pattern is taken from one head", "a head such as L9H7", "several");
        if (place.layers.front().first != layer)
            fail_edit(edit, "A pattern is taken from a head of the same layer", "a head of layer " + std::to_string(layer),
                      "layer " + std::to_string(place.layers.front().first));
        if (place.units.front().first >= heads)
            fail_edit(edit, "There is no such head", "0 to " + std::to_string(heads - 1),
                      std::to_string(place.units.front().first));
        return place.units.front().first;
    }

    void add_tensor(const Resolved& r) {
        const Edit& edit = r.edit;
        const Rows rows = rows_at(edit, edit.positions, sources_.rows_of(edit), recipe_, sources_);
        for (const StackPoint& point : r.points) {
            ChangeFrom source = from(r, point);
            TensorStep step{.rows = rows,
                            .units = source.units,
                            .heads_first = edit.site == Site::scores || edit.site == Site::sink,
                            .of_source = edit.stack == model::Stack::encoder ||
                                         (edit.stack == model::Stack::cross && (edit.site == Site::k || edit.site == Site::v)),
                            .change = {}};
            if (edit.without_value_bias) source.sums = row_sums(edit, point.point.layer.value);
            if (edit.operation == Operation::force) {
                if (!source.units) fail_edit(edit, "force needs an expert", "an expert such as L3E2", "none");
                note_if_not_chosen(r, point, step);
                step.units = std::nullopt;
            }
            step.change = change_of(source, step.rows);
            hook(point,
                 [step = std::move(step), rows_of_pass = rows_](const at::Tensor& t) { return apply(step, *rows_of_pass, t); });
        }
    }

    /// Routers with a bias for each expert, or that choose groups first, may not choose the largest logit.
    void note_if_not_chosen(const Resolved& r, const StackPoint& router, const TensorStep& step) {
        const StackPoint weights{router.stack, {Hook::experts, router.point.layer}};
        hook(weights, [edit = r.edit, step, notes = notes_, rows = rows_](const at::Tensor& t) {
            const std::int64_t start = rows->start(t.size(0));
            for (std::int64_t at = 0; at < t.size(0); ++at) {
                if (!step.rows.all && !std::ranges::binary_search(step.rows.at, start + at)) continue;
                for (const std::int64_t expert : step.units.value())
                    if (t[at][expert].item<double>() == 0)
                        notes->set(
                            words_of(edit),
                            words_of(edit) +
                                ": the router of this model chooses by more than its logits, and did not choose the expert at position " +
                                std::to_string(start + at));
            }
            return t;
        });
    }

    std::shared_ptr<RowSums> row_sums(const Edit& edit, std::int64_t layer) {
        auto& kept = sums_[{edit.stack, {Hook::pattern, Layer(layer)}}];
        if (!kept) kept = std::make_shared<RowSums>();
        return kept;
    }

    void finish() {
        // Once a layer, behind its scores: all edits of its pattern in their order.
        for (const auto& [point, edits] : patterns_)
            hook(point, [kept = edits](const at::Tensor& t) { return kept->at_pattern(t); });
        for (const auto& [point, sums] : sums_) {
            const bool whole_rows = !patterns_.contains(point) && !sources_.model->config().attention_sinks;
            if (whole_rows) continue;
            hook(point, [kept = sums, rows = rows_](const at::Tensor& t) {
                kept->sums = t.to(at::kCPU).to(at::kDouble).sum(-1).t().contiguous();
                kept->start = rows->start(t.size(1));
                return t;
            });
        }
        out_.told.notes = [notes = notes_, before = notes_before_] {
            std::vector<std::string> all = before;
            for (std::string& note : notes->all()) all.push_back(std::move(note));
            return all;
        };
        out_.begin_pass = [rows = rows_](std::int64_t first, std::int64_t count) { *rows = {first, count}; };
    }

    Sources::Internals& sources_;
    const Recipe& recipe_;
    const CancelToken& cancel_;
    const Progress& progress_;
    Compiled out_;
    std::vector<std::string> notes_before_;
    std::shared_ptr<Notes> notes_ = std::make_shared<Notes>();
    std::shared_ptr<PassRows> rows_ = std::make_shared<PassRows>();
    std::map<StackPoint, std::shared_ptr<PatternEdits>> patterns_;
    std::map<StackPoint, std::shared_ptr<RowSums>> sums_;
};

void resolve(Positions& positions, const Recipe& recipe) {
    for (PositionRange& range : positions)
        for (PositionName* name : {&range.first, &range.last})
            if (const auto known = recipe.names.find(name->name); known != recipe.names.end())
                *name = {.name = {}, .offset = known->second + name->offset};
}

}  // namespace

Edit resolved(const Edit& edit, const Recipe& recipe) {
    Edit out = edit;
    for (Positions* positions : {&out.positions, &out.source.plus, &out.source.minus}) resolve(*positions, recipe);
    if (out.edges) {
        resolve(out.edges->queries, recipe);
        resolve(out.edges->keys, recipe);
    }
    if (out.operation == Operation::resample && out.source.index == 0 && recipe.seed != 1)
        out.source.index = static_cast<std::int64_t>(recipe.seed);
    return out;
}

void check_model(const Recipe& recipe, const model::Model& model) {
    if (recipe.sha256.empty() ? recipe.model.empty() || recipe.model == model.config().name : recipe.sha256 == model.hash())
        return;
    throw Error({.problem = "The recipe was made for another model",
                 .expected = model.config().name + " (" + model.hash().substr(0, 12) + ")",
                 .found = recipe.model + (recipe.sha256.empty() ? "" : " (" + recipe.sha256.substr(0, 12) + ")"),
                 .hint = "Open that model, or delete the recipe's line \"model\""});
}

Compiled compile(Sources& sources, const Recipe& recipe, const CancelToken& cancel, const Progress& progress) {
    check_model(recipe, *sources.internals().model);
    return Compiler(sources.internals(), recipe, cancel, progress).compile();
}

std::shared_ptr<const trace::Trace> run_recipe(Sources& sources, const Recipe& recipe, const trace::CapturePlan& plan,
                                               const CancelToken& cancel, const Progress& progress) {
    const Compiled compiled = compile(sources, recipe, cancel, progress);
    const Sources::Internals& in = sources.internals();
    return trace::run_edited(in.model, in.tokenizer, in.prompt, plan, compiled.interventions, compiled.told, cancel, progress,
                             in.unedited);
}

std::vector<std::optional<ErrorFacts>> problems_of(Sources& sources, const Recipe& recipe, const CancelToken& cancel,
                                                   const Progress& progress) {
    std::vector<std::optional<ErrorFacts>> problems;
    for (const Edit& edit : recipe.edits) {
        auto& problem = problems.emplace_back();
        if (!edit.on) continue;
        Recipe alone = recipe;
        alone.edits = {edit};
        try {
            compile(sources, alone, cancel, progress);
        } catch (const Error& error) {
            problem = error.facts();
        }
    }
    return problems;
}

EditedContinuation generate_under(Sources& sources, const Recipe& recipe, const std::vector<std::int64_t>& prompt,
                                  const model::GenerateOptions& options, const CancelToken& cancel, const Progress& progress) {
    const Compiled compiled = compile(sources, recipe, cancel, progress);
    EditedContinuation out;
    out.made = trace::generate_edited(*sources.internals().model, prompt, options, compiled.interventions, compiled.begin_pass,
                                      cancel, progress);
    out.words = compiled.told.words;
    out.notes = compiled.told.notes();
    return out;
}

}  // namespace headlight::intervention
