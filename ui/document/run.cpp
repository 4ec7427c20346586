// SPDX-License-Identifier: GPL-3.0-or-later
// Runs of the prompt: when they begin, and what of the selection is carried over to their traces.
#include "headlight/model/runtime.h"
#include "headlight/text/alignment.h"
#include "headlight/trace/capture.h"
#include "headlight/trace/remade.h"
#include "headlight/trace/saved.h"
#include "headlight/trace/shared_rows.h"
#include "ui/document/alignment.h"
#include "ui/document/document.h"
#include "ui/document/session.h"
#include "ui/document/subject.h"

#include <QLocale>

#include <algorithm>
#include <utility>

namespace headlight::ui {

namespace {

constexpr qsizetype long_text = 6000;  ///< characters from which on a run is estimated before it begins
constexpr double patience_s = 15;      ///< a run that takes longer is asked for

/// What the command line selects, and of the program's choice the rest.
figure::Selection with_look(figure::Selection chosen, const FirstLook& look) {
    if (look.layer || !look.heads.empty()) {
        chosen.layer = look.layer.value_or(chosen.layer);
        chosen.heads = look.heads.empty() ? std::vector{Head(0)} : look.heads;
        chosen.focus = {chosen.layer, chosen.heads.front()};
    }
    chosen.pinned_queries.clear();
    chosen.pinned_keys.clear();
    chosen.found_pins = false;
    if (look.query) chosen.pinned_queries = {*look.query};
    if (look.key) chosen.pinned_keys = {*look.key};
    return chosen;
}

/// Multiplications and additions of a run, roughly.
double work_of(const model::Model& model, double tokens) {
    double parameters = 0;
    for (const auto& [part, count] : model.parameter_counts()) parameters += static_cast<double>(count);
    const model::ModelConfig& c = model.config();
    const double pairs = tokens * tokens / (c.causal ? 2 : 1);
    return 2 * parameters * tokens + 4 * double(c.n_layers) * double(c.n_heads * c.d_head) * pairs;
}

std::int64_t same_beginning(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
    return std::ranges::mismatch(a, b).in1 - a.begin();
}

/// What a long run takes, from the speed of the model's last one or of this machine's products; empty: it is over soon, or will
/// be refused at once.
QString long_run_note(const OpenModel& opened, const trace::Prompt& text, const trace::Trace* last) {
    const model::ModelConfig& c = opened.model->config();
    const std::vector<std::int64_t> ids = opened.tokenizer->encode(text.text).ids;
    std::int64_t tokens = std::ssize(ids);
    if (!text.pair.empty()) tokens += std::ssize(opened.tokenizer->encode(text.pair).ids);
    if (c.context_is_hard_limit && c.context_length > 0 && tokens > c.context_length) return {};
    constexpr double slowest = 5e9, fastest = 1e14;  // operations a second
    constexpr double share = 0.5;                    // of a product's rate that a long run reaches
    double speed = share * model::product_rate();
    const bool same_model = last && last->model() == opened.model;
    if (same_model && last->tokens() >= 64 && last->info().seconds > 0 && trace::shared_rows_of(*last) == 0)
        speed = std::clamp(work_of(*opened.model, double(last->tokens())) / last->info().seconds, slowest, fastest);
    double work = work_of(*opened.model, double(tokens));
    constexpr double saved = 0.7;  // of a row that the last run has: patterns are made again
    if (same_model && c.causal) work -= saved * work_of(*opened.model, double(same_beginning(ids, last->encoding().ids)));
    const double seconds = work / speed;
    if (seconds < patience_s) return {};
    const trace::Forecast memory = trace::forecast(c, tokens, {});
    const QLocale english(QLocale::English);
    QString note = QStringLiteral("%1 tokens").arg(english.toString(qlonglong(tokens)));
    if (c.context_length > 0 && tokens > c.context_length)
        note += QStringLiteral(", on a model made for %1").arg(english.toString(qlonglong(c.context_length)));
    const double minutes = seconds / 60;
    note +=
        QStringLiteral(". A run takes about %1 and %2 GB of memory")
            .arg(minutes < 2 ? QStringLiteral("%1 s").arg(seconds, 0, 'f', 0) : QStringLiteral("%1 min").arg(minutes, 0, 'f', 0))
            .arg(double(memory.kept + memory.working) / 1e9, 0, 'f', 1);
    if (!memory.fits()) note += QStringLiteral(", of which %1 GB are free").arg(double(memory.available) / 1e9, 0, 'f', 1);
    note += u'.';
    if (trace::remade_bytes(c, tokens, {}) > 0) note += QStringLiteral(" Layers are recomputed when a view reads them.");
    return note;
}

}  // namespace

/// Long enough to wait for the next key, short enough for the view to follow the typing.
int Document::pause_ms() const { return prompt_.text.size() + prompt_.pair.size() < 400 ? 30 : 120; }

void Document::schedule_run() {
    if (opening_ || !model_.model) return;
    jobs_.cancel(Jobs::Lane::model);
    pause_.start(pause_ms());
}

void Document::run(Asked asked) {
    pause_.stop();
    not_run_ = NotRun::no;
    end_continuation();
    reference_.make_way();
    probe_.make_way();
    if (!model_.model) return;
    const PromptText prompt = prompt_;
    if (is_saved(model_)) {
        jobs_.start(Jobs::Lane::model, QStringLiteral("Reading %1").arg(QString::fromStdString(model_.model->config().name)),
                    [this, opened = model_](const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
                        check_files(opened);
                        const auto trace = trace::open_saved(opened.model->folder(), cancel, progress);
                        const Tables tables = tables_of(*trace, cancel, progress);
                        return [this, trace, tables] {
                            adapting_ = true;  // the text is the file's, and no edit
                            prompt_ = {QString::fromStdString(trace->text_a()), QString::fromStdString(trace->text_b()),
                                       !trace->text_b().empty()};
                            Q_EMIT changed(Change::prompt);
                            adapting_ = false;
                            accept_run(trace, tables, prompt_);
                        };
                    });
        return;
    }
    if (!has_input()) {  // nothing to run is not a failure while someone types
        jobs_.cancel(Jobs::Lane::model);
        accept_run(nullptr, {}, prompt);
        return;
    }
    jobs_.start(Jobs::Lane::model, QStringLiteral("Running %1").arg(QString::fromStdString(model_.model->config().name)),
                [this, prompt, asked, opened = model_, last = prompt == shown_prompt_ ? nullptr : run_](
                    const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
                    check_files(opened);
                    const trace::Prompt text = input_of(prompt, opened);
                    if (asked == Asked::by_edit && prompt.text.size() + prompt.pair.size() > long_text) {
                        if (const QString note = long_run_note(opened, text, last.get()); !note.isEmpty())
                            return [this, note] {
                                long_text_note_ = note;
                                end_run(NotRun::long_text);
                            };
                    }
                    auto trace = trace::run_after(last, opened.model, opened.tokenizer, text, {}, cancel, progress);
                    const Tables tables = tables_of(*trace, cancel, progress);
                    return [this, trace, tables, prompt] { accept_run(trace, tables, prompt); };
                });
}

Document::Tables Document::tables_of(const trace::Trace& run, const CancelToken& cancel, const Progress& progress) {
    Tables tables;
    if (progress) progress({"Measuring the heads", "", 0, 0});
    const auto add = [&](model::Stack stack, const trace::Trace& trace) {
        cancel.throw_if_cancelled();
        Measured& m = tables[stack];
        if (model::has_implied_maps(trace.config())) {
            m.table = std::make_shared<const analyze::HeadTable>(analyze::unmeasured_heads(trace.config()));
            return;
        }
        m.table = std::make_shared<const analyze::HeadTable>(analyze::head_table(trace));
        m.head = analyze::interesting_head(*m.table);
        if (trace.tokens() > 1) m.pair = analyze::interesting_pair(trace, m.head, cancel);
    };
    add(model::Stack::decoder, run);
    for (const model::Stack stack : {model::Stack::encoder, model::Stack::cross})
        if (const auto& part = run.part(stack)) add(stack, *part);
    return tables;
}

/// The part of the run that the options choose; the run itself where there is no choice.
void Document::take_part() {
    const auto part = run_ ? run_->part(options_.attention) : nullptr;
    trace_ = part ? part : run_;
    measured_ = run_ ? tables_.at(part ? options_.attention : model::Stack::decoder) : Measured{};
}

/// Turns to another part of the run: layer and heads stay, pins stay with the tokens that both parts have.
void Document::turn_selection(const trace::Trace& from, const std::optional<figure::Selection>& known) {
    using model::Stack;
    figure::Selection next = without_hover(selection_.get());
    const bool had_pins = !next.pinned_queries.empty();
    const auto queries = [&](const trace::Trace& t) -> auto& {
        return t.config().stack == Stack::encoder ? pins_.source_queries : pins_.target_queries;
    };
    const auto keys = [&](const trace::Trace& t) -> auto& {
        return t.config().stack == Stack::decoder ? pins_.target_keys : pins_.source_keys;
    };
    queries(from) = next.pinned_queries;
    keys(from) = next.pinned_keys;
    next.pinned_queries = queries(*trace_);
    next.pinned_keys = keys(*trace_);
    const model::ModelConfig& config = trace_->config();
    if (known) next = *known;
    const bool first_look = !known && had_pins && next.pinned_queries.empty() && trace_->tokens() > 1;
    selected_tokens_ = trace_->encoding().tokens;
    selected_keys_ = trace_->key_encoding().tokens;
    const bool was_adapting = std::exchange(adapting_, true);
    selection_.reset(config.n_layers, config.n_heads, trace_->tokens(), trace_->keys(), next);
    adapting_ = was_adapting;
    if (first_look) pin_first_pair();
}

/// The strongest pair of the focused head, unless something is pinned before it is found.
void Document::pin_first_pair() {
    finds_pair_ = true;
    jobs_.start(
        Jobs::Lane::pins, QStringLiteral("Finding a pair of tokens"),
        [this, trace = trace_, head = selection_.get().focus](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
            const auto pair = analyze::interesting_pair(*trace, head, cancel);
            return [this, trace, pair] {
                finds_pair_ = false;
                figure::Selection next = without_hover(selection_.get());
                if (trace != trace_ || !next.pinned_queries.empty()) return;
                next.pinned_queries = {pair.query};
                next.pinned_keys = {pair.key};
                next.found_pins = true;
                adapting_ = true;
                selection_.set(next);
                adapting_ = false;
                Q_EMIT changed(Change::trace);  // the step that turned to this attention has the pair
            };
        });
}

void Document::show_interesting() {
    if (measured_.pair)
        selection_.pin_pair(measured_.head, measured_.pair->query, measured_.pair->key);
    else if (measured_.table)
        selection_.focus_head(measured_.head);
}

/// What the probe says of the heads joins their measures. A head that the program has chosen without it, and nobody else has
/// touched since, gives way to one that the probe confirms.
void Document::take_probe() {
    const bool other = add_probe();
    take_part();
    look_for_heads();
    if (other && trace_ == run_ && trace_->tokens() > 1) choose_again(without_hover(selection_.get()));
    Q_EMIT changed(Change::filter);
}

/// To the measures of the run's heads.
void Document::add_corpus() {
    const auto whole = tables_.find(model::Stack::decoder);
    if (!of_open_model_ || whole == tables_.end() || !whole->second.table) return;
    whole->second.table =
        std::make_shared<const analyze::HeadTable>(corpus::with_corpus(*whole->second.table, corpus_.found().get()));
}

void Document::take_corpus() {
    add_corpus();
    take_part();
    look_for_heads();
    Q_EMIT changed(Change::filter);
}

/// To the tables of the run; true: another head is the one that shows most.
bool Document::add_probe() {
    const auto whole = tables_.find(model::Stack::decoder);
    if (!probe_.found() || !of_open_model_ || whole == tables_.end() || !whole->second.table) return false;
    Measured& measured = whole->second;
    auto table = std::make_shared<analyze::HeadTable>(*measured.table);
    analyze::fill_probe(*table, *probe_.found());
    measured.table = table;
    const HeadId head = analyze::interesting_head(*table);
    if (head == std::exchange(measured.head, head)) return false;
    measured.pair.reset();
    return true;
}

/// `chosen`: what is selected now.
void Document::choose_again(const figure::Selection& chosen) {
    jobs_.start(Jobs::Lane::pins, QStringLiteral("Finding a pair of tokens"),
                [this, chosen, run = run_, head = measured_.head](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
                    const auto pair = analyze::interesting_pair(*run, head, cancel);
                    return [this, chosen, run, head, pair] {
                        if (run != run_) return;
                        tables_[model::Stack::decoder].pair = pair;
                        take_part();
                        if (first_look_ != chosen || without_hover(selection_.get()) != chosen || trace_ != run_)
                            return finds_pair_ ? pin_first_pair() : void();  // whose job this one has taken the place of
                        figure::Selection next = chosen;
                        if (next.heads.size() == 1) next.heads = {head.head};
                        next.layer = head.layer;
                        next.focus = head;
                        next.pinned_queries = {pair.query};
                        next.pinned_keys = {pair.key};
                        next.found_pins = true;
                        adapting_ = true;
                        selection_.set(next);
                        first_look_ = without_hover(selection_.get());
                        adapting_ = false;
                        Q_EMIT changed(Change::trace);  // it is no step of undo
                    };
                });
}

/// The probe is run for whoever tints or finds heads by it, however long it takes.
void Document::ask_for_shown() {
    const std::vector<std::string> asked = finder_.query().measures();
    if (analyze::is_of_probe(options_.measure) || std::any_of(asked.begin(), asked.end(), analyze::is_of_probe)) probe_.ask();
}

void Document::accept_run(std::shared_ptr<const trace::Trace> run, Tables tables, const PromptText& prompt) {
    run_ = std::move(run);
    tables_ = std::move(tables);
    of_open_model_ = true;
    const bool other_head = add_probe();  // it may have come after the tables were made
    if (corpus_.found()) add_corpus();
    pins_ = {};
    take_part();
    look_for_heads();
    shown_prompt_ = prompt;
    not_run_ = NotRun::no;
    adapting_ = true;
    const bool follows = !pending_selection_ && trace_ && !selected_tokens_.empty();  // another run
    const bool other_model = follows && tokens_chosen_on_ != model_.reference;
    const bool changed_text = follows && selected_tokens_ != trace_->encoding().tokens;
    const bool other_text = follows && is_other_text();
    const auto lacking = carry_selection();
    if (other_model || (changed_text && !options_.answer_kept)) set_options(without_answers(options_));
    if (other_text) set_options(without_passages(options_));
    tokens_chosen_on_ = model_.reference;
    // The filter of a sentence pair means nothing without one.
    if (trace_ && !trace_->has_sentence_pair() && options_.pattern.filter != analyze::PairFilter::all) {
        ViewOptions options = options_;
        options.pattern.filter = analyze::PairFilter::all;
        set_options(options);
    }
    adapting_ = false;
    look_at_other();  // with pins that this trace has
    look_at_predictions();
    ask_for_shown();
    if (other_head && trace_ == run_ && trace_->tokens() > 1) choose_again(without_hover(selection_.get()));
    if (run_ && !is_saved(model_)) probe_.run_finished(*run_);
    Q_EMIT changed(Change::trace);
    if (lacking) Q_EMIT selection_lacks(*lacking);
}

/// It shares less than half of the tokens of the shorter one with the text before, or the model is another.
bool Document::is_other_text() const {
    if (!trace_ || selected_tokens_.empty()) return false;
    if (tokens_chosen_on_ != model_.reference) return true;
    const std::vector<std::string>& now = trace_->encoding().tokens;
    const auto to = text::align_tokens(selected_tokens_, now);
    const auto shared = std::ranges::count_if(to, [](std::int64_t at) { return at >= 0; });
    return 2 * shared < std::min(std::ssize(selected_tokens_), std::ssize(now));
}

/// Returns what of the selection of a session or of the command line is not there.
std::optional<ErrorFacts> Document::carry_selection() {
    first_look_.reset();
    finds_pair_ = false;
    if (!trace_) return std::nullopt;
    std::optional<ErrorFacts> lacking;
    const auto& config = trace_->config();
    figure::Selection next = without_hover(selection_.get());
    bool first = false, finds_pair = false;
    if (pending_selection_) {
        next = *pending_selection_;
        pending_selection_.reset();
        if (const QString file = std::exchange(session_file_, {}); !file.isEmpty()) lacking = lacking_of(next, *trace_, file);
    } else if (selection_.layers() == config.n_layers && selection_.heads() == config.n_heads) {
        next = align_selection(next, text::align_tokens(selected_tokens_, trace_->encoding().tokens),
                               text::align_tokens(selected_keys_, trace_->key_encoding().tokens));
    } else {  // a first look: the most telling head and pair
        first = true;
        const bool all = selection_.heads() > 1 && std::ssize(next.heads) == selection_.heads();
        next = {};
        next.layer = measured_.head.layer;
        if (!all) next.heads = {measured_.head.head};  // none: all of the new model too
        next.focus = measured_.head;
        if (measured_.pair) {
            next.pinned_queries = {measured_.pair->query};
            next.pinned_keys = {measured_.pair->key};
            next.found_pins = true;
        }
        if (const FirstLook look = std::exchange(wanted_look_, {}); look.selects()) {
            first = false;
            next = with_look(next, look);
            finds_pair = next.pinned_queries.empty() && next.pinned_keys.empty() && trace_->tokens() > 1;
            lacking = lacking_of(next, *trace_, {});
            if (lacking) lacking->file = trace_->model()->folder().string();
        }
    }
    selected_tokens_ = trace_->encoding().tokens;
    selected_keys_ = trace_->key_encoding().tokens;
    selection_.reset(config.n_layers, config.n_heads, trace_->tokens(), trace_->keys(), next);
    if (first) first_look_ = without_hover(selection_.get());
    if (finds_pair) pin_first_pair();
    return lacking;
}

}  // namespace headlight::ui
