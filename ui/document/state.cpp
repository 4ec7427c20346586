// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/state.h"

#include <QCoreApplication>

namespace headlight::ui {

QString view_title(const View& view) {
    return QCoreApplication::translate("View", figure::view_spec(view).title.c_str());
}

}  // namespace headlight::ui
