// SPDX-License-Identifier: GPL-3.0-or-later
// Sweeps from what the window shows.
#include "ui/dialogs/about.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/style/widgets.h"
#include "ui/window/main_window.h"

namespace headlight::ui {

void MainWindow::add_sweep_actions() {
    add(Command::sweep, QStringLiteral("Sweep …"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_W), [this] { open_sweeps(); });
    const auto offer = [this](Command command, const QString& title, intervention::Grid grid) {
        add(command, title, {}, [this, grid] {
            const auto& model = document_->model().model;
            if (!model) return;
            for (const OfferedSweep& offered : sweeps_of(document_->selection().get().focus, model->config()))
                if (offered.ask.grid == grid) sweep(offered.ask);
        });
    };
    using intervention::Grid;
    offer(Command::sweep_heads, QStringLiteral("Sweep all heads"), Grid::z);
    offer(Command::sweep_queries, QStringLiteral("Sweep this head's queries by position"), Grid::q_by_position);
    offer(Command::sweep_edges, QStringLiteral("Sweep every edge of this head"), Grid::pattern_by_edge);
    offer(Command::sweep_neurons, QStringLiteral("Sweep the neurons of this layer"), Grid::neuron);
    offer(Command::sweep_stream, QStringLiteral("Sweep the stream by layer and position"), Grid::resid_pre);
}

void MainWindow::open_sweeps() {
    if (!sweeps_) {
        sweeps_ = new SweepWindow(*document_, *jobs_, this);
        if (sweep_request_) sweeps_->restore(sweep_request_, sweep_numbers_);
        connect(sweeps_, &SweepWindow::session_changed, this, [this] {
            document_->set_modified(true);
            autosave_->changed();
        });
        connect(sweeps_, &SweepWindow::export_asked, this, [this](const Exportable& what) {
            auto* dialog = new ExportDialog(*document_, *jobs_, what, sweeps_->canvas().viewport()->size(), sweeps_);
            dialog->setAttribute(Qt::WA_DeleteOnClose);
            connect(dialog, &ExportDialog::written, sweeps_, &SweepWindow::say_written);
            dialog->open();
        });
        connect(sweeps_, &SweepWindow::explanation_asked, this,
                [this](const QString& title, const QString& text) { show_text_window(sweeps_, title, text); });
        connect(jobs_.get(), &Jobs::finished, sweeps_, [this](Jobs::Lane lane) {
            if (lane == Jobs::Lane::sweep && sweeps_->isHidden())
                status_->say(QStringLiteral("The sweep has ended: Edit › Sweep shows it"));
        });
    }
    bring_to_front(*sweeps_);
}

void MainWindow::sweep(const SweepAsk& what) {
    open_sweeps();
    sweeps_->ask(what);
}

}  // namespace headlight::ui
