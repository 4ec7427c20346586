// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPlainTextEdit>

namespace headlight::ui {

/// A text field of one line that grows to a few when the text does, and to two while it does not have the focus. Return asks for
/// a run, Shift+Return breaks the line, and undo is the window's, so that one Ctrl+Z covers text, pins and options.
class PromptEdit : public QPlainTextEdit {
    Q_OBJECT
public:
    explicit PromptEdit(QWidget* parent = nullptr);
    /// Replaces the text without an echo of edited(), the caret kept as near as can be; what was added at the end comes
    /// into sight.
    void show_text(const QString&);
    QSize sizeHint() const override;

Q_SIGNALS:
    void edited(const QString& text);
    void run_asked();

protected:
    bool event(QEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void focusInEvent(QFocusEvent*) override;
    void focusOutEvent(QFocusEvent*) override;
    bool canInsertFromMimeData(const QMimeData*) const override;
    void insertFromMimeData(const QMimeData*) override;

private:
    void fit();
    void show_end();
    int lines_height_ = 0;  ///< of the lines in sight
    bool editing_ = false;
    bool follows_end_ = false;  ///< what was added is in sight, until the user does something
};

}  // namespace headlight::ui
