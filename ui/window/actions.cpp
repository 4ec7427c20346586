// SPDX-License-Identifier: GPL-3.0-or-later
// Every action of the window, once: menus, shortcuts and the command palette show the same list.
#include "ui/canvas/recipe.h"
#include "ui/dialogs/about.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/model_chooser.h"
#include "ui/dialogs/tour.h"
#include "ui/document/examples.h"
#include "ui/document/subject.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"
#include "ui/window/main_window.h"

#include "headlight/figure/picture/picture_file.h"
#include "headlight/model/locate.h"

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QSettings>

#include <algorithm>
#include <iterator>
#include <map>

namespace headlight::ui {

QAction* MainWindow::add(const QString& text, const QKeySequence& shortcut, std::function<void()> run) {
    auto* action = new QAction(text, this);
    action->setShortcut(shortcut);
    connect(action, &QAction::triggered, this, [this, run = std::move(run)] {
        run();
        refresh_actions();  // a trigger has turned the check mark, whatever it did
    });
    addAction(action);
    actions_.push_back(action);
    return action;
}

QAction* MainWindow::add(Command command, const QString& text, const QKeySequence& shortcut, std::function<void()> run) {
    return commands_[command] = add(text, shortcut, std::move(run));
}

void MainWindow::make_actions() {
    make_page_actions();
    make_file_actions();
    make_edit_actions();
    make_edits_actions();
    make_view_actions();
    make_selection_actions();
    make_help_actions();
    for (const auto& [command, action] : commands_) action->setCheckable(state_of(command).has_value());
    for (const auto& [view, action] : view_actions_) action->setCheckable(true);
    top_bar_->menu_button().setMenu(new QMenu(this));
    top_bar_->menu_button().menu()->setToolTipsVisible(true);
    top_bar_->model_button().setMenu(new QMenu(this));
    fill_model_menu();
    fill_menus();
    refresh_views();
    refresh_actions();
}

void MainWindow::make_file_actions() {
    add(Command::open_model, QStringLiteral("Open model …"), QKeySequence::Open, [this] { choose_model(); });
    add(Command::tensors, QStringLiteral("Tensors of the model"), {}, [this] {
        show_page(Page::model);
        model_page_->show_tensors();
    });
    add(Command::corpus, QStringLiteral("Corpus …"), {}, [this] { show_page(Page::corpus); });
    add(Command::map, QStringLiteral("Map of queries and keys …"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_M),
        [this] { show_page(Page::map); });
    add(Command::open_folder, QStringLiteral("Open model folder …"), {}, [this] { open_folder(); });
    add(Command::open_session, QStringLiteral("Open session …"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O),
        [this] { open_session_dialog(); });
    add(Command::reopen, QStringLiteral("Reopen what was open"), {}, [this] { reopen_last(); });
    add(Command::other_tower, QStringLiteral("The other tower of this CLIP model"), {}, [this] {
        const auto& model = document_->model().model;
        if (!model) return;
        const std::string_view other = model->config().family == "clip-vision" ? model::kTextTower : model::kVisionTower;
        open(QString::fromStdString(model::with_tower(document_->model().reference.toStdString(), other).string()));
    });
    add(Command::open_picture, QStringLiteral("Open picture …"), {}, [this] { open_picture_dialog(); });
    add(Command::add_texts, QStringLiteral("Add texts …"), {}, [this] { add_texts(); });
    for (int i = 0; i < int(example_sentences().size()); ++i)
        examples_.push_back(add(QStringLiteral("Example: %1").arg(example_sentences()[i]), {}, [this, i] { show_example(i); }));
    add(Command::save, QStringLiteral("Save session"), QKeySequence::Save, [this] { save(false); });
    add(Command::save_as, QStringLiteral("Save session as …"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S),
        [this] { save(true); });
    add(Command::export_figure, QStringLiteral("Export figure …"), QKeySequence(Qt::CTRL | Qt::Key_E),
        [this] { export_figure(); });
    add(Command::copy_image, QStringLiteral("Copy image"), QKeySequence::Copy, [this] { copy_image(); });
    add(Command::copy_command, QStringLiteral("Copy as command"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), [this] {
        const QString command = command_for_shown();
        if (command.isEmpty()) return;
        QApplication::clipboard()->setText(command);
        status_->say(QStringLiteral("Copied: %1").arg(command));
    });
    add(Command::quit, QStringLiteral("Quit"), QKeySequence::Quit, [this] { close(); });
}

void MainWindow::make_edit_actions() {
    add(Command::undo, QStringLiteral("Undo"), QKeySequence::Undo, [this] {
        if (page_ == Page::text) document_->end_continuation();  // what it has written so far is the step that is undone
        undo_stack().undo();
    });
    add(Command::redo, QStringLiteral("Redo"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), [this] { undo_stack().redo(); });
    connect(&history_->stack(), &QUndoStack::indexChanged, this, &MainWindow::refresh_undo);
    connect(&history_->stack(), &QUndoStack::cleanChanged, this, &MainWindow::refresh_undo);
    connect(document_.get(), &Document::changed, this, &MainWindow::refresh_undo);
    connect(document_.get(), &Document::continued, this, &MainWindow::refresh_undo);
    add(Command::run, QStringLiteral("Run now"), QKeySequence(Qt::CTRL | Qt::Key_Return), [this] { document_->run_now(); });
    add(Command::stop, QStringLiteral("Stop"), {}, [this] { document_->stop(); });
    add(Command::generate, QStringLiteral("Generate"), QKeySequence(Qt::CTRL | Qt::Key_G), [this] { generate(); });
    add(Command::generate_settings, QStringLiteral("Generation settings"), {}, [this] {
        show_page(Page::text);
        prompt_bar_->open_generate_settings();
    });
    add(Command::memory, QStringLiteral("Memory"), {}, [this] {
        show_page(Page::text);
        prompt_bar_->open_memory();
    });
    for (const ComputeCommand& each : compute_commands)
        add(each.command, QStringLiteral("Compute in %1").arg(QString::fromStdString(std::string(enum_word(each.type)))), {},
            [this, type = each.type] { document_->set_compute_type(type); });
    add(Command::edit_text, QStringLiteral("Edit the text"), QKeySequence(Qt::CTRL | Qt::Key_L), [this] {
        show_page(Page::text);
        if (reads_pictures(document_->model())) return prompt_bar_->image_button().setFocus();
        prompt_bar_->text().setFocus();
        prompt_bar_->text().selectAll();
    });
    add(Command::pair, QStringLiteral("Sentence pair"), {}, [this] {
        if (takes_texts()) prompt_bar_->toggle_pair();
    });
    add_sweep_actions();
    add(Command::compare, QStringLiteral("Compare"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_D), [this] {
        show_page(Page::text);
        prompt_bar_->b_line().begin();
    });
    const auto example = [this](int line) {
        return [this, line] {
            const QStringList pair = comparison_examples().value(line).split(u'\t');
            if (pair.size() != 2 || !takes_texts()) return;
            show_page(Page::text);
            PromptText prompt;
            prompt.text = pair[0];
            ViewOptions options = document_->options();
            options.other = {.on = true, .prompt = {.text = pair[1], .pair = {}}, .model = {}};
            options.side = figure::Side::difference;
            document_->set_prompt(prompt);
            document_->set_options(options);
        };
    };
    add(Command::compare_bias, QStringLiteral("Compare: he and she"), {}, example(0));
    add(Command::compare_paraphrase, QStringLiteral("Compare: a paraphrase"), {}, example(1));
    add(Command::compare_stop, QStringLiteral("Stop comparing"), {}, [this] {
        ViewOptions options = document_->options();
        options.other = {};
        if (!any_edit(options.edits)) options.side = figure::Side::a, options.both_sides = false;
        document_->set_options(options);
    });
    add(Command::find_heads, QStringLiteral("Find heads"), QKeySequence::Find, [this] {
        show_page(Page::text);
        heads_->finder().setFocus();
        heads_->finder().selectAll();
    });
    add(Command::search_tokens, QStringLiteral("Search tokens"), QKeySequence(Qt::Key_Slash), [this] { search_tokens(); });
    add(Command::palette, QStringLiteral("All commands"), QKeySequence(Qt::CTRL | Qt::Key_K), [this] { open_palette(); });
}

void MainWindow::make_view_actions() {
    for (const figure::ViewSpec& spec : figure::view_specs()) {
        const View view = spec.id;
        view_actions_[view] = add(QStringLiteral("%1 view").arg(view_title(view)), {}, [this, view] { show_view(view); });
        view_actions_[view]->setProperty("keyword", QString::fromStdString(view + " " + spec.known_as).trimmed());
    }
    const auto questions = figure::view_questions();
    for (std::size_t q = 0; q < questions.size(); ++q) {
        question_actions_.push_back(
            add(QString::fromStdString(questions[q].title), QKeySequence(Qt::ALT | Qt::Key(Qt::Key_1 + int(q))), [this, q] {
                const View view = tools_->views().view_of_question(q);
                if (!view.empty()) show_view(view);
            }));
        for (const figure::ViewPlace& place : questions[q].places) {
            if (!place.key) continue;
            QAction* key =
                add(QStringLiteral("%1, or its next form").arg(QString::fromStdString(place.title)),
                    QKeySequence(Qt::Key(place.key)), [this, &place] { show_view(tools_->views().next_of_place(place)); });
            key->setProperty("key-only", true);  // the palette has the views themselves
        }
    }
    QAction* next =
        add(Command::attention_next, QStringLiteral("Next attention: decoder, encoder, cross"), QKeySequence(Qt::Key_X), [this] {
            const auto& order = AttentionSwitch::order;
            const auto* now = std::find(std::begin(order), std::end(order), document_->attention());
            document_->set_attention(now + 1 < std::end(order) ? *(now + 1) : order[0]);
        });
    std::vector<QAction*> attentions{next};
    using model::Stack;
    for (const auto& [command, stack] :
         {std::pair(Command::attention_decoder, Stack::decoder), std::pair(Command::attention_encoder, Stack::encoder),
          std::pair(Command::attention_cross, Stack::cross)})
        attentions.push_back(
            add(command, AttentionSwitch::explanation(stack), {}, [this, stack = stack] { document_->set_attention(stack); }));
    const auto show_attentions = [this, attentions] {
        for (QAction* each : attentions) {  // other models have no such choice
            each->setVisible(document_->has_parts());
            each->setEnabled(document_->has_parts());
        }
    };
    connect(document_.get(), &Document::changed, next, show_attentions);
    show_attentions();
    add(Command::split, QStringLiteral("Two views side by side"), QKeySequence(Qt::CTRL | Qt::Key_Backslash),
        [this] { document_->edit_views([&](OpenViews& v) { v.split = !v.split; }); });
    add(Command::heads_panel, QStringLiteral("Heads panel"), {}, [this] { show_panel(*heads_, heads_->isHidden()); });
    add(Command::inspector, QStringLiteral("Inspector"), QKeySequence(Qt::Key_F9),
        [this] { show_panel(*inspector_, inspector_->isHidden()); });
    add(Command::reset_panels, QStringLiteral("Reset panels"), {}, [this] { reset_panels(); });
    add(Command::menu_bar, QStringLiteral("Keep the menu bar"), QKeySequence(Qt::CTRL | Qt::Key_M), [this] {
        menus_->keep(!menus_->kept());
        QSettings().setValue(QStringLiteral("window/menu-bar"), menus_->kept());
    });
    add(Command::menu, QStringLiteral("Menus"), QKeySequence(Qt::Key_F10), [this] { menus_->open(); });
    add(Command::to_view, QStringLiteral("Go to the view"), QKeySequence(Qt::Key_F6),
        [this] { focus_of_page().setFocus(Qt::ShortcutFocusReason); });
    add(Command::zoom_in, QStringLiteral("Zoom in"), QKeySequence::ZoomIn, [this] {
        if (page_ == Page::map) return;  // its canvas has its own
        FigureCanvas& canvas = canvas_of_page();
        canvas.zoom_by(1.4, QRectF(canvas.viewport()->rect()).center());
    });
    add(Command::zoom_out, QStringLiteral("Zoom out"), QKeySequence::ZoomOut, [this] {
        if (page_ == Page::map) return;  // its canvas has its own
        FigureCanvas& canvas = canvas_of_page();
        canvas.zoom_by(1 / 1.4, QRectF(canvas.viewport()->rect()).center());
    });
    add(Command::zoom_fit, QStringLiteral("Zoom to fit"), QKeySequence(Qt::CTRL | Qt::Key_0), [this] {
        if (page_ != Page::map) canvas_of_page().zoom_to_fit();
    });
    add(Command::transfer, QStringLiteral("How weights are drawn"), QKeySequence(Qt::CTRL | Qt::Key_T), [this] {
        show_page(Page::text);
        if (!tools_->open_transfer())
            status_->say(QStringLiteral("The %1 view has no weight scale").arg(view_title(active_pane().view())));
    });
    add(Command::hide_sinks, QStringLiteral("Hide sinks"), {},
        [this] { document_->edit_options([](ViewOptions& o) { o.pattern.hide_sinks = !o.pattern.hide_sinks; }); });
    add(Command::hide_special, QStringLiteral("Hide special tokens"), {},
        [this] { document_->edit_options([](ViewOptions& o) { o.pattern.hide_special = !o.pattern.hide_special; }); });
    add(Command::predictions, QStringLiteral("Predictions under the tokens"), QKeySequence(Qt::Key_P),
        [this] { document_->edit_options([&](ViewOptions& o) { o.predictions = !o.predictions; }); });
    add(Command::words, QStringLiteral("Merge sub-words"), QKeySequence(Qt::SHIFT | Qt::Key_W),
        [this] { document_->edit_options([](ViewOptions& o) { o.pattern.merge_words = !o.pattern.merge_words; }); });
    add(Command::subject, QStringLiteral("Subject of the view"), QKeySequence(Qt::Key_S), [this] {
        show_page(Page::text);
        tools_->subject().focus_first();
    });
    const auto options = [this](auto change) { return [this, change] { document_->edit_options(change); }; };
    using figure::HeadPalette;
    using figure::Ramp;
    add(Command::heads_category10, QStringLiteral("Head colours: BertViz"), {},
        options([](ViewOptions& o) { o.palette = HeadPalette::category10; }));
    add(Command::heads_okabe_ito, QStringLiteral("Head colours: colour-blind safe (Okabe-Ito)"), {},
        options([](ViewOptions& o) { o.palette = HeadPalette::okabe_ito; }));
    add(Command::ramp_ink, QStringLiteral("Map colours: ink"), {}, options([](ViewOptions& o) { o.ramp = Ramp::ink; }));
    add(Command::ramp_viridis, QStringLiteral("Map colours: viridis"), {},
        options([](ViewOptions& o) { o.ramp = Ramp::viridis; }));
    add(Command::ramp_cividis, QStringLiteral("Map colours: cividis"), {},
        options([](ViewOptions& o) { o.ramp = Ramp::cividis; }));
    add(Command::ramp_magma, QStringLiteral("Map colours: magma"), {}, options([](ViewOptions& o) { o.ramp = Ramp::magma; }));
    add(Command::appearance_system, QStringLiteral("Appearance: as the system"), {},
        [] { Appearance::instance().set_mode(Appearance::Mode::system); });
    add(Command::appearance_light, QStringLiteral("Appearance: light"), {},
        [] { Appearance::instance().set_mode(Appearance::Mode::light); });
    add(Command::appearance_dark, QStringLiteral("Appearance: dark"), {},
        [] { Appearance::instance().set_mode(Appearance::Mode::dark); });
}

void MainWindow::make_selection_actions() {
    SelectionModel& s = document_->selection();
    // Arrow keys belong to text fields and lists while those have the focus.
    const auto on_canvas = [this](QAction* action) {
        removeAction(action);
        action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
        centre_split_->addAction(action);
        heads_->mosaic().addAction(action);
    };
    on_canvas(add(Command::layer_up, QStringLiteral("Previous layer"), QKeySequence(Qt::Key_Up), [&s] { s.step_layer(-1); }));
    on_canvas(add(Command::layer_down, QStringLiteral("Next layer"), QKeySequence(Qt::Key_Down), [&s] { s.step_layer(1); }));
    on_canvas(add(Command::head_left, QStringLiteral("Previous head"), QKeySequence(Qt::Key_Left), [&s] { s.step_head(-1); }));
    on_canvas(add(Command::head_right, QStringLiteral("Next head"), QKeySequence(Qt::Key_Right), [&s] { s.step_head(1); }));
    on_canvas(add(Command::side_next, QStringLiteral("Next of A, B, A+B and B − A"), QKeySequence(Qt::Key_Space),
                  [this] { tools_->side().step(1); }));
    on_canvas(add(Command::side_before, QStringLiteral("The one before of A, B, A+B and B − A"),
                  QKeySequence(Qt::SHIFT | Qt::Key_Space), [this] { tools_->side().step(-1); }));
    const auto step_query = [this, &s](int by) {
        s.step_query(by);
        if (const auto query = s.get().query()) prompt_bar_->tokens().reveal(*query);
    };
    add(Command::query_before, QStringLiteral("Previous query"), QKeySequence(Qt::Key_BracketLeft),
        [step_query] { step_query(-1); });
    add(Command::query_after, QStringLiteral("Next query"), QKeySequence(Qt::Key_BracketRight), [step_query] { step_query(1); });
    add(Command::all_heads, QStringLiteral("All heads of the layer"), QKeySequence(Qt::Key_A), [&s] { s.all_heads(); });
    add(Command::activate_matching, QStringLiteral("Activate the matching heads of the layer"), QKeySequence(Qt::Key_M),
        [this] { heads_->filters().activate_matching(); });
    add(Command::save_filter, QStringLiteral("Save the filter as …"), {}, [this] {
        if (const QAction* save = heads_->filters().entry(QStringLiteral("save")); save && save->isEnabled())
            heads_->filters().ask_name();
    });
    add(Command::clear_pins, QStringLiteral("Clear pins"), {}, [&s] { s.clear_pins(); });
    add(Command::interesting, QStringLiteral("Go to an interesting head"), QKeySequence(Qt::Key_I),
        [this] { document_->show_interesting(); });
}

void MainWindow::make_help_actions() {
    add(Command::tour, QStringLiteral("Tour"), {}, [this] { start_tour(); });
    add(Command::what, QStringLiteral("What am I seeing?"), QKeySequence::HelpContents, [this] {
        const auto& figure = canvas_of_page().shown();
        if (figure && (canvas_of_page().shown() != active_pane().canvas().shown() || active_pane().shows_own_view()))
            show_text_window(this, figure->title(), figure->description());
        else
            status_->say(QStringLiteral("%1 is not drawn yet").arg(view_title(active_pane().view())));
    });
    add(Command::keys, QStringLiteral("Keyboard"), {}, [this] {
        std::vector<std::pair<QString, QString>> rows;
        for (const QAction* action : actions_)
            if (!action->shortcut().isEmpty())
                rows.emplace_back(action->shortcut().toString(QKeySequence::NativeText), action->text());
        show_list_window(this, QStringLiteral("Keyboard"), rows);
    });
    add(Command::about, QStringLiteral("About Headlight"), {}, [this] { show_about(this); });
}

void MainWindow::open_folder() {
    const QString start = QSettings().value(QStringLiteral("recent/folder")).toString();
    const QString folder = QFileDialog::getExistingDirectory(this, QStringLiteral("Open model folder"), start);
    if (folder.isEmpty()) return;
    QSettings().setValue(QStringLiteral("recent/folder"), QFileInfo(folder).path());
    open(folder);
}

void MainWindow::choose_model() {
    auto* dialog = new ModelChooser(*jobs_, QSettings().value(QStringLiteral("recent/models")).toStringList(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &ModelChooser::chosen, this, &MainWindow::open);
    dialog->open();
}

/// Of the open session, else of the last one.
QString MainWindow::session_folder() const {
    const QString last = QSettings().value(QStringLiteral("recent/sessions")).toStringList().value(0);
    const QString file = document_->file().isEmpty() ? last : document_->file();
    return file.isEmpty() ? QDir::homePath() : QFileInfo(file).path();
}

void MainWindow::open_session_dialog() {
    const QString file = QFileDialog::getOpenFileName(this, QStringLiteral("Open session"), session_folder(),
                                                      QStringLiteral("Headlight sessions (*.headlight)"));
    if (!file.isEmpty()) open(file);
}

void MainWindow::open_picture_dialog() {
    if (!takes_pictures(QStringLiteral("Opening a picture"))) return;
    const QString start = QSettings().value(QStringLiteral("recent/pictures")).toString();
    const QString file =
        QFileDialog::getOpenFileName(this, QStringLiteral("Open picture"), start,
                                     QStringLiteral("Pictures (%1);;All files (*)").arg(figure::picture_patterns().join(u' ')));
    if (file.isEmpty()) return;
    QSettings().setValue(QStringLiteral("recent/pictures"), QFileInfo(file).path());
    open_picture(file);
}

void MainWindow::add_texts() {
    if (!takes_texts()) return;
    const QString start = QSettings().value(QStringLiteral("recent/texts")).toString();
    const QString file = QFileDialog::getOpenFileName(this, QStringLiteral("Add texts: one text a line"), start,
                                                      QStringLiteral("Text files (*.txt);;All files (*)"));
    if (file.isEmpty()) return;
    QSettings().setValue(QStringLiteral("recent/texts"), QFileInfo(file).path());
    document_->edit_options([&](ViewOptions& o) { o.batch_file = file; });
}

void MainWindow::show_text_example(const TextExample& example) {
    if (!example.text.isEmpty() && !takes_texts()) return;
    State state = document_->state();
    figure::Selection& next = state.selection;
    if (!example.text.isEmpty()) {
        if (!state.options.answer_kept) state.options = without_answers(state.options);
        state.options = without_passages(state.options);
        state.prompt.text = example.text;
        state.prompt.pair.clear();
    }
    if (!example.image.isEmpty()) state.prompt.image = example.image;
    next.pinned_queries = example.queries;
    next.pinned_keys = example.keys;
    next.found_pins = false;
    const SelectionModel& now = document_->selection();
    const auto& head = example.head;
    if (head && head->layer.value < now.layers() && head->head.value < now.heads()) {
        next.layer = head->layer;
        next.focus = *head;
        if (std::ranges::find(next.heads, head->head) == next.heads.end()) next.heads = {head->head};
    }
    if (example.neuron) next.neuron = example.neuron;
    document_->restore(state);
    show_page(Page::text);
}

void MainWindow::show_example(int index) {
    if (!takes_texts()) return;
    show_page(Page::text);
    document_->edit_prompt([&](PromptText& p) { p.text = example_sentences().value(index); });
    document_->run_now();
}

void MainWindow::save(bool ask) {
    QString file = document_->file();
    if (ask || file.isEmpty()) {
        file = QFileDialog::getSaveFileName(
            this, QStringLiteral("Save session"),
            file.isEmpty() ? QDir(session_folder()).filePath(QStringLiteral("session.headlight")) : file,
            QStringLiteral("Headlight sessions (*.headlight)"));
        if (file.isEmpty()) return;
        if (!file.endsWith(QStringLiteral(".headlight"))) file += QStringLiteral(".headlight");
    }
    save_to(file);
}

void MainWindow::export_figure(const QString& format) {
    if (page_ == Page::corpus && corpus_) return corpus_->export_button().click();
    if (page_ == Page::map && map_) return map_->export_button().click();
    if (page_ == Page::sweep && sweeps_) return sweeps_->export_button().click();
    if (!active_pane().shown()) return status_->say(QStringLiteral("There is nothing to export yet"));
    auto* dialog = new ExportDialog(*document_, *jobs_, *active_pane().shown(), active_pane().canvas().viewport()->size(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    if (const int known = dialog->format().findData(format); known >= 0) dialog->format().setCurrentIndex(known);
    connect(dialog, &ExportDialog::written, this,
            [this](const QString& file) { status_->say(QStringLiteral("Wrote %1").arg(file)); });
    dialog->open();
}

void MainWindow::generate() {
    if (const auto why = document_->generate(prompt_bar_->generate_settings().settings()))
        show_failure({QStringLiteral("Continuing the text"), *why});
}

void MainWindow::copy_image() {
    if (!active_pane().shown()) return status_->say(QStringLiteral("There is nothing to copy yet"));
    const Recipe recipe = *active_pane().shown();
    const figure::Selection selection = without_hover(document_->selection().get());
    figure::ExportOptions output;
    output.style = style_for(Appearance::instance().theme(), *document_);
    output.size_px = QSizeF(active_pane().canvas().viewport()->width(), 0);
    jobs_->start(Jobs::Lane::file, QStringLiteral("Copying the picture"),
                 [this, recipe, selection, output](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
                     const auto figure = figure::make_figure(recipe.trace, recipe.state, cancel);
                     const auto provenance = figure::provenance_of(*recipe.trace, request_for(recipe, selection, output), "png");
                     const QImage image =
                         figure::export_image(*figure, selection_for(recipe, selection), provenance, output, cancel);
                     return [this, image] {
                         QApplication::clipboard()->setImage(image);
                         status_->say(QStringLiteral("Copied the picture"));
                     };
                 });
}

QString MainWindow::command_for_shown() const {
    const auto& shown = const_cast<MainWindow*>(this)->active_pane().shown();
    if (!shown) return {};
    figure::ExportOptions output;
    output.style = style_for(Appearance::instance().theme(), *document_);
    const auto request = request_for(*shown, document_->selection().get(), output);
    return QString::fromStdString(figure::command_of(*shown->trace, request, "svg"));
}

void MainWindow::start_tour() {
    if (tour_) tour_->end();  // begun again while it is open
    tour_ = new Tour(*this);
    tour_->start();
}

}  // namespace headlight::ui
