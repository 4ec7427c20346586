// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/document.h"

#include "headlight/figure/picture/picture_file.h"
#include "headlight/model/locate.h"
#include "headlight/model/outline.h"
#include "headlight/trace/saved.h"
#include "headlight/trace/texts.h"
#include "ui/document/alignment.h"
#include "ui/document/head_list.h"

#include <algorithm>
#include <map>
#include <utility>

namespace headlight::ui {

const char* const example_sentence = "The old doctor asked the nurse to wait, because the old doctor was late.";

namespace {

namespace fs = std::filesystem;

OpenModel load(const QString& reference, const std::string& device, const CancelToken& cancel, const Progress& progress) {
    OpenModel opened;
    opened.reference = reference;
    const auto add_file = [&](const fs::path& file) {
        std::error_code ec;
        const auto size = fs::file_size(file, ec);
        if (!ec) opened.files.emplace_back(file, size);
    };
    if (trace::is_saved(reference.toStdString())) {
        const auto saved = trace::open_saved(reference.toStdString(), cancel, progress);
        opened.model = saved->model();
        opened.tokenizer = saved->tokenizer();
        add_file(reference.toStdString());
        return opened;
    }
    const fs::path folder = model::locate_model(reference.toStdString());
    model::LoadOptions options;
    options.device = device;
    opened.model = model::Model::load(folder, options, cancel, progress);
    opened.tokenizer = trace::load_tokenizer(folder);
    for (const std::string& name : opened.model->report().files) {
        add_file(fs::path(name).is_absolute() ? fs::path(name) : opened.model->folder() / name);
    }
    return opened;
}

/// A trace without its model: it has its own text.
bool is_saved(const OpenModel& opened) { return opened.model && !model::has_weights(*opened.model); }

}  // namespace

void check_files(const OpenModel& model) {
    for (const auto& [file, size] : model.files) {
        std::error_code ec;
        const auto now = fs::file_size(file, ec);
        if (!ec && now == size) continue;
        throw Error(ErrorFacts{.problem = "The model's files are gone or have changed since it was opened",
                               .file = file.string(),
                               .expected = std::to_string(size) + " bytes",
                               .found = ec ? "no file" : std::to_string(now) + " bytes",
                               .hint = "Put the file back, or open the model again. What is on screen stays"});
    }
}

bool reads_pictures(const OpenModel& opened) {
    return opened.model && !is_saved(opened) && model::reads_pictures(opened.model->config());
}

bool Document::has_input() const { return reads_pictures(model_) ? !prompt_.image.isEmpty() : !prompt_.text.isEmpty(); }

Document::Document(Jobs& jobs, QString device, QObject* parent)
    : QObject(parent),
      jobs_(jobs),
      device_(std::move(device)),
      selection_(this),
      finder_(jobs),
      predictions_(jobs),
      reference_(jobs) {
    connect(&reference_, &ReferenceCheck::changed, this, &Document::reference_changed);
    connect(&predictions_, &TokenPredictions::arrived, this, &Document::predictions_changed);
    connect(&selection_, &SelectionModel::changed, this, [this](bool hover_only) {
        if (!hover_only) look_at_predictions();
    });
    connect(&finder_, &HeadFinder::arrived, this, [this] { Q_EMIT changed(Change::filter); });
    prompt_.text = QString::fromUtf8(example_sentence);
    pause_.setSingleShot(true);
    connect(&pause_, &QTimer::timeout, this, &Document::run);
    connect(&jobs_, &Jobs::failed, this, [this](Jobs::Lane lane) {
        if (lane != Jobs::Lane::model) return;
        opening_ = false;
        if (std::exchange(continuing_, false)) Q_EMIT continued({});
    });
    connect(&jobs_, &Jobs::finished, this, [this](Jobs::Lane lane) {
        if (lane == Jobs::Lane::texts && std::exchange(pooling_, false)) forget_pool();  // failed, or stopped by hand
    });
}

void Document::open_model(const QString& reference) {
    pause_.stop();
    end_continuation();
    opening_ = true;
    const std::string device = device_.toStdString();
    jobs_.start(Jobs::Lane::model, tr("Opening %1").arg(reference),
                [this, reference, device](const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
                    OpenModel opened = load(reference, device, cancel, progress);
                    return [this, opened] { accept_model(opened); };
                });
}

void Document::accept_model(OpenModel opened) {
    opening_ = false;
    model_ = std::move(opened);
    Q_EMIT changed(Change::model);
    reference_.look(model_.model, [opened = model_] { check_files(opened); });
    run();
    run_pool();
}

/// Runs the texts of the pool's file; without one, away with them.
void Document::run_pool() {
    pooling_ = false;
    jobs_.cancel(Jobs::Lane::texts);
    set_pool(nullptr);
    if (options_.pool_file.isEmpty() || !model_.model || reads_pictures(model_)) return;
    const std::filesystem::path file = options_.pool_file.toStdString();
    pooling_ = true;
    jobs_.start(Jobs::Lane::texts, tr("Running the pooled texts"),
                [this, file, opened = model_](const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
                    check_files(opened);
                    auto pool = std::make_shared<figure::TextPool>();
                    pool->file = file.string();
                    pool->traces =
                        trace::run_texts(opened.model, opened.tokenizer, io::read_text_lines(file), file, cancel, progress);
                    return [this, pool] {
                        pooling_ = false;
                        set_pool(pool);
                    };
                });
}

void Document::set_pool(std::shared_ptr<const figure::TextPool> pool) {
    if (pool == pool_) return;
    pool_ = std::move(pool);
    Q_EMIT changed(Change::pool);
}

/// A file that could not be read or run is no longer said to be pooled.
void Document::forget_pool() {
    if (options_.pool_file.isEmpty()) return;
    ViewOptions options = options_;
    options.pool_file.clear();
    set_options(options);
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
    const bool other_pool = options.pool_file != options_.pool_file;
    options_ = options;
    const auto before = trace_;
    take_part();
    if (other_pool) run_pool();
    finder_.look(options_.finder, trace_, head_table_);
    if (trace_ != before) turn_selection(*before, of_part);
    set_modified(true);
    look_at_predictions();
    Q_EMIT changed(Change::options);
    if (trace_ != before) Q_EMIT changed(Change::trace);  // second: undo keeps the step that the options are
}

void Document::set_attention(model::Stack attention) {
    ViewOptions options = options_;
    options.attention = attention;
    set_options(options);
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
    Q_EMIT changed(Change::views);
}

/// Long enough to wait for the next key, short enough that the picture follows the typing.
int Document::pause_ms() const { return prompt_.text.size() + prompt_.pair.size() < 400 ? 30 : 120; }

void Document::schedule_run() {
    if (opening_ || !model_.model) return;
    jobs_.cancel(Jobs::Lane::model);
    pause_.start(pause_ms());
}

void Document::run_now() {
    if (opening_ || !model_.model) return;
    run();
}

void Document::stop() {
    pause_.stop();
    opening_ = false;
    if (continuing_) {
        end_continuation();
        if (!up_to_date()) run();
        return;
    }
    jobs_.cancel(Jobs::Lane::model);
}

void Document::run() {
    pause_.stop();
    end_continuation();
    reference_.make_way();
    if (!model_.model) return;
    const PromptText prompt = prompt_;
    const bool encodes = model_.model->part(model::Stack::encoder) != nullptr;
    const bool pair = (prompt.has_pair || encodes) && !prompt.pair.isEmpty();
    if (is_saved(model_)) {
        jobs_.start(Jobs::Lane::model, tr("Reading %1").arg(QString::fromStdString(model_.model->config().name)),
                    [this, opened = model_](const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
                        check_files(opened);
                        const auto trace = trace::open_saved(opened.model->folder(), cancel, progress);
                        const Tables tables = tables_of(*trace);
                        return [this, trace, tables] {
                            prompt_ = {QString::fromStdString(trace->text_a()), QString::fromStdString(trace->text_b()),
                                       !trace->text_b().empty()};
                            Q_EMIT changed(Change::prompt);
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
    jobs_.start(Jobs::Lane::model, tr("Running %1").arg(QString::fromStdString(model_.model->config().name)),
                [this, prompt, pair, opened = model_](const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
                    check_files(opened);
                    trace::Prompt text;
                    if (reads_pictures(opened))
                        text = {.image = prompt.image.toStdString(), .picture = figure::read_picture(prompt.image.toStdString())};
                    else
                        text = {.text = prompt.text.toStdString(), .pair = pair ? prompt.pair.toStdString() : std::string()};
                    auto trace = trace::run(opened.model, opened.tokenizer, text, {}, cancel, progress);
                    const Tables tables = tables_of(*trace);
                    return [this, trace, tables, prompt] { accept_run(trace, tables, prompt); };
                });
}

Document::Tables Document::tables_of(const trace::Trace& run) {
    Tables tables;
    const auto add = [&](model::Stack stack, const trace::Trace& trace) {
        tables[stack] = std::make_shared<const analyze::HeadTable>(analyze::head_table(trace));
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
    head_table_ = run_ ? tables_.at(part ? options_.attention : model::Stack::decoder) : nullptr;
}

/// Another part of the run: layer and heads stay where they are, pins stay with the tokens that both parts have.
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
    if (known) {
        next = *known;
    } else if (had_pins && next.pinned_queries.empty() && trace_->tokens() > 1) {  // a first look
        const HeadId head{Layer(std::min(next.focus.layer.value, config.n_layers - 1)),
                          Head(std::min(next.focus.head.value, config.n_heads - 1))};
        const auto pair = analyze::interesting_pair(*trace_, head);
        next.pinned_queries = {pair.query};
        next.pinned_keys = {pair.key};
    }
    selected_tokens_ = trace_->encoding().tokens;
    selected_keys_ = trace_->key_encoding().tokens;
    const bool was_adapting = std::exchange(adapting_, true);
    selection_.reset(config.n_layers, config.n_heads, trace_->tokens(), trace_->keys(), next);
    adapting_ = was_adapting;
}

void Document::accept_run(std::shared_ptr<const trace::Trace> run, Tables tables, const PromptText& prompt) {
    run_ = std::move(run);
    tables_ = std::move(tables);
    pins_ = {};
    take_part();
    finder_.look(options_.finder, trace_, head_table_);
    shown_prompt_ = prompt;
    adapting_ = true;
    carry_selection();
    // The filter of a sentence pair means nothing without one.
    if (trace_ && !trace_->has_sentence_pair() && options_.pattern.filter != analyze::PairFilter::all) {
        ViewOptions options = options_;
        options.pattern.filter = analyze::PairFilter::all;
        set_options(options);
    }
    adapting_ = false;
    look_at_predictions();
    Q_EMIT changed(Change::trace);
}

void Document::carry_selection() {
    if (!trace_) return;
    const auto& config = trace_->config();
    figure::Selection next = without_hover(selection_.get());
    if (pending_selection_) {
        next = *pending_selection_;
        pending_selection_.reset();
    } else if (selection_.layers() == config.n_layers && selection_.heads() == config.n_heads) {
        next = align_selection(next, align_tokens(selected_tokens_, trace_->encoding().tokens),
                               align_tokens(selected_keys_, trace_->key_encoding().tokens));
    } else {  // a first look: the head and the pair that show most
        const HeadId head = analyze::interesting_head(*head_table_);
        next = {};
        next.layer = head.layer;
        next.heads = {head.head};
        next.focus = head;
        if (trace_->tokens() > 1) {
            const auto pair = analyze::interesting_pair(*trace_, head);
            next.pinned_queries = {pair.query};
            next.pinned_keys = {pair.key};
        }
    }
    selected_tokens_ = trace_->encoding().tokens;
    selected_keys_ = trace_->key_encoding().tokens;
    selection_.reset(config.n_layers, config.n_heads, trace_->tokens(), trace_->keys(), next);
}

State Document::state() const { return {prompt_, options_, without_hover(selection_.get())}; }

void Document::restore(const State& state, bool other_model) {
    // On the text that is shown at once; else when that text has been run.
    const bool at_once = !other_model && up_to_date() && state.prompt == prompt_;
    const bool other_part = has_parts() && state.options.attention != options_.attention;
    if (!at_once) {
        pending_selection_ = state.selection;
    } else if (!other_part) {
        selection_.set(state.selection);
    }
    change_options(state.options, at_once && other_part ? std::optional(state.selection) : std::nullopt);
    if (state.prompt != prompt_ && (!is_saved(model_) || other_model)) {
        prompt_ = state.prompt;
        set_modified(true);
        Q_EMIT changed(Change::prompt);
        if (model_.model && !opening_ && !other_model) run();
    }
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
