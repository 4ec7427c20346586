// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/style/any_length.h"

#include <QPlainTextDocumentLayout>
#include <QPlainTextEdit>
#include <QTextBlock>
#include <QTextBoundaryFinder>
#include <QTextCursor>

namespace headlight::ui {
namespace {

constexpr qsizetype long_word = 500;

/// Scripts without spaces have places to break all the same.
bool has_long_word(const QString& text) {
    qsizetype from = 0;
    bool long_run = false;
    for (qsizetype i = 0; i < text.size() && !long_run; ++i) {
        if (text[i].isSpace()) from = i + 1;
        long_run = i - from >= long_word;
    }
    if (!long_run) return false;
    QTextBoundaryFinder breaks(QTextBoundaryFinder::Line, text);
    for (qsizetype at = 0, next = breaks.toNextBoundary(); next >= 0; at = next, next = breaks.toNextBoundary())
        if (next - at > long_word) return true;
    return false;
}

/// Chooses how lines are broken before it lays out what has changed.
class AnyLengthLayout : public QPlainTextDocumentLayout {
public:
    using QPlainTextDocumentLayout::QPlainTextDocumentLayout;

protected:
    void documentChanged(int from, int removed, int added) override {
        bool anywhere = false;
        for (QTextBlock block = document()->begin(); block.isValid() && !anywhere; block = block.next())
            anywhere = block.length() > long_word && has_long_word(block.text());
        QTextOption option = document()->defaultTextOption();
        const auto mode = anywhere ? QTextOption::WrapAnywhere : QTextOption::WrapAtWordBoundaryOrAnywhere;
        if (option.wrapMode() != mode) {
            option.setWrapMode(mode);
            document()->setDefaultTextOption(option);
        }
        QPlainTextDocumentLayout::documentChanged(from, removed, added);
    }
};

}  // namespace

void take_any_length(QPlainTextEdit& field) {
    auto* document = new QTextDocument(&field);
    document->setDefaultFont(field.font());
    document->setDocumentLayout(new AnyLengthLayout(document));
    field.setDocument(document);
}

void set_text(QPlainTextEdit& field, const QString& text) {
    QTextCursor all(field.document());
    all.beginEditBlock();  // in which a cursor measures no line
    all.setPosition(0);
    all.setPosition(field.document()->characterCount() - 1, QTextCursor::KeepAnchor);
    all.insertText(text);
    all.endEditBlock();
    field.setTextCursor(QTextCursor(field.document()));
}

}  // namespace headlight::ui
