// SPDX-License-Identifier: GPL-3.0-or-later
// Background work of the corpus page: runs, rereading the store, files.
#include "headlight/base/error.h"
#include "headlight/corpus/probe/make_probe.h"
#include "headlight/corpus/run/run.h"
#include "headlight/figure/core/number_text.h"
#include "headlight/figure/export/export.h"
#include "ui/corpus/corpus_form.h"
#include "ui/corpus/corpus_window.h"

#include <QFileInfo>
#include <QPointer>

namespace headlight::ui {

void CorpusWindow::run(const CorpusOrder& order) {
    const OpenModel& opened = document_.model();
    if (!opened.model) return say(QStringLiteral("No model is open"), true);
    running_ = order.store;
    running_with_ = opened;
    outcome_ = Outcome::stopped;  // unless it ends otherwise
    stopping_ = false;
    follows_run_ = true;
    progress_->setRange(0, 0);
    say({});
    jobs_.start(Jobs::Lane::corpus, QStringLiteral("Running the corpus"),
                [self = QPointer(this), jobs = &jobs_, order, opened](const CancelToken& cancel,
                                                                      const Progress& progress) -> Jobs::Deliver {
                    check_files(opened);
                    corpus::CorpusRun run;
                    run.setup = {.store = order.store.toStdString(),
                                 .model = opened.model,
                                 .tokenizer = opened.tokenizer,
                                 .options = order.options,
                                 .texts = {.from = order.texts.toStdString(), .limit = order.limit}};
                    run.segment_minutes = order.segment_minutes;
                    run.stop_at = order.stop_at;
                    const corpus::Note note = [self, jobs](const std::string& line) {
                        jobs->in_window([self, text = QString::fromStdString(line)] {
                            if (self) self->say(text);
                        });
                    };
                    const Progress named = [&](ProgressStep step) {  // names the run in the window's status line
                        if (step.unit == "chunk") step.what = "Running the corpus";
                        progress(step);
                    };
                    const corpus::CorpusResult result = corpus::run_corpus(run, cancel, named, note);
                    return [self, left = result.manifest.left_out_texts(), stopped = QString::fromStdString(result.stopped)] {
                        if (!self) return;
                        self->outcome_ = Outcome::finished;
                        QStringList lines;
                        if (!stopped.isEmpty()) lines << QStringLiteral("Stopped: %1").arg(stopped);
                        if (left > 0)
                            lines << QStringLiteral("%1 texts were left out; headlight corpus info lists them")
                                         .arg(figure::count_text(left));
                        self->say(lines.join(u'\n'));
                    };
                });
    reread_.start();
    show_work();
}

/// During a run, its segments so far are merged first. After the run, nothing may prevent the final read.
void CorpusWindow::reread(Reread when) {
    if (running_.isEmpty() || !follows_run_) return;
    if (when == Reread::in_passing && (jobs_.busy(Jobs::Lane::corpus_open) || jobs_.busy(Jobs::Lane::corpus_figure))) return;
    jobs_.start(Jobs::Lane::corpus_open, {},
                [self = QPointer(this), store = std::filesystem::path(running_.toStdString()), opened = running_with_, when,
                 failed = outcome_ == Outcome::failed](const CancelToken&, const Progress&) -> Jobs::Deliver {
                    std::shared_ptr<const corpus::StoredCorpus> stored;
                    if (when == Reread::in_passing && corpus::is_store(store))
                        stored = corpus::read_finished(
                            store, corpus::context_of(corpus::read_manifest(store), opened.model->config(), *opened.tokenizer));
                    if (when == Reread::last) try {
                            stored = corpus::read_store(store);
                        } catch (const Error&) {
                            if (!failed) throw;  // else the run has reported why there is nothing
                        }
                    return [self, stored] {
                        if (self && stored) self->show_store(stored);
                    };
                });
}

void CorpusWindow::probe() {
    const figure::CorpusView* view = current_view();
    if (!stored_ || !view || !view->probe || jobs_.busy(Jobs::Lane::corpus)) return;
    probing_ = true;
    outcome_ = Outcome::stopped;
    progress_->setRange(0, 0);
    say({});
    jobs_.start(Jobs::Lane::corpus,
                QStringLiteral("Probing %1").arg(view->of_labels() ? labels_->currentText() : QString()).trimmed(),
                [self = QPointer(this), kind = *view->probe, labels = labels_->currentText().toStdString(), stored = stored_,
                 opened = document_.model()](const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
                    corpus::StatesOptions states{.store = stored->folder};
                    // The states of all tokens may be in the store; else what is missing is said there.
                    if (opened.model && opened.model->hash() == stored->manifest.model_hash)
                        states.model = opened.model, states.tokenizer = opened.tokenizer;
                    corpus::make_probe(kind, labels, states, cancel, progress);
                    return [self] {
                        if (self) self->outcome_ = Outcome::finished;
                    };
                });
    show_work();
}

void CorpusWindow::show_probe() {
    stopping_ = false;
    if (outcome_ == Outcome::stopped) say(QStringLiteral("Stopped. The states of the tokens are kept once they are complete"));
    if (outcome_ != Outcome::finished) return;
    fill_labels();
    refresh();
}

void CorpusWindow::stop() {
    if (exporting_) jobs_.cancel(Jobs::Lane::file);
    if (!jobs_.busy(Jobs::Lane::corpus)) return;
    stopping_ = true;
    jobs_.ask_to_stop(Jobs::Lane::corpus);
    show_work();
}

void CorpusWindow::end_run() {
    reread_.stop();
    stopping_ = false;
    if (outcome_ == Outcome::stopped)
        say(QStringLiteral("Stopped. Finished blocks are kept; running the same texts into the same store resumes there"));
    reread(Reread::last);
    document_.reread_corpus(QFileInfo(running_).absoluteFilePath());
    running_.clear();
    running_with_ = {};
}

/// Shows the current work and enables what can be started meanwhile.
void CorpusWindow::show_work() {
    const bool runs = !running_.isEmpty() || probing_;
    if (exporting_ && !runs) progress_->setRange(0, 0);
    progress_->setVisible(runs || exporting_);
    stop_->setVisible(runs || exporting_);
    stop_->setEnabled(!stopping_);
    stop_->setText(stopping_ ? QStringLiteral("Stopping …") : QStringLiteral("Stop"));
    run_->setEnabled(!runs);
    probe_->setEnabled(stored_ && !runs);
    run_->setToolTip(runs ? QStringLiteral("A run goes on") : QString());
    probe_->setToolTip(
        probing_ ? QStringLiteral("A probe is running")
                 : QStringLiteral("Fits the probe to this store with its defaults; headlight corpus probe has options"));
    export_->setEnabled(stored_ && !exporting_);
    const bool growing = !running_.isEmpty() && stored_ && stored_->folder == running_.toStdString();
    use_->setEnabled(stored_ && !growing);
    use_->setToolTip(growing ? QStringLiteral("Once the run has ended")
                             : QStringLiteral("Mosaic, finder and scatter take the measures of this store beside the text's, and "
                                              "the finder its words; what is shown here is chosen there"));
}

void CorpusWindow::show_failed(Jobs::Lane lane, const Failure& failure) {
    using Lane = Jobs::Lane;
    const bool of_figure = lane == Lane::corpus_figure;
    const bool of_page = lane == Lane::corpus || lane == Lane::corpus_open || of_figure;
    if (!of_page && !(lane == Lane::file && exporting_)) return;
    say(QString::fromUtf8(Error(failure.facts).what()), true);
    if (lane == Lane::corpus) outcome_ = Outcome::failed;
    if (!of_figure) return;
    figure_failed_ = true;
    canvas_->set_figure(nullptr);
    canvas_->set_placeholder(QString::fromStdString(failure.facts.problem), QString::fromStdString(failure.facts.hint));
}

void CorpusWindow::write(const QString& file) {
    if (!stored_ || request().view.empty()) return;
    exporting_ = true;
    jobs_.start(
        Jobs::Lane::file, QStringLiteral("Exporting %1").arg(QFileInfo(file).fileName()),
        [self = QPointer(this), stored = stored_, asked = request(), selection = canvas_->selection(), file,
         width = std::max(600, canvas_->viewport()->width())](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
            figure::ExportOptions options;
            options.size_px.setWidth(width);
            const figure::CorpusRequest request = for_store(asked, *stored);
            const auto made = figure::corpus_figure(stored, request, cancel);
            figure::export_figure(*made, selection, figure::corpus_provenance(*stored, request), options, file.toStdString(),
                                  cancel);
            return [self, file] {
                if (!self) return;
                self->say(QStringLiteral("Wrote %1").arg(file));
                Q_EMIT self->written(file);
            };
        });
    show_work();
}

/// Applies the page's choice to the window: the measure to its mosaic, the axes to its scatter, a question to its finder.
void CorpusWindow::use() {
    const OpenModel opened = document_.model();
    if (!stored_) return;
    const QString model = QString::fromStdString(stored_->manifest.model);
    if (!opened.model) return say(QStringLiteral("Open %1 in the window first").arg(model), true);
    jobs_.start(Jobs::Lane::corpus_heads, QStringLiteral("Reading the corpus"),
                [self = QPointer(this), stored = stored_, opened, asked = request(), model](const CancelToken&,
                                                                                            const Progress&) -> Jobs::Deliver {
                    const bool same = stored->manifest.model_hash == opened.model->hash();  // reads the weights
                    return [self, stored, asked, model, same] {
                        if (!self) return;
                        const QFileInfo folder(QString::fromStdString(stored->folder.string()));
                        if (!same)
                            return self->say(QStringLiteral("%1 was run with %2: open that model in the window to use it there")
                                                 .arg(folder.fileName(), model),
                                             true);
                        ViewOptions options = self->document_.options();
                        options.corpus = folder.absoluteFilePath();
                        const auto of_corpus = [](const std::string& measure) {
                            return std::string(analyze::corpus_prefix) + measure;
                        };
                        if (!asked.view.empty()) {
                            const figure::CorpusView& view = figure::corpus_view(asked.view);
                            if (view.of_measure) options.measure = of_corpus(asked.measure);
                            if (view.of_axes) {
                                set_view_value(options, view.in_window, "x", of_corpus(asked.x));
                                set_view_value(options, view.in_window, "y", of_corpus(asked.y));
                            }
                            if (view.of_question && !asked.question.empty())
                                options.finder = QString::fromStdString(asked.question);
                        }
                        self->document_.set_options(options);
                        self->say(QStringLiteral("The window now also uses the measures of %1").arg(folder.fileName()));
                    };
                });
}

}  // namespace headlight::ui
