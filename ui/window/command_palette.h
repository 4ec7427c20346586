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
    bool loose = true;          ///< found by letters that stand apart in it too; long texts would always match
    bool only_unasked = false;  ///< there while nothing is typed
    int rank = -1;              ///< of what a text means beside the items, as match_score(); -1: before all others
    QString keyword{};          ///< also found by this: a view's names on the command line and in papers
};

/// Type a few letters, Return. For commands (Ctrl+K) and for tokens (/).
class CommandPalette : public QFrame {
    Q_OBJECT
public:
    /// What else a text may mean, beside the items: "L4H5".
    using Meaning = std::function<std::vector<PaletteItem>(const QString& typed)>;

    CommandPalette(const QString& hint, std::vector<PaletteItem>, QWidget* parent, Meaning = {});
    /// Below the field that it is opened from, where that is in sight; else in the middle of its parent.
    void open(const QWidget* below = nullptr);
    QLineEdit& field() { return *field_; }
    QListWidget& list() { return *list_; }

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    void filter(const QString&);
    void choose();

    std::vector<PaletteItem> items_;
    Meaning meaning_;
    std::vector<PaletteItem> shown_;
    QLineEdit* field_;
    QListWidget* list_;
};

/// How well a text (no case) has what was typed: at its start, at the start of a word, inside one, word by word, or (loose)
/// letter by letter. -1: not at all; else the lower the better.
int match_score(const QString& typed, const QString& text, bool loose = true);

}  // namespace headlight::ui
