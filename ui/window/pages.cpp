// SPDX-License-Identifier: GPL-3.0-or-later
// The pages of the window: each is made when it is first shown, and keeps its state. What of them folds in a small window.
#include "ui/dialogs/about.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/window/main_window.h"

#include <QApplication>
#include <QVBoxLayout>

namespace headlight::ui {

namespace {

template <class PageWidget>
void export_from(Document& document, Jobs& jobs, const Exportable& what, PageWidget* page) {
    auto* dialog = new ExportDialog(document, jobs, what, page->canvas().viewport()->size(), page);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    QObject::connect(dialog, &ExportDialog::written, page, &PageWidget::say_written);
    dialog->open();
}

}  // namespace

void MainWindow::make_page_actions() {
    constexpr Command commands[] = {Command::page_text, Command::page_corpus, Command::page_map, Command::page_sweep,
                                    Command::page_model};
    for (const EnumRow<Page>& row : pages) {
        const int number = int(row.value);
        add(commands[number], QStringLiteral("%1 page").arg(QString::fromUtf8(row.title.data(), qsizetype(row.title.size()))),
            QKeySequence(Qt::CTRL | Qt::Key(Qt::Key_1 + number)), [this, page = row.value] { show_page(page); });
    }
}

void MainWindow::show_page(Page page) {
    wanted_page_.reset();
    QWidget* shown = text_page_;
    switch (page) {
        case Page::text: break;
        case Page::corpus: make_corpus(), shown = corpus_; break;
        case Page::map: make_map(), shown = map_; break;
        case Page::sweep: make_sweeps(), shown = sweeps_; break;
        case Page::model: shown = model_page_; break;
    }
    const bool other = std::exchange(page_, page) != page;
    top_bar_->set_page(page);
    fit_rows();  // the first row leaves that of the text before it goes
    stack_->setCurrentWidget(shown);
    if (!other) return;
    // A message is above the view, of another page above all of it.
    if (auto* room =
            findChild<QVBoxLayout*>(page == Page::text ? QStringLiteral("Messages") : QStringLiteral("MessagesOfPages"))) {
        const bool said = !errors_->isHidden();
        room->insertWidget(0, errors_);
        errors_->setVisible(said);
    }
    focus_of_page().setFocus();
    show_description();
    refresh_actions();
    refresh_undo();
}

FigureCanvas& MainWindow::canvas_of_page() {
    if (page_ == Page::corpus && corpus_) return corpus_->canvas();
    if (page_ == Page::sweep && sweeps_) return sweeps_->canvas();
    return active_pane().canvas();
}

QWidget& MainWindow::focus_of_page() {
    if (page_ == Page::map && map_) return map_->canvas();
    return canvas_of_page();
}

void MainWindow::refresh_undo() {
    action(Command::undo).setEnabled(undo_stack().canUndo() || (page_ == Page::text && document_->continuing()));
    action(Command::redo).setEnabled(undo_stack().canRedo());
}

/// The first row of a low window is that of the text.
void MainWindow::fit_rows() {
    constexpr int wide_enough_for_buttons = 920;
    top_bar_->fit(size(), page_ == Page::text ? prompt_bar_ : nullptr);
    prompt_bar_->fold_buttons(width() < wide_enough_for_buttons);
}

/// By hand, so that it stays until the window's width changes.
void MainWindow::show_panel(QWidget& panel, bool on) {
    folded_[&panel] = false;
    const bool had_focus = panel.isAncestorOf(QApplication::focusWidget());
    panel.setVisible(on);
    if (&panel == edits_) edit_strip_->setVisible(!on && !document_->edits().lines.empty());
    if (!on && had_focus) active_pane().canvas().setFocus();
    refresh_actions();
}

/// Panels without room in a narrow window go, and come back with the room.
void MainWindow::fold_panels() {
    constexpr int least_for_inspector = 1020, least_for_heads = 760;
    for (const auto& [panel, least] : {std::pair<QWidget*, int>(inspector_, least_for_inspector), {heads_, least_for_heads}}) {
        const bool narrow = width()<least, was_narrow = last_width_> 0 && last_width_ < least;
        if (narrow == was_narrow) continue;
        if (narrow && panel->isHidden()) continue;  // as wanted
        if (!narrow && !folded_[panel]) continue;
        show_panel(*panel, !narrow);
        folded_[panel] = narrow;
    }
    last_width_ = width();
}

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    fold_panels();
    fit_rows();
}

void MainWindow::make_corpus() {
    if (corpus_) return;
    corpus_ = new CorpusWindow(*document_, *jobs_);
    stack_->addWidget(corpus_);
    connect(jobs_.get(), &Jobs::finished, corpus_, [this](Jobs::Lane lane) {
        if (lane == Jobs::Lane::corpus && page_ != Page::corpus)
            status_->say(QStringLiteral("The corpus run has ended: see the Corpus page"));
    });
    connect(corpus_, &CorpusWindow::head_chosen, this, [this](HeadId head) { document_->selection().focus_head(head); });
    connect(corpus_, &CorpusWindow::example_chosen, this, &MainWindow::show_text_example);
}

void MainWindow::make_map() {
    if (map_) return;
    map_ = new MapWindow(*document_, *jobs_, map_page_);
    stack_->addWidget(map_);
    connect(map_, &MapWindow::page_changed, this, [this] { document_->set_modified(true); });
    connect(map_, &MapWindow::example_chosen, this, &MainWindow::show_text_example);
    connect(map_, &MapWindow::export_asked, this,
            [this](const Exportable& what) { export_from(*document_, *jobs_, what, map_.data()); });
    connect(map_, &MapWindow::explanation_asked, this,
            [this](const QString& title, const QString& text) { show_text_window(map_, title, text); });
}

void MainWindow::make_sweeps() {
    if (sweeps_) return;
    sweeps_ = new SweepWindow(*document_, *jobs_);
    stack_->addWidget(sweeps_);
    if (sweep_request_) sweeps_->restore(sweep_request_, sweep_numbers_);
    connect(sweeps_, &SweepWindow::session_changed, this, [this] {
        document_->set_modified(true);
        autosave_->changed();
    });
    connect(sweeps_, &SweepWindow::export_asked, this,
            [this](const Exportable& what) { export_from(*document_, *jobs_, what, sweeps_.data()); });
    connect(sweeps_, &SweepWindow::text_asked, this, [this] { show_page(Page::text); });
    connect(sweeps_, &SweepWindow::explanation_asked, this,
            [this](const QString& title, const QString& text) { show_text_window(sweeps_, title, text); });
    connect(&sweeps_->undo_stack(), &QUndoStack::indexChanged, this, &MainWindow::refresh_undo);
    connect(jobs_.get(), &Jobs::finished, sweeps_, [this](Jobs::Lane lane) {
        if (lane == Jobs::Lane::sweep && page_ != Page::sweep)
            status_->say(QStringLiteral("The sweep has ended: see the Sweep page"));
    });
}

void MainWindow::open_with(const View& view) {
    session_views_ = true;
    if (figure::seat_of(view)) {
        OpenViews views = document_->views();
        views.left = view;
        document_->set_views(views);
    } else {
        model_page_->show_view(view);
        show_page(Page::model);
    }
}

}  // namespace headlight::ui
