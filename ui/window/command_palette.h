// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFrame>
#include <QLineEdit>
#include <QListWidget>

#include <functional>
#include <vector>

namespace headlight::ui {

/// One thing to choose: what it says, at the right its shortcut or a note.
struct PaletteItem {
    QString text, note;
    bool enabled = true;
    std::function<void()> chosen;
};

/// Type a few letters, Return. For commands (Ctrl+K) and for tokens (/).
class CommandPalette : public QFrame {
    Q_OBJECT
public:
    CommandPalette(const QString& hint, std::vector<PaletteItem>, QWidget* parent);
    void open();
    QLineEdit& field() { return *field_; }
    QListWidget& list() { return *list_; }

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    void filter(const QString&);
    void choose();

    std::vector<PaletteItem> items_;
    QLineEdit* field_;
    QListWidget* list_;
};

/// Every letter of `typed` in order in `text` (no case); -1 no match, else the lower the better.
int match_score(const QString& typed, const QString& text);

}  // namespace headlight::ui
