// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

class QObject;

namespace headlight::ui {

/// For every file dialog that Qt draws itself: a list of completions that can be read, and that leaves Return and the dialog's
/// buttons what they are. Ends with `owner`.
void repair_file_dialogs(QObject& owner);

}  // namespace headlight::ui
