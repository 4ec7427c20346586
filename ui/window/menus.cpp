// SPDX-License-Identifier: GPL-3.0-or-later
// Where the actions stand: the menu bar, the menu of the first row, the menu of models; which of them are on, and which
// cannot work and why.
#include "ui/canvas/recipe.h"
#include "ui/document/edits/edit_choices.h"
#include "ui/document/examples.h"
#include "ui/style/appearance.h"
#include "ui/window/main_window.h"

#include "headlight/model/blas_kernels.h"
#include "headlight/model/locate.h"
#include "headlight/model/outline.h"

#include <QFileInfo>
#include <QMenu>
#include <QSettings>

namespace headlight::ui {
namespace {

std::optional<model::ComputeType> compute_type_of(Command command) {
    for (const auto& row : compute_commands)
        if (row.command == command) return row.type;
    return std::nullopt;
}

}  // namespace

void MainWindow::fill_model_menu() {
    QMenu* menu = top_bar_->model_button().menu();
    menu->clear();
    const QString built_in = QString::fromLatin1(model::default_model_name);
    QStringList names{built_in};
    for (const QString& recent : QSettings().value(QStringLiteral("recent/models")).toStringList()) {
        const QString place = QString::fromStdString(model::without_tower(recent.toStdString()).string());
        if (!names.contains(recent) && !(recent.startsWith('/') && !QFileInfo::exists(place))) names << recent;
    }
    for (const QString& name : names) {
        QAction* action =
            menu->addAction(name.startsWith('/') ? QFileInfo(name).fileName() : name, this, [this, name] { open(name); });
        action->setCheckable(true);
        action->setChecked(name == document_->model().reference);
        action->setToolTip(name);
    }
    const auto& open_one = document_->model().model;
    action(Command::other_tower).setVisible(open_one && open_one->config().family.starts_with("clip"));
    menu->addAction(&action(Command::other_tower));
    menu->setToolTipsVisible(true);
    menu->addSeparator();
    menu->addAction(&action(Command::open_model));
    menu->addAction(&action(Command::open_folder));
    menu->addSeparator();
    connect(menu->addAction(QStringLiteral("About this model")), &QAction::triggered, &action(Command::page_model),
            &QAction::trigger);
}

/// The menu bar; the menu of the first row is the same.
void MainWindow::fill_menus() {
    const auto put = [this](QMenu* into, std::initializer_list<std::optional<Command>> commands) {
        for (const auto& command : commands) {
            if (command)
                into->addAction(&action(*command));
            else
                into->addSeparator();
        }
    };
    using enum Command;
    constexpr std::nullopt_t line = std::nullopt;
    QMenu* file = menus_->add(QStringLiteral("&File"));
    QMenu* edit = menus_->add(QStringLiteral("&Edit"));
    QMenu* view = menus_->add(QStringLiteral("&View"));
    QMenu* analyse = menus_->add(QStringLiteral("&Analyse"));
    QMenu* help = menus_->add(QStringLiteral("&Help"));
    const auto inside = [](QMenu* menu, const QString& title) {
        QMenu* made = menu->addMenu(title);
        made->setToolTipsVisible(true);
        return made;
    };

    put(file, {open_model, open_folder, open_picture, open_session});
    recent_ = file->addMenu(QStringLiteral("Recent sessions"));
    fill_recent();
    lost_ = file->addMenu(QStringLiteral("Sessions that ended unexpectedly"));
    lost_->menuAction()->setVisible(false);
    put(file, {reopen});
    QMenu* examples = file->addMenu(QStringLiteral("Example sentences"));
    for (int i = 0; i < int(example_sentences().size()); ++i)
        connect(examples->addAction(example_sentences()[i]), &QAction::triggered, examples_[std::size_t(i)], &QAction::trigger);
    put(file, {add_texts, line, save, save_as, line, export_figure, copy_image, copy_command, line, quit});
    put(edit, {undo, redo, line, edit_text, pair, line, run, stop, generate, generate_settings, line, memory});
    QMenu* compute = inside(edit, QStringLiteral("Compute in"));
    for (const auto& row : compute_commands) put(compute, {row.command});
    put(edit, {line, palette});
    put(analyse, {compare, side_next, side_before, compare_bias, compare_paraphrase, compare_stop, line});
    put(inside(analyse, QStringLiteral("Edits of the run")),
        {edits, line, edit_selected, edit_typed, edits_switch, edits_clear, line, edits_open, edits_save});
    put(analyse, {sweep});
    put(inside(analyse, QStringLiteral("Sweep what is selected")),
        {sweep_heads, sweep_queries, sweep_edges, sweep_neurons, sweep_stream});
    put(analyse, {corpus, map, tensors, line, search_tokens, find_heads, interesting});
    put(view, {page_text, page_corpus, page_map, page_sweep, page_model, line});
    for (std::size_t q = 0; q < figure::view_questions().size(); ++q) {
        const figure::ViewQuestion& question = figure::view_questions()[q];
        QMenu* of = inside(view, QString::fromStdString(question.title));
        of->addAction(question_actions_[q]);
        of->addSeparator();
        for (const figure::ViewPlace& place : question.places) {
            if (place.presets.size() > 1) of->addSection(QString::fromStdString(place.title));
            for (const figure::ViewPreset& preset : place.presets) of->addAction(view_actions_.at(preset.view));
        }
    }
    for (const figure::ViewPlace& place : figure::model_views().places)
        for (const figure::ViewPreset& preset : place.presets) view->addAction(view_actions_.at(preset.view));
    put(view, {line,      attention_decoder, attention_encoder, attention_cross, attention_next, line,    split,    heads_panel,
               inspector, reset_panels,      predictions,       menu_bar,        line,           zoom_in, zoom_out, zoom_fit,
               line,      transfer,          hide_sinks,        hide_special,    words,          subject});
    put(inside(view, QStringLiteral("Selection")), {layer_up, layer_down, head_left, head_right, query_before, query_after, line,
                                                    all_heads, activate_matching, save_filter, line, clear_pins});
    put(inside(view, QStringLiteral("Colours")), {appearance_system, appearance_light, appearance_dark, line, heads_category10,
                                                  heads_okabe_ito, line, ramp_ink, ramp_viridis, ramp_cividis, ramp_magma});
    put(help, {tour, what, keys, about});

    QMenu* all = top_bar_->menu_button().menu();
    for (QMenu* menu : {file, edit, view, analyse, help}) all->addMenu(menu);
    put(all, {line, menu_bar});
}

void MainWindow::fill_recent() {
    recent_->clear();
    for (const QString& file : QSettings().value(QStringLiteral("recent/sessions")).toStringList())
        if (QFileInfo::exists(file)) recent_->addAction(QFileInfo(file).completeBaseName(), this, [this, file] { open(file); });
    recent_->setEnabled(!recent_->isEmpty());
}

std::optional<bool> MainWindow::state_of(Command command) const {
    const ViewOptions& o = document_->options();
    using enum Command;
    using figure::HeadPalette;
    using figure::Ramp;
    using Mode = Appearance::Mode;
    const Mode mode = Appearance::instance().mode();
    if (const auto type = compute_type_of(command)) return document_->compute_type() == *type;
    switch (command) {
        case page_text: return page_ == Page::text;
        case page_corpus: return page_ == Page::corpus;
        case page_map: return page_ == Page::map;
        case page_sweep: return page_ == Page::sweep;
        case page_model: return page_ == Page::model;
        case compare: return document_->options().other.on;
        case pair: return document_->prompt().has_pair;
        case split: return document_->views().split;
        case edits: return !edits_->isHidden();
        case edits_switch: return any_edit(document_->edits());
        case heads_panel: return !heads_->isHidden();
        case inspector: return !inspector_->isHidden();
        case menu_bar: return menus_->kept();
        case hide_sinks: return o.pattern.hide_sinks;
        case hide_special: return o.pattern.hide_special;
        case predictions: return o.predictions;
        case words: return o.pattern.merge_words;
        case attention_decoder: return document_->attention() == model::Stack::decoder;
        case attention_encoder: return document_->attention() == model::Stack::encoder;
        case attention_cross: return document_->attention() == model::Stack::cross;
        case heads_category10: return o.palette == HeadPalette::category10;
        case heads_okabe_ito: return o.palette == HeadPalette::okabe_ito;
        case ramp_ink: return o.ramp == Ramp::ink;
        case ramp_viridis: return o.ramp == Ramp::viridis;
        case ramp_cividis: return o.ramp == Ramp::cividis;
        case ramp_magma: return o.ramp == Ramp::magma;
        case appearance_system: return mode == Mode::system;
        case appearance_light: return mode == Mode::light;
        case appearance_dark: return mode == Mode::dark;
        default: return std::nullopt;
    }
}

QString MainWindow::why_not(Command command) const {
    const OpenModel& open = document_->model();
    const bool pictures = reads_pictures(open), saved = open.model && !model::has_weights(*open.model);
    const QString name = open.model ? QString::fromStdString(open.model->config().name) : QString();
    ViewPane& pane = const_cast<MainWindow*>(this)->active_pane();
    const figure::Selection& s = document_->selection().get();
    const auto unless = [](bool works, const QString& why) { return works ? QString() : why; };
    const QString no_text = QStringLiteral("There is no text yet");
    using enum Command;
    if (const auto type = compute_type_of(command))
        return saved || !open.model ? QStringLiteral("No model is open that can run a text")
               : model::has_bfloat16_products(*type) && !model::computes_bfloat16_products()
                   ? QStringLiteral("This processor has no units that multiply in bfloat16")
                   : QString();
    switch (command) {
        case page_sweep: return why_not(sweep);
        case tensors: return unless(open.model && !saved, QStringLiteral("A saved trace has no weights"));
        case open_picture:
            return unless(pictures || !open.model,
                          QStringLiteral("%1 reads text: open a model that reads pictures first").arg(name));
        case add_texts:
        case pair: return unless(!pictures, QStringLiteral("%1 reads a picture instead of a text").arg(name));
        case export_figure:
        case copy_image:
        case copy_command: return unless(pane.shown().has_value(), QStringLiteral("There is no figure yet"));
        case run: return unless(open.model && document_->has_input(), no_text);
        case stop: return unless(jobs_->busy(Jobs::Lane::model), QStringLiteral("Nothing is running"));
        case generate: {
            const auto why = open.model ? document_->why_no_continuation() : std::nullopt;
            return why ? QString::fromStdString(why->problem + (why->found.empty() ? "" : ": " + why->found)) : QString();
        }
        case search_tokens:
        case predictions: return unless(document_->trace() && !pictures, no_text);
        case zoom_in: return unless(pane.canvas().can_zoom(1), QStringLiteral("The figure is at its largest"));
        case zoom_out: return unless(pane.canvas().can_zoom(-1), QStringLiteral("The figure is at its smallest"));
        case zoom_fit: return unless(pane.canvas().shown() != nullptr, QStringLiteral("There is no figure yet"));
        case compare:
            return unless(document_->trace() && !saved, saved ? QStringLiteral("A saved trace has no model to run B") : no_text);
        case compare_bias:
        case compare_paraphrase:
            return unless(open.model && !saved && !pictures,
                          pictures ? QStringLiteral("%1 reads a picture instead of a text").arg(name)
                                   : QStringLiteral("No model is open that can run a text"));
        case sweep:
        case sweep_heads:
        case sweep_queries:
        case sweep_edges:
        case sweep_neurons:
        case sweep_stream:
            return unless(open.model && !saved && !(pictures && !open.model->config().has_unembedding),
                          pictures ? QStringLiteral("%1 gives no class logits, so there is no metric of its edits").arg(name)
                                   : QStringLiteral("No model is open that can run a text"));
        case compare_stop: return unless(document_->options().other.on, QStringLiteral("Nothing is compared"));
        case side_next:
        case side_before: return unless(document_->has_other(), QStringLiteral("Nothing is compared or edited"));
        case edit_selected:
        case edit_typed: return why_no_edits(*document_);
        case edits_open: return unless(open.model && !saved, QStringLiteral("Open a model first"));
        case edits_switch:
        case edits_save:
        case edits_clear: return unless(!document_->edits().lines.empty(), QStringLiteral("There are no edits"));
        case words:
            if (pictures) return QStringLiteral("A picture has no words");
            [[fallthrough]];
        case transfer:
        case hide_sinks:
        case hide_special:
            return unless(figure::view_spec(pane.view()).needs.pattern,
                          QStringLiteral("The %1 view has no weight scale").arg(view_title(pane.view())));
        case layer_up:
        case layer_down:
        case head_left:
        case head_right:
        case query_before:
        case query_after:
        case all_heads:
        case interesting: return unless(document_->trace() != nullptr, no_text);
        case activate_matching:
            return unless(document_->finder().filter() != nullptr, QStringLiteral("There is no filter of heads"));
        case save_filter: {
            const QAction* save = heads_->filters().entry(QStringLiteral("save"));
            return unless(save && save->isEnabled(), QStringLiteral("There is no filter of heads"));
        }
        case clear_pins: return unless(!s.pinned_queries.empty() || !s.pinned_keys.empty(), QStringLiteral("Nothing is pinned"));
        default: return {};
    }
}

void MainWindow::refresh_actions() {
    using enum Command;
    for (const auto& [command, action] : commands_) {
        if (const auto state = state_of(command)) action->setChecked(*state);
        if (command == undo || command == redo) continue;  // the history knows
        const QString why = why_not(command);
        action->setEnabled(why.isEmpty());
        action->setToolTip(why);
    }
    for (const auto& [view, action] : view_actions_) action->setChecked(view == active_pane().view());
}

/// Views that this model or text does not have.
void MainWindow::refresh_views() {
    for (const auto& [view, action] : view_actions_) {
        action->setVisible(!figure::view_spec(view).of_pictures || reads_pictures(document_->model()));
        const QString why = tools_->views().why_not(view);
        action->setEnabled(why.isEmpty());
        action->setToolTip(why);
    }
    for (std::size_t q = 0; q < question_actions_.size(); ++q)
        question_actions_[q]->setEnabled(!tools_->views().view_of_question(q).empty());
}

}  // namespace headlight::ui
