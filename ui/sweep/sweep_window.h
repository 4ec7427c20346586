// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/sweep/sweep_figure.h"
#include "headlight/intervention/sweep/cell_edit.h"
#include "ui/canvas/figure_canvas.h"
#include "ui/canvas/recipe.h"
#include "ui/document/document.h"
#include "ui/document/session.h"
#include "ui/sweep/largest_cells.h"
#include "ui/sweep/sweep_form.h"
#include "ui/sweep/sweeps_of.h"

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QTimer>
#include <QUndoStack>
#include <QWidget>

#include <memory>
#include <optional>

namespace headlight::ui {

/// The page of sweeps: what to sweep at the left, the figure that fills as cells arrive in the middle, and at the right, or below
/// it in a narrow window, the largest cells. Stopping keeps the cells that are there, and the sweep can go on. A click on a cell
/// or its row selects its head, layer and tokens in the window and offers its edit as a line of a recipe.
class SweepWindow : public QWidget {
    Q_OBJECT
public:
    SweepWindow(Document&, Jobs&, QWidget* parent = nullptr);
    ~SweepWindow() override;

    void ask(const SweepAsk&);
    /// What the form asks for, without the texts of the window.
    intervention::SweepRequest request() const { return form_->own_request(); }
    /// What is on screen, for a session; none: nothing, of another model, or more than a session keeps.
    std::optional<SweepNumbers> numbers() const;
    /// Those of a session, or what the page begins with; there is nothing to undo then. The numbers appear when the model and its
    /// text are there.
    void restore(const std::optional<intervention::SweepRequest>&, std::optional<SweepNumbers>);
    QUndoStack& undo_stack() { return undo_; }
    /// Runs what the form asks for; the previous figure stays until the first cells are there.
    void start();
    void stop();
    /// The current figure, as it is now.
    Exportable exportable() const;
    void say_written(const QString& file);
    QString command() const;
    /// Selects a cell, as a click does.
    void choose_cell(std::size_t cell);

    SweepForm& form() { return *form_; }
    FigureCanvas& canvas() { return *canvas_; }
    QLabel& forecast() { return *forecast_; }
    QLabel& message() { return *message_; }
    LargestCells& largest() { return *largest_; }
    QPushButton& start_button() { return *start_; }
    QPushButton& stop_button() { return *stop_; }
    QPushButton& go_on_button() { return *go_on_; }
    QPushButton& export_button() { return *export_; }
    /// The numbers on screen; null: none yet.
    const figure::SweepPtr& result() const { return result_; }
    const std::shared_ptr<intervention::SweepRun>& sweep() const { return run_; }

Q_SIGNALS:
    void session_changed();  ///< request() or numbers()
    void export_asked(const headlight::ui::Exportable& what);
    void text_asked();  ///< what is selected, on the page of the text
    void explanation_asked(const QString& title, const QString& text);

protected:
    void keyPressEvent(QKeyEvent*) override;
    void showEvent(QShowEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    /// A sweep: the request as it was started, and with every answer named.
    struct Shown {
        intervention::SweepRequest started, asked;
        OpenModel opened;
        std::string dtype;
    };
    void build();
    void connect_parts();
    void follow_window();
    void look_at_request();
    void put_request(const intervention::SweepRequest&);
    void follow_selection();
    void ask_forecast();
    void forecast_now();
    void run(Shown, std::shared_ptr<intervention::SweepRun>);
    void go_on();
    void end_run();
    void keep_numbers();
    void read_numbers();
    std::string dtype() const;
    void refresh();
    void take_figure(figure::SweepPtr, std::shared_ptr<figure::Figure>);
    void show_failed(Jobs::Lane, const Failure&);
    void show_work();
    void show_cell();
    /// How many query heads read what the cell edits of a head.
    std::int64_t readers_of(const intervention::SweepCell&) const;
    void select_in_window(const intervention::SweepCell&);
    void use_edit();
    /// The text that the sweep edits is the window's: a cell is a line of its recipe.
    bool edits_window() const;
    void restyle();
    void say(const QString&, bool wrong = false);
    bool of_open_model() const { return shown_ && shown_->opened.model == document_.model().model; }

    Document& document_;
    Jobs& jobs_;
    SelectionModel selection_;  ///< of the figure alone
    std::shared_ptr<intervention::SweepRun> run_;
    std::optional<Shown> shown_;
    figure::SweepPtr result_;
    std::optional<SweepNumbers> numbers_;  ///< of result_
    std::optional<SweepNumbers> to_read_;  ///< of a session, until they are on screen: those that cannot be used stay in it
    bool reads_ = false;                   ///< or has tried to
    std::optional<std::size_t> cell_;      ///< selected
    std::string offered_for_;              ///< the texts whose likeliest tokens the fields offer
    quint64 started_ = 0;                  ///< counts starts: a job that is no longer wanted hands nothing over
    bool stopping_ = false, cannot_ = false;
    QTimer frames_, pause_;
    QUndoStack undo_;
    intervention::SweepRequest initial_, last_;  ///< request() of a new page, and as undo knows it
    bool restoring_ = false;
    friend class SweepStep;

    SweepForm* form_;
    FigureCanvas* canvas_;
    LargestCells* largest_;
    QSplitter* results_;  ///< figure and largest cells
    QLabel *forecast_, *message_, *pointed_;
    QProgressBar* progress_;
    QPushButton *start_, *stop_, *go_on_, *export_, *copy_command_;
};

}  // namespace headlight::ui
