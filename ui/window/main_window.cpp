// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/main_window.h"

#include "headlight/base/numbers.h"
#include "headlight/figure/picture/picture_file.h"
#include "headlight/model/locate.h"
#include "headlight/model/outline.h"
#include "ui/access/access.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/document/layers_ahead.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QAction>
#include <QApplication>
#include <QCloseEvent>
#include <QDialog>
#include <QDragEnterEvent>
#include <QFile>
#include <QFileInfo>
#include <QMessageBox>
#include <QMimeData>
#include <QSettings>
#include <QStringDecoder>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace headlight::ui {

namespace {

constexpr int heads_width = 252, inspector_width = 304;  ///< of the panels at first

bool is_picture(const QString& file) {
    const QString suffix = QFileInfo(file).suffix().toLower();
    return !suffix.isEmpty() && figure::picture_patterns().contains(QStringLiteral("*.") + suffix) && QFileInfo(file).isFile();
}

bool is_text(const QString& file) {
    const QString suffix = QFileInfo(file).suffix().toLower();
    return (suffix == QLatin1String("txt") || suffix == QLatin1String("md")) && QFileInfo(file).isFile();
}

}  // namespace

MainWindow::MainWindow(const model::LoadOptions& load, QWidget* parent) : QMainWindow(parent), jobs_(std::make_unique<Jobs>()) {
    document_ = std::make_unique<Document>(*jobs_, load);
    history_ = std::make_unique<History>(*document_);
    new LayersAhead(*document_, *jobs_, this);
    autosave_ = std::make_unique<Autosave>(Autosave::default_folder(), [this] { return session(); });
    setWindowIcon(QIcon(QStringLiteral(":/headlight/icons/headlight.svg")));
    setAcceptDrops(true);
    make_accessible(document_->selection());
    build();
    make_actions();
    context_menus_ = new ContextMenus(*this);
    connect_parts();
    show_views();
    show_title();
    resize(1440, 900);
    left_->canvas().setFocus();
}

MainWindow::~MainWindow() {
    // Open dialogs cancel their jobs when they are deleted.
    qDeleteAll(findChildren<QDialog*>(QString(), Qt::FindDirectChildrenOnly));
    // Jobs deliver into parts of this window, which use the document: end the jobs first, then delete the parts.
    jobs_->disconnect();
    jobs_->cancel_all();
    history_->stack().disconnect(this);  // it is emptied when the actions that show it are gone
    delete takeCentralWidget();
}

void MainWindow::build() {
    auto* root = new QWidget;
    auto* column = new_column(root, {0, 0, 0, 0}, 0);
    top_bar_ = new TopBar(*document_, *jobs_);
    stack_ = new QStackedWidget;
    text_page_ = new QWidget;
    auto* text_column = new_column(text_page_, {0, 0, 0, 0}, 0);
    model_page_ = new ModelPage(*document_, *jobs_);
    prompt_bar_ = new PromptBar(*document_, *jobs_);
    heads_ = new HeadsPanel(*document_);
    inspector_ = new Inspector(*document_, *jobs_);
    status_ = new StatusStrip(*document_, *jobs_);
    tools_ = new ToolRow(*document_, *jobs_);
    errors_ = new ErrorPanel;
    notice_ = new NoticeBar;
    // A message belongs to the model, the text and the view that it came with.
    connect(document_.get(), &Document::changed, this, [this](Document::Change change) {
        using enum Document::Change;
        if (change == model || change == trace || change == prompt || change == views) errors_->hide();
        if (change == prompt || (change == trace && asks_to_run_)) {
            asks_to_run_ = false;
            notice_->hide();
        }
        if (change == run) show_run_question();
    });
    left_ = new ViewPane(*document_, *jobs_, Jobs::Lane::picture);
    right_ = new ViewPane(*document_, *jobs_, Jobs::Lane::second_picture);

    auto* centre = new QWidget;
    centre->setObjectName(QStringLiteral("Centre"));
    centre->setAttribute(Qt::WA_StyledBackground);
    auto* middle = new_column(centre, {0, 0, 0, 0}, 0);
    middle->addWidget(tools_);
    edits_ = new EditsPanel(*document_, *jobs_);
    edits_->hide();
    edit_strip_ = new EditStrip(*document_, *edits_);
    middle->addWidget(edit_strip_);
    auto* error_room = new_column(nullptr, {16, 0, 16, 0});
    error_room->setObjectName(QStringLiteral("Messages"));
    error_room->addWidget(errors_);
    error_room->addWidget(notice_);
    middle->addLayout(error_room);
    centre_split_ = new QSplitter(Qt::Horizontal);
    centre_split_->setHandleWidth(1);
    centre_split_->setChildrenCollapsible(false);
    centre_split_->addWidget(left_);
    centre_split_->addWidget(right_);
    stacked_ = new StackedViews(centre_split_, edits_);
    middle->addWidget(stacked_, 1);

    body_ = new QSplitter(Qt::Horizontal);
    body_->setHandleWidth(1);
    body_->addWidget(heads_);
    body_->addWidget(centre);
    body_->addWidget(inspector_);
    body_->setStretchFactor(0, 0);
    body_->setStretchFactor(1, 1);
    body_->setStretchFactor(2, 0);
    body_->setCollapsible(1, false);
    constexpr int most_of_panel = 480;  // a wider one has nothing more to show
    heads_->setMinimumWidth(200);
    inspector_->setMinimumWidth(240);
    heads_->setMaximumWidth(most_of_panel);
    inspector_->setMaximumWidth(most_of_panel);
    centre->setMinimumWidth(420);
    body_->setSizes({heads_width, 884, inspector_width});
    text_column->addWidget(prompt_bar_);
    text_column->addWidget(body_, 1);
    stack_->addWidget(text_page_);
    stack_->addWidget(model_page_);
    column->addWidget(top_bar_);
    auto* of_pages = new_column(nullptr, {16, 0, 16, 0}, 0);
    of_pages->setObjectName(QStringLiteral("MessagesOfPages"));
    column->addLayout(of_pages);
    column->addWidget(stack_, 1);
    column->addWidget(status_);
    setCentralWidget(root);
    setMinimumSize(720, 420);  // of a laptop at 200 %, less the bars of its desktop
    menus_ = new FoldingMenuBar(this);
    setMenuBar(menus_);
    menus_->keep(QSettings().value(QStringLiteral("window/menu-bar")).toBool());
}

void MainWindow::connect_parts() {
    connect(jobs_.get(), &Jobs::failed, this, [this](Jobs::Lane lane, const Failure& failure) {
        using Lane = Jobs::Lane;
        const bool of_dialog = lane == Lane::preview || lane == Lane::tensor || lane == Lane::models || lane == Lane::fetch ||
                               lane == Lane::candidates;
        const bool of_view = lane == Lane::picture || lane == Lane::second_picture || lane == Lane::model_picture;
        const auto dialogs = findChildren<ExportDialog*>();  // of the page of the map, too
        const bool of_export = lane == Lane::file && std::ranges::any_of(dialogs, &QWidget::isVisible);
        const bool of_corpus = corpus_ && corpus_->isVisible() &&
                               (lane == Lane::corpus || lane == Lane::corpus_figure || lane == Lane::corpus_open ||
                                (lane == Lane::file && corpus_->exporting()));
        const bool of_map = lane == Lane::map || lane == Lane::map_attention || lane == Lane::map_near ||
                            lane == Lane::map_marks || lane == Lane::map_shares || lane == Lane::map_guests;
        const bool of_sweep = lane == Lane::sweep || lane == Lane::sweep_figure || lane == Lane::sweep_forecast;
        const bool of_edits = lane == Lane::edits;
        if (lane == Lane::other && document_->b_is_of_another_text()) return tell_of_b(failure.facts);
        if (!of_dialog && !of_view && !of_export && !of_corpus && !of_map && !of_sweep && !of_edits)
            show_failure(failure);  // dialogs, views and panels show their own
        if (lane == Lane::model && change_of(document_->model())) offer_opening_again();
    });
    connect(document_.get(), &Document::changed, this, [this](Document::Change change) {
        switch (change) {
            case Document::Change::model:
                watch_model();
                remember(QStringLiteral("recent/models"), document_->model().reference);
                fill_model_menu();
                show_title();
                if (!session_views_) document_->set_modified(true);
                choose_view();
                break;
            case Document::Change::views: show_views(); break;
            case Document::Change::file: show_title(); break;
            case Document::Change::trace: restore_map(); break;
            case Document::Change::prompt:
            case Document::Change::options:
            case Document::Change::filter:
            case Document::Change::batch:
            case Document::Change::other:
            case Document::Change::run: break;
        }
        using enum Document::Change;
        if (change == model || change == trace || change == other) refresh_views();
        if (change == model || change == trace || change == run) keep_recovered();
        if (change == other || change == options) ask_about_b();
        if (change == other || change == options || change == trace) show_sides();
        refresh_actions();
        if (change != file && change != filter && change != batch && change != run && change != other) autosave_->changed();
    });
    connect(document_.get(), &Document::selection_lacks, this, [this](const ErrorFacts& facts) {
        show_failure({QStringLiteral("Opening %1").arg(QFileInfo(QString::fromStdString(facts.file)).fileName()), facts});
    });
    connect(&document_->selection(), &SelectionModel::changed, this, [this](bool hover_only) {
        if (hover_only) return;
        autosave_->changed();
        refresh_actions();
    });
    for (const auto signal : {&Jobs::started, &Jobs::finished})
        connect(jobs_.get(), signal, this, [this](Jobs::Lane lane) {
            if (lane != Jobs::Lane::model) return;
            refresh_actions();
            if (asks_to_run_ && document_->why_not_run() != Document::NotRun::long_text) show_run_question();
        });
    connect(&Appearance::instance(), &Appearance::changed, this, &MainWindow::refresh_actions);
    connect(prompt_bar_, &PromptBar::generate_asked, this, &MainWindow::generate);
    connect(document_.get(), &Document::continued, this, [this](const QString& note) {
        if (!note.isEmpty()) status_->say(note);
    });
    connect(&prompt_bar_->image_button(), &QPushButton::clicked, &action(Command::open_picture), &QAction::trigger);
    connect(top_bar_, &TopBar::page_asked, this, &MainWindow::show_page);
    connect(top_bar_, &TopBar::palette_asked, &action(Command::palette), &QAction::trigger);
    connect(&prompt_bar_->compare_button(), &QPushButton::clicked, this,
            [this] { action(document_->options().other.on ? Command::compare_stop : Command::compare).trigger(); });
    connect(&prompt_bar_->b_line(), &BLine::end_asked, &action(Command::compare_stop), &QAction::trigger);
    connect(&prompt_bar_->b_line(), &BLine::edits_asked, &action(Command::edits), &QAction::trigger);
    connect(&prompt_bar_->edit_button(), &QPushButton::clicked, &action(Command::edits), &QAction::trigger);
    connect(&model_page_->pane(), &ViewPane::figure_changed, this, &MainWindow::refresh_actions);
    connect(&model_page_->pane().canvas(), &FigureCanvas::pointed_at, status_, &StatusStrip::point_at);
    connect(inspector_, &Inspector::why_asked, this, [this] { show_view(view_of_a_weight()); });
    connect(tools_, &ToolRow::view_asked, this, &MainWindow::show_view);
    connect(&tools_->side(), &SideSwitch::end_asked, this,
            [this] { action(document_->options().other.on ? Command::compare_stop : Command::edits_switch).trigger(); });
    connect(tools_, &ToolRow::batch_asked, &action(Command::add_texts), &QAction::trigger);
    connect(tools_, &ToolRow::example_asked, this, &MainWindow::show_example);
    for (ViewPane* pane : {left_, right_}) {
        connect(pane, &ViewPane::view_asked, this, &MainWindow::show_view);
        connect(pane, &ViewPane::activated, this, [this, pane] {
            right_active_ = pane == right_;
            tools_->set_view(pane->view());
            show_description();
            frame_active_pane();
            refresh_actions();
        });
        connect(pane, &ViewPane::figure_changed, this, &MainWindow::show_description);
        connect(pane, &ViewPane::figure_changed, this, &MainWindow::refresh_actions);
        connect(pane, &ViewPane::figure_changed, prompt_bar_, &PromptBar::show_facts);
        connect(&pane->canvas(), &FigureCanvas::pointed_at, status_, &StatusStrip::point_at);
    }
    connect(&heads_->mosaic(), &FigureCanvas::pointed_at, status_, &StatusStrip::point_at);
    connect(&heads_->filters(), &FilterMenu::said, status_, &StatusStrip::say);
    connect(&watcher_, &QFileSystemWatcher::fileChanged, this, &MainWindow::take_change_of);
}

void MainWindow::take_change_of(const QString& file) {
    // Anew: it may be another file under this name.
    watcher_.removePath(file);
    if (QFileInfo::exists(file)) watcher_.addPath(file);
    if (const auto change = change_of(document_->model())) show_failure({QStringLiteral("Watching the model"), *change});
}

void MainWindow::lose_model(const ErrorFacts& facts) {
    if (!has_file(document_->model(), facts.file)) return;  // of a model that is being opened: its job fails
    document_->lose_model(facts);
    show_failure({QStringLiteral("Watching the model"), facts});
}

void MainWindow::offer_opening_again() {
    errors_->offer(QStringLiteral("Open again"), [this] { open(document_->model().reference); });
}

void MainWindow::watch_model() {
    if (!watcher_.files().isEmpty()) watcher_.removePaths(watcher_.files());
    for (const io::FileStamp& of : document_->model().files) watcher_.addPath(QString::fromStdString(of.file.string()));
}

/// A and B next to each other: the left view twice.
bool MainWindow::both_sides() const {
    return document_->options().both_sides && document_->beside() && !figure::view_spec(document_->views().left).compares;
}

void MainWindow::show_views() {
    const OpenViews& views = document_->views();
    const bool both = both_sides();
    left_->set_view(views.left);
    right_->setVisible(views.split || both);
    right_->set_side(both ? std::optional(figure::Side::b) : std::nullopt);
    right_->set_view(both ? views.left : views.right);
    if (!views.split) right_active_ = false;
    tools_->set_view(active_pane().view());
    frame_active_pane();
    show_description();
}

/// The right pane comes and goes with A and B next to each other.
void MainWindow::show_sides() {
    if (const bool both = both_sides(); both != std::exchange(shows_both_, both)) show_views();
}

/// As wide and as high as at the first start.
void MainWindow::reset_panels() {
    body_->setSizes({heads_width, std::max(420, width() - heads_width - inspector_width), inspector_width});
    stacked_->reset();
    heads_->reset_share();
}

/// Which of two views the tool row and the keys are for.
void MainWindow::frame_active_pane() {
    for (ViewPane* pane : {left_, right_}) {
        const bool active = document_->views().split && pane == &active_pane();
        set_style_property(pane->canvas(), "active", active);
    }
}

void MainWindow::show_view(const View& view) {
    if (!figure::seat_of(view)) {  // a view of the model's own page
        model_page_->show_view(view);
        return show_page(Page::model);
    }
    show_page(Page::text);
    OpenViews views = document_->views();
    (right_is_active() ? views.right : views.left) = view;
    document_->set_views(views);
    active_pane().canvas().setFocus();
}

void MainWindow::show_description() {
    inspector_->set_view(right_is_active() ? document_->views().right : document_->views().left);
    inspector_->set_view_description(active_pane().description());
}

void MainWindow::show_failure(const Failure& failure) {
    errors_->show_failure(failure);
    if (has_file(document_->model(), failure.facts.file)) offer_opening_again();
    status_->say(QStringLiteral("Failed: see the message above the view"));
}

void MainWindow::show_title() {
    const QString file =
        document_->file().isEmpty() ? QString() : QFileInfo(document_->file()).completeBaseName() + QStringLiteral(" – ");
    const auto& model = document_->model().model;
    setWindowModified(!document_->file().isEmpty() && document_->modified());
    setWindowTitle(QStringLiteral("[*]") + file +
                   (model ? QString::fromStdString(model->config().name) + QStringLiteral(" – ") : QString()) +
                   QStringLiteral("Headlight"));
}

void MainWindow::open(const QString& what) {
    if (what.endsWith(QStringLiteral(".headlight"), Qt::CaseInsensitive)) {
        try {
            apply_session(load_session(what.toStdString()), what);
            document_->set_file(QFileInfo(what).absoluteFilePath());
            document_->set_modified(false);
            remember(QStringLiteral("recent/sessions"), document_->file());
            fill_recent();
        } catch (const std::exception& error) {
            show_failure({QStringLiteral("Opening %1").arg(QFileInfo(what).fileName()), facts_of(error)});
        }
        return;
    }
    if (is_picture(what)) return open_picture(what);
    if (is_text(what)) return open_text(what);
    session_views_ = restores_map_ = false;
    wanted_page_.reset();
    const std::string place = model::without_tower(what.toStdString()).string(), tower = model::tower_of(what.toStdString());
    const QFileInfo file(QString::fromStdString(place));
    document_->open_model(
        file.exists() ? QString::fromStdString(model::with_tower(file.absoluteFilePath().toStdString(), tower).string()) : what);
}

/// A model of another kind opens its own view, unless a session says which views are open.
void MainWindow::choose_view() {
    const bool pictures = reads_pictures(document_->model()), had_pictures = std::exchange(had_pictures_, pictures);
    if (std::exchange(session_views_, false)) return;
    OpenViews views = document_->views();
    if (pictures && !had_pictures) {
        views.left = std::ranges::find_if(figure::view_specs(), &figure::ViewSpec::of_pictures)->id;
    }
    for (View* view : {&views.left, &views.right})
        if (!pictures && figure::view_spec(*view).of_pictures) *view = figure::view_id(0);
    document_->set_views(views);
    if (pictures && !had_pictures) active_pane().canvas().setFocus();  // the line for the text, which had it, is gone
}

/// Otherwise says why not. A model that is being opened may take them.
bool MainWindow::takes_pictures(const QString& doing, const QString& file) {
    const auto& model = document_->model().model;
    if (!model || document_->opening() || reads_pictures(document_->model())) return true;
    const bool saved = !model::has_weights(*model), towers = model->config().family.starts_with("clip");
    show_failure({doing,
                  {.problem = saved    ? "A saved trace has its own input"
                              : towers ? "The text tower is open"
                                       : model->config().name + " reads text",
                   .file = file.toStdString(),
                   .hint = towers && !saved ? "Open the other tower first, from the menu of models"
                                            : "Open a model that reads pictures first, such as a ViT"}});
    return false;
}

/// Otherwise says why not.
bool MainWindow::takes_texts() {
    if (!reads_pictures(document_->model())) return true;
    status_->say(QStringLiteral("%1 reads a picture instead of a text")
                     .arg(QString::fromStdString(document_->model().model->config().name)));
    return false;
}

void MainWindow::open_picture(const QString& file) {
    if (!takes_pictures(QStringLiteral("Opening %1").arg(QFileInfo(file).fileName()), file)) return;
    show_page(Page::text);
    document_->edit_prompt([&](PromptText& p) { p.image = QFileInfo(file).absoluteFilePath(); });
}

/// Its text becomes the prompt.
void MainWindow::open_text(const QString& name) {
    if (!takes_texts()) return;
    show_page(Page::text);
    constexpr qint64 most = 200'000;
    const auto fail = [&](const ErrorFacts& facts) {
        show_failure({QStringLiteral("Opening %1").arg(QFileInfo(name).fileName()), facts});
    };
    QFile file(name);
    if (file.size() > most)
        return fail({.problem = "The text is too long for the prompt",
                     .file = name.toStdString(),
                     .expected = "at most " + bytes_text(static_cast<std::uint64_t>(most)),
                     .found = bytes_text(static_cast<std::uint64_t>(file.size())),
                     .hint = "\"Add texts …\" takes a file of many texts, one a line"});
    if (!file.open(QIODevice::ReadOnly))
        return fail(
            {.problem = "The file cannot be read", .file = name.toStdString(), .found = file.errorString().toStdString()});
    const QByteArray bytes = file.readAll();
    QStringDecoder decoder(QStringDecoder::Utf8);
    PromptText prompt = document_->prompt();
    prompt.text = QString(decoder(bytes)).trimmed();
    if (decoder.hasError())
        return fail({.problem = "The file is no UTF-8 text", .file = name.toStdString(), .hint = "Save it as UTF-8"});
    document_->set_prompt(prompt);
    status_->say(QStringLiteral("The text is now that of %1 (Ctrl+Z: the one before)").arg(QFileInfo(name).fileName()));
}

Session MainWindow::session() const {
    const State state = document_->state();
    const QString built_in = QString::fromLatin1(model::default_model_name);
    return {state.model.isEmpty() ? built_in : state.model,
            state,
            document_->views(),
            map_ ? map_->page() : map_page_,
            sweeps_ ? sweeps_->request() : sweep_request_,
            sweeps_ ? sweeps_->numbers() : sweep_numbers_,
            wanted_page_.value_or(page_)};
}

void MainWindow::apply_session(const Session& session, const QString& file) {
    session_views_ = document_->model().reference != session.model || !document_->model().model;
    State state = session.state;
    state.model = session.model;
    document_->restore(state, file);
    OpenViews views = session.views;
    for (View* view : {&views.left, &views.right})
        if (!figure::seat_of(*view)) *view = figure::view_id(view == &views.left ? 0 : 1);
    document_->set_views(views);
    history_->clear();
    if (!figure::seat_of(session.views.left)) {  // of a program in which the model's views stood among the others
        model_page_->show_view(session.views.left);
        wanted_page_ = Page::model;
    } else {
        wanted_page_ = session.page;
    }
    map_page_ = session.map;
    restores_map_ = session.map.open || map_;
    sweep_request_ = session.sweep;
    sweep_numbers_ = session.sweep_numbers;
    if (sweeps_) sweeps_->restore(session.sweep, session.sweep_numbers);
    restore_map();
    if (!document_->has_input() && wanted_page_) show_page(*std::exchange(wanted_page_, std::nullopt));  // no run will come
}

/// Now, or when the model and its text are there.
void MainWindow::restore_map() {
    if (!document_->up_to_date()) return;
    if (std::exchange(restores_map_, false)) {
        if (map_)
            map_->restore(map_page_);
        else
            make_map();
    }
    if (const auto page = std::exchange(wanted_page_, std::nullopt)) show_page(*page);
}

bool MainWindow::save_to(const QString& file) {
    try {
        save_session(session(), file.toStdString());
    } catch (const std::exception& error) {
        show_failure({QStringLiteral("Saving %1").arg(QFileInfo(file).fileName()), facts_of(error)});
        return false;
    }
    document_->set_file(QFileInfo(file).absoluteFilePath());
    document_->set_modified(false);
    remember(QStringLiteral("recent/sessions"), document_->file());
    fill_recent();
    status_->say(QStringLiteral("Saved %1").arg(QFileInfo(file).fileName()));
    return true;
}

void MainWindow::remember(const QString& list, const QString& what) {
    QSettings settings;
    QStringList recent = settings.value(list).toStringList();
    recent.removeAll(what);
    recent.prepend(what);
    settings.setValue(list, recent.mid(0, 8));
}

/// Asks only for a session with a file: everything else is in the autosave until the window is closed on purpose.
bool MainWindow::may_close() {
    if (document_->file().isEmpty() || !document_->modified()) return true;
    const auto answer =
        QMessageBox::question(this, QStringLiteral("Save changes?"),
                              QStringLiteral("The session %1 has changes.").arg(QFileInfo(document_->file()).fileName()),
                              QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, QMessageBox::Save);
    if (answer == QMessageBox::Save) return save_to(document_->file());
    return answer == QMessageBox::Discard;
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (!may_close()) return event->ignore();
    QSettings settings;
    settings.setValue(QStringLiteral("window/geometry"), saveGeometry());
    settings.setValue(QStringLiteral("window/body"), body_->saveState());
    remember_last();
    event->accept();
}

void MainWindow::remember_last() {
    QString last = document_->file();
    if (last.isEmpty() && document_->model().model) {
        last = Autosave::last_file();
        try {
            save_session(session(), last.toStdString());
        } catch (const std::exception& error) {
            qWarning("Keeping the session: %s", error.what());  // a full disk must not keep the window open
            last.clear();
        }
    }
    QSettings().setValue(QStringLiteral("window/last"), last);
}

void MainWindow::reopen_last() {
    const QString last = QSettings().value(QStringLiteral("window/last")).toString();
    if (last.isEmpty() || !QFileInfo::exists(last)) return status_->say(QStringLiteral("There is nothing to reopen"));
    if (last != Autosave::last_file()) return open(last);
    try {
        apply_session(load_session(last.toStdString()));
        document_->set_file({});
    } catch (const std::exception& error) {
        show_failure({QStringLiteral("Reopening what was open"), facts_of(error)});
    }
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    const QList<QUrl> urls = event->mimeData()->urls();
    if (urls.size() == 1 && urls.front().isLocalFile()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    const QList<QUrl> urls = event->mimeData()->urls();
    if (urls.size() != 1 || !urls.front().isLocalFile()) return;
    event->acceptProposedAction();
    open(urls.front().toLocalFile());
}

void MainWindow::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape) {
        for (QWidget* message : std::initializer_list<QWidget*>{errors_, notice_})
            if (message->isVisible()) return message->hide();
        // Out of the field first, whose text stays: keys are commands again.
        const QWidget* field = focusWidget();
        if (field && field->testAttribute(Qt::WA_InputMethodEnabled)) return focus_of_page().setFocus();
        if (page_ == Page::text && document_->selection().escape()) return;
    }
    // A shortcut whose command cannot work now: say why.
    for (const QAction* action : actions_) {
        if (action->isEnabled() || !action->isVisible() || action->toolTip() == action->text()) continue;
        if (action->shortcut() == QKeySequence(event->keyCombination())) return status_->say(action->toolTip());
    }
    QMainWindow::keyPressEvent(event);
}

}  // namespace headlight::ui
