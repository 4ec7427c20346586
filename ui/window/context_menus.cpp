// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/context_menus.h"

#include "ui/document/edits/edit_choices.h"
#include "ui/document/subject.h"
#include "ui/window/main_window.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFileDialog>

#include <cmath>

namespace headlight::ui {

ContextMenus::ContextMenus(MainWindow& window) : QObject(&window), window_(window) {
    for (FigureCanvas* canvas : {&window.left_pane().canvas(), &window.right_pane().canvas(), &window.heads_panel().mosaic()}) {
        watch(*canvas);
        watch(*canvas->viewport());
    }
    for (QAbstractScrollArea* area :
         std::initializer_list<QAbstractScrollArea*>{&window.heads_panel().list(), &window.prompt_bar().tokens()}) {
        watch(*area);
        watch(*area->viewport());
    }
    watch(window.inspector());
    // Positions, heads and numbers of the menu are those of the text it was opened on.
    connect(&window.document(), &Document::changed, this, [this](Document::Change change) {
        if (menu_ && (change == Document::Change::trace || change == Document::Change::model)) menu_->close();
    });
}

void ContextMenus::watch(QWidget& widget) { widget.installEventFilter(this); }

QString ContextMenus::query_name(Position p) const {
    return QStringLiteral("%1 (%2)").arg(window_.inspector().query_token(p)).arg(p.value);
}
QString ContextMenus::key_name(Position p) const {
    return QStringLiteral("%1 (%2)").arg(window_.inspector().key_token(p)).arg(p.value);
}

void ContextMenus::start_menu() {
    if (menu_) menu_->close();
    menu_ = new QMenu(&window_);
    menu_->setAttribute(Qt::WA_DeleteOnClose);
    menu_->setToolTipsVisible(true);
}

void ContextMenus::add(const QString& text, std::function<void()> run) {
    connect(menu_->addAction(QString(text).replace(u'&', QStringLiteral("&&"))), &QAction::triggered, &window_, std::move(run));
}

void ContextMenus::add_copy(const QString& text, const QString& copied) {
    add(text, [this, copied] {
        QApplication::clipboard()->setText(copied);
        window_.status_strip().say(QStringLiteral("Copied: %1").arg(copied.left(120)));
    });
}

void ContextMenus::add_pins(const figure::Hit& hit) {
    SelectionModel& selection = window_.document().selection();
    if (hit.query && hit.key) {
        add(QStringLiteral("Pin %1 → %2").arg(query_name(*hit.query), key_name(*hit.key)),
            [&selection, hit] { selection.pin_pair(hit.head.value_or(selection.get().focus), *hit.query, *hit.key); });
    } else if (hit.query) {
        add(QStringLiteral("Pin %1 as query").arg(query_name(*hit.query)),
            [&selection, at = *hit.query] { selection.pin_query(at, false); });
    } else if (hit.key) {
        add(QStringLiteral("Pin %1 as key").arg(key_name(*hit.key)),
            [&selection, at = *hit.key] { selection.pin_key(at, false); });
    }
    const auto& pins = selection.get();
    if (!hit.key || !can_compare_with_key(window_.document(), *hit.key)) return;
    if ((hit.query && pins.pinned_queries.back() != *hit.query) || (hit.head && *hit.head != pins.focus)) return;
    add(QStringLiteral("Why %1 and not %2").arg(key_name(pins.pinned_keys.back()), key_name(*hit.key)), [this, key = *hit.key] {
        if (compared_key(window_.document()) != key) compare_with_key(window_.document(), key);
        window_.show_view(view_of_a_weight());
    });
}

void ContextMenus::add_head(HeadId head) {
    Document& document = window_.document();
    const QString name = figure::head_name(head);
    add(QStringLiteral("Go to %1").arg(name), [&document, head] { document.selection().focus_head(head); });
    const View other = figure::view_id(document.views().left == figure::view_id(1) ? 0 : 1);
    add(QStringLiteral("Open %1 in split (%2 view)").arg(name, view_title(other)), [&document, head, other] {
        document.selection().focus_head(head);
        OpenViews views = document.views();
        views.split = true;
        views.right = other;
        document.set_views(views);
    });
    if (!window_.action(Command::sweep).isEnabled()) return;
    QMenu* sweeps = menu_->addMenu(QStringLiteral("Sweep"));
    for (const OfferedSweep& offered : sweeps_of(head, document.model().model->config()))
        connect(sweeps->addAction(offered.title), &QAction::triggered, &window_,
                [this, ask = offered.ask] { window_.sweep(ask); });
}

void ContextMenus::add_figure() {
    menu_->addSeparator();
    for (const Command command : {Command::copy_image, Command::copy_command, Command::export_figure, Command::what})
        menu_->addAction(&window_.action(command));
}

void ContextMenus::fill_for(const figure::Hit& hit) {
    if (hit.value && !std::isnan(*hit.value))
        add_copy(QStringLiteral("Copy %1").arg(*hit.value, 0, 'g', 6), QString::number(*hit.value, 'g', 9));
    if (!hit.tip.isEmpty()) add_copy(QStringLiteral("Copy description"), hit.tip);
    if (!menu_->isEmpty()) menu_->addSeparator();
    add_pins(hit);
    if (hit.head) add_head(*hit.head);
    add_edits(hit);
    for (const auto& [name, value] : hit.options)
        if (name == figure::hit_edits && !value.empty() && why_no_edits(window_.document()).isEmpty())
            add(QStringLiteral("Add as edits, the first switched on"),
                [this, words = QString::fromStdString(value)] { window_.add_edits(words.split(u'\n')); });
}

/// Those that come to mind first, and a menu of the others.
void ContextMenus::add_edits(const figure::Hit& hit) {
    const bool of_mark = hit.head || hit.query || hit.key || hit.neuron;
    const auto choices = of_mark ? edit_choices(window_.document(), hit) : std::vector<EditChoice>();
    if (choices.empty()) return;
    menu_->addSeparator();
    for (const EditChoice& choice : choices)
        if (choice.main) add_edit(*menu_, choice);
    QMenu* more = menu_->addMenu(QStringLiteral("More edits"));
    for (const EditChoice& choice : choices)
        if (!choice.main) add_edit(*more, choice);
    if (more->isEmpty()) delete more;
}

void ContextMenus::add_edit(QMenu& into, const EditChoice& choice) {
    QAction* action = into.addAction(QString(choice.text).replace(u'&', QStringLiteral("&&")));
    action->setToolTip(choice.words);
    connect(action, &QAction::triggered, &window_, [&window = window_, choice] {
        QString words = choice.words;
        if (choice.of_file) {
            const QString file = QFileDialog::getOpenFileName(&window, QStringLiteral("Direction: a file of one vector"), {},
                                                              QStringLiteral("Directions (*.npz *.safetensors);;All files (*)"));
            if (file.isEmpty()) return;
            words.replace(QStringLiteral("FILE"), in_quotes(file));
        }
        window.add_edit(words, choice.number);
    });
}

void ContextMenus::open_edits() {
    start_menu();
    figure::Hit hit = selected_hit();
    hit.neuron = window_.document().selection().get().neuron;
    for (const bool main : {true, false}) {
        menu_->addSeparator();
        for (const EditChoice& choice : edit_choices(window_.document(), hit))
            if (choice.main == main) add_edit(*menu_, choice);
    }
    const FigureCanvas& canvas = window_.active_pane().canvas();
    const QPoint pointer = QCursor::pos();
    const QRect room(canvas.mapToGlobal(QPoint(0, 0)), canvas.size());
    menu_->popup(room.contains(pointer) ? pointer : room.center());
}

void ContextMenus::fill_for_list(const QModelIndex& index) {
    if (!index.isValid()) return;
    const HeadListModel& model = window_.heads_panel().model();
    if (const QString value = index.data(HeadListModel::value_role).toString(); !value.isEmpty())
        add_copy(QStringLiteral("Copy %1").arg(index.data().toString()), value);
    QString table = QStringLiteral("head");
    for (int c = 1; c < model.columnCount(); ++c) table += u'\t' + QString::fromStdString(model.measures()[std::size_t(c - 1)]);
    for (int r = 0; r < model.rowCount(); ++r) {
        table += u'\n' + model.index(r, 0).data().toString();
        for (int c = 1; c < model.columnCount(); ++c)
            table += u'\t' + model.index(r, c).data(HeadListModel::value_role).toString();
    }
    add_copy(QStringLiteral("Copy the list (%1 heads)").arg(model.rowCount()), table);
    menu_->addSeparator();
    figure::Hit hit;
    hit.head = model.heads()[std::size_t(index.row())];
    add_head(*hit.head);
    add_edits(hit);
}

void ContextMenus::fill_for_token(Position at, bool source) {
    const trace::Trace& trace = *window_.document().trace();
    const auto& encoding = source ? trace.key_encoding() : trace.encoding();
    const auto i = static_cast<std::size_t>(at.value);
    if (i >= encoding.ids.size()) return;
    const QString id = QString::number(encoding.ids[i]);
    figure::Hit query, key;
    query.query = at;
    key.key = at;
    if (!source) add_pins(query);
    if (source || !trace.across_texts()) add_pins(key);
    menu_->addSeparator();
    if (const auto& tokenizer = trace.tokenizer())
        add_copy(QStringLiteral("Copy text"), QString::fromStdString(tokenizer->bytes_of(encoding.ids[i])));
    add_copy(QStringLiteral("Copy id %1").arg(id), id);
    menu_->addSeparator();
    add_edits(source ? key : query);
    menu_->addSeparator();
    for (const Command command : {Command::clear_pins, Command::predictions, Command::search_tokens})
        menu_->addAction(&window_.action(command));
}

void ContextMenus::fill_for_number(const NumberRow& row) {
    if (row.exact().isEmpty()) return;
    add_copy(QStringLiteral("Copy %1").arg(row.shown()), row.exact());
    add_copy(QStringLiteral("Copy with its name"), row.text() + u'\t' + row.exact());
}

/// What the menu key is about.
figure::Hit ContextMenus::selected_hit() const {
    const figure::Selection& s = window_.document().selection().get();
    figure::Hit hit;
    hit.head = s.focus;
    if (!s.pinned_queries.empty()) hit.query = s.pinned_queries.back();
    if (!s.pinned_keys.empty()) hit.key = s.pinned_keys.back();
    const auto& chain = window_.inspector().chain();  // while something hovers, of that
    if (chain && chain->legal && chain->head == hit.head && chain->query == hit.query && chain->key == hit.key)
        hit.value = chain->weight;
    return hit;
}

bool ContextMenus::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::ContextMenu || !window_.document().trace()) return false;
    const auto* asked = static_cast<QContextMenuEvent*>(event);
    const bool by_key = asked->reason() == QContextMenuEvent::Keyboard;
    auto* widget = static_cast<QWidget*>(watched);
    start_menu();
    TokenStrip& tokens = window_.prompt_bar().tokens();
    QTableView& list = window_.heads_panel().list();
    auto* canvas = qobject_cast<FigureCanvas*>(widget);
    if (!canvas) canvas = qobject_cast<FigureCanvas*>(widget->parentWidget());
    if (canvas) {
        fill_for(by_key ? selected_hit() : canvas->hit_at(asked->pos()));
        if (canvas != &window_.heads_panel().mosaic()) add_figure();
    } else if (widget == &tokens || widget == tokens.viewport()) {
        const auto& pins = window_.document().selection().get().pinned_queries;
        if (const auto token = tokens.token_at(asked->pos()); token && !by_key)
            fill_for_token(token->first, token->second);
        else if (by_key && !pins.empty())
            fill_for_token(pins.back(), false);
    } else if (widget == &list || widget == list.viewport()) {
        const QPoint at = list.viewport()->mapFrom(&list, widget == &list ? asked->pos() : widget->mapTo(&list, asked->pos()));
        fill_for_list(by_key ? list.currentIndex() : list.viewport()->rect().contains(at) ? list.indexAt(at) : QModelIndex());
    } else {
        QWidget* under = by_key ? QApplication::focusWidget() : widget->childAt(asked->pos());
        if (const auto* row = qobject_cast<NumberRow*>(under)) fill_for_number(*row);
    }
    if (menu_->isEmpty()) {
        delete menu_;
        return false;
    }
    menu_->popup(asked->globalPos());
    return true;
}

}  // namespace headlight::ui
