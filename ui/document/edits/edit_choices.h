// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/figure.h"
#include "ui/document/document.h"

#include <QString>

#include <vector>

namespace headlight::ui {

/// What can be edited of a mark, a token or the selection.
struct EditChoice {
    QString text;          ///< "Switch L3H5 off"
    QString words;         ///< "zero L3H5"
    bool number = false;   ///< the text in quotation marks or, without one, the number at the end is to be chosen
    bool main = true;      ///< else it stands in a menu of its own
    bool of_file = false;  ///< "FILE" in the words is a file that is chosen first
};
/// A text of an edit's words.
QString in_quotes(QString text);
/// Of the head, the pair or the token, the neuron and the layer of a hit; what it does not name is that of the selection.
std::vector<EditChoice> edit_choices(const Document&, const figure::Hit&);
/// "set L3H5 9<-5 ", before the weight; of the attention that is shown.
QString set_words(const Document&, HeadId, Position query, Position key);
/// Why the text cannot run under edits; empty: it can.
QString why_no_edits(const Document&);

}  // namespace headlight::ui
