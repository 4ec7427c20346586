// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/map/map_options.h"

#include <QVBoxLayout>

namespace headlight::ui {

MapOptionsPopover::MapOptionsPopover(QWidget* parent)
    : Popover(parent), form_(new Form<MapOrder>({"texts", "method", "dims", "preset"})) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 12, 16, 12);
    column->addWidget(form_);
    for (const char* count : {"tokens", "iterations"}) {
        auto& box = dynamic_cast<QSpinBox&>(*form_->row(count));
        box.setGroupSeparatorShown(true);
        box.setSingleStep(50);
    }
    connect(form_, &FormRows::changed, this, [this] {
        adjustSize();  // rows come and go
        Q_EMIT changed();
    });
}

void MapOptionsPopover::show_order(const MapOrder& order) {
    form_->show(order);
    adjustSize();
}

void MapOptionsPopover::read_into(MapOrder& order) const {
    form_->read_into(order);
    order.gather.seed = order.options.seed;
    if (!form_->row("attention")->isEnabled()) order.gather.stack = model::Stack::whole;
}

void MapOptionsPopover::bound_to(bool two_texts, bool rotary) {
    QWidget& attention = *form_->row("attention");
    attention.setEnabled(two_texts);
    attention.setToolTip(two_texts ? QString() : QStringLiteral("The model has one attention"));
    QWidget& rotated = *form_->row("rotated");
    rotated.setEnabled(rotary);
    rotated.setToolTip(rotary ? QString() : QStringLiteral("The model does not rotate queries and keys by position"));
}

}  // namespace headlight::ui
