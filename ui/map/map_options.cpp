// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/map/map_options.h"

#include "ui/style/widgets.h"

#include <QFormLayout>
#include <QSignalBlocker>

#include <limits>

namespace headlight::ui {
namespace {

QSpinBox* count_box(int most, int step, const QString& zero) {
    auto* box = new QSpinBox;
    box->setRange(0, most);
    box->setSingleStep(step);
    box->setGroupSeparatorShown(true);
    box->setSpecialValueText(zero);
    box->setKeyboardTracking(false);
    return box;
}

}  // namespace

MapOptionsPopover::MapOptionsPopover(QWidget* parent)
    : Popover(parent),
      tokens_(count_box(10'000'000, 500, QStringLiteral("all"))),
      seed_(count_box(std::numeric_limits<int>::max(), 1, {})),
      iterations_(count_box(100'000, 50, QStringLiteral("default of the method"))),
      attention_(new QComboBox),
      scale_(new QComboBox),
      one_head_(new QCheckBox(QStringLiteral("The selected head alone"))),
      rotated_(new QCheckBox(QStringLiteral("After the rotation by positions"))),
      with_apart_(new QCheckBox(QStringLiteral("Count first and special tokens"))) {
    add_choices(*attention_, model::stacks);
    add_choices(*scale_, map::scale_choices);
    tokens_->setAccessibleName(QStringLiteral("Tokens at most"));
    tokens_->setToolTip(QStringLiteral("Whole texts are drawn with the seed up to this many tokens"));
    seed_->setAccessibleName(QStringLiteral("Seed"));
    seed_->setToolTip(QStringLiteral("Of the choice of texts, and of t-SNE and UMAP"));
    iterations_->setAccessibleName(QStringLiteral("Iterations"));
    attention_->setAccessibleName(QStringLiteral("Attention"));
    scale_->setAccessibleName(QStringLiteral("Scale"));
    one_head_->setToolTip(QStringLiteral("Queries and keys of one head fit into memory for far more tokens than those of all"));
    rotated_->setToolTip(QStringLiteral("Rotary models: q·k after the rotation has the distance of the tokens in it"));
    with_apart_->setToolTip(QStringLiteral(
        "They are attention sinks and outliers; unless counted, they are excluded from axes, neighbours and quality"));
    auto* form = new QFormLayout(this);
    form->setContentsMargins(16, 12, 16, 12);
    form->setHorizontalSpacing(16);
    form->addRow(QStringLiteral("Tokens at most"), tokens_);
    form->addRow(one_head_);
    form->addRow(QStringLiteral("Seed"), seed_);
    form->addRow(QStringLiteral("Attention"), attention_);
    form->addRow(QStringLiteral("Scale"), scale_);
    form->addRow(QStringLiteral("Iterations"), iterations_);
    form->addRow(rotated_);
    form->addRow(with_apart_);
    for (QSpinBox* box : {tokens_, seed_, iterations_}) connect(box, &QSpinBox::valueChanged, this, &MapOptionsPopover::changed);
    for (QComboBox* box : {attention_, scale_}) connect(box, &QComboBox::currentIndexChanged, this, &MapOptionsPopover::changed);
    for (QCheckBox* box : {one_head_, rotated_, with_apart_})
        connect(box, &QCheckBox::toggled, this, &MapOptionsPopover::changed);
}

void MapOptionsPopover::show_order(const MapOrder& order) {
    const QSignalBlocker quiet(this);
    tokens_->setValue(static_cast<int>(order.gather.budget));
    seed_->setValue(static_cast<int>(order.options.seed));
    iterations_->setValue(order.options.iterations);
    attention_->setCurrentIndex(std::max(0, attention_->findData(static_cast<int>(order.gather.stack))));
    scale_->setCurrentIndex(std::max(0, scale_->findData(static_cast<int>(order.options.scale))));
    one_head_->setChecked(order.one_head);
    rotated_->setChecked(order.gather.rotated);
    with_apart_->setChecked(order.options.with_apart);
}

void MapOptionsPopover::read_into(MapOrder& order) const {
    order.gather.budget = tokens_->value();
    order.gather.seed = order.options.seed = static_cast<std::uint64_t>(seed_->value());
    order.one_head = one_head_->isChecked();
    order.gather.rotated = rotated_->isChecked();
    order.gather.stack = attention_->isEnabled() ? chosen_value<model::Stack>(*attention_) : model::Stack::whole;
    order.options.scale = chosen_value<map::ScaleChoice>(*scale_);
    order.options.iterations = iterations_->value();
    order.options.with_apart = with_apart_->isChecked();
}

void MapOptionsPopover::bound_to(bool two_texts, bool rotary) {
    attention_->setEnabled(two_texts);
    attention_->setToolTip(two_texts ? QString() : QStringLiteral("The model has one attention"));
    rotated_->setEnabled(rotary);
}

}  // namespace headlight::ui
