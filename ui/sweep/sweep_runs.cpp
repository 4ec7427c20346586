// SPDX-License-Identifier: GPL-3.0-or-later
// Background work of the page of sweeps: forecasts, the sweep itself, its figure, files.
#include "headlight/base/accounted.h"
#include "headlight/base/memory.h"
#include "headlight/figure/picture/picture_file.h"
#include "headlight/intervention/tasks/task_pairs.h"
#include "ui/sweep/sweep_window.h"

#include <QPointer>

#include <algorithm>
#include <utility>

namespace headlight::ui {
namespace {

using namespace intervention;

/// Bytes of lines, about 20,000 numbers: the session is written in the window's thread, a moment after every change.
constexpr std::size_t kMostKept = 512 << 10;

/// The pairs of a request, which then names the answers that nobody has typed and has the texts of its file.
std::vector<SweepPair> pairs_with_answers(SweepRequest& asked, const OpenModel& opened, const CancelToken& cancel) {
    std::vector<SweepPair> pairs = asked_pairs(asked, *opened.model, *opened.tokenizer, figure::read_picture);
    if (!asked.over.empty())
        asked.options.over = texts_over(asked, *opened.model, *opened.tokenizer, figure::read_picture, cancel);
    if (!asked.pairs.empty()) return pairs;
    SweepPair& pair = pairs.front();
    propose_answers(opened.model, *opened.tokenizer, pair, asked.options.metric);
    const auto name = [&](std::vector<std::string>& names, const std::vector<std::int64_t>& ids) {
        if (names.empty())
            for (const std::int64_t id : ids) names.push_back(answer_text(*opened.model, *opened.tokenizer, id));
    };
    name(asked.answers, pair.answers);
    name(asked.wrong, pair.wrong);
    return pairs;
}

std::int64_t bytes_of(const SweepResult& r) {
    std::size_t numbers = r.clean.size() + r.corrupt.size();
    for (const auto* rows : {&r.effects, &r.estimates, &r.directs})
        for (const auto& row : *rows) numbers += row.size();
    std::size_t bytes = numbers * sizeof(double);
    for (const auto& noise : r.noise) bytes += noise.size() * sizeof(float);
    return static_cast<std::int64_t>(bytes + r.cells.size() * (sizeof(SweepCell) + sizeof(SweepCellResult)));
}

QString words_in(const std::vector<std::string>& words) {
    QStringList out;
    for (const std::string& word : words) out << QString::fromStdString(word);
    return out.join(QStringLiteral(" | "));
}

}  // namespace

/// After a pause, and not while a sweep needs the machine.
void SweepWindow::ask_forecast() {
    jobs_.cancel(Jobs::Lane::sweep_forecast);
    if (isVisible()) pause_.start();
}

void SweepWindow::forecast_now() {
    const OpenModel& opened = document_.model();
    if (!opened.model || jobs_.busy(Jobs::Lane::sweep)) return;
    SweepRequest asked;
    const auto cannot = [this](const QString& why) {
        cannot_ = !why.isEmpty();
        forecast_->setText(why);
        show_work();
    };
    try {
        asked = form_->request();
    } catch (const Error& error) {
        return cannot(QString::fromUtf8(error.what()));
    }
    asked.options.memory = std::min(asked.options.memory, memory_budget() / 4);
    cannot({});
    const bool pictures = reads_pictures(opened);
    if (asked.pairs.empty() && asked.clean.empty())
        return cannot(pictures ? QStringLiteral("Open a picture in the window, or type its file")
                               : QStringLiteral("Type a text"));
    const bool noise = !asked.options.noise.empty();
    if (asked.options.ablation == Ablation::none && asked.pairs.empty() && asked.corrupt.empty() && !noise)
        return cannot(pictures ? QStringLiteral("Type the file of the corrupt picture")
                               : QStringLiteral("Type the corrupt text: the same with what is asked about changed"));
    std::string read_by_model = asked.clean;
    for (const std::string& text : {asked.corrupt, asked.target, asked.position}) read_by_model += '\0' + text;
    const bool offers = asked.pairs.empty() && !pictures && read_by_model != offered_for_;
    jobs_.start(Jobs::Lane::sweep_forecast, {},
                [self = QPointer(this), jobs = &jobs_, asked, opened, offers, read_by_model](
                    const CancelToken& cancel, const Progress&) mutable -> Jobs::Deliver {
                    if (offers) {  // whatever is typed as an answer so far
                        SweepRequest texts = asked;
                        texts.answers = texts.wrong = {};
                        const SweepPair pair = asked_pairs(texts, *opened.model, *opened.tokenizer).front();
                        const std::vector<double> right = answer_chances(opened.model, pair.clean);
                        const bool alone = pair.corrupt.ids.empty();
                        jobs->in_window([self, opened, read_by_model, right,
                                         other = alone ? right : answer_chances(opened.model, pair.corrupt)] {
                            if (!self || self->document_.model().model != opened.model) return;
                            self->offered_for_ = read_by_model;
                            self->form_->offer_tokens(right, other);
                        });
                    }
                    const bool chooses_wrong = asked.pairs.empty() && asked.wrong.empty();
                    const std::vector<SweepPair> pairs = pairs_with_answers(asked, opened, cancel);
                    const SweepForecast forecast = forecast_sweep(opened.model, pairs, asked.options, cancel);
                    QString words = QString::fromStdString(forecast.text());
                    const QString right = words_in(pairs.front().answer_words), wrong = words_in(pairs.front().wrong_words);
                    if (chooses_wrong && asked.options.metric == Metric::logit_diff)
                        words += QStringLiteral("\nWrong answer: “%1”, %2")
                                     .arg(wrong, pairs.front().corrupt.ids.empty()
                                                     ? QStringLiteral("the likeliest token of the text but the answer")
                                                     : QStringLiteral("the likeliest token of the corrupt text but the answer"));
                    return [self, words, right, wrong] {
                        if (!self) return;
                        self->forecast_->setText(words);
                        self->form_->show_answers(right, wrong);
                    };
                });
}

void SweepWindow::start() {
    const OpenModel& opened = document_.model();
    if (!opened.model) return say(QStringLiteral("Open a model in the window first"), true);
    if (!opened.tokenizer) return say(QStringLiteral("This model has no tokenizer"), true);
    SweepRequest asked;
    try {
        asked = form_->request();
    } catch (const Error& error) {
        return say(QString::fromUtf8(error.what()), true);
    }
    asked.options.memory = std::min(asked.options.memory, memory_budget() / 4);
    pause_.stop();
    jobs_.cancel(Jobs::Lane::sweep_forecast);
    say({});
    stopping_ = false;
    progress_->setRange(0, 0);
    jobs_.start(Jobs::Lane::sweep, QStringLiteral("Sweeping"),
                [self = QPointer(this), jobs = &jobs_, started = asked, asked, opened, dtype = dtype(), number = ++started_](
                    const CancelToken& cancel, const Progress& progress) mutable -> Jobs::Deliver {
                    check_files(opened);
                    std::vector<SweepPair> pairs = pairs_with_answers(asked, opened, cancel);
                    const auto run = std::make_shared<SweepRun>(opened.model, std::move(pairs), asked.options);
                    jobs->in_window([self, run, started, asked, opened, dtype, number] {
                        if (self && self->started_ == number) self->run({started, asked, opened, dtype}, run);
                    });
                    run->run(cancel, progress);
                    return [] {};
                });
    show_work();
}

std::string SweepWindow::dtype() const { return document_.run_trace() ? document_.run_trace()->info().dtype : "float32"; }

/// What the job has begun; its cells arrive from now on.
void SweepWindow::run(Shown shown, std::shared_ptr<SweepRun> run) {
    shown_ = std::move(shown);
    run_ = std::move(run);
    numbers_.reset();
    to_read_.reset();
    cell_.reset();
    result_.reset();
    canvas_->set_outdated(true);
    frames_.start();
    show_cell();
    show_work();
    if (!jobs_.busy(Jobs::Lane::sweep)) end_run();  // it was quicker than the message
}

void SweepWindow::go_on() {
    if (!run_ || jobs_.busy(Jobs::Lane::sweep)) return;
    stopping_ = false;
    jobs_.cancel(Jobs::Lane::sweep_figure);  // whose numbers are soon not the last ones
    numbers_.reset();
    say({});
    jobs_.start(Jobs::Lane::sweep, QStringLiteral("Sweeping"),
                [run = run_, opened = shown_->opened](const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
                    check_files(opened);
                    run->run(cancel, progress);
                    return [] {};
                });
    frames_.start();
    show_work();
}

void SweepWindow::stop() {
    if (!jobs_.busy(Jobs::Lane::sweep)) return;
    stopping_ = true;
    jobs_.ask_to_stop(Jobs::Lane::sweep);
    show_work();
}

void SweepWindow::end_run() {
    frames_.stop();
    if (stopping_) say(QStringLiteral("Stopped: the cells that are there are kept"));
    stopping_ = false;
    if (run_) refresh();
}

void SweepWindow::refresh() {
    if (!run_) return;
    jobs_.start(Jobs::Lane::sweep_figure, {},
                [self = QPointer(this), run = run_](const CancelToken&, const Progress&) -> Jobs::Deliver {
                    SweepResult numbers = run->result();
                    const std::int64_t bytes = bytes_of(numbers);
                    const auto result = accounted(std::move(numbers), MemoryUse::results, bytes);
                    std::shared_ptr<figure::Figure> figure = figure::sweep_figure(result);
                    return [self, run, result, figure] {
                        if (self && self->run_ == run) self->take_figure(result, figure);
                    };
                });
}

void SweepWindow::take_figure(figure::SweepPtr result, std::shared_ptr<figure::Figure> figure) {
    if (!result_) {
        const SweepAxes& axes = result->axes;
        const std::int64_t positions =
            std::max(axes.positions, axes.sources);  // keys and values of a source are cells by position
        selection_.reset(axes.layers, axes.heads, positions, positions, {});
        result_ = result;
        follow_selection();
    }
    result_ = std::move(result);
    canvas_->set_figure(std::move(figure));
    if (result_->complete && !jobs_.busy(Jobs::Lane::sweep)) {
        QStringList lines{result_->seconds == 0
                              ? QStringLiteral("Kept in the session")
                              : QStringLiteral("Swept in %1 s")
                                    .arg(result_->seconds < 0.1 ? QStringLiteral("under 0.1")
                                                                : QString::fromStdString(significant(result_->seconds)))};
        for (const std::string& note : result_->notes) lines << QString::fromStdString(note);
        say(lines.join(QStringLiteral(". ")));
    }
    show_cell();
    show_work();
    if (!numbers_ && !jobs_.busy(Jobs::Lane::sweep)) keep_numbers();
}

/// For the session, when nothing runs.
void SweepWindow::keep_numbers() {
    jobs_.start(Jobs::Lane::sweep_figure, {},
                [self = QPointer(this), run = run_, shown = *shown_](const CancelToken&, const Progress&) -> Jobs::Deliver {
                    auto lines = std::make_shared<const std::string>(
                        run->kept(figure::sweep_facts(*shown.opened.model, shown.asked, shown.dtype)));
                    return [self, run, numbers = SweepNumbers{shown.started, std::move(lines)}] {
                        if (!self || self->run_ != run) return;
                        if (numbers.lines->size() > kMostKept)
                            return self->say(self->message_->text() +
                                             QStringLiteral(". A session does not keep so many numbers: export them"));
                        self->numbers_ = numbers;
                        Q_EMIT self->session_changed();
                    };
                });
}

/// Now, or when the page is open and the model and its text are there.
void SweepWindow::read_numbers() {
    if (!to_read_ || reads_ || !isVisible() || !document_.up_to_date() || jobs_.busy(Jobs::Lane::model)) return;
    reads_ = true;
    jobs_.start(Jobs::Lane::sweep, QStringLiteral("Reading the sweep of the session"),
                [self = QPointer(this), numbers = *to_read_, opened = document_.model(), dtype = dtype(), number = ++started_](
                    const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
                    check_files(opened);
                    SweepRequest asked = numbers.asked;
                    asked.options.memory = std::min(asked.options.memory, memory_budget() / 4);
                    std::vector<SweepPair> pairs = pairs_with_answers(asked, opened, cancel);
                    const auto run = std::make_shared<SweepRun>(opened.model, std::move(pairs), asked.options);
                    run->take(*numbers.lines, figure::sweep_facts(*opened.model, asked, dtype), "the sweep of the session");
                    return [self, numbers, run, shown = Shown{numbers.asked, asked, opened, dtype}, number] {
                        if (!self || self->started_ != number) return;
                        self->run(shown, run);
                        self->numbers_ = numbers;
                    };
                });
    show_work();
}

void SweepWindow::show_failed(Jobs::Lane lane, const Failure& failure) {
    using Lane = Jobs::Lane;
    const QString words = QString::fromUtf8(Error(failure.facts).what());
    if (lane == Lane::sweep_forecast) {
        cannot_ = true;
        forecast_->setText(words);
        return show_work();
    }
    if (lane == Lane::sweep || lane == Lane::sweep_figure) say(words, true);
}

Exportable SweepWindow::exportable() const {
    return {.name = QString::fromStdString(shown_->opened.model->config().name) + QStringLiteral("-sweep-") +
                    QString::fromStdString(std::string(enum_word(shown_->asked.options.grid))),
            .selection = selection_.get(),
            .figure = [result = result_](const CancelToken&) -> std::shared_ptr<figure::Figure> {
                return figure::sweep_figure(result);
            },
            .provenance =
                [shown = *shown_](const figure::Figure&, const figure::ExportOptions& options, const std::string& format) {
                    return figure::sweep_provenance(*shown.opened.model, shown.asked, shown.dtype, options, format);
                },
            .filtered = false};
}

QString SweepWindow::command() const {
    if (!shown_) return {};
    return QString::fromStdString(figure::sweep_command(*shown_->opened.model, shown_->asked, shown_->dtype, {}, "svg"));
}

}  // namespace headlight::ui
