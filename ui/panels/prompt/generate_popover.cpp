// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/prompt/generate_popover.h"

#include <QFormLayout>

namespace headlight::ui {

GeneratePopover::GeneratePopover(QWidget* parent)
    : Popover(parent),
      tokens_(new QSpinBox),
      top_k_(new QSpinBox),
      seed_(new QSpinBox),
      temperature_(new QDoubleSpinBox),
      top_p_(new QDoubleSpinBox),
      stop_at_end_(new QCheckBox(QStringLiteral("Stop where the model ends the text"))) {
    setAccessibleName(QStringLiteral("How the text is continued"));
    auto* form = new QFormLayout(this);
    form->setContentsMargins(16, 14, 16, 14);
    form->setHorizontalSpacing(16);
    form->setVerticalSpacing(8);
    const auto row = [&](const QString& text, QAbstractSpinBox* field, const QString& tip) {
        field->setFixedWidth(110);
        field->setToolTip(tip);
        field->setAccessibleName(text);
        form->addRow(text, field);
    };
    tokens_->setRange(1, ContinueSettings::most_tokens);
    temperature_->setRange(0, 10);
    temperature_->setSingleStep(0.1);
    temperature_->setSpecialValueText(QStringLiteral("0: greedy"));
    top_k_->setRange(0, 1'000'000);
    top_k_->setSpecialValueText(QStringLiteral("all"));
    top_p_->setRange(0.01, 1);
    top_p_->setSingleStep(0.05);
    seed_->setRange(0, 2'000'000'000);
    row(QStringLiteral("Tokens"), tokens_, QStringLiteral("At most so many are added"));
    row(QStringLiteral("Temperature"), temperature_, QStringLiteral("How freely tokens are drawn; 0: always the likeliest"));
    row(QStringLiteral("Top k"), top_k_, QStringLiteral("Draw from the k likeliest tokens only"));
    row(QStringLiteral("Top p"), top_p_,
        QStringLiteral("Draw from the likeliest tokens that together reach this probability; 1: from all"));
    row(QStringLiteral("Seed"), seed_, QStringLiteral("Equal seeds draw equal tokens"));
    form->addRow(stop_at_end_);

    const ContinueSettings stored = ContinueSettings::stored();
    tokens_->setValue(int(stored.draw.tokens));
    temperature_->setValue(stored.draw.temperature);
    top_k_->setValue(int(stored.draw.top_k));
    top_p_->setValue(stored.draw.top_p);
    seed_->setValue(int(stored.draw.seed));
    stop_at_end_->setChecked(stored.stop_at_end);
    for (QSpinBox* box : {tokens_, top_k_, seed_}) connect(box, &QSpinBox::valueChanged, this, &GeneratePopover::take);
    for (QDoubleSpinBox* box : {temperature_, top_p_}) connect(box, &QDoubleSpinBox::valueChanged, this, &GeneratePopover::take);
    connect(stop_at_end_, &QCheckBox::toggled, this, &GeneratePopover::take);
    take();
}

ContinueSettings GeneratePopover::settings() const {
    ContinueSettings s;
    s.draw.tokens = tokens_->value();
    s.draw.temperature = temperature_->value();
    s.draw.top_k = top_k_->value();
    s.draw.top_p = top_p_->value();
    s.draw.seed = std::uint64_t(seed_->value());
    s.stop_at_end = stop_at_end_->isChecked();
    return s;
}

void GeneratePopover::open_below(QWidget* button) {
    show_below(button, Qt::RightEdge);
    tokens_->setFocus();
    tokens_->selectAll();
}

void GeneratePopover::take() {
    // Nothing is drawn at temperature 0.
    for (QWidget* part : std::initializer_list<QWidget*>{top_k_, top_p_, seed_}) part->setEnabled(temperature_->value() > 0);
    settings().store();
}

}  // namespace headlight::ui
