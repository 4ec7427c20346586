// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace headlight::ui {

class SelectionModel;

/// Lets screen readers into what is painted: figures and mosaic have their marks as children ("L4H5, induction 0.42"), the
/// token strip its tokens, the map its heads or points. What the selection moves to is announced while one of them has the focus.
/// Before any widget is made: Qt asks for a widget's interface once.
void make_accessible(SelectionModel&);

}  // namespace headlight::ui
