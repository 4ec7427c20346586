// SPDX-License-Identifier: GPL-3.0-or-later
// Background work of the map page: gathering, layout, files.
#include "headlight/base/error.h"
#include "headlight/figure/map/map_request.h"
#include "headlight/figure/picture/picture_file.h"
#include "headlight/map/gather/gather.h"
#include "ui/map/map_window.h"
#include "ui/style/widgets.h"

#include <QElapsedTimer>
#include <QPointer>
#include <QSignalBlocker>
#include <QStandardPaths>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <utility>

namespace headlight::ui {
namespace {

constexpr int frame_budget_ms = 8;
constexpr std::uintmax_t cache_bytes = 512'000'000;

std::filesystem::path cache_folder() {
    return (QStandardPaths::writableLocation(QStandardPaths::CacheLocation) + QStringLiteral("/maps")).toStdString();
}

/// Deletes the oldest files when the cache has grown too large.
void prune_now(const std::filesystem::path& folder) {
    namespace fs = std::filesystem;
    struct Kept {
        fs::file_time_type when;
        std::uintmax_t bytes;
        fs::path file;
    };
    std::error_code ignored;
    std::vector<Kept> files;
    std::uintmax_t sum = 0;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        files.push_back({entry.last_write_time(ignored), entry.file_size(ignored), entry.path()});
        sum += files.back().bytes;
    }
    std::ranges::sort(files, {}, &Kept::when);
    for (const Kept& file : files) {
        if (sum <= cache_bytes) return;
        if (fs::remove(file.file, ignored)) sum -= file.bytes;
    }
}

/// Once a start of the program: a map of a text is drawn at every pause in typing, and the folder may have thousands of files.
void prune(const std::filesystem::path& folder) {
    static std::once_flag once;
    std::call_once(once, [&] { prune_now(folder); });
}

}  // namespace

/// Heads whose pictures have changed since the page last took them.
struct MapWindow::Settling {
    std::mutex mutex;
    std::set<std::size_t> changed;
};

void MapWindow::draw(const MapOrder& wanted, bool anew) {
    const OpenModel& opened = document_.model();
    if (!opened.model) return say(QStringLiteral("Open a model in the window first"), true);
    MapOrder order = wanted;
    if (opened.model->config().stack != model::Stack::decoder)
        order.gather.stack = model::Stack::whole;
    else if (order.gather.stack == model::Stack::whole)
        order.gather.stack = document_.attention();
    order.gather.heads.clear();
    if (order.one_head) order.gather.heads = {canvas_->selection().focus};
    const std::shared_ptr<const trace::Trace> whole = order.texts.isEmpty() ? document_.run_trace() : nullptr;
    if (order.texts.isEmpty() && !whole) return say(QStringLiteral("The window shows no %1 yet").arg(input_word()), true);
    // A saved trace is read twice, for the model and for its run.
    const bool of_saved = whole && is_saved(opened) && whole->model()->folder() == opened.model->folder();
    if (whole && whole->model() != opened.model && !of_saved) return;  // the run of the open model follows
    if (whole && document_.has_parts() && document_.attention() != order.gather.stack) {
        order_ = order;
        return document_.set_attention(order.gather.stack);  // which draws it
    }
    const bool same = !anew && texts_ && texts_->opened().model == opened.model && order.texts == shown_.texts &&
                      order.gather == shown_.gather && drawn_trace_.lock() == whole;
    order_ = order;
    show_options();
    say({});
    stopped_ = paused_ = false;
    settling_ = std::make_shared<Settling>();
    progress_->setRange(0, 0);
    jobs_.start(
        Jobs::Lane::map, QStringLiteral("Drawing the map"),
        [self = QPointer(this), jobs = &jobs_, order, opened, whole, known = same ? texts_ : nullptr, settling = settling_,
         seen = canvas_->visible_heads()](const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
            std::shared_ptr<const MapTexts> texts = known;
            if (!texts && whole)
                texts = std::make_shared<const MapTexts>(map::gather({whole}, order.gather), opened,
                                                         std::vector{trace::part_of(whole, order.gather.stack)});
            if (!texts && reads_pictures(opened)) {
                map::GatheredPictures found =
                    map::gather_pictures(opened.model, opened.tokenizer, figure::picture_files(order.texts.toStdString()),
                                         figure::read_picture, order.gather, cancel, progress);
                texts = std::make_shared<const MapTexts>(found.vectors, opened, std::move(found.runs));
            }
            if (!texts)
                texts = std::make_shared<const MapTexts>(
                    map::gather_texts(opened.model, opened.tokenizer, map::texts_of(order.texts.toStdString(), {}, cancel),
                                      order.gather, cancel, progress),
                    opened);
            prune(cache_folder());
            const auto run = std::make_shared<map::MapRun>(texts->shared_vectors(), order.options, cache_folder());
            run->show_first(seen);
            std::mutex mutex;
            std::set<std::size_t> drawn;
            bool shown = false;
            const auto changed = [&](std::size_t head) {
                {
                    const std::lock_guard lock(settling->mutex);
                    settling->changed.insert(head);
                }
                {
                    const std::lock_guard lock(mutex);
                    drawn.insert(head);
                    if (shown || drawn.size() < run->heads()) return;
                    shown = true;
                }
                // The page shows the principal components of all heads, and every change from now on.
                const auto figure = std::make_shared<figure::MapFigure>(run->map());
                jobs->in_window([self, settling, run, texts, figure, whole, order] {
                    if (!self || self->settling_ != settling) return;
                    self->drawn_trace_ = whole;
                    self->shown_ = order;
                    self->shown_settling_ = settling;
                    self->take_map(run, texts, figure);
                });
            };
            run->run(0, cancel, progress, changed);
            return [] {};
        });
    frames_.start();
    show_work();
}

void MapWindow::show_options() {
    const QSignalBlocker method(method_), dims(dims_), preset(preset_);
    choose_value(*method_, order_.options.projection);
    choose_value(*dims_, order_.options.dims);
    choose_value(*preset_, order_.options.preset);
}

void MapWindow::take_map(std::shared_ptr<map::MapRun> run, std::shared_ptr<const MapTexts> texts,
                         std::shared_ptr<figure::MapFigure> figure) {
    const bool other_texts = texts_ != texts;
    run_ = std::move(run);
    texts_ = std::move(texts);
    run_->pause(paused_);
    forget_nearest();
    canvas_->set_figure(nullptr);
    canvas_->edit([&](figure::MapLook& look) {
        if (other_texts) look = kept_look(look);
        look.guests.reset();
        look.lines.clear();
        look.hovered.reset();
    });
    if (other_texts) {
        token_->clear();
        shares_->clear();
    }
    canvas_->set_figure(std::move(figure));
    name_model();
    follow_selection();
    restyle();
    show_work();
    if (const auto chosen = canvas_->look().chosen) choose_point(*chosen);
    if (!search_->text().isEmpty()) search();
    if (!typed_->text().isEmpty()) place_guests();
}

/// Takes one frame's share of the changed heads, visible ones first.
void MapWindow::take_changes() {
    if (!shown_settling_ || !canvas_->figure()) {
        if (!jobs_.busy(Jobs::Lane::map)) frames_.stop();
        return;
    }
    QElapsedTimer clock;
    clock.start();
    std::set<std::size_t> changed;
    {
        const std::lock_guard lock(shown_settling_->mutex);
        changed.swap(shown_settling_->changed);
    }
    const auto take = [&](std::size_t head) {
        canvas_->set_head(run_->head(head));
        changed.erase(head);
        return clock.elapsed() < frame_budget_ms;
    };
    // What is typed follows the points around it.
    constexpr int guests_ms = 1000;
    if (!changed.empty() && canvas_->look().guests && placed_.elapsed() > guests_ms && !jobs_.busy(Jobs::Lane::map_guests))
        place_guests();
    bool time = true;
    for (const std::size_t head : canvas_->visible_heads())
        if (time && changed.contains(head)) time = take(head);
    while (time && !changed.empty()) time = take(*changed.begin());
    if (!changed.empty()) {
        const std::lock_guard lock(shown_settling_->mutex);
        shown_settling_->changed.merge(changed);
    } else if (!jobs_.busy(Jobs::Lane::map)) {
        frames_.stop();
    }
}

/// The run has finished, failed or stopped.
void MapWindow::end_run() {
    take_changes();
    if (!run_ || stopped_) return;
    if (!search_->text().isEmpty()) search();
    if (!typed_->text().isEmpty()) place_guests();
}

/// The requested map is the one on screen again; it can go on where the other one has interrupted it.
void MapWindow::keep_shown() {
    order_ = shown_;
    settling_ = shown_settling_;
    for (std::size_t i = 0; current() && i < run_->heads(); ++i) stopped_ = stopped_ || !run_->begun(i);
    show_options();
}

void MapWindow::stop() {
    if (!jobs_.busy(Jobs::Lane::map)) return;
    stopped_ = current();
    if (run_) run_->pause(false);
    paused_ = false;
    jobs_.cancel(Jobs::Lane::map);
    if (!stopped_) keep_shown();
    say(stopped_ ? QStringLiteral("Stopped: unfinished heads keep their previous layout") : QStringLiteral("Stopped"));
    show_work();
}

void MapWindow::pause_or_go_on() {
    if (!current()) return;
    if (!stopped_) {
        paused_ = !paused_;
        run_->pause(paused_);
        return show_work();
    }
    stopped_ = false;
    say({});
    go_on();
}

/// Starts a head that the user wants to see: heads are laid out one after another on a thread each, and the current ones could
/// take minutes.
void MapWindow::put_first(std::size_t head) {
    if (!current() || stopped_ || paused_ || !jobs_.busy(Jobs::Lane::map) || run_->options().projection == map::Projection::pca)
        return;
    if (run_->begun(head)) return;
    run_->show_first({head});
    jobs_.cancel(Jobs::Lane::map);
    go_on();
}

/// Finished heads stay.
void MapWindow::go_on() {
    jobs_.start(Jobs::Lane::map, QStringLiteral("Drawing the map"),
                [run = run_, settling = settling_](const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
                    run->run(0, cancel, progress, [&](std::size_t head) {
                        const std::lock_guard lock(settling->mutex);
                        settling->changed.insert(head);
                    });
                    return [] {};
                });
    frames_.start();
    show_work();
}

void MapWindow::show_failed(Jobs::Lane lane, const Failure& failure) {
    using Lane = Jobs::Lane;
    const bool of_map = lane == Lane::map || lane == Lane::map_attention || lane == Lane::map_near || lane == Lane::map_shares ||
                        lane == Lane::map_guests;
    const QString words = QString::fromUtf8(Error(failure.facts).what());
    if (lane == Lane::map_marks) {
        search_note_->setText(words);
        return clear_hits();
    }
    if (!of_map) return;
    say(words, true);
    if (lane != Lane::map) return;
    if (!current()) keep_shown();
    if (canvas_->figure()) return;
    canvas_->set_placeholder(QString::fromStdString(failure.facts.problem), QString::fromStdString(failure.facts.hint));
}

figure::MapRequest MapWindow::request() const {
    figure::MapRequest out;
    out.texts = shown_.texts.toStdString();
    if (const auto whole = drawn_trace_.lock()) {
        out.text = whole->text_a();
        if (!whole->text_b().empty()) out.text += "\t" + whole->text_b();
        if (whole->picture().pixels) out.texts = whole->picture().file;
        out.dtype = whole->info().dtype;
    }
    out.gather = shown_.gather;
    out.options = shown_.options;
    out.mark_by = searched_by_;
    out.mark = searched_;
    out.look = canvas_->look();
    out.look.hovered.reset();
    out.look.lasso.clear();
    return out;
}

Exportable MapWindow::exportable() const {
    const auto single = canvas_->look().single;
    return {.name = QString::fromStdString(texts_->opened().model->config().name) + QStringLiteral("-map") +
                    (single ? u'-' + figure::head_name(*single) : QString()),
            .selection = canvas_->selection(),
            .figure = [run = run_, look = request().look](const CancelToken&) -> std::shared_ptr<figure::Figure> {
                return std::make_shared<figure::MapFigure>(run->map(), look);
            },
            .provenance =
                [model = texts_->opened().model, asked = request()](
                    const figure::Figure& figure, const figure::ExportOptions& options, const std::string& format) {
                    figure::MapRequest wanted = asked;
                    wanted.output = options;
                    return figure::map_provenance(*model, dynamic_cast<const figure::MapFigure&>(figure).map(), wanted, format);
                },
            .filtered = linked()};
}

void MapWindow::say_written(const QString& file) { say(QStringLiteral("Wrote %1").arg(file)); }

}  // namespace headlight::ui
