// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/view_pane.h"

#include "headlight/analyze/pattern/pair_chain.h"
#include "headlight/figure/core/opened_part.h"
#include "headlight/figure/core/selection_rules.h"
#include "headlight/intervention/compare/comparison.h"
#include "ui/document/edits/edit_choices.h"
#include "ui/document/subject.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QEvent>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headlight::ui {

ViewPane::ViewPane(Document& document, Jobs& jobs, Jobs::Lane lane, QWidget* parent)
    : QWidget(parent),
      document_(document),
      jobs_(jobs),
      lane_(lane),
      sharpen_lane_(lane == Jobs::Lane::picture          ? Jobs::Lane::sharpen
                    : lane == Jobs::Lane::second_picture ? Jobs::Lane::second_sharpen
                                                         : Jobs::Lane::model_sharpen),
      canvas_(new FigureCanvas(document.selection(), this)) {
    setObjectName(QStringLiteral("ViewPane"));
    auto* layout = new_column(this, {0, 0, 0, 0});
    layout->addWidget(canvas_);
    canvas_->viewport()->installEventFilter(this);
    canvas_->installEventFilter(this);
    connect(&document_, &Document::changed, this, [this](Document::Change change) {
        using Change = Document::Change;
        if (change == Change::options || change == Change::trace || change == Change::filter) restyle();
        if (change == Change::trace || change == Change::options || change == Change::filter || change == Change::batch ||
            change == Change::run || change == Change::other)
            refresh();
        if (change == Change::model && shown_) canvas_->set_outdated(true);
    });
    connect(&document_.selection(), &SelectionModel::changed, this, [this](bool hover_only) {
        if (document_.adapting()) return;
        if (!hover_only || figure::view_spec(view_).needs.hover) refresh();
        if (!hover_only) reveal_pin();
    });
    connect(&Appearance::instance(), &Appearance::changed, this, &ViewPane::restyle);
    connect(&jobs_, &Jobs::failed, this, [this](Jobs::Lane of, const Failure& failure) {
        if (of == lane_ || of == sharpen_lane_) give_up(failure.facts);
    });
    // Cancelled by hand: the next change asks again.
    connect(&jobs_, &Jobs::finished, this, [this](Jobs::Lane of) {
        if (of != lane_ || !awaited_) return;
        awaited_.reset();
        if (!shown_ || shown_->state.view != view_ || shown_->trace != document_.trace())
            clear(QStringLiteral("%1: stopped").arg(view_title(view_)), QStringLiteral("Press Run (Ctrl+Return) to draw it."));
    });
    connect(canvas_, &FigureCanvas::failed, this, &ViewPane::give_up);
    // In a lane of its own: the figure stays in sight while the next one is made.
    connect(canvas_, &FigureCanvas::sharpening_asked, this, [this](const figure::Sharpening& work) {
        if (jobs_.busy(sharpen_lane_)) return;
        jobs_.start(sharpen_lane_, {}, [work](const CancelToken& cancel, const Progress&) { return work(cancel); });
    });
    connect(canvas_, &FigureCanvas::clicked, this, &ViewPane::click);
    connect(canvas_, &FigureCanvas::double_clicked, this, &ViewPane::double_click);
    connect(canvas_, &FigureCanvas::pair_dragged, this, &ViewPane::drag_pair);
    connect(canvas_, &FigureCanvas::brushed, &document_, &Document::choose_heads);
    set_view(view_);
    restyle();
}

void ViewPane::set_view(const View& view) {
    if (view != view_) {
        revealed_query_.reset();
        revealed_key_.reset();
    }
    view_ = view;
    canvas_->setAccessibleName(QStringLiteral("%1 view").arg(view_title(view)));
    refresh();
}

void ViewPane::set_side(std::optional<figure::Side> side) {
    if (std::exchange(side_, side) != side) refresh();
}

QString ViewPane::description() const {
    return canvas_->shown() && shows_own_view() ? canvas_->shown()->description() : QString();
}

void ViewPane::showEvent(QShowEvent*) { refresh(); }

bool ViewPane::eventFilter(QObject*, QEvent* event) {
    if (event->type() == QEvent::MouseButtonPress || event->type() == QEvent::FocusIn) Q_EMIT activated();
    return false;
}

void ViewPane::restyle() { canvas_->set_style(style_for(Appearance::instance().theme(), document_)); }

void ViewPane::stop_drawing() {
    awaited_.reset();  // first: nobody has cancelled by hand
    jobs_.cancel(lane_);
    jobs_.cancel(sharpen_lane_);
}

/// Shows no figure, and why.
void ViewPane::clear(const QString& title, const QString& text) {
    stop_drawing();
    shown_.reset();
    canvas_->set_figure(nullptr);
    canvas_->set_placeholder(title, text);
    Q_EMIT figure_changed();
}

/// The message stands where the figure would, and goes with its view and text.
void ViewPane::give_up(const ErrorFacts& facts) {
    const QString problem = QString::fromStdString(facts.problem);
    QStringList lines{problem.left(1).toUpper() + problem.mid(1) + u'.'};
    if (!facts.expected.empty()) lines << QStringLiteral("Expected: %1.").arg(QString::fromStdString(facts.expected));
    if (!facts.found.empty()) lines << QStringLiteral("Found: %1.").arg(QString::fromStdString(facts.found));
    if (!facts.hint.empty()) lines << QString::fromStdString(facts.hint) + u'.';
    clear(QStringLiteral("%1: cannot be drawn").arg(view_title(view_)), lines.join(u'\n'));
}

void ViewPane::refresh() {
    if (!isVisibleTo(window())) {
        // A closed side must not keep an old run in memory.
        if (shown_ && shown_->trace != document_.trace()) clear({}, {});
        return;
    }
    try {
        make_figure();
    } catch (...) {  // nothing may reach Qt's event loop
        give_up(facts_of_current_exception());
    }
}

/// There is no trace.
void ViewPane::show_why_empty() {
    using NotRun = Document::NotRun;
    if (!document_.model().model) return clear({}, {});
    if (!document_.has_input())
        return clear(QStringLiteral("Nothing to show yet"), reads_pictures(document_.model())
                                                                ? QStringLiteral("Open a picture above, or drop one here.")
                                                                : QStringLiteral("Type a sentence above."));
    switch (document_.why_not_run()) {
        case NotRun::no: return clear({}, {});  // a run is on its way
        case NotRun::stopped: return clear(QStringLiteral("Stopped"), QStringLiteral("Press Run (Ctrl+Return) to run the text."));
        case NotRun::refused: return clear(QStringLiteral("Not run"), QStringLiteral("The message above says why."));
        case NotRun::long_text:
            return clear(QStringLiteral("A long text, not run yet"), QStringLiteral("Press Run (Ctrl+Return) to run it."));
    }
}

void ViewPane::make_figure() {
    if (!document_.trace()) return show_why_empty();
    Recipe recipe = recipe_for(document_, view_, document_.selection().get(), side_);
    if (const QString why = missing(recipe); !why.isEmpty())
        return clear(QStringLiteral("%1: not for this model").arg(view_title(view_)), why);
    if (shown_ == recipe) {
        if (awaited_) stop_drawing();
        canvas_->set_outdated(is_behind());
        return;
    }
    if (awaited_ == recipe) return;
    if (shown_ && shown_->trace != recipe.trace) canvas_->set_stale(true);
    if (is_quick(recipe)) {
        stop_drawing();
        std::shared_ptr<figure::Figure> figure = figure::make_figure(recipe.trace, recipe.state);
        show_figure(std::move(recipe), std::move(figure));
        return;
    }
    const bool other = shown_ && (shown_->state.view != view_ || shown_->trace->model() != recipe.trace->model());
    if (other) canvas_->set_outdated(true);
    const QString title = view_title(view_);
    jobs_.start(lane_, title, [this, recipe, title](const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
        const Progress of_view = [&](ProgressStep step) {
            step.what = title.toStdString();
            progress(step);
        };
        std::shared_ptr<figure::Figure> figure = figure::make_figure(recipe.trace, recipe.state, cancel, of_view);
        cancel.throw_if_cancelled();
        return [this, recipe, figure] { show_figure(recipe, figure); };
    });
    awaited_ = recipe;
}

/// The figure is of another text than the one above it, which was not run.
bool ViewPane::is_behind() const { return document_.why_not_run() != Document::NotRun::no && !document_.up_to_date(); }

void ViewPane::show_figure(Recipe recipe, std::shared_ptr<figure::Figure> figure) {
    // Rows that merge or hide tokens move what was in sight.
    if (!shown_ || !(shown_->state.pattern == recipe.state.pattern)) {
        revealed_query_.reset();
        revealed_key_.reset();
    }
    shown_ = std::move(recipe);
    awaited_.reset();
    jobs_.cancel(sharpen_lane_);
    canvas_->set_figure(std::move(figure), figure::shows_b(shown_->state) ? shown_->state.beside.get() : nullptr);
    canvas_->set_side_words(figure::side_words(figure::options_of(request_for(*shown_, {}, {}))));
    canvas_->set_outdated(is_behind());
    reveal_pin();
    reveal_opened();
    Q_EMIT figure_changed();
}

/// Scrolls to what was pinned in another view, or in a text that grew; a click in this view scrolls nothing.
void ViewPane::reveal_pin() {
    if (awaited_ || !shown_ || shown_->trace != document_.trace() || !canvas_->shown()) return;
    const figure::Selection s = canvas_->selection_of_figure();
    const auto last = [](const std::vector<Position>& pins) { return pins.empty() ? std::nullopt : std::optional(pins.back()); };
    const auto query = last(s.pinned_queries), key = last(s.pinned_keys);
    const bool new_query = std::exchange(revealed_query_, query) != query && query;
    const bool new_key = std::exchange(revealed_key_, key) != key && key;
    const figure::Figure& figure = *canvas_->shown();
    // Where queries have rows, a new query goes first; else the key is looked for, in the rows of the new query.
    if (const auto row = new_query ? figure.row_of_query(*query) : std::nullopt) return canvas_->reveal(*row);
    // A view that is not about a key may have rows of keys all the same: those that a head read for an answer.
    const std::vector<Subject> subjects = subjects_of(figure::view_spec(view_));
    if (std::ranges::find(subjects, Subject::to) == subjects.end()) return;
    if (const auto row = key && (new_query || new_key) ? figure.row_of_key(*key) : std::nullopt) canvas_->reveal(*row);
}

/// What a click opened, under the part that was clicked: its beginning, where it is taller than the canvas.
void ViewPane::reveal_opened() {
    if (!std::exchange(opened_by_click_, false)) return;
    const auto* figure = dynamic_cast<const figure::OpensPart*>(canvas_->shown().get());
    std::optional<QRectF> part = figure ? figure->opened_part() : std::nullopt;
    if (!part) return;
    part->setHeight(std::min(part->height(), canvas_->viewport()->height() / 3.0));  // what reveal() has room for
    part->setWidth(0);
    canvas_->reveal(*part);
}

void ViewPane::click_head(HeadId head, bool add) {
    if (!figure::view_spec(view_).opens_detail || add) return document_.selection().focus_head(head, add);
    // A click opens the detail beside the cell, a second one closes it.
    ViewOptions options = document_.options();
    options.detail = options.detail == head ? std::nullopt : std::optional(head);
    document_.selection().focus_head(head);
    document_.set_options(options);
}

void ViewPane::click(const figure::Hit& hit, Qt::KeyboardModifiers modifiers) {
    using Kind = figure::Hit::Kind;
    SelectionModel& selection = document_.selection();
    const bool add = modifiers & Qt::ControlModifier;
    const auto& pins = selection.get().pinned_queries;
    const bool of_row =
        hit.kind == Kind::key || (hit.kind == Kind::pair && hit.query && !pins.empty() && *hit.query == pins.back());
    if (modifiers == Qt::ShiftModifier && of_row && hit.key && (!hit.head || *hit.head == selection.get().focus) &&
        compare_with_key(document_, *hit.key)) {
        Q_EMIT canvas_->pointed_at(
            QStringLiteral("The pinned key is compared with key %1; see the view Why").arg(hit.key->value));
        return;
    }
    if (hit.query) revealed_query_ = hit.query;
    if (hit.key) revealed_key_ = hit.key;
    if (hit.neuron && hit.kind == Kind::dimension) {
        if (hit.query) {  // a cell: the neuron at that token
            selection.keep_neuron(*hit.neuron);
        } else {
            selection.follow_neuron(*hit.neuron);
        }
    }
    switch (hit.kind) {
        case Kind::option: {
            ViewOptions options = document_.options();
            figure::ViewValues values = options.values[view_];
            for (const auto& [name, value] : hit.options) values[name] = value;
            values = figure::tidy(figure::view_spec(view_), values);
            if (values.empty()) {
                options.values.erase(view_);
            } else {
                options.values[view_] = values;
            }
            if (hit.head) selection.focus_head(*hit.head);
            opened_by_click_ = true;
            document_.set_options(options);
            break;
        }
        case Kind::head_square:
            if (hit.head) {
                figure::Selection next = selection.get();
                figure::toggle_head(next, selection.heads(), hit.head->head, false);
                selection.set(next);
            }
            break;
        case Kind::head:
            if (hit.head) click_head(*hit.head, add);
            if (hit.neuron) selection.keep_neuron(*hit.neuron);
            break;
        case Kind::query:
            if (hit.query) selection.pin_query(*hit.query, add);
            break;
        case Kind::key:
            if (hit.key) selection.pin_key(*hit.key, add);
            break;
        case Kind::pair:
            if (hit.query && hit.key) {
                selection.pin_pair(hit.head.value_or(selection.get().focus), *hit.query, *hit.key);
            } else {  // a mark of a plot: what one head does at one token
                if (hit.head) selection.focus_head(*hit.head);
                if (hit.query) selection.pin_query(*hit.query, add);
                if (hit.key) selection.pin_key(*hit.key, add);
            }
            break;
        case Kind::dimension:  // a number of the neuron view is a part of its row
            if (hit.query && hit.key)
                selection.pin_pair(hit.head.value_or(selection.get().focus), *hit.query, *hit.key);
            else if (hit.query)
                selection.pin_query(*hit.query, add);
            break;
        case Kind::row_toggle: {
            ViewOptions options = document_.options();
            const bool same = hit.query && selection.get().pinned_queries == std::vector<Position>{*hit.query};
            figure::ViewValues& values = options.values[view_];
            if (values.erase("collapsed") == 0 && same) values["collapsed"] = "1";
            if (values.empty()) options.values.erase(view_);
            if (hit.query && !same) selection.pin_query(*hit.query, false);
            document_.set_options(options);
            break;
        }
        case Kind::legend:
        case Kind::none: break;
    }
}

/// Of the attention under the edits that are there; NaN: the model masks the key.
double ViewPane::weight_now(const std::string& place, HeadId head, Position query, Position key) const {
    for (const EditLine& line : document_.edits().lines)
        if (line.on && line.words.startsWith(QString::fromStdString(place))) return line.words.section(u' ', -1).toDouble();
    const auto beside = document_.beside();
    const bool edited = beside && !document_.options().other.on;
    const auto chain = analyze::pair_chain(edited ? *beside->pair->b : *document_.trace(), head, query, key, 0);
    return chain.legal ? chain.weight : kNaN;
}

/// A weight is set by pulling its mark: the height of a hand from none to all of the row.
void ViewPane::drag_pair(const figure::Hit& hit, double up, bool ended) {
    constexpr double px_per_weight = 160;
    if (!document_.trace() || !why_no_edits(document_).isEmpty() || document_.options().other.on) return;
    const HeadId head = hit.head.value_or(document_.selection().get().focus);
    const QString place = set_words(document_, head, *hit.query, *hit.key);
    try {
        if (!dragged_from_) dragged_from_ = weight_now(place.toStdString(), head, *hit.query, *hit.key);
    } catch (...) {
        return give_up(facts_of_current_exception());
    }
    const double from = *dragged_from_;
    if (ended) dragged_from_.reset();
    if (std::isnan(from)) return canvas_->pointed_at(QStringLiteral("The model masks this key: it has no weight to set"));
    const double weight = std::clamp(std::round((from + up / px_per_weight) * 100) / 100, 0.0, 1.0);
    document_.put_edit(place, place + QString::number(weight));
    Q_EMIT canvas_->pointed_at(place + QString::number(weight));
}

void ViewPane::double_click(const figure::Hit& hit) {
    SelectionModel& selection = document_.selection();
    // In the views of two runs: the head in A, in B, and the difference.
    if (hit.head && hit.kind == figure::Hit::Kind::head && figure::view_spec(view_).compares) {
        selection.focus_head(*hit.head);
        const auto of_head =
            std::ranges::find_if(figure::view_specs(), [](const auto& spec) { return spec.compares && spec.needs.focus; });
        Q_EMIT view_asked(of_head->id);
        return;
    }
    if (hit.kind != figure::Hit::Kind::head_square || !hit.head) return;
    figure::Selection next = selection.get();
    figure::toggle_head(next, selection.heads(), hit.head->head, true);
    selection.set(next);
}

}  // namespace headlight::ui
