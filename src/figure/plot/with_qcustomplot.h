// SPDX-License-Identifier: GPL-3.0-or-later
// QCustomPlot's header, which is written with Qt's keywords; this program is compiled without them.
#pragma once

#include <QObject>

#define signals Q_SIGNALS
#define slots Q_SLOTS
#define emit
#define foreach Q_FOREACH
#include <qcustomplot.h>
#undef signals
#undef slots
#undef emit
#undef foreach
