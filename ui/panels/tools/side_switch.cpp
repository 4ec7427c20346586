// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/tools/side_switch.h"

#include "ui/style/widgets.h"

#include <QHBoxLayout>

namespace headlight::ui {

SideSwitch::SideSwitch(Document& document, QWidget* parent) : QFrame(parent), document_(document) {
    setProperty("role", "segments");
    setAccessibleName(QStringLiteral("Which of the two runs is shown"));
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    auto* row = new_row(this, {2, 2, 2, 2}, 1);
    for (const EnumRow<figure::Side>& side : figure::sides) {
        auto* button = new QToolButton;
        button->setProperty("kind", "segment");
        button->setText(QString::fromUtf8(side.title.data()));
        button->setCheckable(true);
        button->setFocusPolicy(Qt::TabFocus);
        button->setAccessibleName(QStringLiteral("Show %1").arg(button->text()));
        connect(button, &QToolButton::clicked, this, [this, value = side.value] {
            document_.set_side(value);
            show_document();  // a click on the shown one must not uncheck it
        });
        buttons_[side.value] = button;
        row->addWidget(button);
    }
    end_ = quiet_button("close", QStringLiteral("End the comparison"), {});
    end_->setIconSize({12, 12});
    connect(end_, &QToolButton::clicked, this, &SideSwitch::end_asked);
    row->addWidget(end_);
    connect(&document_, &Document::changed, this, &SideSwitch::show_document);
    show_document();
}

void SideSwitch::show_document() {
    setVisible(document_.has_other());
    const auto beside = document_.beside();
    const auto& unrelated = document_.unrelated_b();
    const QString b = unrelated
                          ? QStringLiteral("shares %1 of %2 tokens with this text").arg(unrelated->shared).arg(unrelated->of)
                      : beside                      ? QString::fromStdString(beside->words)
                      : document_.other().problem() ? QString::fromStdString(document_.other().problem()->problem)
                                                    : QStringLiteral("still running");
    const figure::Side shown = beside ? document_.options().side : figure::Side::a;  // A alone until B is there
    end_->setToolTip(document_.options().other.on ? QStringLiteral("End the comparison (Ctrl+Z brings it back)")
                                                  : QStringLiteral("Switch all edits off (Ctrl+Z: on again)"));
    for (const auto& [side, button] : buttons_) {
        button->setChecked(side == shown);
        button->setEnabled(side == figure::Side::a || beside);
        button->setToolTip((side == figure::Side::a   ? QStringLiteral("This run")
                            : side == figure::Side::b ? QStringLiteral("B: %1").arg(b)
                                                      : QStringLiteral("What changes from A to B: %1").arg(b)) +
                           QStringLiteral(" (Space: next)"));
    }
}

}  // namespace headlight::ui
