// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/map/map_window.h"

#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QKeyEvent>
#include <QSettings>
#include <QSignalBlocker>

#include <utility>

namespace headlight::ui {
namespace {

constexpr double key_zoom = 1.25, key_turn = 10;
constexpr int widest_name = 150;  ///< px, of a file on its button

}  // namespace

void MapWindow::restyle() {
    figure::Style style;
    style.theme = &Appearance::instance().theme();
    if (linked()) style.filter = document_.finder().filter();
    canvas_->set_style(style);
}

/// A map of a file's texts stays when the window opens another model, and says so as long as that is the case.
void MapWindow::name_model() {
    if (!texts_) return;
    const auto name = [](const OpenModel& opened) { return QString::fromStdString(opened.model->config().name); };
    const OpenModel& now = document_.model();
    const QString before = std::exchange(other_model_, {});
    if (now.model && now.model != texts_->opened().model && !shown_.texts.isEmpty())
        other_model_ =
            QStringLiteral("This map of %1 was made before the window opened %2: choose its texts again to map them with %2")
                .arg(name(texts_->opened()), name(now));
    if (!other_model_.isEmpty())
        say(other_model_);
    else if (message_->text() == before)
        say({});
}

MapPage MapWindow::page() const {
    MapOrder order = order_;
    order.gather.heads.clear();  // the selection says which
    return {.open = true,
            .order = order,
            .look = kept_look(canvas_->look()),
            .search_by = chosen_value<map::SearchKind>(*search_kind_),
            .search = search_->text(),
            .sentence = typed_->text()};
}

void MapWindow::restore(const MapPage& page) {
    {
        const QSignalBlocker color(color_), kind(search_kind_), search(search_), typed(typed_);
        choose_value(*color_, page.look.color);
        choose_value(*search_kind_, page.search_by);
        search_->setText(page.search);
        typed_->setText(page.sentence);
    }
    canvas_->edit([&](figure::MapLook& look) {
        const figure::MapLook now = std::exchange(look, kept_look(page.look));
        look.marked = now.marked, look.marked_words = now.marked_words, look.spreads = now.spreads, look.guests = now.guests;
    });
    show_switches();
    order_ = page.order;
    show_options();
    if (!order_.texts.isEmpty() || document_.run_trace()) draw(order_);
    if (texts_) search();
    if (texts_) place_guests();
    told_ = this->page();
}

/// Opening the page and texts that settle change nothing that a session keeps.
void MapWindow::tell_page() {
    if (!told_) return;
    MapPage now = page();
    // Where one looks is kept, but is no change to save.
    now.open = told_->open;
    now.look.zoom = told_->look.zoom, now.look.middle = told_->look.middle;
    now.look.yaw = told_->look.yaw, now.look.pitch = told_->look.pitch;
    if (*told_ == now) return;
    told_ = now;
    Q_EMIT page_changed();
}

void MapWindow::say(const QString& text, bool wrong) {
    set_style_property(*message_, "role", wrong ? "error" : "note");
    message_->setText(text);
    message_->setVisible(!text.isEmpty());
}

void MapWindow::show_side(Side which) {
    side_->setCurrentIndex(static_cast<int>(which));
    tabs_.at(static_cast<std::size_t>(which))->setChecked(true);
}

/// Shows the current work and enables what can be started meanwhile.
void MapWindow::show_work() {
    const bool runs = jobs_.busy(Jobs::Lane::map);
    progress_->setVisible(runs);
    stop_->setVisible(runs);
    pause_->setVisible(runs || stopped_);
    pause_->setText(stopped_ && !runs ? QStringLiteral("Go on") : paused_ ? QStringLiteral("Go on") : QStringLiteral("Pause"));
    pause_->setEnabled(current());
    export_->setEnabled(canvas_->figure() != nullptr);
    const QString name = texts_button_->fontMetrics().elidedText(QFileInfo(QDir::cleanPath(order_.texts)).fileName(),
                                                                 Qt::ElideMiddle, widest_name);
    texts_button_->setText(order_.texts.isEmpty() ? (reads_pictures(document_.model()) ? QStringLiteral("Picture of the window")
                                                                                       : QStringLiteral("Text of the window"))
                                                  : QString(name).replace(u'&', QLatin1String("&&")));
    texts_button_->setFixedWidth(widest_name + 48);  // whatever the name: the fields beside it stay below the pointer
    texts_button_->setToolTip(order_.texts);
    const bool typable = texts_ && !texts_->of_pictures() && !texts_->vectors().crossed();
    typed_->setEnabled(typable);
    tell_page();
}

void MapWindow::take_controls() {
    MapOrder order = order_;
    order.options.projection = chosen_value<map::Projection>(*method_);
    order.options.dims = chosen_value<int>(*dims_);
    order.options.preset = chosen_value<map::Preset>(*preset_);
    if (more_->isVisible()) more_->read_into(order);
    draw(order);
}

/// Updates buttons and visible heads from the look.
void MapWindow::take_look() {
    const auto single = canvas_->look().single;
    all_heads_->setText(single ? QStringLiteral("All heads") : QStringLiteral("One head"));
    all_heads_->setToolTip(single ? QStringLiteral("Back to the matrix (Esc)")
                                  : QStringLiteral("The head with the frame by itself (Enter)"));
    all_heads_->setEnabled(canvas_->figure() != nullptr);
    head_name_->setText(single ? figure::head_name(*single) : QString());
    head_name_->setVisible(single.has_value());
    lasso_tool_->setEnabled(single.has_value());
    if (!single) lasso_tool_->setChecked(false);
    if (run_) run_->show_first(canvas_->visible_heads());
    tell_page();
}

/// What the open model reads.
QString MapWindow::input_word() const {
    return reads_pictures(document_.model()) ? QStringLiteral("picture") : QStringLiteral("text");
}

/// Whether the map is of the window's model.
bool MapWindow::linked() const {
    return texts_ && document_.trace() && texts_->opened().model == document_.model().model &&
           (shown_.gather.stack == model::Stack::whole || document_.attention() == shown_.gather.stack);
}

void MapWindow::follow_selection() {
    if (following_ || (texts_ && !linked())) return;
    const HeadId focus = document_.selection().get().focus;
    if (canvas_->selection().focus == focus) return;
    following_ = true;
    choose_head(focus);
    following_ = false;
}

void MapWindow::choose_head(HeadId head) {
    canvas_->set_focus_head(head);
    const auto& figure = canvas_->figure();
    const auto index = figure ? figure->index_of(head) : std::nullopt;
    if (canvas_->look().single && canvas_->look().single != head && index) show_head(head);
    if (figure && !index && order_.one_head) draw(order_);  // of this one
    if (!following_ && linked()) {
        following_ = true;
        document_.selection().focus_head(head);
        following_ = false;
    }
}

void MapWindow::show_head(std::optional<HeadId> head) {
    const auto& figure = canvas_->figure();
    const auto index = figure && head ? figure->index_of(*head) : std::nullopt;
    if (head && !index) return;
    const bool between_heads = head && canvas_->look().single;
    canvas_->edit([&](figure::MapLook& look) {
        look.single = head;
        look.lines.clear();
        look.lasso.clear();
        look.hovered.reset();
        if (!between_heads) look.zoom = 1;
        if (!between_heads) look.middle = head ? QPointF(0, 0) : QPointF(0.5, 0.5);
        if (look.chosen && index) look.chosen->head = *index;  // the same token in another head
    });
    forget_nearest();
    if (!head) return;
    first_pause_.start();
    choose_head(*head);
    if (const auto chosen = canvas_->look().chosen) choose_point(*chosen);
}

void MapWindow::step_head(int layers, int heads) {
    const auto& figure = canvas_->figure();
    if (!figure) return;
    HeadId to = canvas_->selection().focus;
    to.layer.value += layers, to.head.value += heads;
    const map::QueryKeyMap& map = figure->map();
    const bool exists =
        to.layer.value >= 0 && to.layer.value < map.layers && to.head.value >= 0 && to.head.value < map.heads_per_layer;
    if (order_.one_head ? exists : figure->index_of(to).has_value()) choose_head(to);
}

/// One step of Esc; false if there was nothing left to clear.
bool MapWindow::step_back() {
    const figure::MapLook& look = canvas_->look();
    if (!look.lasso.empty()) return canvas_->edit([](figure::MapLook& l) { l.lasso.clear(); }), true;
    if (look.single && canvas_->figure() && canvas_->figure()->map().heads.size() > 1) return show_head(std::nullopt), true;
    if (look.marked || look.chosen) {
        const QSignalBlocker quiet(search_);
        search_->clear();
        return clear_marks(), true;
    }
    return false;
}

/// The map of the window's text, once it is in sight.
void MapWindow::follow_text() {
    if (!isVisible() || !order_.texts.isEmpty() || !document_.run_trace()) return;
    if (drawn_trace_.lock() == document_.run_trace() && linked()) return;
    MapOrder order = order_;
    order.gather.stack = model::Stack::whole;  // the one that the window shows
    draw(order);
}

void MapWindow::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    follow_text();
}

/// Keys that are the page's own and no command of the window.
bool MapWindow::takes(const QKeyEvent& event) const {
    if (event.matches(QKeySequence::Find) || event.matches(QKeySequence::HelpContents)) return true;
    if (focusWidget() != canvas_) return false;
    switch (event.key()) {
        case Qt::Key_Left:
        case Qt::Key_Right:
        case Qt::Key_Up:
        case Qt::Key_Down:
        case Qt::Key_Return:
        case Qt::Key_Enter:
        case Qt::Key_BracketLeft:
        case Qt::Key_BracketRight:
        case Qt::Key_Plus:
        case Qt::Key_Equal:
        case Qt::Key_Minus:
        case Qt::Key_0: return !(event.modifiers() & Qt::AltModifier);
        default: return false;
    }
}

bool MapWindow::event(QEvent* event) {
    if (event->type() == QEvent::ShortcutOverride && takes(*static_cast<QKeyEvent*>(event))) {
        event->accept();
        return true;
    }
    return QWidget::event(event);
}

void MapWindow::keyPressEvent(QKeyEvent* event) {
    const bool turn = event->modifiers() & Qt::ShiftModifier && canvas_->solid();
    const auto arrow = [&](int layers, int heads) {
        if (event->modifiers() & Qt::ControlModifier) return step_towards(QPointF(heads, layers));
        if (turn) return canvas_->turn_by(key_turn * heads, key_turn * layers);
        step_head(layers, heads);
    };
    const QPointF middle = QRectF(canvas_->viewport()->rect()).center();
    if (event->matches(QKeySequence::Cancel) && step_back()) return;
    if (event->matches(QKeySequence::Find)) {
        search_->setFocus();
        return search_->selectAll();
    }
    if (event->matches(QKeySequence::HelpContents) && canvas_->figure())
        return Q_EMIT explanation_asked(canvas_->figure()->title(), canvas_->figure()->description());
    if (focusWidget() != canvas_) return QWidget::keyPressEvent(event);
    switch (event->key()) {
        case Qt::Key_Left: return arrow(0, -1);
        case Qt::Key_Right: return arrow(0, 1);
        case Qt::Key_Up: return arrow(-1, 0);
        case Qt::Key_Down: return arrow(1, 0);
        case Qt::Key_Return:
        case Qt::Key_Enter: return show_head(canvas_->selection().focus);
        case Qt::Key_BracketLeft: return step_point(-1);
        case Qt::Key_BracketRight: return step_point(1);
        case Qt::Key_Plus:
        case Qt::Key_Equal: return canvas_->zoom_by(key_zoom, middle);
        case Qt::Key_Minus: return canvas_->zoom_by(1 / key_zoom, middle);
        case Qt::Key_0: return canvas_->zoom_to_fit();
        default: return QWidget::keyPressEvent(event);
    }
}

void MapWindow::ask_for_texts(bool folder) {
    const QString start = QSettings().value(QStringLiteral("recent/texts")).toString();
    const QString title =
        reads_pictures(document_.model()) ? QStringLiteral("Pictures of the map") : QStringLiteral("Texts of the map");
    const QString chosen =
        folder ? QFileDialog::getExistingDirectory(this, title, start) : QFileDialog::getOpenFileName(this, title, start);
    if (chosen.isEmpty()) return;
    QSettings().setValue(QStringLiteral("recent/texts"), QFileInfo(chosen).path());
    MapOrder order = order_;
    order.texts = chosen;
    draw(order, true);  // it may have been written since
}

}  // namespace headlight::ui
