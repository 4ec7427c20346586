// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include <utility>
#include <vector>

class QWidget;

namespace headlight::ui {

/// Version, libraries and licence.
void show_about(QWidget* parent);
/// A quiet window with a title and text; does not block the other.
void show_text_window(QWidget* parent, const QString& title, const QString& text);
/// Two columns.
void show_list_window(QWidget* parent, const QString& title, const std::vector<std::pair<QString, QString>>& rows);

}  // namespace headlight::ui
