// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/offscreen.h"

#include "headlight/figure/core/c_locale.h"

#include <QGuiApplication>
#include <QHashFunctions>

#include <cstdio>
#include <cstdlib>

namespace headlight::cli {
namespace {

/// Qt's remarks about the session (no runtime folder, no theme) do not concern a picture.
void drop_remarks(QtMsgType type, const QMessageLogContext&, const QString& message) {
    if (type == QtCriticalMsg || type == QtFatalMsg) std::fprintf(stderr, "headlight: %s\n", qPrintable(message));
}

}  // namespace

Offscreen::Offscreen() {
    if (QCoreApplication::instance()) return;
    ::setenv("QT_QPA_PLATFORM", "offscreen", 1);
    qInstallMessageHandler(drop_remarks);
    QHashSeed::setDeterministicGlobalSeed();  // a PDF lists its fonts in the order of a hash
    application_ = std::make_unique<QGuiApplication>(argc_, argv_);
    figure::use_c_locale();
}

Offscreen::~Offscreen() = default;

}  // namespace headlight::cli
