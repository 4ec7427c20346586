// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/document.h"

#include "headlight/analyze/heads/model_probe.h"
#include "headlight/base/numbers.h"
#include "headlight/intervention/compare/comparison.h"
#include "headlight/model/outline.h"
#include "headlight/trace/edits.h"
#include "ui/document/heads/head_list.h"
#include "ui/document/session.h"

#include <algorithm>
#include <utility>

namespace headlight::ui {

const char* const example_sentence = "The old doctor asked the nurse to wait, because the old doctor was late.";

bool Document::has_input() const { return reads_pictures(model_) ? !prompt_.image.isEmpty() : !prompt_.text.isEmpty(); }

Document::Document(Jobs& jobs, model::LoadOptions load, QObject* parent)
    : QObject(parent),
      jobs_(jobs),
      load_(std::move(load)),
      selection_(this),
      finder_(jobs),
      predictions_(jobs),
      reference_(jobs),
      probe_(jobs),
      texts_(jobs),
      other_(jobs, load_),
      corpus_(jobs) {
    connect(&reference_, &ReferenceCheck::changed, this, &Document::reference_changed);
    connect(&probe_, &HeadProbe::changed, this, &Document::take_probe);
    connect(&predictions_, &TokenPredictions::arrived, this, &Document::predictions_changed);
    connect(&selection_, &SelectionModel::changed, this, [this](bool hover_only) {
        if (hover_only) return;
        look_at_predictions();
        if (!adapting_) set_modified(true);
    });
    connect(&finder_, &HeadFinder::arrived, this, [this] { Q_EMIT changed(Change::filter); });
    prompt_.text = QString::fromUtf8(example_sentence);
    pause_.setSingleShot(true);
    connect(&pause_, &QTimer::timeout, this, [this] { run(); });
    connect(&jobs_, &Jobs::failed, this, [this](Jobs::Lane lane) {
        if (lane != Jobs::Lane::model) return;
        const bool was_opening = opening_.has_value();
        end_opening();
        if (std::exchange(continuing_, false)) Q_EMIT continued({});
        if (!was_opening || (model_.model && !up_to_date())) end_run(NotRun::refused);
    });
    connect(&texts_, &BatchRunner::changed, this, [this] { Q_EMIT changed(Change::batch); });
    connect(&other_, &OtherRun::changed, this, [this] {
        judge_b();
        look_for_heads();
        Q_EMIT changed(Change::other);
    });
    connect(&corpus_, &CorpusInUse::changed, this, &Document::take_corpus);
    connect(&texts_, &BatchRunner::given_up, this, [this] { edit_options([](ViewOptions& o) { o.batch_file.clear(); }); });
}

void Document::open_model(const QString& reference) {
    wanted_look_ = {};
    end_opening();
    begin_opening(reference, load_);
}

void Document::look_first(const FirstLook& look) {
    if (!opening_) return;
    wanted_look_ = look;
    edit_options([&](ViewOptions& o) { o.attention = look.attention; });
}

void Document::set_compute_type(model::ComputeType type) {
    if (!opening_ && (!model_.model || is_saved(model_))) return;
    Opening opening = opening_.value_or(Opening{model_.reference, load_});
    if (type == opening.load.dtype) return;
    opening.load.dtype = type;
    begin_opening(opening.reference, opening.load);
}

void Document::begin_opening(const QString& reference, const model::LoadOptions& load) {
    pause_.stop();
    end_continuation();
    opening_ = {reference, load};
    jobs_.start(Jobs::Lane::model, QStringLiteral("Opening %1").arg(reference),
                [this, reference, load](const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
                    OpenModel opened = load_model(reference, load, cancel, progress);
                    return [this, opened, load] { accept_model(opened, load); };
                });
}

void Document::accept_model(OpenModel opened, const model::LoadOptions& load) {
    opening_.reset();
    load_ = load;
    other_.set_load(load);
    model_ = std::move(opened);
    of_open_model_ = false;
    continued_under_edits_.reset();
    jobs_.forgive(model_.blanked);
    wanted_model_ = model_.reference;
    Q_EMIT changed(Change::model);
    reference_.look(model_.model, [opened = model_] { check_files(opened); });
    probe_.look(model_);
    run();
    texts_.run(options_.batch_file, model_);
    corpus_.look(options_.corpus, model_);
}

void Document::lose_model(const ErrorFacts& facts) { model_.lost = facts; }

/// What was to be shown of a model that is not opened after all does not wait for the run of another. A session's text stays,
/// but is no longer that file: saving would put this model in its place.
void Document::end_opening() {
    if (!std::exchange(opening_, std::nullopt)) return;
    wanted_model_ = model_.reference;
    wanted_look_ = {};
    pending_selection_.reset();
    if (!std::exchange(session_file_, {}).isEmpty()) set_file({});
    if (!is_saved(model_) || !of_open_model_ || shown_prompt_ == prompt_) return;
    prompt_ = shown_prompt_;  // a saved trace has its own
    adapting_ = true;
    Q_EMIT changed(Change::prompt);
    adapting_ = false;
}

void Document::choose_heads(std::vector<HeadId> heads, bool add) {
    if (!trace_) return;
    const std::int64_t layers = selection_.layers(), each = selection_.heads();
    if (add && finder_.filter())
        for (std::int64_t l = 0; l < layers; ++l)
            for (std::int64_t h = 0; h < each; ++h)
                if (finder_.matches({Layer(l), Head(h)})) heads.push_back({Layer(l), Head(h)});
    std::sort(heads.begin(), heads.end());
    heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
    ViewOptions options = options_;
    if (!heads.empty())
        options.finder = head_list(heads, each);
    else if (!add && is_head_list(options.finder))
        options.finder.clear();
    if (!heads.empty()) {
        std::map<Layer, std::vector<Head>> of_layer;
        for (const HeadId id : heads) of_layer[id.layer].push_back(id.head);
        figure::Selection next = without_hover(selection_.get());
        if (!of_layer.contains(next.layer))
            next.layer = std::max_element(of_layer.begin(), of_layer.end(), [](const auto& a, const auto& b) {
                             return a.second.size() < b.second.size();
                         })->first;
        next.heads = of_layer[next.layer];
        // One step for undo: the options that follow are announced with it.
        adapting_ = options.finder != options_.finder;
        selection_.set(next);
        adapting_ = false;
    }
    set_options(options);
}

void Document::set_prompt(const PromptText& prompt) {
    if (prompt == prompt_) return;
    if (is_saved(model_) && !opening_) {  // what was typed is taken back: there is nothing to run it
        Q_EMIT changed(Change::prompt);
        return;
    }
    end_continuation();
    continued_under_edits_.reset();
    PromptText next = prompt;
    if (next.written == prompt_.written) next.written = follow_edit(prompt_.written, prompt_.text, next.text);
    prompt_ = std::move(next);
    set_modified(true);
    Q_EMIT changed(Change::prompt);
    schedule_run();
}

void Document::set_options(const ViewOptions& options) { change_options(options, {}); }

void Document::change_options(const ViewOptions& options, const std::optional<figure::Selection>& of_part) {
    if (options == options_) return;
    const bool other_texts = options.batch_file != options_.batch_file, other_corpus = options.corpus != options_.corpus;
    if (options.edits != options_.edits) continued_under_edits_.reset();
    if (options.other != options_.other) {
        b_chosen_for_ = prompt_.text;
        b_kept_ = false;
        unrelated_b_.reset();
    }
    options_ = options;
    const auto before = trace_;
    take_part();
    if (other_texts) texts_.run(options_.batch_file, model_);
    if (other_corpus) corpus_.look(options_.corpus, model_);
    if (!has_other() || up_to_date()) look_at_other();  // else when the prompt has run: it may share nothing with the old one
    look_for_heads();
    ask_for_shown();
    if (trace_ != before) turn_selection(*before, of_part);
    set_modified(true);
    look_at_predictions();
    Q_EMIT changed(Change::options);
    if (trace_ != before) Q_EMIT changed(Change::trace);  // second: undo keeps the step that the options are
}

void Document::reread_corpus(const QString& folder) {
    if (folder == options_.corpus) corpus_.look(folder, model_);
}

void Document::leave_corpus() {
    ViewOptions options = without_corpus(options_);
    if (finder_.asks_corpus()) options.finder.clear();
    set_options(options);
}

void Document::edit_options(const std::function<void(ViewOptions&)>& change) {
    ViewOptions options = options_;
    change(options);
    set_options(options);
}

void Document::edit_views(const std::function<void(OpenViews&)>& change) {
    OpenViews views = views_;
    change(views);
    set_views(views);
}

void Document::edit_prompt(const std::function<void(PromptText&)>& change) {
    PromptText prompt = prompt_;
    change(prompt);
    set_prompt(prompt);
}

void Document::set_attention(model::Stack attention) {
    edit_options([&](ViewOptions& o) { o.attention = attention; });
}

void Document::look_at_other() {
    other_.look(options_.other, recipe_of(options_.edits), model_, shown_prompt_, of_open_model_ ? run_ : nullptr);
}

/// While its text is typed, A is often a beginning of B.
void Document::judge_b() {
    unrelated_b_.reset();
    const auto beside = trace_ ? other_.beside(attention()) : nullptr;
    if (!beside || b_kept_ || !b_is_of_another_text()) return;
    const intervention::Alignment& tokens = beside->pair->queries;
    const Unrelated found{tokens.aligned(), std::min(std::ssize(tokens.a), std::ssize(tokens.b))};
    if (2 * found.shared < found.of) unrelated_b_ = found;
}

bool Document::b_is_of_another_text() const {
    return options_.other.on && !options_.other.prompt.text.isEmpty() && shown_prompt_.text != b_chosen_for_;
}

void Document::keep_b() {
    b_kept_ = true;
    unrelated_b_.reset();
    look_for_heads();
    Q_EMIT changed(Change::other);
}

std::shared_ptr<const figure::Beside> Document::beside() const {
    const auto beside = trace_ && !unrelated_b_ ? other_.beside(attention()) : nullptr;
    return beside && beside->pair->a == trace_ ? beside : nullptr;  // a run that has just come is not compared yet
}

figure::Side Document::shown_side() const { return beside() ? options_.side : figure::Side::a; }

std::shared_ptr<const analyze::HeadTable> Document::shown_table() const {
    const figure::Side side = shown_side();
    const auto of_other = side == figure::Side::a   ? nullptr
                          : side == figure::Side::b ? of_b_.table
                                                    : other_.differences(attention());
    return of_other ? of_other : measured_.table;
}

/// The finder asks the run that the views show; of a difference A.
void Document::look_for_heads() {
    const auto pair = beside();
    const auto measures = pair ? other_.measures(attention()) : nullptr;
    const OfB of{measures, measured_.table, corpus_.found(), of_b_.table};
    if (!measures) {
        of_b_ = {};
    } else if (!(of == of_b_)) {
        of_b_ = of;
        // What is known of the model beside its run is known of B too, unless B is edited.
        auto table = std::make_shared<analyze::HeadTable>(*measures);
        const bool same = pair->pair->same_model();
        for (std::size_t m = 0; m < table->measures.size(); ++m)
            if (const std::string& id = table->measures[m].id; analyze::is_of_probe(id) && same) {
                const Eigen::MatrixXd* known = measured_.table->find(id);
                table->values[m] = known && trace::edits_of(*pair->pair->b).empty()
                                       ? *known
                                       : Eigen::MatrixXd::Constant(table->n_layers, table->n_heads, kNaN);
            }
        if (same && corpus_.found()) *table = corpus::with_corpus(*table, corpus_.found().get());
        of_b_.table = table;
    }
    const bool on_b = of_b_.table && options_.side == figure::Side::b;
    finder_.look(options_.finder, on_b ? pair->pair->b : trace_, on_b ? of_b_.table : measured_.table, corpus_.found());
}

void Document::set_side(figure::Side side) {
    edit_options([&](ViewOptions& o) { o.side = side, o.both_sides = false; });
}

void Document::set_both_sides() {
    edit_options([](ViewOptions& o) { o.side = figure::Side::a, o.both_sides = true; });
}

void Document::look_at_predictions() {
    const auto& pins = selection_.get().pinned_queries;
    // Tokens of the target are predicted, whatever they look at.
    predictions_.look(options_.predictions, attention() == model::Stack::encoder ? trace_ : run_,
                      pins.empty() ? std::nullopt : std::optional(pins.back()));
}

void Document::set_views(const OpenViews& views) {
    if (views == views_) return;
    views_ = views;
    set_modified(true);
    Q_EMIT changed(Change::views);
}

void Document::run_now() {
    if (opening_ || !model_.model) return;
    run(Asked::by_hand);
}

void Document::stop() {
    pause_.stop();
    end_opening();
    if (continuing_) {
        end_continuation();
        if (!up_to_date()) run();
        return;
    }
    jobs_.cancel(Jobs::Lane::model);
    if (model_.model && !up_to_date()) end_run(NotRun::stopped);
}

/// The text has no trace. What is on screen of another model goes: it would stand under this one's name.
void Document::end_run(NotRun why) {
    not_run_ = why;
    if (run_ && !of_open_model_) accept_run(nullptr, {}, {});
    not_run_ = why;
    Q_EMIT changed(Change::run);
}

State Document::state() const { return {prompt_, options_, without_hover(selection_.get()), wanted_model_}; }

void Document::restore(const State& state, const QString& session_file) {
    const bool other_model = !state.model.isEmpty() && (state.model != model_.reference || !model_.model);
    const bool keeps_model = !other_model && std::exchange(opening_, std::nullopt);
    if (keeps_model) jobs_.cancel(Jobs::Lane::model);
    wanted_model_ = other_model ? state.model : model_.reference;
    pending_selection_.reset();
    session_file_ = session_file;
    // On the text that is shown at once; else when that text has been run.
    const bool at_once = !other_model && up_to_date() && state.prompt == prompt_;
    const bool other_part = has_parts() && state.options.attention != options_.attention;
    if (!at_once) {
        pending_selection_ = state.selection;
    } else if (!other_part) {
        selection_.set(state.selection);
    }
    const bool other_b = state.options.other != options_.other;
    change_options(state.options, at_once && other_part ? std::optional(state.selection) : std::nullopt);
    if (other_b) b_chosen_for_ = state.prompt.text;
    if (state.prompt != prompt_ && (!is_saved(model_) || other_model)) {
        prompt_ = state.prompt;
        continued_under_edits_.reset();
        set_modified(true);
        Q_EMIT changed(Change::prompt);
        if (model_.model && !opening_ && !other_model) run();
    } else if (keeps_model && !up_to_date()) {
        run();
    }
    if (other_model) return begin_opening(state.model, load_);
    if (!at_once || session_file_.isEmpty()) return;
    if (const auto lacking = lacking_of(state.selection, *trace_, session_file_)) Q_EMIT selection_lacks(*lacking);
    session_file_.clear();
}

void Document::set_file(const QString& file) {
    file_ = file;
    Q_EMIT changed(Change::file);
}

void Document::set_modified(bool modified) {
    if (modified_ == modified) return;
    modified_ = modified;
    Q_EMIT changed(Change::file);
}

}  // namespace headlight::ui
