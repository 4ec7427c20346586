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
    const auto segment = [](const QString& title) {
        auto* button = new QToolButton;
        button->setProperty("kind", "segment");
        button->setText(title);
        button->setCheckable(true);
        button->setFocusPolicy(Qt::TabFocus);
        button->setAccessibleName(QStringLiteral("Show %1").arg(title));
        return button;
    };
    for (const EnumRow<figure::Side>& side : figure::sides) {
        if (side.value == figure::Side::difference) {
            both_ = segment(QStringLiteral("A+B"));
            connect(both_, &QToolButton::clicked, this, [this] {
                document_.set_both_sides();
                show_document();
            });
            row->addWidget(both_);
        }
        QToolButton* button = segment(QString::fromUtf8(side.title.data()));
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

void SideSwitch::set_view(const View& view) {
    view_ = view;
    show_document();
}

void SideSwitch::step(int by) {
    using figure::Side;
    QToolButton* const order[] = {buttons_.at(Side::a), buttons_.at(Side::b), both_, buttons_.at(Side::difference)};
    constexpr int count = 4;
    int at = 0;
    while (at + 1 < count && !order[at]->isChecked()) ++at;
    for (int i = 1; i < count; ++i)
        if (QToolButton* next = order[(at + by * i + count * count) % count]; next->isEnabled()) return next->click();
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
    const figure::ViewSpec& spec = figure::view_spec(view_);
    const bool both = beside && document_.options().both_sides;
    both_->setChecked(both);
    both_->setEnabled(beside && !spec.compares);
    // A grey button says why it is grey.
    const QString no_b = beside ? QString() : QStringLiteral("There is no B to show yet: %1").arg(b);
    both_->setToolTip(!no_b.isEmpty() ? no_b
                      : spec.compares ? QStringLiteral("The %1 view shows A and B together already").arg(view_title(view_))
                                      : QStringLiteral("A and B next to each other (Space: next)"));
    for (const auto& [side, button] : buttons_) {
        button->setChecked(side == shown && !both);
        button->setEnabled(side == figure::Side::a || (beside && (side == figure::Side::b || spec.difference || spec.compares)));
        if (!button->isEnabled()) {
            button->setToolTip(
                !no_b.isEmpty() ? no_b : QStringLiteral("The %1 view has no difference: A+B shows both").arg(view_title(view_)));
            continue;
        }
        button->setToolTip((side == figure::Side::a   ? QStringLiteral("This run")
                            : side == figure::Side::b ? QStringLiteral("B: %1").arg(b)
                                                      : QStringLiteral("What changes from A to B: %1").arg(b)) +
                           QStringLiteral(" (Space: next)"));
    }
}

}  // namespace headlight::ui
