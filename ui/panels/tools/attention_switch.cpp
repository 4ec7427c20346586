// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/tools/attention_switch.h"

#include "ui/style/widgets.h"

#include <QHBoxLayout>

namespace headlight::ui {

QString AttentionSwitch::title(model::Stack stack) { return QString::fromUtf8(enum_row(stack).title.data()); }
QString AttentionSwitch::explanation(model::Stack stack) { return QString::fromUtf8(enum_row(stack).note.data()); }

AttentionSwitch::AttentionSwitch(Document& document, QWidget* parent) : QFrame(parent), document_(document) {
    setProperty("role", "segments");
    setAccessibleName(QStringLiteral("Which attention is shown"));
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    auto* row = new_row(this, {2, 2, 2, 2}, 1);
    for (const model::Stack stack : order) {
        auto* button = new QToolButton;
        button->setProperty("kind", "segment");
        button->setText(title(stack));
        button->setCheckable(true);
        button->setFocusPolicy(Qt::TabFocus);
        button->setAccessibleName(QStringLiteral("%1 attention").arg(title(stack)));
        button->setToolTip(QStringLiteral("%1 (X: the next)").arg(explanation(stack)));
        connect(button, &QToolButton::clicked, this, [this, stack] {
            document_.set_attention(stack);
            show_document();  // a click on the shown one must not uncheck it
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
