// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/tools/attention_switch.h"

#include <QHBoxLayout>

namespace headlight::ui {

QString AttentionSwitch::title(model::Stack stack) {
    switch (stack) {
        case model::Stack::encoder: return tr("Encoder");
        case model::Stack::cross: return tr("Cross");
        case model::Stack::decoder:
        case model::Stack::whole: break;
    }
    return tr("Decoder");
}

QString AttentionSwitch::explanation(model::Stack stack) {
    switch (stack) {
        case model::Stack::encoder: return tr("The encoder's attention: the source looks at itself");
        case model::Stack::cross: return tr("Cross attention: the target looks at the source");
        case model::Stack::decoder:
        case model::Stack::whole: break;
    }
    return tr("The decoder's own attention: the target looks at itself");
}

AttentionSwitch::AttentionSwitch(Document& document, QWidget* parent) : QFrame(parent), document_(document) {
    setProperty("role", "segments");
    setAccessibleName(tr("Which attention is shown"));
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(2, 2, 2, 2);
    row->setSpacing(1);
    for (const model::Stack stack : order) {
        auto* button = new QToolButton;
        button->setProperty("kind", "segment");
        button->setText(title(stack));
        button->setCheckable(true);
        button->setFocusPolicy(Qt::TabFocus);
        button->setAccessibleName(tr("%1 attention").arg(title(stack)));
        button->setToolTip(tr("%1 (X: the next)").arg(explanation(stack)));
        connect(button, &QToolButton::clicked, this, [this, stack] {
            document_.set_attention(stack);
            show_document();  // a click on what is shown leaves it shown
        });
        buttons_[stack] = button;
        row->addWidget(button);
    }
    connect(&document_, &Document::changed, this, &AttentionSwitch::show_document);
    show_document();
}

void AttentionSwitch::show_document() {
    setVisible(document_.has_parts());
    for (const auto& [stack, button] : buttons_) button->setChecked(stack == document_.attention());
}

}  // namespace headlight::ui
