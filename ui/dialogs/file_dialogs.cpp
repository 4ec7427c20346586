// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/file_dialogs.h"

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QApplication>
#include <QCompleter>
#include <QFileDialog>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPointer>

namespace headlight::ui {

namespace {

/// While the list is open Qt gives it the keys and the mouse: Return, and the first click on Open, would only close it.
class CompletionsOfDialog : public QObject {
public:
    CompletionsOfDialog(QFileDialog& dialog, QLineEdit& field, QCompleter& completer)
        : QObject(&dialog), dialog_(dialog), popup_(completer.popup()) {
        popup_->setObjectName(QStringLiteral("Completions"));
        popup_->installEventFilter(this);
        connect(&field, &QLineEdit::returnPressed, this, [this] {
            if (!popup_ || !popup_->isVisible() || popup_->currentIndex().isValid()) return;  // else it is what is taken
            popup_->hide();
            QMetaObject::invokeMethod(
                this, [this] { static_cast<QDialog&>(dialog_).accept(); }, Qt::QueuedConnection);
        });
    }

    bool eventFilter(QObject*, QEvent* event) override {
        if (event->type() != QEvent::MouseButtonPress || popup_->underMouse()) return false;
        const QPoint at = static_cast<QMouseEvent*>(event)->globalPosition().toPoint();
        popup_->hide();
        if (const QPointer button = qobject_cast<QAbstractButton*>(dialog_.childAt(dialog_.mapFromGlobal(at))))
            QMetaObject::invokeMethod(
                this,
                [button] {
                    if (button) button->click();
                },
                Qt::QueuedConnection);
        return true;
    }

private:
    QFileDialog& dialog_;
    QPointer<QAbstractItemView> popup_;
};

class FileDialogs : public QObject {
public:
    using QObject::QObject;
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() != QEvent::Show || !watched->isWidgetType()) return false;
        auto* dialog = qobject_cast<QFileDialog*>(watched);
        auto* field = dialog ? dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit")) : nullptr;
        if (field && field->completer() && !dialog->property("repaired").toBool()) {  // a desktop's own dialog has no such field
            dialog->setProperty("repaired", true);
            new CompletionsOfDialog(*dialog, *field, *field->completer());
        }
        return false;
    }
};

}  // namespace

void repair_file_dialogs(QObject& owner) { qApp->installEventFilter(new FileDialogs(&owner)); }

}  // namespace headlight::ui
