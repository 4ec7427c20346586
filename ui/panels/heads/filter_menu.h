// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"

#include <QLineEdit>
#include <QMenu>
#include <QToolButton>

#include <functional>
#include <vector>

namespace headlight::ui {

/// The star beside the finder: named filters, and commands for the current one. A name is typed into a field of the panel,
/// not into a dialog.
class FilterMenu : public QToolButton {
    Q_OBJECT
public:
    FilterMenu(Document&, QWidget* parent);

    /// Hidden unless a name is being typed.
    QLineEdit& name() { return *name_; }
    /// The entry with this object name: "apply:NAME", "save", "rename:NAME", "delete:NAME", "activate".
    QAction* entry(const QString& object_name) const;
    void ask_name(const QString& renamed = {});
    /// Activates the matching heads of the layer; false if there is none.
    bool activate_matching();

Q_SIGNALS:
    void said(const QString& text);

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    void refresh();
    void take_name();
    void stop_asking();
    QAction* put(QMenu*, const QString& object_name, const QString& text, std::function<void()>);

    Document& document_;
    QLineEdit* name_;
    std::vector<QAction*> entries_;
    QString renamed_;  ///< the filter being renamed; empty: the expression is being named
};

}  // namespace headlight::ui
