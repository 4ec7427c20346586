// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

class QPlainTextEdit;

namespace headlight::ui {

/// Lets a field without text take one of any length. Where Qt breaks lines at words it goes through what is left of a word for
/// each of its lines, the square of its length: 200,000 characters without a space hold a narrow window for a minute. Lines of a
/// text with a word of more than some hundred characters are broken anywhere.
void take_any_length(QPlainTextEdit&);

}  // namespace headlight::ui
