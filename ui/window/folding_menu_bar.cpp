// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/folding_menu_bar.h"

#include <QApplication>
#include <QKeyEvent>
#include <QStyle>
#include <QTimer>

namespace headlight::ui {

/// Another object than the menu bar, which installs and removes itself as a filter while Alt is down.
class FoldingMenuBar::Keys : public QObject {
public:
    explicit Keys(FoldingMenuBar& bar) : QObject(&bar), bar_(bar) { qApp->installEventFilter(this); }
    bool eventFilter(QObject*, QEvent* event) override { return bar_.take(event); }

private:
    FoldingMenuBar& bar_;
};

FoldingMenuBar::FoldingMenuBar(QWidget* parent) : QMenuBar(parent) {
    setObjectName(QStringLiteral("MenuBar"));
    setNativeMenuBar(false);
    hide();
    new Keys(*this);
}

QMenu* FoldingMenuBar::add(const QString& title) {
    QMenu* menu = addMenu(title);
    menu->setToolTipsVisible(true);
    // Later: with the arrow keys the next menu opens when one has closed.
    connect(menu, &QMenu::aboutToHide, this, [this] { QTimer::singleShot(0, this, &FoldingMenuBar::fold); });
    return menu;
}

void FoldingMenuBar::open() {
    if (QWidget* popup = QApplication::activePopupWidget()) {
        popup->close();
        return;
    }
    before_ = window()->focusWidget();
    show();
    for (QAction* menu : actions()) {
        if (!menu->isVisible() || !menu->isEnabled()) continue;
        setActiveAction(menu);
        break;
    }
}

void FoldingMenuBar::keep(bool keep) {
    kept_ = keep;
    setVisible(keep);
}

void FoldingMenuBar::fold() {
    if (qobject_cast<QMenu*>(QApplication::activePopupWidget())) return;
    setActiveAction(nullptr);
    const bool had_focus = window()->focusWidget() == this;  // else the command that was chosen has moved it
    if (!kept_) hide();
    if (had_focus && before_) before_->setFocus(Qt::MenuBarFocusReason);
}

bool FoldingMenuBar::take(QEvent* event) {
    const auto key_of = [&] { return static_cast<QKeyEvent*>(event)->key(); };
    switch (event->type()) {
        case QEvent::ShortcutOverride:
            if (key_of() != Qt::Key_Alt) alt_alone_ = false;  // a shortcut's key is pressed no further
            // Keys are the open menu's; shortcuts of the view that has the focus would take the arrows.
            if (!qobject_cast<QMenu*>(QApplication::activePopupWidget())) break;
            event->accept();
            return true;
        case QEvent::KeyPress:
            alt_alone_ = key_of() == Qt::Key_Alt && !QApplication::activePopupWidget();
            if (key_of() != Qt::Key_F10 || !qobject_cast<QMenu*>(QApplication::activePopupWidget())) break;
            open();  // closes it
            return true;
        case QEvent::KeyRelease:
            if (key_of() != Qt::Key_Alt || !alt_alone_) break;
            if (isVisible() && style()->styleHint(QStyle::SH_MenuBar_AltKeyNavigation, nullptr, this)) break;  // Qt does it
            alt_alone_ = false;
            if (QApplication::activeWindow() == window()) {
                open();
                return true;
            }
            break;
        case QEvent::MouseButtonPress:
        case QEvent::Wheel:
        case QEvent::WindowDeactivate: alt_alone_ = false; break;
        default: break;
    }
    return false;
}

}  // namespace headlight::ui
