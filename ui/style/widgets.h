// SPDX-License-Identifier: GPL-3.0-or-later
// What panels, pages and dialogs are made of.
#pragma once

#include "headlight/base/enum_table.h"

#include <QComboBox>
#include <QMargins>
#include <QString>

#include <cstddef>
#include <functional>
#include <initializer_list>

class QBoxLayout;
class QHBoxLayout;
class QLabel;
class QPushButton;
class QScrollArea;
class QTableWidget;
class QToolButton;
class QVBoxLayout;

namespace headlight::ui {

/// A layout of the widget, or of none yet, with these margins.
QHBoxLayout* new_row(QWidget* of, const QMargins&, int spacing = -1);
QVBoxLayout* new_column(QWidget* of, const QMargins&, int spacing = -1);

/// At the end of the layout, in this order.
void add_widgets(QBoxLayout&, std::initializer_list<QWidget*>);

/// A label with a role of the style sheet: "note", "muted", "title", "error".
QLabel* role_label(const char* role, const QString& text = {});
/// The same for a text that wraps.
QLabel* wrapped_label(const char* role, const QString& text = {});

/// A flat button with an icon that Tab reaches; `name` is for screen readers.
QToolButton* quiet_button(const char* icon_name, const QString& name, const QString& tip);

/// A button that looks like a link.
QPushButton* link_button(const QString& text);

/// Scrolls its content upwards and downwards alone; no frame, no stop for Tab.
QScrollArea* scroll_area(QWidget* content);

/// Shows the window before the others.
void bring_to_front(QWidget&);

/// A list of which one row is chosen: no grid, no editing, rows of this height, titles at the left.
void set_up_list(QTableWidget&, const QStringList& titles, int row_height);

/// Adds an entry for each row of an enum's table, with its note as the tip; `titled` may rewrite the title.
template <class Enum, std::size_t N, class Titled = std::identity>
void add_choices(QComboBox& box, const EnumRow<Enum> (&rows)[N], Titled titled = {}) {
    for (const EnumRow<Enum>& row : rows) {
        box.addItem(titled(QString::fromUtf8(row.title)), static_cast<int>(row.value));
        box.setItemData(box.count() - 1, QString::fromUtf8(row.note), Qt::ToolTipRole);
    }
}
/// The value of the chosen entry.
template <class Enum>
Enum chosen_value(const QComboBox& box) {
    return static_cast<Enum>(box.currentData().toInt());
}
/// Chooses the entry with this value; none where there is no such entry.
template <class Enum>
void choose_value(QComboBox& box, Enum value) {
    box.setCurrentIndex(box.findData(static_cast<int>(value)));
}

}  // namespace headlight::ui
