// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"
#include "ui/style/popover.h"

#include <QDoubleSpinBox>
#include <QLabel>
#include <QWidget>

#include <utility>

namespace headlight::ui {

/// Who has the program's memory, and how much weights, traces and what makes them quick may take.
class MemoryForm : public QWidget {
    Q_OBJECT
public:
    explicit MemoryForm(Document&, QWidget* parent = nullptr);
    /// As it is now.
    void show_parts();
    /// In GB; 0: half of what was free.
    QDoubleSpinBox& budget() { return *budget_; }

private:
    Document& document_;
    QLabel *names_, *sizes_, *notes_;
    QDoubleSpinBox* budget_;
};

/// The same below a button.
class MemoryPopover : public Popover {
    Q_OBJECT
public:
    MemoryPopover(Document&, QWidget* parent);
    void open_below(QWidget* button);
    QDoubleSpinBox& budget() { return form_->budget(); }

private:
    MemoryForm* form_;
};

/// What takes memory, of all that is open, and how much: "Tensors of runs", "1.9 MB"; and what of the run's model is in its
/// files.
std::vector<std::pair<QString, QString>> memory_by_part(const trace::Trace&);
/// What was not kept, in sentences; empty: nothing.
QStringList memory_notes(const trace::Trace&);
/// The setting that was made in an earlier window, unless the command line has one.
void take_stored_memory_budget();

}  // namespace headlight::ui
