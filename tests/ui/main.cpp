// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/c_locale.h"
#include "ui/style/appearance.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>

namespace {

QtMessageHandler as_before = nullptr;

/// Drops what the offscreen platform says at every window that it cannot raise or give the keyboard to: a failure's own words
/// would drown in it.
void without_the_platform(QtMsgType type, const QMessageLogContext& context, const QString& message) {
    if (!message.startsWith(QLatin1String("This plugin does not support"))) as_before(type, context, message);
}

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    // Each run has a home of its own: several run side by side, and nobody's settings count.
    const QTemporaryDir home;
    for (const char* variable : {"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"})
        qputenv(variable, home.path().toUtf8());
    qputenv("HEADLIGHT_MODELS", HEADLIGHT_SOURCE_DIR "/models");
    as_before = qInstallMessageHandler(without_the_platform);
    QApplication application(argc, argv);
    headlight::figure::use_c_locale();
    QCoreApplication::setOrganizationName(QStringLiteral("headlight"));
    QCoreApplication::setApplicationName(QStringLiteral("headlight-tests"));
    headlight::ui::Appearance::instance().start();
    return RUN_ALL_TESTS();
}
