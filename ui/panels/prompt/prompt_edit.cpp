// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/prompt/prompt_edit.h"

#include "headlight/figure/core/theme.h"
#include "ui/style/any_length.h"

#include <QAbstractTextDocumentLayout>
#include <QKeyEvent>
#include <QMimeData>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QTextBlock>
#include <QTextLayout>

#include <algorithm>
#include <cmath>

namespace headlight::ui {

namespace {

constexpr int one_line = 32, most_lines = 5, most_lines_at_rest = 2;
}  // namespace

PromptEdit::PromptEdit(QWidget* parent) : QPlainTextEdit(parent) {
    take_any_length(*this);
    setTabChangesFocus(true);
    setUndoRedoEnabled(false);
    setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFont(figure::ui_font(14));
    document()->setDocumentMargin(0);  // the style sheet pads: a margin of the document would show a part of a line more
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(this, &QPlainTextEdit::textChanged, this, [this] {
        fit();
        Q_EMIT edited(toPlainText());
    });
    fit();
}

void PromptEdit::show_text(const QString& text) {
    if (toPlainText() == text) return;
    const int caret = textCursor().position();
    bool grown = false;
    follows_end_ = false;
    {
        const QSignalBlocker quiet(this);
        const QString now = toPlainText();
        if (!now.isEmpty() && text.startsWith(now)) {  // as a model writes
            QTextCursor end(document());
            end.movePosition(QTextCursor::End);
            end.insertText(text.mid(now.size()));
            if (caret < now.size()) end.setPosition(caret);
            setTextCursor(end);
            grown = true;
        } else {
            set_text(*this, text);
            QTextCursor cursor = textCursor();
            cursor.setPosition(std::min<int>(caret, document()->characterCount() - 1));
            setTextCursor(cursor);
        }
    }
    fit();
    if (grown) show_end();
}

/// The last lines, as many as there is room for; the bar would go on until the last one is at the top.
void PromptEdit::show_end() {
    const int most = editing_ ? most_lines : most_lines_at_rest;
    verticalScrollBar()->setValue(std::max(0, int(document()->documentLayout()->documentSize().height()) - most));  // in lines
    follows_end_ = true;
}

/// Lines of other scripts are taller than those of the interface's font.
QSize PromptEdit::sizeHint() const {
    const int line = int(std::ceil(QFontMetricsF(font()).lineSpacing()));
    return {400, one_line + std::max(0, lines_height_ - line)};
}

void PromptEdit::fit() {
    const int most = editing_ ? most_lines : most_lines_at_rest;
    int lines = 0;
    double height = 0;
    for (QTextBlock block = document()->begin(); block.isValid() && lines <= most; block = block.next()) {
        blockBoundingRect(block);  // lays out what was typed or pasted
        const QTextLayout* layout = block.layout();
        for (int i = 0; layout && i < layout->lineCount() && lines + i < most; ++i) height += layout->lineAt(i).height();
        lines += std::max(1, layout ? layout->lineCount() : 1);
    }
    lines_height_ = int(std::ceil(height));
    setVerticalScrollBarPolicy(editing_ && lines > most ? Qt::ScrollBarAsNeeded : Qt::ScrollBarAlwaysOff);
    if (this->height() != sizeHint().height() || minimumHeight() != sizeHint().height()) setFixedHeight(sizeHint().height());
}

void PromptEdit::focusInEvent(QFocusEvent* event) {
    QPlainTextEdit::focusInEvent(event);
    editing_ = true;
    follows_end_ = false;
    fit();
    ensureCursorVisible();
}

void PromptEdit::focusOutEvent(QFocusEvent* event) {
    QPlainTextEdit::focusOutEvent(event);
    const Qt::FocusReason why = event->reason();
    if (why == Qt::PopupFocusReason || why == Qt::ActiveWindowFocusReason || why == Qt::MenuBarFocusReason) return;
    editing_ = false;
    fit();
    verticalScrollBar()->setValue(0);
}

void PromptEdit::resizeEvent(QResizeEvent* event) {
    const bool follows = follows_end_;
    QPlainTextEdit::resizeEvent(event);
    fit();
    if (follows) show_end();
}

bool PromptEdit::event(QEvent* event) {
    if (event->type() == QEvent::ShortcutOverride) {
        auto* key = static_cast<QKeyEvent*>(event);
        if (key->matches(QKeySequence::Undo) || key->matches(QKeySequence::Redo)) {
            event->ignore();
            return false;
        }
    }
    return QPlainTextEdit::event(event);
}

void PromptEdit::keyPressEvent(QKeyEvent* event) {
    const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (enter && !(event->modifiers() & Qt::ShiftModifier)) {
        Q_EMIT run_asked();
        return;
    }
    if (event->key() == Qt::Key_Escape) return event->ignore();
    QPlainTextEdit::keyPressEvent(event);
}

/// A folder or session dropped on the text is for the window.
bool PromptEdit::canInsertFromMimeData(const QMimeData* mime) const { return mime->hasText() && !mime->hasUrls(); }
void PromptEdit::insertFromMimeData(const QMimeData* mime) { insertPlainText(mime->text()); }

}  // namespace headlight::ui
