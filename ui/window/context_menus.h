// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/figure.h"

#include <QMenu>
#include <QObject>
#include <QPointer>

#include <functional>

namespace headlight::ui {

class FigureCanvas;
class MainWindow;
class NumberRow;

/// What can be done with the thing under the pointer, or with the selection where the menu key asks: marks of a figure,
/// heads of the mosaic and the finder, tokens, numbers of the inspector.
class ContextMenus : public QObject {
    Q_OBJECT
public:
    explicit ContextMenus(MainWindow&);
    /// The menu that is open; null when none is.
    QMenu* open_menu() const { return menu_; }
    /// The edits of what is selected, at the pointer or in the middle of the view.
    void open_edits();

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    void watch(QWidget&);
    void start_menu();
    void add(const QString& text, std::function<void()>);
    void add_copy(const QString& text, const QString& copied);
    void add_pins(const figure::Hit&);
    void add_head(HeadId);
    void add_edits(const figure::Hit&);
    void add_edit(QMenu&, const struct EditChoice&);
    void add_figure();
    void fill_for(const figure::Hit&);
    void fill_for_list(const QModelIndex&);
    void fill_for_token(Position, bool source);
    void fill_for_number(const NumberRow&);
    figure::Hit selected_hit() const;
    QString query_name(Position) const;  ///< "·nurse (5)"
    QString key_name(Position) const;

    MainWindow& window_;
    QPointer<QMenu> menu_;
};

}  // namespace headlight::ui
