// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/prompt/memory_form.h"

#include "headlight/base/memory.h"
#include "headlight/base/memory_account.h"
#include "headlight/model/as_used.h"
#include "headlight/trace/remade.h"
#include "ui/panels/prompt/prompt_bar.h"
#include "ui/style/real_field.h"
#include "ui/style/widgets.h"

#include <QFormLayout>
#include <QSettings>
#include <QVBoxLayout>

namespace headlight::ui {

namespace {

constexpr int notes_width = 340;
const QString setting = QStringLiteral("memory/budget-gb");

}  // namespace

std::vector<std::pair<QString, QString>> memory_by_part(const trace::Trace& trace) {
    std::vector<std::pair<QString, QString>> parts;
    for (const EnumRow<MemoryUse>& row : memory_uses)
        if (const std::int64_t bytes = memory_in_use(row.value); bytes > 0)
            parts.emplace_back(QString::fromUtf8(row.title), memory_text(bytes));
    const model::Model& model = *trace.model();
    if (const std::int64_t bytes = model::bytes_as_used(model) + model.report().bytes_mapped; bytes > 0)
        parts.emplace_back(QStringLiteral("Weights, in the file"), memory_text(bytes));
    return parts;
}

QStringList memory_notes(const trace::Trace& trace) {
    QStringList notes;
    if (trace::remade_now(trace).any)
        notes << QStringLiteral("Layers are recomputed when a view reads them, because the text is long for the memory budget");
    if (model::bytes_as_used(*trace.model()) > 0)
        notes << QStringLiteral("Weights are converted as they are used, because all at once would exceed the memory budget");
    return notes;
}

void take_stored_memory_budget() {
    const double stored = QSettings().value(setting).toDouble();
    if (stored > 0 && !memory_budget_given()) set_memory_budget(std::int64_t(stored * 1e9));
}

MemoryForm::MemoryForm(Document& document, QWidget* parent)
    : QWidget(parent),
      document_(document),
      names_(new QLabel),
      sizes_(new QLabel),
      notes_(wrapped_label("note")),
      budget_(new RealField) {
    auto* form = new QFormLayout(this);
    form->setContentsMargins(16, 14, 16, 14);
    form->setHorizontalSpacing(24);
    form->setVerticalSpacing(10);
    sizes_->setAlignment(Qt::AlignRight | Qt::AlignTop);
    form->addRow(names_, sizes_);
    budget_->setRange(0, 1e5);
    budget_->setDecimals(2);
    budget_->setSuffix(QStringLiteral(" GB"));
    budget_->setSpecialValueText(QStringLiteral("half of free"));
    budget_->setFixedWidth(130);
    budget_->setAccessibleName(QStringLiteral("Memory budget"));
    budget_->setToolTip(
        QStringLiteral("What weights, runs and recomputed layers may take together; 0: half of what is free at "
                       "the start. With less, layers and weights are computed as they are used: slower, with "
                       "the same numbers"));
    form->addRow(QStringLiteral("Memory budget"), budget_);
    notes_->setFixedWidth(notes_width);
    form->addRow(notes_);
    budget_->setKeyboardTracking(false);  // not at every digit
    budget_->setValue(memory_budget_given() ? double(memory_budget()) / 1e9 : 0);
    connect(budget_, &QDoubleSpinBox::valueChanged, this, [this](double gigabytes) {
        set_memory_budget(std::int64_t(gigabytes * 1e9));
        keep_to_budget();
        QSettings().setValue(setting, gigabytes);
        show_parts();
    });
}

MemoryPopover::MemoryPopover(Document& document, QWidget* parent) : Popover(parent), form_(new MemoryForm(document)) {
    setAccessibleName(QStringLiteral("Memory"));
    new_column(this, {0, 0, 0, 0})->addWidget(form_);
}

void MemoryPopover::open_below(QWidget* button) {
    form_->show_parts();
    show_below(button, Qt::RightEdge);
    form_->budget().setFocus();
    form_->budget().selectAll();
}

void MemoryForm::show_parts() {
    QStringList names, sizes, notes;
    if (const auto& run = document_.run_trace()) {
        for (const auto& [name, size] : memory_by_part(*run)) {
            names << name;
            sizes << size;
        }
        notes = memory_notes(*run);
    }
    names << QStringLiteral("Program in all, pages of files apart");
    sizes << memory_text(own_memory());
    if (!memory_budget_given()) notes.prepend(QStringLiteral("Half of free memory was %1").arg(memory_text(memory_budget())));
    notes << QStringLiteral(
        "Beyond the budget what is kept for the next run goes first, then results of views, pictures and recomputed layers, which "
        "are made again when a view needs them. For weights and runs a new budget holds from the next model and the next run on");
    names_->setText(names.join(u'\n'));
    sizes_->setText(sizes.join(u'\n'));
    notes_->setText(notes.join(QStringLiteral(".\n")) + u'.');
    notes_->setFixedHeight(notes_->heightForWidth(notes_width));  // a form gives a text that wraps the height of fewer lines
    adjustSize();
}

}  // namespace headlight::ui
