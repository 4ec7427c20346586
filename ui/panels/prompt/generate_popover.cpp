// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/prompt/generate_popover.h"

#include "ui/style/fields_settings.h"

#include <QVBoxLayout>

namespace headlight::ui {
namespace {

constexpr char stored_in[] = "generate";

}  // namespace

GeneratePopover::GeneratePopover(QWidget* parent)
    : Popover(parent), form_(new Form<model::GenerateOptions>({}, Irrelevant::disabled)) {
    setAccessibleName(QStringLiteral("How the text is continued"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 14, 16, 14);
    column->addWidget(form_);
    for (auto* box : form_->findChildren<QAbstractSpinBox*>()) box->setFixedWidth(110);
    dynamic_cast<QDoubleSpinBox&>(*form_->row("temperature")).setSingleStep(0.1);
    dynamic_cast<QDoubleSpinBox&>(*form_->row("top-p")).setSingleStep(0.05);
    model::GenerateOptions options{.tokens = 20};
    restore_fields(stored_in, options);
    form_->show(options);
    connect(form_, &FormRows::changed, this, [this] { store_fields(stored_in, settings()); });
}

model::GenerateOptions GeneratePopover::settings() const {
    model::GenerateOptions options;
    form_->read_into(options);
    return options;
}

QSpinBox& GeneratePopover::tokens() { return dynamic_cast<QSpinBox&>(*form_->row("tokens")); }

void GeneratePopover::open_below(QWidget* button) {
    show_below(button, Qt::RightEdge);
    tokens().setFocus();
    tokens().selectAll();
}

}  // namespace headlight::ui
