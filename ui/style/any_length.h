// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

class QPlainTextEdit;
class QString;

namespace headlight::ui {

/// Lets a field without text take one of any length. Where Qt breaks lines at words it goes through what is left of a word for
/// each of its lines, the square of its length: 200,000 characters without a space hold a narrow window for a minute. Lines of a
/// text with a word of more than some hundred characters are broken anywhere.
void take_any_length(QPlainTextEdit&);

/// Replaces the text of such a field, with the caret in front. QPlainTextEdit::setPlainText() would lay the new text out before
/// the field has seen it, and break it as the old one.
void set_text(QPlainTextEdit&, const QString&);

}  // namespace headlight::ui
