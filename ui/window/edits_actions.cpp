// SPDX-License-Identifier: GPL-3.0-or-later
// The edits of the run: their panel, the menu of what can be edited, recipes in files.
#include "headlight/intervention/recipe/recipe_file.h"
#include "headlight/intervention/recipe/run.h"
#include "ui/window/main_window.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QSettings>

namespace headlight::ui {

namespace {

const QString recipes_setting = QStringLiteral("recent/recipes");

QString recipes_folder() {
    const QString last = QSettings().value(recipes_setting).toString();
    return last.isEmpty() ? QDir::homePath() : last;
}

}  // namespace

void MainWindow::make_edits_actions() {
    add(Command::edits, QStringLiteral("Edits panel"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_E), [this] {
        const bool elsewhere = page_ != Page::text;
        show_page(Page::text);
        show_panel(*edits_, elsewhere || edits_->isHidden());
        if (!edits_->isHidden()) edits_->adding().setFocus();
    });
    add(Command::edit_selected, QStringLiteral("Edit what is selected …"), QKeySequence(Qt::Key_E),
        [this] { context_menus_->open_edits(); });
    add(Command::edit_typed, QStringLiteral("Type an edit"), {}, [this] {
        show_page(Page::text);
        show_panel(*edits_, true);
        edits_->adding().setFocus();
    });
    add(Command::edits_switch, QStringLiteral("Edits are on"), {}, [this] {
        EditList list = document_->edits();
        const bool on = !any_edit(list);
        for (EditLine& line : list.lines) line.on = on;
        document_->set_edits(list);
    });
    add(Command::edits_open, QStringLiteral("Open edits …"), {}, [this] {
        const QString file = QFileDialog::getOpenFileName(this, QStringLiteral("Open a recipe"), recipes_folder(),
                                                          QStringLiteral("Recipes (*.json);;All files (*)"));
        if (!file.isEmpty()) open_recipe(file);
    });
    add(Command::edits_save, QStringLiteral("Save edits …"), {}, [this] {
        QString file = QFileDialog::getSaveFileName(this, QStringLiteral("Save the edits as a recipe"),
                                                    QDir(recipes_folder()).filePath(QStringLiteral("recipe.json")),
                                                    QStringLiteral("Recipes (*.json)"));
        if (file.isEmpty()) return;
        if (QFileInfo(file).suffix().isEmpty()) file += QStringLiteral(".json");
        save_recipe(file);
    });
    add(Command::edits_clear, QStringLiteral("Remove all edits"), {}, [this] {
        EditList list = document_->edits();
        list.lines.clear();
        document_->set_edits(list);
    });
    connect(document_.get(), &Document::continued, edits_, [this] {
        if (document_->continued_under_edits()) show_panel(*edits_, true);
    });
    connect(edit_strip_, &EditStrip::list_asked, &action(Command::edits), &QAction::trigger);
    connect(edit_strip_, &EditStrip::line_asked, this, [this](std::optional<std::size_t> line) {
        show_panel(*edits_, true);
        if (line && *line < edits_->rows())
            edits_->row(*line).field().setFocus();
        else
            edits_->adding().setFocus();
    });
    connect(edits_, &EditsPanel::open_asked, &action(Command::edits_open), &QAction::trigger);
    connect(edits_, &EditsPanel::save_asked, &action(Command::edits_save), &QAction::trigger);
    connect(edits_, &EditsPanel::close_asked, this, [this] { show_panel(*edits_, false); });
}

void MainWindow::add_edit(const QString& words, bool number) {
    show_page(Page::text);
    show_panel(*edits_, true);
    document_->add_edit(words);
    if (number && edits_->rows() > 0) edits_->choose_number(edits_->rows() - 1);
}

void MainWindow::add_edits(const QStringList& words) {
    show_page(Page::text);
    show_panel(*edits_, true);
    document_->add_edits(words);
}

void MainWindow::open_recipe(const QString& file) {
    const OpenModel opened = document_->model();
    if (!opened.model) return;
    QSettings().setValue(recipes_setting, QFileInfo(file).path());
    const QString name = QFileInfo(file).fileName();
    // The hash of the weights takes a while.
    jobs_->start(Jobs::Lane::file, QStringLiteral("Opening %1").arg(name),
                 [this, file, name, opened](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
                     const intervention::Recipe recipe = intervention::read_recipe(file.toStdString());
                     intervention::check_model(recipe, *opened.model);
                     cancel.throw_if_cancelled();
                     return [this, name, recipe] {
                         EditList list = edit_list(recipe);
                         list.watched = document_->edits().watched;
                         list.against = document_->edits().against;
                         show_panel(*edits_, true);
                         document_->set_edits(list);
                         status_->say(QStringLiteral("Opened %1").arg(name));
                     };
                 });
}

void MainWindow::save_recipe(const QString& file) {
    const EditList& list = document_->edits();
    const QString name = QFileInfo(file).fileName(), doing = QStringLiteral("Saving %1").arg(name);
    for (const EditLine& line : list.lines)
        if (const auto problem = read_edit(line).problem) {
            ErrorFacts facts = *problem;
            facts.hint = "Correct the edit or remove it, then save again" + (facts.hint.empty() ? "" : ". " + facts.hint);
            return show_failure({doing, facts});
        }
    QSettings().setValue(recipes_setting, QFileInfo(file).path());
    intervention::Recipe recipe = recipe_of(list, true);
    recipe.text = document_->prompt().text.toStdString();
    jobs_->start(Jobs::Lane::file, doing,
                 [this, file, name, recipe, model = document_->model().model](const CancelToken& cancel,
                                                                              const Progress&) mutable -> Jobs::Deliver {
                     if (model) {
                         recipe.model = model->config().name;
                         recipe.sha256 = model->hash();
                     }
                     cancel.throw_if_cancelled();
                     intervention::write_recipe(recipe, file.toStdString());
                     return [this, name] { status_->say(QStringLiteral("Saved %1").arg(name)); };
                 });
}

}  // namespace headlight::ui
