// SPDX-License-Identifier: GPL-3.0-or-later
// Sweeps from what the window shows.
#include "ui/window/main_window.h"

namespace headlight::ui {

void MainWindow::add_sweep_actions() {
    add(Command::sweep, QStringLiteral("Sweep …"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_W),
        [this] { show_page(Page::sweep); });
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

void MainWindow::sweep(const SweepAsk& what) {
    show_page(Page::sweep);
    sweeps_->ask(what);
}

}  // namespace headlight::ui
